import type { Random } from '../../runtime/random.ts';
import { viewWindows, type WindowView } from './maintenance-window.ts';
import type { ClusterProgress, RolloutEffect, RolloutReason, RolloutState, StageProgress } from './state.ts';
import type { RolloutCluster, RolloutStage } from './strategy.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The state while a step works on it, and what the step leads to. Its stages and clusters are copies. */
export interface Draft {
  readonly state: Writable<RolloutState> & {
    readonly stages: StageProgress[];
    readonly clusters: Record<string, ClusterProgress>;
  };
  /** As the strategy has them, with the one for the rest. */
  readonly stageRules: readonly RolloutStage[];
  readonly effects: RolloutEffect[];
  readonly now: number;
  readonly random: Random;
  /** Steps again at a time, unless something else makes it step before. */
  wake(at: number): void;
  wokenAt(): number | undefined;
  record(
    reason: RolloutReason,
    message: string,
    about?: { readonly stage?: string; readonly cluster?: string },
  ): void;
  /** The windows of a cluster, worked out once for clusters with the same ones. */
  windowsOf(cluster: RolloutCluster): WindowView;
}

export function createDraft(
  state: RolloutState,
  stageRules: readonly RolloutStage[],
  now: number,
  random: Random,
): Draft {
  const effects: RolloutEffect[] = [];
  const views = new Map<string, WindowView>();
  let woken: number | undefined;
  const clusters: Record<string, ClusterProgress> = {};
  for (const name in state.clusters) clusters[name] = { ...(state.clusters[name] as ClusterProgress) };
  return {
    state: { ...state, stages: state.stages.map((stage) => ({ ...stage })), clusters },
    stageRules,
    effects,
    now,
    random,
    wake(at): void {
      if (at > now && (woken === undefined || at < woken)) woken = at;
    },
    wokenAt: () => woken,
    record(reason, message, about = {}): void {
      effects.push({ type: 'record', reason, message, ...about });
    },
    windowsOf(cluster): WindowView {
      const common = state.strategy.maintenance?.windows ?? [];
      const all = [...common, ...(minds(state, cluster) ? (cluster.windows ?? []) : [])];
      const key = JSON.stringify(all);
      const view = views.get(key) ?? viewWindows(all, now);
      views.set(key, view);
      return view;
    },
  };
}

/** Whether a cluster may be changed at certain times only. */
export function hasWindows(state: RolloutState, cluster: RolloutCluster): boolean {
  if (state.emergency !== undefined && cluster.allowEmergency === true) return false;
  const common = (state.strategy.maintenance?.windows ?? []).length > 0;
  return common || (minds(state, cluster) && (cluster.windows ?? []).length > 0);
}

function minds({ strategy }: RolloutState, { enforceWindows }: RolloutCluster): boolean {
  return enforceWindows === true || strategy.maintenance?.respectClusterWindows !== false;
}

/** Members of a stage by name. */
export function membersOf({ state }: Draft, stage: number): readonly (readonly [string, ClusterProgress])[] {
  return Object.entries(state.clusters).filter(([, cluster]) => cluster.stage === stage);
}

/** Whether a cluster is known, at this moment, to have the revision and to be Ready with it. */
export function isSettled(cluster: ClusterProgress, target: string): boolean {
  return cluster.phase === 'Updated' && isReadyAt(cluster, target);
}

export function isReadyAt({ seen }: ClusterProgress, revision: string): boolean {
  return seen?.live === true && seen.revision === revision && seen.word === 'Ready';
}
