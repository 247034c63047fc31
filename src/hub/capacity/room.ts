import {
  type ClusterCapacity,
  createReservations,
  estimateReplicas,
  estimateSets,
  partsOf,
  RESERVED_FOR_MS,
  replicaNeeds,
} from '../../engine/divide/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { ReplicaRecord, RoomFor } from '../../engine/plan/divided-replicas.ts';
import type { RoomForSet } from '../../engine/plan/whole-set.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Capacities } from './capacities.ts';

/** Room as divisions see it: what clusters say, less what was given out and does not show there yet. */
export interface Room {
  /** Whether an intent's replicas go where there is room. */
  matters(intent: Intent): boolean;
  /** How many more replicas of an object a cluster takes; `undefined` where that is not known. */
  readonly forReplicas: RoomFor;
  /** Whether all of some components fit together. */
  readonly forSet: RoomForSet;
  /** Whether it is known how much there is. */
  isKnown(cluster: string): boolean;
  /** A division became the plan: what is new in it is reserved at once. */
  divided(key: string, intent: Intent, before: ReplicaRecord | undefined, after: ReplicaRecord): void;
  /** What the plan asks of a cluster is there: it shows in what the cluster says of itself from now on. */
  arrived(key: string, cluster: string): void;
  forget(key: string): void;
}

export interface RoomOptions {
  readonly clock: Clock;
  readonly capacities: Capacities;
}

const BY_ROOM: ReadonlySet<string> = new Set(['DynamicWeight', 'Aggregated', 'Whole']);

export function createRoom({ clock, capacities }: RoomOptions): Room {
  const reservations = createReservations();
  /** Objects for which something is reserved, by intent and cluster. */
  const owners = new Map<string, Map<string, Set<string>>>();

  function note(key: string, cluster: string, owner: string): void {
    const clusters = owners.get(key) ?? new Map<string, Set<string>>();
    owners.set(key, clusters);
    const known = clusters.get(cluster);
    if (known) known.add(owner);
    else clusters.set(cluster, new Set([owner]));
  }

  /** 0 where nobody can look: nothing new goes there, what is there stays. `undefined` where it is not told. */
  function freeOf(cluster: string): ClusterCapacity | 0 | undefined {
    const capacity = capacities.of(cluster);
    if (capacity === 'away') return 0;
    return capacity === 'untold' ? undefined : reservations.reduce(capacity, cluster, clock.monotonic());
  }

  return {
    matters: ({ replicas }) => BY_ROOM.has(replicas?.strategy ?? ''),
    forReplicas(cluster, object): number | undefined {
      const free = freeOf(cluster);
      return typeof free === 'object' ? estimateReplicas(free, replicaNeeds(object)).replicas : free;
    },
    forSet(cluster, components): boolean | undefined {
      const free = freeOf(cluster);
      if (typeof free !== 'object') return free === 0 ? false : undefined;
      return estimateSets(free, components, 1).replicas === 1;
    },
    isKnown: (cluster) => typeof capacities.of(cluster) === 'object',
    divided(key, { objects, replicas: options }, before = {}, after): void {
      const now = clock.monotonic();
      reservations.expire(now);
      const parts = new Map(partsOf(objects, options).map((part) => [part.key, part]));
      for (const [ref, shares] of Object.entries(after)) {
        const part = parts.get(ref);
        if (!part) continue;
        const owner = `${key} ${ref}`;
        for (const [cluster, replicas] of Object.entries(shares)) {
          const more = replicas - (before[ref]?.[cluster] ?? 0);
          if (more === 0) continue;
          reservations.reserve({
            owner,
            cluster,
            replicas: Math.max(0, reservations.of(owner, cluster, now) + more),
            needs: part.needs(),
            expiresAt: now + RESERVED_FOR_MS,
          });
          note(key, cluster, owner);
        }
      }
    },
    arrived(key, cluster): void {
      const clusters = owners.get(key);
      const known = clusters?.get(cluster);
      if (!clusters || !known) return;
      for (const owner of known) reservations.release(owner, cluster);
      clusters.delete(cluster);
      if (clusters.size === 0) owners.delete(key);
      capacities.outdate(cluster);
    },
    forget(key): void {
      for (const [cluster, known] of owners.get(key) ?? [])
        for (const owner of known) reservations.release(owner, cluster);
      owners.delete(key);
    },
  };
}
