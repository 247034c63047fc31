import type { RollbackScope, RolloutCluster, RolloutStrategy } from './strategy.ts';

/**
 * A rollout of one revision to the clusters of one intent. JSON: the hub keeps it. Values that were returned are never
 * changed. What was seen of clusters is not to be believed after a restart: read it back with `recoverRollout`.
 */
export interface RolloutState {
  readonly target: string;
  /** What was rolled out to all clusters last. New clusters get it until their stage comes. */
  readonly stable?: string;
  /** What was, when this rollout began. */
  readonly previous?: string;
  readonly strategy: RolloutStrategy;
  readonly phase: RolloutPhase;
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly stages: readonly StageProgress[];
  readonly clusters: Readonly<Record<string, ClusterProgress>>;
  readonly facts: Readonly<Record<string, RolloutCluster>>;
  readonly paused?: Mark;
  readonly promoted?: Mark;
  readonly emergency?: Mark;
  readonly failure?: RolloutFailure;
  /** No cluster starts before. */
  readonly nextStartAt: number;
  /** Severities of open incidents. */
  readonly incidents: readonly string[];
  readonly baselines: Readonly<Record<string, number>>;
}

export type RolloutPhase = 'Progressing' | 'Succeeded' | 'Failed' | 'Aborted' | 'RollingBack' | 'RolledBack';

/** Who did something, and when. */
export interface Mark {
  readonly by: string;
  readonly at: number;
  readonly message?: string;
}

export interface RolloutFailure {
  readonly at: number;
  readonly stage: string;
  readonly cluster?: string;
  readonly reason: string;
  readonly message: string;
}

export type StagePhase = 'Pending' | 'Running' | 'Soaking' | 'Done' | 'Failed';

export interface StageProgress {
  name: string;
  phase: StagePhase;
  startedAt?: number;
  doneAt?: number;
  /** Since when approval is all that is missing. */
  askedAt?: number;
  approved?: Mark;
  /** Since when all clusters of the stage have been known to be Ready. */
  healthySince?: number;
  /** Clusters started in this batch, and since when all of them are done. */
  batchStarted: number;
  batchDoneAt?: number;
  metrics: Readonly<Record<string, MetricProgress>>;
  /** Why it does not go on, for people. */
  waiting?: Waiting;
}

export interface MetricProgress {
  /** Samples in a row that were not what they must be. */
  readonly failures: number;
  readonly value?: number;
  readonly sampledAt?: number;
  /** When a sample was asked for last. */
  readonly askedAt?: number;
}

export interface Waiting {
  readonly reason: WaitReason;
  readonly message: string;
  /** When it ends by itself, where that is known. */
  readonly until?: number;
}

export type WaitReason =
  | 'Paused'
  | 'Incident'
  | 'StaleStatus'
  | 'EarlierNotReady'
  | 'Gate'
  | 'Approval'
  | 'Window'
  | 'Updating'
  | 'Soaking'
  | 'Analysis'
  | 'Batch'
  | 'Rate'
  | 'Concurrency'
  | 'Unavailable';

export type ClusterPhase =
  | 'Pending'
  | 'Updating'
  | 'Held'
  | 'Updated'
  | 'Skipped'
  | 'Failed'
  | 'RollingBack'
  | 'RolledBack';

export interface ClusterProgress {
  stage: number;
  phase: ClusterPhase;
  /** What the hub lets it have now. */
  permitted?: string;
  /** What it had in the end before this rollout: what it goes back to. */
  from?: string;
  startedAt?: number;
  doneAt?: number;
  /** Since when nothing is known of it, while it waits for its turn. */
  awaySince?: number;
  readySince?: number;
  degradedSince?: number;
  /** It failed in this rollout, also after it went back. */
  failed?: boolean;
  /** Someone goes on without it. */
  passedOver?: boolean;
  /** It is tried again: what it has is to be said to it once more when its turn comes, for it may have stopped in the middle. */
  anew?: boolean;
  message?: string;
  heldAt?: number;
  /** With a checkpoint: when it is too old to be gone on with. */
  checkpointUntil?: number;
  seen?: Sight;
}

/** What was seen of a cluster. */
export interface Sight {
  /** Whether it is seen as it changes. A sight that is not live passes no gate, whatever it says. */
  readonly live: boolean;
  readonly liveSince?: number;
  /** What is applied there. */
  readonly revision?: string;
  readonly word: SightWord;
  readonly message?: string;
  /** What it says of itself that cannot be, where that keeps it from being seen with a revision. */
  readonly claim?: string;
}

export type SightWord = 'Ready' | 'Progressing' | 'Degraded' | 'Waiting' | 'Stale';

export interface Observation {
  readonly cluster: string;
  readonly live: boolean;
  readonly revision?: string;
  readonly word: SightWord;
  readonly message?: string;
  readonly claim?: string;
}

export interface Person {
  readonly user: string;
  readonly groups?: readonly string[];
}

export type RolloutEvent =
  /** A revision is wanted: the first, another one, or the same one with another strategy or other clusters. */
  | {
      readonly type: 'start';
      readonly revision: string;
      readonly clusters: readonly RolloutCluster[];
      readonly strategy: RolloutStrategy;
      readonly baselines?: Readonly<Record<string, number>>;
      /** Severities of incidents that are open now; as before where nothing is said. */
      readonly incidents?: readonly string[];
    }
  | { readonly type: 'observe'; readonly observations: readonly Observation[] }
  /** The value of a metric, of the stage or of one cluster. */
  | { readonly type: 'sample'; readonly metric: string; readonly value: number; readonly cluster?: string }
  | { readonly type: 'incidents'; readonly open: readonly string[] }
  | {
      readonly type: 'pause' | 'resume' | 'abort' | 'promote' | 'retry' | 'emergency';
      readonly by: string;
      readonly message?: string;
    }
  | {
      readonly type: 'rollback';
      readonly by: string;
      readonly scope?: Exclude<RollbackScope, 'Cluster'>;
      readonly message?: string;
    }
  | {
      readonly type: 'approve' | 'reject';
      readonly stage: string;
      readonly person: Person;
      readonly message?: string;
    }
  /** Go on without a cluster, until a `retry` or another revision takes it in again. */
  | { readonly type: 'skip'; readonly cluster: string; readonly by: string }
  | { readonly type: 'tick' };

export type RolloutEffect =
  /** The cluster may have this revision now. */
  | { readonly type: 'release'; readonly cluster: string; readonly revision: string }
  /** The cluster shall stop where it is: at the end of its step, or at once. A `release` lets it go on. */
  | { readonly type: 'hold'; readonly cluster: string; readonly at: 'StepEnd' | 'Once' }
  | { readonly type: 'rollback'; readonly cluster: string; readonly revision: string }
  /** A sample of a metric is wanted. */
  | { readonly type: 'measure'; readonly metric: string; readonly stage: string }
  /** Something to remember and to tell people: an event, a line of the history. */
  | {
      readonly type: 'record';
      readonly reason: RolloutReason;
      readonly message: string;
      readonly stage?: string;
      readonly cluster?: string;
    };

export interface RolloutStep {
  readonly state: RolloutState;
  readonly effects: readonly RolloutEffect[];
  /** When to step again without any event; undefined where only events change anything. */
  readonly nextAt?: number;
}

/** Everything that is recorded, for people and for docs. */
export const ROLLOUT_REASONS = {
  RolloutStarted: 'a revision began to roll out',
  RolloutSuperseded: 'another revision is wanted before the last one was everywhere',
  RolloutRefused: 'the strategy is not valid; nothing was changed',
  RolloutSucceeded: 'the revision is everywhere',
  RolloutFailed: 'it stopped and waits for someone',
  RolloutPaused: 'no further cluster is started',
  RolloutResumed: 'clusters are started again',
  RolloutAborted: 'it ended; every cluster keeps what it has',
  RolloutPromoted: 'the remaining gates are left out',
  RolloutRetried: 'clusters that failed are tried again',
  RollbackStarted: 'clusters go back to what they had',
  RolledBack: 'the clusters that went back are Ready',
  NothingToRollBackTo: 'a cluster had nothing before, and keeps what it has',
  StageStarted: 'a stage began',
  StageDone: 'a stage is done',
  StageApproved: 'someone agreed to a stage, or nobody objected in time',
  ApprovalRequested: 'a stage waits for approval',
  ApprovalRefused: 'someone answered who may not, or for a stage that does not ask',
  ClusterUpdated: 'a cluster has the revision and is Ready',
  ClusterFailed: 'a cluster did not become Ready in time, or is Degraded',
  ClusterSkipped: 'a cluster is passed over; it catches up when it can',
  ClusterHeld: 'a window ended while the cluster was being changed',
  CheckpointCreated: 'the cluster stopped within a change, to go on in its next window',
  ClusterResumed: 'a held cluster goes on',
  EmergencyDeclared: 'windows are left out where their owners allow it',
  AnalysisFailed: 'a metric was not what it must be too often',
} as const;

export type RolloutReason = keyof typeof ROLLOUT_REASONS;
