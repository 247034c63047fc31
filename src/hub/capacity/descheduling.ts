import type { PendingPods } from '../../engine/divide/index.ts';
import { deschedule } from '../../engine/failover/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import { refKey, refOf } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Capacities } from './capacities.ts';

/** Takes back replicas that found no node for long. Asks a cluster only when something has not become ready there for as long. */
export interface Descheduling {
  /** What the hub sees of the copies of an intent whose replicas go where there is room. */
  seen(key: string, observations: readonly ClusterObservation[]): void;
  /** The most that may stay, by object and cluster, after having asked the clusters in question. */
  limits(key: string, intent: Intent, before: ReplicaRecord | undefined): Promise<ReplicaRecord>;
  forget(key: string): void;
  stop(): void;
}

export interface DeschedulingOptions {
  readonly capacities: Capacities;
  /** Replicas have been waiting for long enough. */
  readonly onDue: (key: string) => void;
}

const PENDING_MS = 300_000;
/** Clusters that have nothing pending though something is not ready are asked again after this. */
const AGAIN_MS = 300_000;
const UNREADY: ReadonlySet<string> = new Set(['Progressing', 'Degraded']);

export function createDescheduling(
  runtime: Runtime,
  { capacities, onDue }: DeschedulingOptions,
): Descheduling {
  const { clock } = runtime;
  /** When each cluster is to be asked, by intent; on the monotonic clock. */
  const due = new Map<string, Map<string, number>>();
  /** Whoever was due by then was told, once: an intent that cannot be planned now is not told all the time. */
  let toldAt = Number.NEGATIVE_INFINITY;
  let timer: { cancel(): void } | undefined;

  function wake(): void {
    timer?.cancel();
    timer = undefined;
    let next = Number.POSITIVE_INFINITY;
    for (const clusters of due.values())
      for (const at of clusters.values()) if (at > toldAt) next = Math.min(next, at);
    if (next === Number.POSITIVE_INFINITY) return;
    timer = clock.after(Math.max(0, next - clock.monotonic()), () => {
      const before = toldAt;
      toldAt = clock.monotonic();
      for (const [key, clusters] of due)
        if ([...clusters.values()].some((at) => at > before && at <= toldAt)) onDue(key);
      wake();
    });
  }

  return {
    seen(key, observations): void {
      const before = due.get(key);
      const next = new Map<string, number>();
      for (const observation of observations) {
        const { cluster } = observation;
        if (UNREADY.has(summariseCluster(observation).word))
          next.set(cluster, before?.get(cluster) ?? clock.monotonic() + PENDING_MS);
      }
      if (next.size > 0) due.set(key, next);
      else if (!due.delete(key)) return;
      wake();
    },
    async limits(key, { objects }, before = {}): Promise<ReplicaRecord> {
      const now = clock.monotonic();
      const clusters = due.get(key);
      const asked = [...(clusters ?? [])].filter(([, at]) => at <= now).map(([cluster]) => cluster);
      if (!clusters || asked.length === 0) return {};
      for (const cluster of asked) {
        capacities.outdate(cluster);
        clusters.set(cluster, now + AGAIN_MS);
      }
      await capacities.refresh(asked);
      const limits: Record<string, Readonly<Record<string, number>>> = {};
      for (const object of objects) {
        const ref = refOf(object);
        const placed = asked.flatMap((cluster) => {
          const replicas = before[refKey(ref)]?.[cluster] ?? 0;
          const report = capacities.of(cluster);
          const all = typeof report === 'string' ? [] : (report.pending ?? []);
          const pending = all.filter((pods) => isOf(pods, ref));
          return pending.length === 0 ? [] : [{ cluster, replicas, ready: 0, pending }];
        });
        const wallMs = clock.now();
        const { capacity, nextAt } = deschedule(placed, wallMs);
        // What waits for less time than that is not forgotten until the next regular look.
        if (nextAt !== undefined)
          for (const { cluster } of placed)
            clusters.set(
              cluster,
              // By the time that it is now: what was due while it was asked has been told already.
              Math.min(
                clock.monotonic() + nextAt - wallMs,
                clusters.get(cluster) ?? Number.POSITIVE_INFINITY,
              ),
            );
        if (Object.keys(capacity).length > 0) limits[refKey(ref)] = capacity;
      }
      wake();
      return limits;
    },
    forget(key): void {
      if (due.delete(key)) wake();
    },
    stop(): void {
      timer?.cancel();
    },
  };
}

function isOf(pods: PendingPods, ref: { kind: string; namespace: string; name: string }): boolean {
  return pods.kind === ref.kind && pods.namespace === ref.namespace && pods.name === ref.name;
}
