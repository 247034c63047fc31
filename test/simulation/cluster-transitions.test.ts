import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { SPOKE_CLUSTERS, simulateFleet } from './fleet.ts';
import { type InventoryRig, inventoryRig, kubeconfigOf } from './inventory-rig.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function openRig(seed: number): Promise<InventoryRig> {
  const rig = await inventoryRig(seed);
  stops.push(() => rig.stop());
  await rig.cluster('far');
  await rig.store('default', 'far-kubeconfig', { kubeconfig: kubeconfigOf('far') });
  return rig;
}

/** The series of a metric, by its labels. */
function series(text: string, metric: string): Record<string, number> {
  const found = text.split('\n').filter((line) => line.startsWith(`${metric}{`));
  return Object.fromEntries(
    found.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(metric.length, at), Number(line.slice(at + 1))];
    }),
  );
}

describe('what becomes of a cluster', () => {
  it('[K117] is counted and told in Events once for each change, and not for what stays as it is', async () => {
    const rig = await openRig(71);
    const { runtime, servers } = rig;
    const connection = async (): Promise<string> => (await rig.spoke('far'))?.status?.connection ?? '';
    const comesTo = (word: string): Promise<void> =>
      rig.until(async () => (await connection()) === word, word, 45_000);
    await rig.register({ name: 'far' });
    await comesTo('Connected');
    await rig.rest(300_000);
    expect(await rig.events('far')).toEqual({ ProbeSucceeded: 1 });

    const there = servers.get('far') as Handler;
    servers.delete('far');
    await comesTo('Disconnected');
    // Another text for the same thing is no change.
    servers.set('far', () => Promise.reject(new Error('connect ETIMEDOUT 10.0.0.5:443')));
    await rig.rest(300_000);
    expect(await rig.events('far')).toEqual({ ProbeSucceeded: 1, ProbeFailed: 1 });
    servers.set('far', there);
    await comesTo('Connected');
    await rig.rest(300_000);
    expect(await rig.events('far')).toEqual({ ProbeSucceeded: 2, ProbeFailed: 1 });

    await rig.change('far', { spec: { credential: { kubeconfig: { secretRef: { name: 'gone' } } } } });
    await rig.until(
      async () => (await rig.condition('far', 'CredentialValid')) === 'False/MaterializeFailed',
      'the bad credential',
    );
    await rig.rest(120_000);
    expect(await rig.events('far')).toEqual({ ProbeSucceeded: 2, ProbeFailed: 1, MaterializeFailed: 1 });
    await rig.run(rig.client.delete(SPOKE_CLUSTERS, 'default', 'far'));
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'the end');
    await rig.rest(1_000);
    expect(await rig.events('far')).toMatchObject({ Detached: 1 });

    const text = runtime.metrics.text();
    expect(series(text, 'spokecluster_connection_transitions_total')).toEqual({
      '{to="Connected"}': 2,
      '{to="Disconnected"}': 1,
      '{to="Unknown"}': 1,
    });
    expect(series(text, 'spokecluster_condition_failures_total')).toEqual({
      '{condition="Connected",reason="ProbeFailed"}': 1,
      '{condition="CredentialValid",reason="MaterializeFailed"}': 1,
    });
    expect(series(text, 'spokecluster_detach_total')).toEqual({ '{result="released"}': 1 });
    expect(series(text, 'spokecluster_clusters')).toEqual({
      '{connection="Connected"}': 0,
      '{connection="Disconnected"}': 0,
      '{connection="Unknown"}': 0,
    });
  });

  it('[K117] is served with what the API server counts, to whom may see that', async () => {
    const fleet = await simulateFleet(72, ['a']);
    stops.push(() => fleet.stop());
    await fleet.rest(31_000);
    const scrape = async (user: string, groups: string[]): Promise<{ status: number; text: string }> => {
      const handler = fleet.hub.server.as({ name: user, groups });
      const { status, body } = await fleet.run(handler({ method: 'GET', path: '/metrics', headers: {} }));
      return { status, text: body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : '' };
    };
    expect((await scrape('eve', ['system:authenticated'])).status).toBe(403);
    const seen = await scrape('admin', ['system:masters']);
    expect(seen.status).toBe(200);
    expect(seen.text).toContain('spokecluster_connection_transitions_total{to="Connected"} 1\n');
    expect(seen.text).toContain('atoll_apiserver_requests_total');
  });

  it('[K117] is not counted again by a hub that starts again', async () => {
    const fleet = await simulateFleet(73, ['a']);
    stops.push(() => fleet.stop());
    await fleet.rest(31_000);
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(62_000);
    expect(series(fleet.runtime.metrics.text(), 'spokecluster_connection_transitions_total')).toEqual({
      '{to="Connected"}': 1,
    });
  });
});

describe('probes that a cluster has thresholds for', () => {
  it('lose it after so many failures in a row, also after a long time, and find it at the first success', async () => {
    const rig = await openRig(74);
    const { servers } = rig;
    const spec = {
      credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far-kubeconfig' } } },
      probeIntervalSeconds: 10,
      probeTimeoutSeconds: 3,
      probeFailureThreshold: 3,
    };
    await rig.register({ name: 'far', spec });
    const connection = async (): Promise<string> => (await rig.spoke('far'))?.status?.connection ?? '';
    await rig.until(async () => (await connection()) === 'Connected', 'Connected');
    await rig.rest(120_000);
    const there = servers.get('far') as Handler;
    servers.delete('far');
    await rig.rest(20_000);
    expect(await connection()).toBe('Connected');
    servers.set('far', there);
    await rig.rest(20_000);
    servers.delete('far');
    await rig.rest(20_000);
    expect(await connection()).toBe('Connected');
    await rig.until(async () => (await connection()) === 'Disconnected', 'lost', 21_000);
    servers.set('far', there);
    await rig.until(async () => (await connection()) === 'Connected', 'back', 15_000);
    expect(await rig.events('far')).toEqual({ ProbeSucceeded: 2, ProbeFailed: 1 });
  });
});
