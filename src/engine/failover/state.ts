import type { JsonValue } from '../../schema/json.ts';
import type { ClusterTaint, FailoverOptions, FailoverRate, PurgeMode } from './options.ts';
import type { TokenBucket } from './token-bucket.ts';

/** What failover knows of a fleet. JSON; values that were returned are never changed. */
export interface FailoverState {
  readonly rate: FailoverRate;
  readonly bucket?: TokenBucket;
  readonly clusters: Readonly<Record<string, ClusterSight>>;
  readonly intents: Readonly<Record<string, IntentSight>>;
}

export interface ClusterSight {
  /** NoExecute ones, each with when it came. */
  readonly taints: readonly (ClusterTaint & { readonly since: number })[];
  /** Since when it has had none. */
  readonly wellSince?: number;
}

export interface IntentSight {
  readonly options: FailoverOptions;
  /** Where it is to be now, by decision. */
  readonly clusters: readonly string[];
  readonly health: Readonly<Record<string, CopyHealth>>;
  readonly moves: readonly Move[];
  /** Since when its clusters are other ones than before, and no copy there was seen healthy. */
  readonly unprovenSince?: number;
  /** Only restored so far: what is wanted now is not known, so nothing is done about it. */
  readonly recalled?: true;
}

export interface CopyHealth {
  /** A copy that is not seen as it changes is neither healthy nor unhealthy. */
  readonly live: boolean;
  readonly healthy: boolean;
  readonly since: number;
  readonly status?: JsonValue;
}

/** A copy on its way from a cluster. While there is one, its cluster is not chosen. */
export interface Move {
  readonly from: string;
  readonly reason: 'Taint' | 'Health';
  readonly purge: PurgeMode;
  readonly at: number;
  /** `Leaving`: the old copy is there until a new one is healthy. `Left`: it is gone. `Returning`: it is asked back. */
  readonly phase: 'Leaving' | 'Left' | 'Returning';
  readonly before: readonly string[];
  /** Where the copy is instead, as decided since. */
  readonly to?: readonly string[];
  /** Leaving: when the old copy goes, if it was decided where to instead, healthy there or not. Returning: when waiting for it ends. */
  readonly until: number;
}

/** Labels for copies in clusters that had none before. */
export interface CarriedState {
  readonly labels: Readonly<Record<string, string>>;
  readonly before: readonly string[];
}

/** What is remembered of the moves of one intent. */
export interface FailoverRecord {
  readonly moves: readonly Move[];
  /** Clusters whose copy may go because it moved, and that may still hold it. */
  readonly left?: readonly string[];
  /** The state of the copy that was moved last, for the new ones. */
  readonly carried?: CarriedState;
  /** What happened last, for people. */
  readonly last?: {
    readonly reason: string;
    readonly cluster: string;
    readonly message: string;
    readonly at: number;
  };
}

export type FailoverEvent =
  /**
   * An intent is there, has changed, or was decided anew. While something moves, health must be told again after it. Options without `cluster` and `application` move nothing.
   */
  | {
      readonly type: 'intent';
      readonly intent: string;
      readonly options: FailoverOptions;
      readonly clusters: readonly string[];
    }
  | { readonly type: 'forget'; readonly intent: string }
  /** What was going on before the process that knows it ended. Comes before everything else of the intent. */
  | { readonly type: 'restore'; readonly intent: string; readonly moves: readonly Move[] }
  /** `since` where it is known better than by the time of the event. */
  | {
      readonly type: 'taints';
      readonly cluster: string;
      readonly taints: readonly (ClusterTaint & { readonly since?: number })[];
    }
  /** A cluster is no longer of the fleet: nothing is remembered of it. */
  | { readonly type: 'gone'; readonly cluster: string }
  | {
      readonly type: 'health';
      readonly intent: string;
      readonly cluster: string;
      readonly live: boolean;
      readonly healthy: boolean;
      readonly status?: JsonValue;
    }
  /** A person gives up a copy that is kept, or lets a cluster be chosen again that is avoided. */
  | { readonly type: 'release'; readonly intent: string; readonly cluster: string }
  | { readonly type: 'tick' };

/** What concerns one intent alone. */
export type SightEvent = Extract<FailoverEvent, { type: 'intent' | 'forget' | 'restore' | 'health' }>;

export type FailoverEffect =
  /** Decide where anew, without the cluster; the new copy gets the labels. */
  | {
      readonly type: 'move';
      readonly intent: string;
      readonly from: string;
      readonly labels: Readonly<Record<string, string>>;
    }
  /** The copy may go: order its removal. */
  | { readonly type: 'remove'; readonly intent: string; readonly cluster: string }
  /** Copies that the decision left may go, wherever they are. */
  | { readonly type: 'proven'; readonly intent: string }
  /** Decide where anew, with the cluster preferred. */
  | { readonly type: 'return'; readonly intent: string; readonly to: string }
  | {
      readonly type: 'record';
      readonly reason: FailoverReason;
      readonly message: string;
      readonly intent: string;
      readonly cluster: string;
    };

export interface FailoverStep {
  readonly state: FailoverState;
  readonly effects: readonly FailoverEffect[];
  readonly nextAt?: number;
}

export const FAILOVER_REASONS = {
  FailoverStarted: 'a copy moves away from a cluster',
  FailoverCompleted: 'the old copy may go: a new one is healthy',
  FailoverGraceEnded: 'the old copy may go: the time for a new one to become healthy is over',
  FailoverCancelled: 'the copy stays: there was nowhere to go, and what it was to leave for is over',
  FailoverWaitsForSomeone: 'the old copy stays until someone gives it up',
  StateNotPreserved: 'a value of the old copy could not be carried to the new one',
  FailBackStarted: 'the cluster has been well for long enough; the copy goes back',
  FailBackCompleted: 'the copy is back and healthy',
  FailBackGaveUp: 'the copy did not become healthy where it came from',
} as const;

export type FailoverReason = keyof typeof FAILOVER_REASONS;
