import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeFleet, type Fleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { chosen, inRegion, startRegions } from './harness/regions.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startRegions();
}, 120_000);
afterAll(() => fleet?.stop());

async function cordon(cluster: string, value: boolean): Promise<void> {
  await fleet.kubectl(
    'hub',
    'patch',
    'spokecluster',
    cluster,
    '--type=merge',
    '-p',
    `{"spec":{"unschedulable":${value}}}`,
  );
}

async function deployments(cluster: string): Promise<string[]> {
  const out = await fleet.kubectl(cluster, 'get', 'deploy', '-n', 'shop', '-o', 'name');
  return out.split('\n').filter((line) => line !== '');
}

describeFleet('a shop over regions, where a cluster is lost', () => {
  it('moves within the region when its process is killed; a cordoned cluster gets nothing new; the old copy goes when it is back', async () => {
    const before = await chosen(fleet);
    // Of a process of its own: killing it loses one cluster.
    const lost = inRegion('eu', before).has;
    expect(lost).toBe('spoke-1');
    const { has: busy, hasNot: cordoned } = inRegion('us', before);
    const web = ['get', 'deploy', 'web', '-n', 'shop', '-o', 'jsonpath={.metadata.uid}'];
    const old = await fleet.kubectl(busy, ...web);
    await fleet.kill(lost);

    // Being lost takes 40 s and the toleration: time to see what a cordon does.
    await cordon(cordoned, true);
    await fleet.apply(
      'hub',
      `apiVersion: v1
kind: ConfigMap
metadata: {name: late, namespace: default}
---
apiVersion: atoll.dev/v1alpha1
kind: Propagation
metadata: {name: late, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: late}]
  placement: {clusterSelector: {matchLabels: {region: us}}}
`,
    );
    await waitReady(fleet, 'default', 'late');
    expect(await chosen(fleet, 'late', 'default')).toEqual([busy]);
    expect((await fleet.tryKubectl(cordoned, ['get', 'cm', 'late', '-n', 'default'])).code).toBe(1);
    // What was there before the cordon stays: the busy cluster of the region is cordoned as well.
    await cordon(busy, true);
    const why = await fleet.mustAtoll('why', 'cm/late', '-n', 'default', '--cluster', cordoned);
    expect(why).toContain('it takes nothing new (unschedulable)');

    const after = await until(
      'the shop on three clusters that are there',
      async () => {
        const now = await chosen(fleet);
        return now.length === 3 && !now.includes(lost) ? now : undefined;
      },
      { withinMs: 80_000, everyMs: 500 },
    );
    expect(inRegion('eu', after).has).toBe('virtual-1');
    expect(after.filter((name) => name !== 'virtual-1')).toEqual(before.filter((name) => name !== lost));
    await fleet.kubectl(
      'virtual-1',
      'wait',
      '-n',
      'shop',
      'deployment',
      '--all',
      '--for=condition=Available',
      '--timeout=30s',
    );
    await waitReady(fleet, 'shop', 'shop');
    expect(
      await fleet.kubectl(
        'hub',
        'get',
        'propagation',
        'shop',
        '-n',
        'shop',
        '-o',
        'jsonpath={.status.failover.last.cluster}',
      ),
    ).toBe(lost);
    expect(await fleet.kubectl(busy, ...web)).toBe(old);

    await fleet.mustAtoll('start', lost);
    await until('the old copy gone', async () => (await deployments(lost)).length === 0, {
      withinMs: 30_000,
    });
    expect((await deployments('virtual-1')).length).toBeGreaterThan(5);
    expect(inRegion('eu', await chosen(fleet)).has).toBe('virtual-1');
  }, 150_000);
});
