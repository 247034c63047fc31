import { DISPATCH_LABEL, dispatchName, type OwnershipRecord } from '../../../src/engine/dispatch/index.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { HUB_USER } from '../../../src/spoke/hub-access.ts';
import {
  dispatchesOn,
  storedBelow as readBelow,
  type SimulatedCluster,
  type SimulatedFleet,
  type SimulatedSpoke,
  stored,
  writesBy,
} from '../fleet.ts';
import { CHILDREN } from './shop-graph.ts';
import { GROUPS, NAMES } from './step.ts';

/** Times in statuses are in seconds, and what was under way when a cluster went away may still arrive. */
const STAGE_SLACK_MS = 2_000;
/** How long an order may be on its way. */
const UNDER_WAY_MS = 3_000;
/** How long ago a group must have begun to move gracefully for nothing else to be carried out still. */
const SETTLED_MS = 60_000;

type Maps = Record<string, Record<string, string>>;

/** What was read of a cluster at its newest revision: much of it is looked at again before anything changes. */
const readings = new WeakMap<object, { revision: number; readonly below: Map<string, KubeObject[]> }>();

function storedBelow(target: SimulatedCluster, path: string): readonly KubeObject[] {
  const { store } = target.server;
  let reading = readings.get(store);
  if (reading?.revision !== store.revision) {
    reading = { revision: store.revision, below: new Map() };
    readings.set(store, reading);
  }
  let objects = reading.below.get(path);
  if (!objects) {
    objects = readBelow(target, path);
    reading.below.set(path, objects);
  }
  return objects;
}

/** The parts of a Propagation that the rig writes and reads. */
export type Wish = KubeObject & {
  readonly spec: {
    readonly placement: {
      readonly clusterSelector: { readonly matchLabels?: { readonly tier?: string } };
      readonly numberOfClusters?: number;
    };
    readonly priority?: number;
    readonly suspend?: boolean;
    readonly rollout?: { readonly stages: readonly { readonly approval?: object }[] };
    readonly failover?: { readonly cluster: { readonly purge: string } };
  };
  readonly status?: {
    readonly clusters?: number;
    readonly ready?: number;
    readonly objects?: number;
    readonly decision?: { readonly chosen: readonly string[] };
    readonly rollout?: {
      readonly phase: string;
      readonly stages?: readonly { readonly clusters: number; readonly startedAt?: string }[];
    };
  };
};

/** The name of a second Propagation over a group. */
export function rivalOf(group: string): string {
  return `rival-${group}`;
}

function wishesOf(hub: SimulatedCluster): Wish[] {
  return storedBelow(hub, 'atoll.dev/propagations/shop') as Wish[];
}

/** Who has the objects of a group: of those that select it the one that goes before the others. */
function ownerOf(wishes: readonly Wish[], group: string): Wish | undefined {
  const live = wishes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const main = live.find(({ metadata }) => metadata.name === group);
  const rival = live.find(({ metadata }) => metadata.name === rivalOf(group));
  return (rival?.spec.priority ?? 0) > 0 ? rival : (main ?? rival);
}

/** What the present objects of the hub mean for one spoke, computed apart from the engine: data by name. */
export function wantedOn(hub: SimulatedCluster, spoke: string): Maps {
  const cluster = stored(hub, `core.oam.dev/spokeclusters/default/${spoke}`);
  const wishes = wishesOf(hub);
  const out: Maps = {};
  for (const map of storedBelow(hub, 'core/configmaps/shop')) {
    const group = map.metadata.labels?.['group'];
    const owner = group === undefined ? undefined : ownerOf(wishes, group);
    if (!owner) continue;
    const { clusterSelector, numberOfClusters } = owner.spec.placement;
    const tier = clusterSelector.matchLabels?.tier;
    if (tier !== undefined && cluster?.metadata.labels?.['tier'] !== tier) continue;
    // Which one it is nobody can know but the hub; that it is one is judged apart.
    if (numberOfClusters !== undefined && owner.status?.decision?.chosen.includes(spoke) !== true) continue;
    const data = map['data'] as Record<string, string>;
    const isPatched = spoke === 'b' && owner.metadata.name === group;
    out[map.metadata.name ?? ''] = isPatched ? { ...data, on: 'b' } : data;
  }
  return out;
}

/** Names that are on one cluster of all, which may be another at any time. */
function movable(hub: SimulatedCluster): string[] {
  const wishes = wishesOf(hub);
  return storedBelow(hub, 'core/configmaps/shop').flatMap(({ metadata }) => {
    const owner = ownerOf(wishes, metadata.labels?.['group'] ?? '');
    return owner?.spec.placement.numberOfClusters === undefined ? [] : [metadata.name ?? ''];
  });
}

/** Names of those who order nothing for now: whoever had the names before takes them along, and nobody takes them over. */
function held(hub: SimulatedCluster): string[] {
  const wishes = wishesOf(hub);
  return storedBelow(hub, 'core/configmaps/shop').flatMap(({ metadata }) =>
    ownerOf(wishes, metadata.labels?.['group'] ?? '')?.spec.suspend === true ? [metadata.name ?? ''] : [],
  );
}

/** What a spoke has from its hub, by all dispatches or by those that are named. */
function ownedOn(spoke: SimulatedCluster, dispatches?: ReadonlySet<string>): Maps {
  const maps = storedBelow(spoke, 'core/configmaps/shop').filter((map) => {
    const dispatch = map.metadata.labels?.[DISPATCH_LABEL];
    return dispatch !== undefined && (dispatches === undefined || dispatches.has(dispatch));
  });
  return Object.fromEntries(
    maps.map((map) => [map.metadata.name ?? '', map['data'] as Record<string, string>]),
  );
}

/** Names of the dispatches that a hub remembers. */
function dispatchesOf(hub: SimulatedCluster): Set<string> {
  const names = storedBelow(hub, 'atoll.dev/retractions/-').map(({ metadata }) => metadata.name ?? '');
  for (const { kind, metadata } of storedBelow(hub, 'atoll.dev/propagations/shop')) {
    const { namespace = '', name = '', uid = '' } = metadata;
    names.push(dispatchName({ kind, namespace, name, uid }));
  }
  return new Set(names);
}

export function observes(hub: SimulatedCluster): boolean {
  const mode = stored(hub, 'core/configmaps/atoll-system/hub-mode');
  return (mode?.['data'] as { mode?: string } | undefined)?.mode === 'observe';
}

/** Watches a history for what must never happen. What it finds is text; nothing found is an empty list. */
export interface Oracle {
  /** Looks at the fleet as it is now. */
  look(): void;
  /** The hub was set back by a restore: what it does not remember stays on the spokes. */
  noteRestore(): void;
  /** A spoke's memory was set back by a restore: its positions start over. */
  forgetPositions(spoke: string): void;
  /** The wall clock was set: times from before it mean nothing. */
  noteJump(): void;
  /** How a group is rolled out was changed: what is under way begins anew with stages that nothing may be new in. */
  noteManner(group: string): void;
  /** Somebody told a rollout what to do. */
  noteWord(group: string, action: string): void;
  wasTold(group: string): boolean;
  /** What is not as it should be after everything healed and came to rest. It is not noted. */
  judgement(): readonly string[];
  /** Notes something that was found elsewhere. */
  find(text: string): void;
  readonly findings: readonly string[];
}

export interface Sight {
  alive(cluster: SimulatedCluster): boolean;
  /** Whether the hub's requests get to a spoke at all. */
  reachable(spoke: SimulatedCluster): boolean;
}

export function createOracle(fleet: SimulatedFleet, { alive, reachable }: Sight): Oracle {
  /** When a present state of the hub last did not want a name on a spoke, and when the spoke's engine last made it. */
  const unwantedAt = new Map<string, number>();
  const madeAt = new Map<string, number>();
  const positions = new Map<string, { epoch: number; generation: number }>();
  const findings = new Set<string>();
  let restored = false;
  const told = new Set<string>();
  /** Since when a spoke is out of reach, by wall time. */
  const awaySince = new Map<string, number>();
  /** Stages that were seen to have started. */
  const started = new Set<string>();
  /** Groups whose next stage to begin is not judged. */
  const fresh = new Set<string>();
  /** How much of the audit of a spoke was looked at. */
  const audited = new Map<string, number>();
  /** Since when a group moves gracefully. */
  const gracefulSince = new Map<string, number>();
  let disturbed = false;

  function look(): void {
    const now = fleet.runtime.clock.monotonic();
    for (const spoke of fleet.spokes) {
      // A hub that only observes orders nothing, whatever it holds.
      const acts = alive(fleet.hub) && !observes(fleet.hub);
      const wanted = acts ? wantedOn(fleet.hub, spoke.name) : undefined;
      for (const name of NAMES) if (wanted && !(name in wanted)) unwantedAt.set(`${spoke.name}/${name}`, now);
      const uncertain = acts ? [...movable(fleet.hub), ...held(fleet.hub)] : [];
      for (const name of uncertain) unwantedAt.set(`${spoke.name}/${name}`, now);
      if (alive(spoke)) lookAtRecords(spoke);
      if (reachable(spoke)) awaySince.delete(spoke.name);
      else if (!awaySince.has(spoke.name)) awaySince.set(spoke.name, fleet.runtime.clock.now());
    }
    lookAtMoves();
    if (alive(fleet.hub)) lookAtStages();
  }

  /** No stage begins over a cluster of an earlier one of which nothing is known. */
  function lookAtStages(): void {
    for (const { metadata, status } of wishesOf(fleet.hub)) {
      const { name = '', uid = '' } = metadata;
      const [canary, rest] = status?.rollout?.stages ?? [];
      if (rest?.startedAt === undefined) continue;
      const key = `${uid} ${rest.startedAt}`;
      if (started.has(key)) continue;
      started.add(key);
      if (fresh.delete(name)) continue;
      const away = awaySince.get('a');
      if (restored || told.has(name) || canary === undefined || canary.clusters === 0) continue;
      if (away !== undefined && Date.parse(rest.startedAt) > away + STAGE_SLACK_MS)
        findings.add(`${name} began its second stage although nothing was known of a, where the first is`);
    }
  }

  /** Where copies move gracefully one is always left. */
  function lookAtMoves(): void {
    const { clock } = fleet.runtime;
    const now = clock.monotonic();
    // No clock jumps between two looks.
    const sinceEpoch = clock.now() - now;
    const wishes = alive(fleet.hub) ? wishesOf(fleet.hub) : [];
    if (alive(fleet.hub))
      for (const group of GROUPS) {
        const owner = ownerOf(wishes, group);
        const isGraceful =
          owner?.spec.failover?.cluster.purge === 'Gracefully' &&
          owner.spec.placement.numberOfClusters === 1 &&
          !wishes.some(({ metadata }) => metadata.name === rivalOf(group));
        if (!isGraceful) gracefulSince.delete(group);
        else if (!gracefulSince.has(group)) gracefulSince.set(group, now);
      }
    const present = fleet.spokes.map((spoke) => ({
      spoke,
      owned: alive(spoke) ? ownedOn(spoke) : undefined,
    }));
    for (const spoke of fleet.spokes) {
      const from = audited.get(spoke.name) ?? 0;
      audited.set(spoke.name, spoke.audit.length);
      for (const { verb, user, objectRef, responseStatus, ...event } of spoke.audit.slice(from)) {
        if (objectRef?.resource !== 'configmaps' || objectRef.namespace !== 'shop') continue;
        const name = objectRef.name ?? '';
        if (user.username !== 'atoll:engine') continue;
        const at = Date.parse(event.stageTimestamp) - sinceEpoch;
        if (responseStatus?.code === 201) madeAt.set(`${spoke.name}/${name}`, at);
        if (verb !== 'delete' || responseStatus?.code !== 200) continue;
        judgeDeletion(spoke.name, name, at);
        if (disturbed) continue;
        const group = alive(fleet.hub)
          ? stored(fleet.hub, `core/configmaps/shop/${name}`)?.metadata.labels?.['group']
          : undefined;
        const since = group === undefined ? undefined : gracefulSince.get(group);
        if (since === undefined || now - since < SETTLED_MS) continue;
        // What a dead cluster has is not known; what somebody just removed by hand comes back.
        if (present.every(({ owned }) => owned !== undefined && !(name in owned)))
          findings.add(`the last copy of ${name} was removed on ${spoke.name} although it moves gracefully`);
      }
    }
  }

  /**
   * Only what a present state of the hub did not want may be deleted, since it was made. An order may have been on its way then: of
   * one that came just before the spoke may make what an earlier one wanted, and carry it out when it lives again.
   */
  function judgeDeletion(spoke: string, name: string, at: number): void {
    const made = madeAt.get(`${spoke}/${name}`);
    if (made === undefined || at - made < UNDER_WAY_MS) return;
    if ((unwantedAt.get(`${spoke}/${name}`) ?? 0) < made - UNDER_WAY_MS)
      findings.add(`${name} was deleted on ${spoke}, and nobody ordered that`);
  }

  /** At rest an instance and its objects are complete, and nothing is left of one that was deleted. */
  function judgeGraph(found: Set<string>): void {
    const graph = stored(fleet.hub, 'kro.run/resourcegraphdefinitions/-/shop');
    if (!graph) return;
    const { resources } = graph['spec'] as { resources: { template: { data: { edition: string } } }[] };
    const edition = resources[0]?.template.data.edition;
    for (const spoke of fleet.spokes) {
      const wanted: Maps = {};
      for (const instance of storedBelow(spoke, 'kro.run/shops/default')) {
        const { name = '', deletionTimestamp } = instance.metadata;
        const { state } = (instance['status'] ?? {}) as { state?: string };
        if (deletionTimestamp !== undefined)
          found.add(`${name} on ${spoke.name} is still being deleted: ${JSON.stringify(instance['status'])}`);
        else if (state !== 'ACTIVE')
          found.add(`${name} on ${spoke.name} is ${state}: ${JSON.stringify(instance['status'])}`);
        const { colour = '' } = instance['spec'] as { colour?: string };
        for (const child of CHILDREN) wanted[`${name}-${child}`] = { colour, edition: edition ?? '' };
      }
      const maps = storedBelow(spoke, 'core/configmaps/default').filter(({ metadata }) =>
        CHILDREN.some((child) => metadata.name?.endsWith(`-${child}`)),
      );
      const present = Object.fromEntries(
        maps.map((map) => [map.metadata.name ?? '', map['data'] as Record<string, string>]),
      );
      if (sorted(present) !== sorted(wanted))
        found.add(`the instances on ${spoke.name} have ${sorted(present)} and should have ${sorted(wanted)}`);
    }
  }

  /** What two dispatches ask for, each would take from the other for ever. */
  function judgeOwners(spoke: SimulatedSpoke, found: Set<string>): void {
    const asked = new Map<string, string>();
    for (const { metadata, spec } of dispatchesOn(spoke) as (KubeObject & {
      spec: { objects: { kind: string; namespace?: string; name: string }[] };
    })[]) {
      if (restored && !dispatchesOf(fleet.hub).has(metadata.name ?? '')) continue;
      for (const { kind, namespace = '', name } of spec.objects) {
        const key = `${kind} ${namespace}/${name}`;
        if (asked.has(key)) found.add(`${key} on ${spoke.name} has two owners at rest`);
        asked.set(key, metadata.name ?? '');
      }
    }
  }

  function lookAtRecords(spoke: SimulatedSpoke): void {
    const records = storedBelow(spoke, 'atoll.dev/ownershiprecords/atoll-system') as OwnershipRecord[];
    for (const record of records) {
      const { epoch, generation } = record.spec.accepted.position;
      const key = `${spoke.name} ${record.metadata.uid}`;
      const before = positions.get(key) ?? { epoch: 0, generation: 0 };
      if (epoch < before.epoch || (epoch === before.epoch && generation < before.generation))
        findings.add(
          `${spoke.name} went back from generation ${before.epoch}.${before.generation} to ${epoch}.${generation}`,
        );
      positions.set(key, { epoch, generation });
    }
    const foreign = stored(spoke, 'core/configmaps/shop/foreign');
    if ((foreign?.['data'] as { colour?: string } | undefined)?.colour !== 'own')
      findings.add(`an object of others on ${spoke.name} was changed or deleted`);
  }

  function judgement(): readonly string[] {
    const found = new Set<string>();
    judgeGraph(found);
    for (const spoke of fleet.spokes) {
      judgeOwners(spoke, found);
      const wanted = wantedOn(fleet.hub, spoke.name);
      const owned = ownedOn(spoke, restored ? dispatchesOf(fleet.hub) : undefined);
      if (sorted(wanted) !== sorted(owned))
        found.add(`${spoke.name} has ${sorted(owned)} and should have ${sorted(wanted)}`);
      for (const write of writesBy(spoke.audit, HUB_USER))
        if (!/^(create|update|delete) (dispatches|bundles)$/.test(write))
          found.add(`the hub did on ${spoke.name}: ${write}`);
    }
    for (const { user } of fleet.hub.audit)
      if (!['admin', 'atoll:engine', 'system:apiserver'].includes(user.username))
        found.add(`${user.username} made a request at the hub`);
    for (const item of wishesOf(fleet.hub)) {
      const { clusters, ready, rollout, objects } = item.status ?? {};
      if (item.spec.placement.numberOfClusters === 1 && clusters !== 1)
        found.add(`${item.metadata.name} is on ${clusters} clusters and should be on one`);
      if (item.spec.rollout && rollout && rollout.phase !== 'Succeeded')
        found.add(`the rollout of ${item.metadata.name} is ${JSON.stringify(rollout)}`);
      if (item.metadata.deletionTimestamp !== undefined)
        found.add(`${item.metadata.name} is still being deleted`);
      // One that selects nothing brings nothing, and is ready nowhere.
      else if (clusters !== ready && objects !== 0)
        found.add(
          `${item.metadata.name} has ${ready} of ${clusters} ready: ${JSON.stringify(item['status'])}`,
        );
    }
    for (const owed of storedBelow(fleet.hub, 'atoll.dev/retractions/-')) {
      const { clusters } = owed['spec'] as { clusters: string[] };
      if (clusters.length > 0) found.add(`${owed.metadata.name} is still owed by ${clusters.join(', ')}`);
    }
    return [...found];
  }

  return {
    look,
    judgement,
    find: (text) => void findings.add(text),
    noteRestore(): void {
      restored = true;
      disturbed = true;
    },
    noteJump: () => awaySince.clear(),
    noteManner: (group) => void fresh.add(group),
    noteWord(group, action) {
      told.add(group);
      if (action !== 'Rollback') return;
      // Whoever goes back to an earlier content takes away what came since.
      for (const { metadata } of storedBelow(fleet.hub, 'core/configmaps/shop'))
        if (metadata.labels?.['group'] === group)
          for (const spoke of fleet.spokes)
            unwantedAt.set(`${spoke.name}/${metadata.name ?? ''}`, fleet.runtime.clock.monotonic());
    },
    wasTold: (group) => told.has(group),
    forgetPositions(spoke): void {
      disturbed = true;
      // What it was told before it was set back it is told again.
      for (const name of NAMES) madeAt.delete(`${spoke}/${name}`);
      for (const key of positions.keys()) if (key.startsWith(`${spoke} `)) positions.delete(key);
    },
    get findings() {
      return [...findings];
    },
  };
}

function sorted(maps: Maps): string {
  const entries = Object.entries(maps).map(([name, data]) => [name, Object.entries(data).sort()] as const);
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
