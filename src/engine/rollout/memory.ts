import type { ClusterProgress, RolloutState, StageProgress } from './state.ts';

/**
 * What a hub must not forget of a rollout. What was seen and what is only told to people is left out: that comes again with the
 * next look, so that looks that decide nothing cost no write.
 */
export function memorable(state: RolloutState): RolloutState {
  const clusters: Record<string, ClusterProgress> = {};
  for (const [name, progress] of Object.entries(state.clusters)) {
    const { seen: _seen, awaySince: _away, readySince: _ready, degradedSince: _degraded, ...kept } = progress;
    const { message, ...rest } = kept;
    const settled = kept.phase !== 'Failed' && kept.phase !== 'Skipped' && kept.failed !== true;
    clusters[name] = settled || message === undefined ? rest : { ...rest, message };
  }
  const stages = state.stages.map(({ waiting: _waiting, ...stage }): StageProgress => stage);
  return { ...state, facts: {}, clusters, stages };
}
