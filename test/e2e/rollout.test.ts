import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { describeFleet, type Fleet } from './harness/fleet.ts';
import { record } from './harness/recording.ts';
import { chosen, inRegion, REGIONS, startRegions } from './harness/regions.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
/** The cluster of each region that has the shop. */
let eu: string;
let us: string;
let ap: string;
beforeAll(async () => {
  fleet = await startRegions();
  const clusters = await chosen(fleet);
  eu = inRegion('eu', clusters).has;
  us = inRegion('us', clusters).has;
  ap = inRegion('ap', clusters).has;
}, 120_000);
afterAll(() => fleet?.stop());

const OLD = 'registry.example.com/shop/web:1.4.0';
const NEW = 'registry.example.com/shop/web:2.0.0';

/** A rollout goes through all clusters, and each look at it starts a process. */
const PATIENTLY = { withinMs: 45_000, everyMs: 250 };

function imageOf(object: KubeObject): string {
  const spec = object['spec'] as { template: { spec: { containers: { image: string }[] } } };
  return spec.template.spec.containers[0]?.image ?? '';
}

async function image(cluster: string): Promise<string> {
  const path = 'jsonpath={.spec.template.spec.containers[0].image}';
  return fleet.kubectl(cluster, 'get', 'deploy', 'web', '-n', 'shop', '-o', path);
}

/** Watches the shop's `web` on a cluster; what is returned ends that and gives the images that it had, one after another. */
async function imagesOf(cluster: string): Promise<() => Promise<string[]>> {
  const client = fleet.client(cluster);
  const recording = await record(client, await client.resourceFor('apps/v1', 'Deployment'), 'shop');
  return async () => {
    await recording.stop();
    const images = recording.seen
      .filter(({ object }) => object.metadata.name === 'web')
      .map(({ object }) => imageOf(object));
    return images.filter((now, at) => now !== images[at - 1]);
  };
}

/** Changes the shop's `web` at the hub, in one write. */
async function release(to: string, fail: string | null): Promise<void> {
  const patch = {
    spec: {
      progressDeadlineSeconds: fail === null ? 600 : 3,
      template: {
        metadata: { annotations: { 'sim.atoll.dev/fail': fail } },
        spec: { containers: [{ name: 'web', image: to }] },
      },
    },
  };
  await fleet.kubectl(
    'hub',
    'patch',
    'deploy/web',
    '-n',
    'shop',
    '--type=strategic',
    '-p',
    JSON.stringify(patch),
  );
}

async function rollout(): Promise<{ code: number | undefined; stdout: string; text: string }> {
  return fleet.atoll(['rollout', 'status', 'shop', '-n', 'shop']);
}

/** Waits until `atoll rollout status` says the phase of a revision. */
async function reaches(phase: string, revision: number): Promise<void> {
  const line = new RegExp(`^Propagation shop {2}${phase} {2}revision ${revision}$`, 'm');
  await until(
    `revision ${revision} ${phase}`,
    async () => {
      const { text } = await rollout();
      if (!line.test(text)) throw new Error(text);
      return true;
    },
    PATIENTLY,
  );
}

describeFleet('a shop over regions', () => {
  it('[A1] is in one cluster of each region, with pods there and none at the hub, and differs there as it was told', async () => {
    expect([eu, us, ap].map((name, at) => Object.values(REGIONS)[at]?.includes(name))).toEqual([
      true,
      true,
      true,
    ]);
    for (const [region, clusters] of Object.entries(REGIONS)) {
      const { has, hasNot } = inRegion(region, await chosen(fleet));
      expect(clusters).toContain(has);
      const settings = ['get', 'cm', 'shop-settings', '-n', 'shop', '-o', 'jsonpath={.data.REGION}'];
      expect(await fleet.kubectl(has, ...settings)).toBe(region);
      expect((await fleet.tryKubectl(hasNot, settings)).code).toBe(1);
    }
    expect(await fleet.kubectl('hub', 'get', 'pods', '-A', '-o', 'name')).toBe('');
    expect(await fleet.kubectl(us, 'get', 'pods', '-n', 'shop', '-o', 'name')).toContain('pod/web-');
    // The status at the hub is made of what all three say.
    await until('nine replicas at the hub', async () => {
      const ready = ['get', 'deploy', 'web', '-n', 'shop', '-o', 'jsonpath={.status.readyReplicas}'];
      return (await fleet.kubectl('hub', ...ready)) === '9';
    });
    await reaches('Succeeded', 1);
  });

  it('gets a new image in stages; one that fails in the second goes back by itself, everywhere', async () => {
    const [canary, last] = await Promise.all([eu, ap].map(imagesOf));
    await release(NEW, 'image-pull');
    await reaches('RolledBack', 2);
    // The canary had it and gave it back; the last region never got it.
    expect(await canary?.()).toEqual([OLD, NEW, OLD]);
    expect(await last?.()).toEqual([OLD]);
    for (const cluster of [eu, us, ap]) expect(await image(cluster), cluster).toBe(OLD);

    const { code, text } = await rollout();
    expect(code).toBe(1);
    expect(text).toMatch(/^canary +Done/m);
    expect(text).toMatch(/^world +Failed/m);
    expect(text).toContain(`stage world: 1 of 2 clusters failed; `);
    expect(text).toMatch(/has timed out progressing/);
    expect(text).toContain('atoll rollout retry shop -n shop');
    // What is asked for at the hub is on no cluster: kubectl goes on waiting.
    const waiting = await fleet.tryKubectl('hub', [
      'rollout',
      'status',
      'deploy/web',
      '-n',
      'shop',
      '--timeout=1s',
    ]);
    expect(waiting.code).toBe(1);
    const events = await fleet.kubectl('hub', 'get', 'events', '-n', 'shop');
    for (const reason of ['StageDone', 'ClusterFailed', 'RolloutFailed', 'RolledBack'])
      expect(events).toContain(reason);
  });

  it('[A43] a mended image goes everywhere, over the end of the hub in the middle; kubectl waits for the slowest cluster, and the history has all', async () => {
    await release('registry.example.com/shop/web:2.0.1', null);
    await until(
      'the mended image in the canary',
      async () => (await image(eu)).endsWith(':2.0.1'),
      PATIENTLY,
    );
    await fleet.kill('hub');
    await fleet.mustAtoll('start', 'hub');
    expect(
      await fleet.kubectl('hub', 'rollout', 'status', 'deploy/web', '-n', 'shop', '--timeout=40s'),
    ).toContain('successfully rolled out');
    for (const cluster of [eu, us, ap]) expect(await image(cluster)).toMatch(/web:2\.0\.1$/);
    await reaches('Succeeded', 3);
    expect((await rollout()).code).toBe(0);
    const history = await fleet.mustAtoll('history', 'shop', '-n', 'shop');
    expect(history).toMatch(/^3 +[0-9a-f]{12} .*everywhere$/m);
    expect(history).toMatch(/^1 +[0-9a-f]{12} .*was everywhere$/m);
    expect(history).toContain('--to 2');
  });

  it('goes back to an older content in stages, and rolls out again what is asked for', async () => {
    await fleet.mustAtoll('rollback', 'shop', '-n', 'shop', '--to', '1', '-m', 'the new page is slow');
    await until(
      'the old image in every region',
      async () => {
        const images = await Promise.all([eu, us, ap].map(image));
        return images.every((item) => item === OLD);
      },
      PATIENTLY,
    );
    await reaches('Succeeded', 4);
    await fleet.mustAtoll('rollout', 'retry', 'shop', '-n', 'shop');
    await until(
      'the new image in every region',
      async () => {
        const images = await Promise.all([eu, us, ap].map(image));
        return images.every((item) => item.endsWith(':2.0.1'));
      },
      PATIENTLY,
    );
  });
});
