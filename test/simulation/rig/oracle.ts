import { DISPATCH_LABEL, dispatchName, type OwnershipRecord } from '../../../src/engine/dispatch/index.ts';
import { HUB_USER } from '../../../src/spoke/hub-access.ts';
import {
  type SimulatedCluster,
  type SimulatedFleet,
  type SimulatedSpoke,
  stored,
  storedBelow,
  writesBy,
} from '../fleet.ts';
import { NAMES } from './step.ts';

type Maps = Record<string, Record<string, string>>;

/** What the present objects of the hub mean for one spoke, computed apart from the engine: data by name. */
export function wantedOn(hub: SimulatedCluster, spoke: string): Maps {
  const cluster = stored(hub, `core.oam.dev/spokeclusters/default/${spoke}`);
  const out: Maps = {};
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
  /** Looks at the fleet after everything healed and came to rest. */
  judge(): void;
  /** Notes something that was found elsewhere. */
  find(text: string): void;
  readonly findings: readonly string[];
}

export function createOracle(fleet: SimulatedFleet, alive: (cluster: SimulatedCluster) => boolean): Oracle {
  /** What some present state of the hub did not want on a spoke: only that may ever be deleted there. */
  const orderedAway = new Set<string>();
  const positions = new Map<string, { epoch: number; generation: number }>();
  const findings = new Set<string>();
  let restored = false;

  function look(): void {
    for (const spoke of fleet.spokes) {
      // A hub that only observes orders nothing, whatever it holds.
      const acts = alive(fleet.hub) && !observes(fleet.hub);
      const wanted = acts ? wantedOn(fleet.hub, spoke.name) : undefined;
      for (const name of NAMES) if (wanted && !(name in wanted)) orderedAway.add(`${spoke.name}/${name}`);
      if (alive(spoke)) lookAtRecords(spoke);
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

  function judge(): void {
    for (const spoke of fleet.spokes) {
      const wanted = wantedOn(fleet.hub, spoke.name);
      const owned = ownedOn(spoke, restored ? dispatchesOf(fleet.hub) : undefined);
      if (sorted(wanted) !== sorted(owned))
        findings.add(`${spoke.name} has ${sorted(owned)} and should have ${sorted(wanted)}`);
      for (const write of writesBy(spoke.audit, HUB_USER))
        if (!/^(create|update|delete) (dispatches|bundles)$/.test(write))
          findings.add(`the hub did on ${spoke.name}: ${write}`);
      for (const { verb, user, objectRef, responseStatus } of spoke.audit) {
        if (verb !== 'delete' || user.username !== 'atoll:engine' || responseStatus?.code !== 200) continue;
        if (objectRef?.resource !== 'configmaps') continue;
        if (!orderedAway.has(`${spoke.name}/${objectRef.name}`))
          findings.add(`${objectRef.name} was deleted on ${spoke.name}, and nobody ordered that`);
      }
    }
    for (const { user } of fleet.hub.audit)
      if (!['admin', 'atoll:engine', 'system:apiserver'].includes(user.username))
        findings.add(`${user.username} made a request at the hub`);
    for (const item of storedBelow(fleet.hub, 'atoll.dev/propagations/shop')) {
      const { clusters, ready } = item['status'] as { clusters?: number; ready?: number };
      if (item.metadata.deletionTimestamp !== undefined)
        findings.add(`${item.metadata.name} is still being deleted`);
      else if (clusters !== ready)
        findings.add(
          `${item.metadata.name} has ${ready} of ${clusters} ready: ${JSON.stringify(item['status'])}`,
        );
    }
    for (const owed of storedBelow(fleet.hub, 'atoll.dev/retractions/-')) {
      const { clusters } = owed['spec'] as { clusters: string[] };
      if (clusters.length > 0) findings.add(`${owed.metadata.name} is still owed by ${clusters.join(', ')}`);
    }
  }

  return {
    look,
    judge,
    find: (text) => void findings.add(text),
    noteRestore(): void {
      restored = true;
    },
    forgetPositions(spoke): void {
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
