import { afterEach, describe, expect, it } from 'vitest';
import { memoryDriver } from '../../src/apiserver/index.ts';
import { detachCluster, handOver, joinedHub, joinWord } from '../../src/cli/join/index.ts';
import { foundOn, recoveryPlan } from '../../src/cli/recover/index.ts';
import { hubIdentity } from '../../src/hub/dispatch/identity.ts';
import { certificatesFrom, type LinkNotice } from '../../src/hub/join/index.ts';
import { deployments } from '../../src/kube/well-known.ts';
import { readTrust } from '../../src/spoke/trust.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  type SimulatedFleet,
  type SimulatedSpoke,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, openShop, paint, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const shopDeployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cart', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'cart' } },
    template: {
      metadata: { labels: { app: 'cart' } },
      spec: { containers: [{ name: 'cart', image: 'cart:1' }] },
    },
  },
};
const BOTH = {
  resourceSelectors: [
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { apiVersion: 'apps/v1', kind: 'Deployment' },
  ],
};

async function open(names: string[]): Promise<void> {
  fleet = await simulateFleet(31, names, { workloads: true });
  await openShop(fleet, [configMap('settings', 'red'), shopDeployment], BOTH);
  await ready(fleet, names.length);
}

/** The hub's machine is gone, with all that it had. Another one takes its address. */
async function loseHub(): Promise<void> {
  await fleet.kill(fleet.hub);
  fleet.hub.storage = memoryDriver();
  await fleet.start(fleet.hub);
}

async function recover(): Promise<void> {
  const asked = await Promise.all(fleet.spokes.map((spoke) => fleet.run(foundOn(spoke.name, spoke.client))));
  for (const object of recoveryPlan(asked.flatMap(({ found }) => found)).objects) {
    const resource = await fleet.run(fleet.hub.client.resourceFor(object.apiVersion, object.kind));
    await fleet.run(fleet.hub.client.create(resource, object));
  }
}

/** What `atoll join` would have printed at the hub. */
async function joinData(): Promise<string> {
  const { lineage, publicKey } = await fleet.run(hubIdentity(fleet.runtime, fleet.hub.client));
  const notice: LinkNotice = {
    name: 'new-hub',
    addresses: ['hub.example:7443'],
    names: ['hub.example'],
    ca: 'PEM',
    trust: { lineage, publicKey },
  };
  return joinWord({ version: 2, hubs: [joinedHub(notice, { tokens: {} })] });
}

async function takeOver(spoke: SimulatedSpoke): Promise<string> {
  const join = await joinData();
  return fleet.run(handOver(fleet.runtime, spoke.client, { join }));
}

function uids(spoke: SimulatedSpoke): (string | undefined)[] {
  return [
    ...storedBelow(spoke, 'core/pods/shop'),
    ...storedBelow(spoke, 'apps/deployments/shop'),
    ...storedBelow(spoke, 'core/configmaps/shop'),
  ].map(({ metadata }) => metadata.uid);
}

describe('a spoke whose hub is lost', () => {
  it('[S19] [K37] goes on under a new hub when its owner hands it over, and nothing on it is made anew', async () => {
    await open(['a', 'b']);
    const before = fleet.spokes.map(uids);
    expect(before[0]?.length).toBeGreaterThan(3);
    await loseHub();
    await recover();
    await fleet.rest(60_000);
    // A second hub is refused until the owner says otherwise.
    for (const spoke of fleet.spokes) {
      const refused = dispatchesOn(spoke).filter(
        (item) => conditionOf(item, 'Accepted') === 'False/AnotherHub',
      );
      expect(refused).toHaveLength(1);
      expect(conditionMessage(refused[0], 'Accepted')).toContain('atoll takeover');
    }
    for (const spoke of fleet.spokes) expect(await takeOver(spoke)).toContain("new-hub's now");
    await ready(fleet, 2);
    await fleet.until(
      () => fleet.spokes.every((spoke) => dispatchesOn(spoke).length === 1),
      'the end of the orders of the hub before',
    );
    expect(fleet.spokes.map(uids)).toEqual(before);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => fleet.spokes.every((spoke) => colour(spoke) === 'blue'),
      'the word of the new hub',
    );
    const trust = await fleet.run(readTrust(fleet.spoke('a').client));
    expect(trust?.history).toHaveLength(1);
    expect(trust?.history[0]).toMatch(/^\S+ admin from \S+$/);
  });

  it('keeps up what it was told before until the new hub orders the same, also after a restart', async () => {
    await open(['a']);
    const spoke = fleet.spoke('a');
    await loseHub();
    await takeOver(spoke);
    await fleet.rest(5_000);
    await paint(fleet, spoke, 'green');
    await fleet.until(() => colour(spoke) === 'red', 'drift is corrected as before');
    await fleet.kill(spoke);
    await fleet.start(spoke);
    const before = uids(spoke);
    await paint(fleet, spoke, 'green');
    await fleet.until(() => colour(spoke) === 'red', 'drift is corrected after a restart');
    await recover();
    await ready(fleet, 1);
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.until(() => dispatchesOn(spoke).length === 1, 'the end of the order of the hub before');
    await ready(fleet, 1);
    expect(uids(spoke)).toEqual(before);
  });

  it('keeps what the new hub does not order, and the new hub deletes nothing of it', async () => {
    await open(['a']);
    const spoke = fleet.spoke('a');
    await loseHub();
    await takeOver(spoke);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('a')));
    await openShop(fleet, [configMap('settings', 'blue')]);
    await ready(fleet, 1);
    expect(colour(spoke)).toBe('blue');
    expect(await fleet.run(spoke.client.get(deployments, 'shop', 'cart'))).toMatchObject({
      spec: { replicas: 2 },
    });
    await fleet.rest(30_000);
    expect(dispatchesOn(spoke)).toHaveLength(2);
    await fleet.run(spoke.client.delete(deployments, 'shop', 'cart'));
    await fleet.until(
      () => stored(spoke, 'apps/deployments/shop/cart') !== undefined,
      'it is made again by the order of the hub before',
    );
  });
});

describe('detaching', () => {
  const detach = (name: string, wish: object): ReturnType<typeof detachCluster> =>
    fleet.run(
      detachCluster(
        fleet.runtime,
        fleet.hub.client,
        // As the hub would: through the link.
        fleet.spoke(name).link.up ? fleet.spoke(name).client : unreachable(),
        { name, force: false, timeoutMs: 120_000, ...wish },
        () => undefined,
      ),
    );
  const unreachable = (): SimulatedSpoke['client'] =>
    new Proxy({} as SimulatedSpoke['client'], {
      get: () => () => Promise.reject(new Error('the spoke is not connected')),
    });

  it('[S20] waits until the cluster is let go, or cleaned', async () => {
    await open(['a', 'b']);
    expect(await detach('a', {})).toMatchObject({
      ...{ policy: 'detach', outcome: 'gone', told: true, residues: [] },
    });
    expect(await detach('b', { policy: 'cleanup' })).toMatchObject({ policy: 'cleanup', outcome: 'gone' });
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(colour(fleet.spoke('b'))).toBe('');
  });

  it('says so where the cluster could not be told', async () => {
    await open(['a', 'b']);
    fleet.spoke('a').link.cut();
    expect(await detach('a', {})).toMatchObject({ policy: 'detach', outcome: 'gone', told: false });
    expect(dispatchesOn(fleet.spoke('a'))).toHaveLength(1);
  });

  it('[A73] by force is over in bounded time where the cluster cannot be reached, and says what is left there', async () => {
    await open(['a', 'b']);
    fleet.spoke('a').link.cut();
    const waiting = await detach('a', { policy: 'cleanup', timeoutMs: 10_000 });
    expect(waiting).toMatchObject({ outcome: 'waiting', residues: ['all of Propagation shop/shop'] });
    const began = fleet.runtime.clock.monotonic();
    const forced = await detach('a', { policy: 'cleanup', force: true, timeoutMs: 10_000 });
    expect(forced).toMatchObject({ outcome: 'forced', residues: ['all of Propagation shop/shop'] });
    expect(fleet.runtime.clock.monotonic() - began).toBeLessThan(60_000);
    expect(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')).toBeUndefined();
    await ready(fleet, 1);
    expect(await fleet.run(certificatesFrom(fleet.hub.client, 'a'))).toBeGreaterThan(0);
    expect(storedBelow(fleet.hub, 'atoll.dev/retractions/-')).toEqual([]);
    await expect(detach('a', {})).rejects.toThrow('the hub has no SpokeCluster a');
    expect(await fleet.run(fleet.hub.client.list(SPOKE_CLUSTERS, ''))).toMatchObject({ items: [{}] });
  });
});
