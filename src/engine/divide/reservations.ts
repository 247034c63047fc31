import { type ClusterCapacity, type ReplicaNeeds, takeUpTo } from './capacity.ts';

/** Replicas that were given to a cluster and that do not show in what it says of its nodes yet. */
export interface Reservation {
  /** Whose: `kind/namespace/name` of the source, or anything else that is unique. */
  readonly owner: string;
  readonly cluster: string;
  readonly replicas: number;
  readonly needs: ReplicaNeeds;
  /** Milliseconds: after this the replicas show, or will not come. */
  readonly expiresAt: number;
}

/** The ledger of assumed placements, so that two decisions in a second never take the same last slot. Knows no clock. */
export interface Reservations {
  /** Takes the place of what the owner had reserved in that cluster; with 0 replicas it had better be {@link release}d. */
  reserve(reservation: Reservation): void;
  /** In all clusters, or in one: its replicas show in the cluster's capacity, or the decision was withdrawn. */
  release(owner: string, cluster?: string): void;
  /** A newer look at a cluster shows `replicas` of the owner's as running or bound: so many less are reserved. */
  settle(owner: string, cluster: string, replicas: number): void;
  /** What is free after all that others have reserved. `owner` sees its own reservation as free: it decides anew. */
  reduce(capacity: ClusterCapacity, cluster: string, now: number, owner?: string): ClusterCapacity;
  /** How many an owner has reserved in a cluster at `now`. */
  of(owner: string, cluster: string, now: number): number;
  /** How many are reserved in a cluster at `now`. */
  reserved(cluster: string, now: number): number;
  /** Forgets what has expired. */
  expire(now: number): void;
}

/** 30 s: what it takes a spoke to accept, apply and bind, with a margin. */
export const RESERVED_FOR_MS = 30_000;

export function createReservations(): Reservations {
  const byCluster = new Map<string, Map<string, Reservation>>();
  const put = (reservation: Reservation): void => {
    const held = byCluster.get(reservation.cluster) ?? new Map<string, Reservation>();
    held.set(reservation.owner, reservation);
    byCluster.set(reservation.cluster, held);
  };
  const drop = (owner: string, cluster: string): void => {
    const held = byCluster.get(cluster);
    if (held?.delete(owner) === true && held.size === 0) byCluster.delete(cluster);
  };
  return {
    reserve(reservation): void {
      if (reservation.replicas > 0) put(reservation);
      else drop(reservation.owner, reservation.cluster);
    },
    release(owner, cluster): void {
      if (cluster !== undefined) drop(owner, cluster);
      else for (const name of [...byCluster.keys()]) drop(owner, name);
    },
    settle(owner, cluster, replicas): void {
      const reservation = byCluster.get(cluster)?.get(owner);
      if (!reservation) return;
      const left = reservation.replicas - replicas;
      if (left > 0) put({ ...reservation, replicas: left });
      else drop(owner, cluster);
    },
    reduce(capacity, cluster, now, owner): ClusterCapacity {
      let rest = capacity;
      for (const reservation of byCluster.get(cluster)?.values() ?? []) {
        if (reservation.owner === owner || reservation.expiresAt <= now) continue;
        rest = takeUpTo(rest, reservation.needs, reservation.replicas).capacity;
      }
      return rest;
    },
    of(owner, cluster, now): number {
      const reservation = byCluster.get(cluster)?.get(owner);
      return reservation && reservation.expiresAt > now ? reservation.replicas : 0;
    },
    reserved(cluster, now): number {
      let replicas = 0;
      for (const reservation of byCluster.get(cluster)?.values() ?? [])
        if (reservation.expiresAt > now) replicas += reservation.replicas;
      return replicas;
    },
    expire(now): void {
      for (const [cluster, held] of [...byCluster])
        for (const reservation of [...held.values()])
          if (reservation.expiresAt <= now) drop(reservation.owner, cluster);
    },
  };
}
