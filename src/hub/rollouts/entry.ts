import type { Intent } from '../../engine/intent.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { RevisionContent, RolloutCluster, Stamp } from '../../engine/rollout/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ClockReading } from '../../runtime/clock.ts';
import type { SightOf } from './sight.ts';
import type { RolloutRecord } from './store.ts';

/** An intent whose content is rolled out, or kept to go back to. */
export interface RolloutRequest {
  readonly key: string;
  /** Name of its dispatch on every spoke. */
  readonly dispatch: string;
  /** What is asked for now, and what that comes to. */
  readonly intent: Intent;
  readonly plan: Plan;
  /** Those that were chosen. */
  readonly clusters: readonly Omit<RolloutCluster, 'revision'>[];
  /** Clusters that may have something of it. */
  readonly holding: ReadonlySet<string>;
  /** The newest order as it is recorded beside the intent. */
  readonly recorded: { readonly generation: number; readonly digest: string };
  /** The content of that order, where it is known. */
  readonly sent?: { readonly intent: Intent; readonly digest: string } | undefined;
  /** What the intent would come to with another content, where it is placed now. `known` only saves work. */
  planOf(intent: Intent, known: Plan | undefined, replicas: ReplicaRecord | undefined): Plan;
  /** Of objects those that other intents have, by `refKey`, with the clusters that they bring them to: nobody else brings them there. */
  taken(objects: readonly KubeObject[]): ReadonlyMap<string, ReadonlySet<string>>;
  /** Why the author may not send it; undefined where they may. */
  refusal(intent: Intent): Promise<string | undefined>;
  readonly sight: SightOf;
  /** Whether a cluster is in the fleet. */
  isKnown(cluster: string): boolean;
}

/** What one cluster is to have now. */
export type ClusterOrder =
  | {
      /** Undefined takes everything away. */
      readonly plan: Plan | undefined;
      readonly generation: number;
      readonly digest: string;
      /** Why this is not the newest content yet, or is held. */
      readonly behind?: string;
      /** What it is to have when its turn comes, where that has not come. */
      readonly toCome?: Plan;
      /** Not to be taken by a spoke that has not taken it: its window ended. */
      readonly hold?: true;
    }
  /** Nothing is said to it: it keeps what it has. */
  | { readonly withheld: string; readonly generation: number };

export interface RolledOut {
  readonly orders: ReadonlyMap<string, ClusterOrder>;
  /** The highest generation and what it stands for. */
  readonly generation: number;
  readonly digest: string;
  /** Generations that came up new, lowest first. */
  readonly added: readonly Stamp[];
  /** When to look again without any event. */
  readonly nextAt?: number;
}

export interface KnownPlan {
  readonly request: RolloutRequest;
  readonly plan: Plan;
}

/** What is known of one intent. */
export interface RolloutEntry {
  record: RolloutRecord;
  /** The record as it is stored. */
  stored: string;
  request: RolloutRequest;
  /** Why the strategy is not heeded. */
  problem?: string;
  /** When it was looked at last, by both clocks. */
  lookedAt?: ClockReading;
  readonly contents: Map<string, RevisionContent>;
  /** Of older revisions, by what others took of them, with what was asked for when they were made. */
  readonly plans: Map<string, Map<string, KnownPlan>>;
  /** Actions whose persons were told, and that may not have come back so from the API server. */
  readonly told: Set<string>;
  /** Measured, and not heard of by the engine yet; `target` is what it was measured for. */
  readonly samples: { readonly metric: string; readonly value: number; readonly target: string }[];
  /** Why metrics could not be measured last. */
  readonly unmeasured: Map<string, string>;
}
