import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAlive } from '../../src/runtime/index.ts';
import { describeFleet, type Fleet, newFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = newFleet();
  await fleet.mustAtoll('up', '--spokes', '1');
}, 120_000);
afterAll(() => fleet?.stop());

const cluster = (name: string, mode: string): string => `apiVersion: core.oam.dev/v1beta1
kind: SpokeCluster
metadata: {name: ${name}, namespace: default, labels: {made: "yes"}}
spec: {mode: ${mode}, credential: {type: tunnel}, deletionPolicy: cleanup}
`;

const field = (name: string, path: string): Promise<string> =>
  fleet.kubectl('hub', 'get', 'spokecluster', name, '-o', `jsonpath=${path}`);
const reason = (name: string, type: string): Promise<string> =>
  field(name, `{.status.conditions[?(@.type=="${type}")].reason}`);

describeFleet('clusters that a hub makes', () => {
  it('[K2] appear with a SpokeCluster that says so and no other, follow intents, and go with it', async () => {
    await fleet.apply('hub', cluster('missing', 'connect'));
    await fleet.apply('hub', cluster('demo', 'provision'));
    await until('it is connected', async () => {
      return (await field('demo', '{.status.connection}')) === 'Connected';
    });
    expect(await field('missing', '{.status.connection}')).not.toBe('Connected');
    expect(existsSync(join(fleet.directory, 'missing'))).toBe(false);
    expect(await fleet.kubectl('demo', 'get', 'nodes', '-o', 'name')).toContain('demo-node-1');

    // One of a name that is there already is not taken over.
    await fleet.kubectl(
      'hub',
      'patch',
      'spokecluster',
      'spoke-1',
      '--type=merge',
      '-p',
      '{"spec":{"mode":"provision"}}',
    );
    await until('the refusal', async () => {
      return (await reason('spoke-1', 'Registered')) === 'ProvisioningFailed';
    });
    await fleet.kubectl(
      'hub',
      'patch',
      'spokecluster',
      'spoke-1',
      '--type=merge',
      '-p',
      '{"spec":{"mode":"connect"}}',
    );

    await fleet.kubectl('hub', 'create', 'namespace', 'shop');
    await fleet.apply(
      'hub',
      `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1"}]}
---
apiVersion: atoll.dev/v1alpha1
kind: Propagation
metadata: {name: web, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement: {clusterNames: [demo, spoke-1]}
`,
    );
    await waitReady(fleet, 'shop', 'web');

    // The last word of the cluster, and who can say where it comes from.
    const patch = { plane: 'shop/web', component: 'web', properties: { spec: { replicas: 3 } } };
    await fleet.kubectl(
      'hub',
      'patch',
      'spokecluster',
      'demo',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { patches: [patch] } }),
    );
    const replicas = (context: string): Promise<string> =>
      fleet.kubectl(context, 'get', 'deploy', 'web', '-n', 'shop', '-o', 'jsonpath={.spec.replicas}');
    await until('the patch', async () => {
      return (
        (await replicas('demo')) === '3' && (await reason('demo', 'PatchesApplied')) === 'PatchesApplied'
      );
    });
    expect(await replicas('spoke-1')).toBe('1');
    await waitReady(fleet, 'shop', 'web');
    const why = await fleet.mustAtoll('why', 'deploy/web', '-n', 'shop', '--cluster', 'demo');
    expect(why).toContain('SpokeCluster default/demo patches[0]: add /spec/replicas 3');
    const other = await fleet.mustAtoll('why', 'deploy/web', '-n', 'shop', '--cluster', 'spoke-1');
    expect(other).not.toContain('the hub is at');
    expect(await fleet.mustAtoll('desired', 'demo', '-o', 'yaml')).toContain('replicas: 3');
    const plan = await fleet.atoll(['plan', 'shop/web']);
    expect(plan.stdout + plan.stderr).not.toContain('replicas');

    const pid = fleet.pid('demo');
    await fleet.kubectl('hub', 'delete', 'spokecluster', 'demo', '--timeout=60s');
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(fleet.directory, 'demo'))).toBe(false);
    expect((await fleet.tryKubectl('demo', ['get', 'nodes'])).code).not.toBe(0);
    // What goes on is the rest.
    expect(await replicas('spoke-1')).toBe('1');
    await fleet.kubectl('hub', 'delete', 'spokecluster', 'missing', '--timeout=60s');
  }, 120_000);

  it('are brought up again by a hub that was killed while it made one', async () => {
    await fleet.apply('hub', cluster('second', 'provision'));
    await until('it was begun', async () => {
      return (await reason('second', 'Registered')) !== '';
    });
    await fleet.kill('hub');
    await fleet.mustAtoll('up');
    await until('it is connected', async () => {
      return (await field('second', '{.status.connection}')) === 'Connected';
    });
    await fleet.kubectl('hub', 'delete', 'spokecluster', 'second', '--timeout=60s');
    expect(existsSync(join(fleet.directory, 'second'))).toBe(false);
  }, 120_000);
});
