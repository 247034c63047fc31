import { afterEach, describe, expect, it } from 'vitest';
import { DISPATCH_LABEL, type OwnershipRecord } from '../../src/engine/dispatch/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import { type Random, seededRandom } from '../../src/runtime/random.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  DISPATCHES,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedCluster,
  type SimulatedFleet,
  type SimulatedSpoke,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
  storedBelow,
  writesBy,
} from './fleet.ts';
import { colour, configMap, openShop, paint, propagation } from './shop.ts';

/**
 * Random histories of a fleet: users change objects, clusters, propagations; links break and heal; processes die and come
 * back on their storage; people on the spokes change and delete things. When all is calm again, every spoke must be as the
 * hub says, and nothing may have happened on the way that nobody ordered. `SEED=7` replays one history, `SEEDS=1000` runs
 * more of them.
 */

const { SEED, SEEDS = '30' } = process.env;
const SEED_LIST =
  SEED === undefined ? Array.from({ length: Number(SEEDS) }, (_, i) => i + 1) : [Number(SEED)];
const STEPS = 30;
const SPOKES = ['a', 'b', 'c'];
const GROUPS = ['g0', 'g1', 'g2'];
const TIERS = ['edge', 'core'];
const NAMES = ['m0', 'm1', 'm2', 'm3', 'm4'];

let fleet: SimulatedFleet | undefined;
afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
});

function spec(group: string, placement: object): object {
  return {
    resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { group } } }],
    placement,
    deletionBudget: '100%',
    overrides: [{ clusterNames: ['b'], patch: [{ op: 'add', path: '/data/on', value: 'b' }] }],
  };
}

/** What the present objects of the hub mean for one spoke, computed apart from the engine: data by name. */
function wantedOn(hub: SimulatedCluster, spoke: string): Record<string, Record<string, string>> {
  const cluster = stored(hub, `core.oam.dev/spokeclusters/default/${spoke}`);
  const out: Record<string, Record<string, string>> = {};
  for (const item of storedBelow(hub, 'atoll.dev/propagations/shop')) {
    const { placement } = item['spec'] as {
      placement: { clusterSelector: { matchLabels?: { tier: string } } };
    };
    const tier = placement.clusterSelector.matchLabels?.tier;
    if (item.metadata.deletionTimestamp !== undefined) continue;
    if (tier !== undefined && cluster?.metadata.labels?.['tier'] !== tier) continue;
    for (const map of storedBelow(hub, 'core/configmaps/shop')) {
      if (map.metadata.labels?.['group'] !== item.metadata.name) continue;
      const data = map['data'] as Record<string, string>;
      out[map.metadata.name ?? ''] = spoke === 'b' ? { ...data, on: 'b' } : data;
    }
  }
  return out;
}

function ownedOn(spoke: SimulatedCluster): Record<string, Record<string, string>> {
  const maps = storedBelow(spoke, 'core/configmaps/shop').filter(
    (map) => map.metadata.labels?.[DISPATCH_LABEL] !== undefined,
  );
  return Object.fromEntries(
    maps.map((map) => [map.metadata.name ?? '', map['data'] as Record<string, string>]),
  );
}

describe('a fleet with a random history', () => {
  for (const seed of SEED_LIST) {
    it(`[K27] [K28] [K31] ends as the hub says, and did nothing that nobody ordered (seed ${seed})`, async () => {
      try {
        await history(seed);
      } catch (error) {
        console.error(`to replay: SEED=${seed} npx vitest run test/simulation/fleet-random.test.ts`);
        throw error;
      }
    });
  }
});

async function history(seed: number): Promise<void> {
  const sim = await simulateFleet(seed, SPOKES, { engineLatencyMs: (seed % 3) * 40 });
  fleet = sim;
  const random = seededRandom(seed * 7919);
  const trace: string[] = [];
  const alive = (cluster: SimulatedCluster): boolean => cluster.engine !== undefined;
  /** What some present state of the hub did not want on a spoke: only that may ever be deleted there. */
  const orderedAway = new Set<string>();
  const positions = new Map<string, number>();

  await openShop(sim, [], null);
  for (const spoke of sim.spokes) {
    await sim.run(
      spoke.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await sim.run(spoke.client.create(configMaps, configMap('foreign', 'own')));
  }

  function look(): void {
    for (const spoke of sim.spokes) {
      const wanted = alive(sim.hub) ? wantedOn(sim.hub, spoke.name) : undefined;
      for (const name of NAMES) if (wanted && !(name in wanted)) orderedAway.add(`${spoke.name}/${name}`);
      for (const record of storedBelow(
        spoke,
        'atoll.dev/ownershiprecords/atoll-system',
      ) as OwnershipRecord[]) {
        const { generation } = record.spec.accepted.position;
        const key = `${spoke.name} ${record.metadata.uid}`;
        expect(generation, `${key} went back`).toBeGreaterThanOrEqual(positions.get(key) ?? 0);
        positions.set(key, generation);
      }
      expect(colour(spoke, 'foreign')).toBe('own');
    }
  }

  for (let step = 0; step < STEPS; step++) {
    const spoke = pick(random, sim.spokes);
    const [what, act] = pick(random, [
      ...(alive(sim.hub) ? atHub(sim, random) : []),
      ...(alive(spoke) ? atSpoke(sim, random, spoke) : []),
      ...around(sim, random, spoke, alive),
    ]);
    trace.push(what);
    await act();
    look();
    await sim.rest(Math.floor(random.next() ** 2 * 4_000));
    look();
  }

  for (const cluster of [sim.hub, ...sim.spokes]) if (!alive(cluster)) await sim.start(cluster);
  for (const spoke of sim.spokes) {
    spoke.link.setLatency(0);
    spoke.link.heal();
  }
  await sim.rest(120_000);
  look();
  for (const spoke of sim.spokes) {
    expect(ownedOn(spoke), `${spoke.name} after:\n${trace.join('\n')}`).toEqual(
      wantedOn(sim.hub, spoke.name),
    );
    for (const write of writesBy(spoke.audit, HUB_USER))
      expect(write).toMatch(/^(create|update|delete) (dispatches|bundles)$/);
    const deleted = spoke.audit.filter(
      (event) =>
        event.verb === 'delete' &&
        event.user.username === 'atoll:engine' &&
        event.objectRef?.resource === 'configmaps' &&
        event.responseStatus.code === 200,
    );
    for (const { objectRef } of deleted)
      expect(orderedAway, trace.join('\n')).toContain(`${spoke.name}/${objectRef?.name}`);
  }
  for (const item of storedBelow(sim.hub, 'atoll.dev/propagations/shop')) {
    expect(item.metadata.deletionTimestamp, trace.join('\n')).toBeUndefined();
    const { clusters, ready } = item['status'] as { clusters: number; ready: number };
    expect(ready, `${item.metadata.name}: ${JSON.stringify(item['status'])}\n${trace.join('\n')}`).toBe(
      clusters,
    );
  }
  const quiet = [sim.hub, ...sim.spokes].map((cluster) => cluster.server.store.revision);
  await sim.rest(120_000);
  expect(
    [sim.hub, ...sim.spokes].map((cluster) => cluster.server.store.revision),
    trace.join('\n'),
  ).toEqual(quiet);
}

type Step = readonly [what: string, act: () => Promise<unknown>];

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** What users do at the hub. */
function atHub(sim: SimulatedFleet, random: Random): Step[] {
  const { client } = sim.hub;
  const name = pick(random, NAMES);
  const group = pick(random, GROUPS);
  const tier = pick(random, TIERS);
  const shade = `c${Math.floor(random.next() * 1000)}`;
  const there = stored(sim.hub, `core/configmaps/shop/${name}`) !== undefined;
  const placed = stored(sim.hub, `atoll.dev/propagations/shop/${group}`);
  const cluster = pick(random, SPOKES);
  const placement =
    random.next() < 0.5 ? { clusterSelector: {} } : { clusterSelector: { matchLabels: { tier } } };
  const steps: Step[] = [
    [
      `label ${cluster} ${tier}`,
      () =>
        sim.run(
          client.patch(SPOKE_CLUSTERS, 'default', cluster, 'merge', { metadata: { labels: { tier } } }),
        ),
    ],
  ];
  if (there)
    steps.push(
      [`paint ${name} ${shade}`, () => paint(sim, sim.hub, shade, name)],
      [`delete ${name}`, () => sim.run(client.delete(configMaps, 'shop', name))],
      [
        `move ${name} to ${group}`,
        () => sim.run(client.patch(configMaps, 'shop', name, 'merge', { metadata: { labels: { group } } })),
      ],
    );
  else
    steps.push([
      `create ${name} in ${group}`,
      () => sim.run(client.create(configMaps, configMap(name, shade, { group }))),
    ]);
  if (!placed)
    steps.push([
      `propagate ${group} to ${JSON.stringify(placement)}`,
      () => sim.run(client.create(PROPAGATIONS, propagation(group, spec(group, placement)))),
    ]);
  else if (placed.metadata.deletionTimestamp === undefined)
    steps.push(
      [`place ${group} on ${JSON.stringify(placement)}`, () => replacePlacement(sim, placed, placement)],
      [`stop propagating ${group}`, () => sim.run(client.delete(PROPAGATIONS, 'shop', group))],
    );
  return steps;
}

function replacePlacement(sim: SimulatedFleet, placed: KubeObject, placement: object): Promise<KubeObject> {
  const patch = [{ op: 'replace', path: '/spec/placement', value: placement }];
  return sim.run(sim.hub.client.patch(PROPAGATIONS, 'shop', placed.metadata.name ?? '', 'json', patch));
}

/** What people do on a spoke though they should not. */
function atSpoke(sim: SimulatedFleet, random: Random, spoke: SimulatedSpoke): Step[] {
  const steps: Step[] = [];
  const owned = Object.keys(ownedOn(spoke));
  if (owned.length > 0) {
    const name = pick(random, owned);
    steps.push(
      [`${spoke.name}: drift ${name}`, () => paint(sim, spoke, 'drift', name)],
      [`${spoke.name}: delete ${name}`, () => sim.run(spoke.client.delete(configMaps, 'shop', name))],
    );
  }
  const orders = dispatchesOn(spoke);
  if (orders.length > 0) {
    const { name = '' } = pick(random, orders).metadata;
    steps.push([
      `${spoke.name}: delete order ${name}`,
      () => sim.run(spoke.client.delete(DISPATCHES, 'atoll-system', name)),
    ]);
  }
  return steps;
}

/** What happens to processes and links. */
function around(
  sim: SimulatedFleet,
  random: Random,
  spoke: SimulatedSpoke,
  alive: (cluster: SimulatedCluster) => boolean,
): Step[] {
  const cluster = random.next() < 0.5 ? sim.hub : spoke;
  const latency = Math.floor(random.next() * 400);
  return [
    spoke.link.up
      ? [`cut ${spoke.name}`, async () => spoke.link.cut()]
      : [`heal ${spoke.name}`, async () => spoke.link.heal()],
    [`latency ${spoke.name} ${latency}`, async () => spoke.link.setLatency(latency)],
    alive(cluster)
      ? [`kill ${cluster.name}`, () => sim.kill(cluster)]
      : [`start ${cluster.name}`, () => sim.start(cluster)],
  ];
}
