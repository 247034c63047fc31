import { afterEach, describe, expect, it } from 'vitest';
import { type InventoryCluster, reportCluster } from '../../src/dialects/kubefed/index.ts';
import type { Handler, Response } from '../../src/kube/exchange.ts';
import { type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';
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

const answering =
  (status: number, text: string): Handler =>
  async (): Promise<Response> => ({ status, headers: {}, body: Buffer.from(text) });

const PROBED = {
  credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far-kubeconfig' } } },
  probeIntervalSeconds: 10,
  probeTimeoutSeconds: 3,
  probeFailureThreshold: 3,
  probeSuccessThreshold: 1,
};

describe('the health of a cluster', () => {
  it('[F4] is Ready, not ready, Offline or ConfigMalformed, each after as many probes as its thresholds say', async () => {
    const rig = await openRig(91);
    const { servers } = rig;
    const words = async (): Promise<string> => {
      const spoke = await rig.spoke('far');
      const { conditions } = reportCluster(spoke as unknown as InventoryCluster);
      return conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ');
    };
    const comesTo = (expected: string, limitMs: number): Promise<void> =>
      rig.until(async () => (await words()) === expected, expected, limitMs);
    const ready = 'Ready=True/ClusterReady';
    const unhealthy = 'Ready=False/ClusterNotReady Offline=False/ClusterReachable';
    const offline = 'Offline=True/ClusterNotReachable';
    const there = servers.get('far') as Handler;

    await rig.register({ name: 'far', spec: PROBED });
    await comesTo(ready, 15_000);
    // However long it was well, it takes three failures in a row.
    await rig.rest(600_000);
    servers.delete('far');
    await rig.rest(20_000);
    expect(await words()).toBe(ready);
    servers.set('far', there);
    await rig.rest(30_000);
    servers.set('far', answering(500, '[-]etcd failed'));
    await rig.rest(20_000);
    expect(await words()).toBe(ready);
    await comesTo(unhealthy, 15_000);
    expect((await rig.spoke('far'))?.status?.connection).toBe('Unknown');
    servers.set('far', there);
    await comesTo(ready, 15_000);
    // A server that hangs has the time-out, and no more.
    servers.set('far', ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
      return promise;
    });
    await comesTo(offline, 45_000);
    servers.set('far', there);
    await comesTo(ready, 15_000);
    await rig.change('far', { spec: { credential: { kubeconfig: { secretRef: { name: 'gone' } } } } });
    await comesTo('ConfigMalformed=True/ClusterConfigMalformed', 15_000);
  });

  it.each([
    ['a page to log in at', 200, '<html>Welcome</html>', 'Unknown', 'does not answer ok'],
    ['a server without room', 429, 'later', 'Unknown', '429'],
    ['a credential without rights', 403, 'no', 'Unknown', '403'],
    ['a balancer that cannot reach it', 503, 'no backends', 'Disconnected', '503'],
    ['a proxy that cannot reach it', 502, 'bad gateway', 'Disconnected', '502'],
  ])('tells who answers from who cannot be reached: %s', async (_who, status, text, connection, why) => {
    const rig = await openRig(92);
    rig.servers.set('far', answering(status, text));
    await rig.register({ name: 'far' });
    await rig.until(async () => (await rig.condition('far', 'Connected')) === 'False/ProbeFailed', 'told');
    const told = (await rig.spoke('far'))?.status;
    expect(told?.connection).toBe(connection);
    expect(told?.conditions?.find(({ type }) => type === 'Connected')?.message).toContain(why);
  });
});

describe('a cluster that comes and goes', () => {
  it('fills neither the history nor the store, and is connected again once it stays', async () => {
    const fleet: SimulatedFleet = await simulateFleet(93, ['a']);
    stops.push(() => fleet.stop());
    const path = 'core.oam.dev/spokeclusters/default/a';
    const status = (): { connection?: string; conditions?: { type: string; message: string }[] } =>
      stored(fleet.hub, path)?.['status'] ?? {};
    const told = (): number =>
      storedBelow(fleet.hub, 'core/events/default')
        .filter((event) => (event['involvedObject'] as { name: string }).name === 'a')
        .reduce((sum, event) => sum + Number(event['count'] ?? 1), 0);
    const version = (): number => Number(stored(fleet.hub, path)?.metadata.resourceVersion);
    await fleet.until(() => status().connection === 'Connected', 'Connected');
    let writes = 0;
    let last = version();
    for (let turn = 0; turn < 60; turn += 1) {
      fleet.cut('a');
      await fleet.rest(3_000);
      fleet.heal('a');
      await fleet.rest(3_000);
      if (version() !== last) writes += 1;
      last = version();
    }
    expect(told()).toBeGreaterThan(1);
    expect(told()).toBeLessThanOrEqual(20);
    expect(writes).toBeLessThanOrEqual(12);
    expect(status().connection).toBe('Disconnected');
    expect(status().conditions?.find(({ type }) => type === 'Connected')?.message).toContain(
      'comes and goes',
    );
    await fleet.rest(60_000);
    expect(status().connection).toBe('Disconnected');
    await fleet.until(() => status().connection === 'Connected', 'it stayed', 330_000);
    const before = told();
    await fleet.rest(120_000);
    expect([told(), status().connection]).toEqual([before, 'Connected']);
  });
});
