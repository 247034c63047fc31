import type { Random } from '../../runtime/random.ts';
import { advanceStages } from './advance.ts';
import { timingOf, withSample } from './analysis.ts';
import { command } from './command.ts';
import { createDraft, type Draft } from './draft.ts';
import { failCluster, judgeClusters, seenAt } from './judge.ts';
import { failStage, finishRollback } from './rollback.ts';
import { allStages, assignStages } from './stage-assignment.ts';
import type {
  ClusterProgress,
  Mark,
  Observation,
  RolloutEffect,
  RolloutEvent,
  RolloutState,
  RolloutStep,
  StageProgress,
} from './state.ts';
import { type RolloutCluster, strategyProblems } from './strategy.ts';

/**
 * What a rollout does about an event at `now` (milliseconds). Pure but for `random`, which spreads starts. Events before the
 * first `start` do nothing.
 */
export function step(
  before: RolloutState | undefined,
  event: RolloutEvent,
  now: number,
  random: Random,
): RolloutStep | undefined {
  let state = before;
  let started: readonly RolloutEffect[] = [];
  if (event.type === 'start') {
    const problems = strategyProblems(event.strategy);
    if (problems.length > 0) {
      const refused: RolloutEffect = {
        type: 'record',
        reason: 'RolloutRefused',
        message: problems.join('; '),
      };
      return before && { state: before, effects: [refused] };
    }
    ({ state, effects: started } = start(before, event, now));
  }
  if (!state) return undefined;
  const draft = createDraft(state, allStages(state.strategy.stages ?? []), now, random);
  draft.effects.push(...started);
  takeIn(draft, event);
  judgeClusters(draft);
  advanceStages(draft);
  finishRollback(draft);
  const nextAt = draft.wokenAt();
  return { state: draft.state, effects: draft.effects, ...(nextAt === undefined ? {} : { nextAt }) };
}

/** What a hub reads back when it starts: whatever it had seen is not to be believed until it is seen again. */
export function recoverRollout(state: RolloutState): RolloutState {
  const clusters = Object.entries(state.clusters).map(
    ([name, { seen, awaySince: _away, ...cluster }]): [string, ClusterProgress] => {
      if (!seen) return [name, cluster];
      const { liveSince: _, ...rest } = seen;
      return [name, { ...cluster, seen: { ...rest, live: false } }];
    },
  );
  return { ...state, clusters: Object.fromEntries(clusters) };
}

/**
 * The state with newer sights in it, before anything is decided by them: so an event that comes at the same time finds nothing
 * that was true before only.
 */
export function withSights(
  state: RolloutState,
  observations: readonly Observation[],
  now: number,
): RolloutState {
  const clusters = { ...state.clusters };
  for (const observation of observations) {
    const before = clusters[observation.cluster];
    if (before) clusters[observation.cluster] = seenAt(before, observation, now);
  }
  return { ...state, clusters };
}

/** What a cluster may have now; `undefined` where that is nothing yet. */
export function permittedRevision({ clusters }: RolloutState, cluster: string): string | undefined {
  return clusters[cluster]?.permitted;
}

type Start = Extract<RolloutEvent, { type: 'start' }>;

function start(
  before: RolloutState | undefined,
  { revision, clusters: given, strategy, baselines, incidents = before?.incidents ?? [] }: Start,
  now: number,
): { state: RolloutState; effects: readonly RolloutEffect[] } {
  const same = before !== undefined && before.target === revision;
  const effects: RolloutEffect[] = [];
  if (!same) {
    if (before?.phase === 'Progressing')
      effects.push({
        type: 'record',
        reason: 'RolloutSuperseded',
        message: `${before.target} gives way to ${revision}`,
      });
    effects.push({
      type: 'record',
      reason: 'RolloutStarted',
      message: `${revision} to ${given.length} clusters`,
    });
  }
  const rules = allStages(strategy.stages ?? []);
  const sameStages =
    same &&
    rules.length === before.stages.length &&
    rules.every(({ name }, index) => before.stages[index]?.name === name);
  const skips = new Map(given.map(({ name, skipStages = [] }) => [name, skipStages]));
  const assigned = new Map(
    Object.entries(sameStages ? before.clusters : {}).flatMap(([name, { stage, phase }]) => {
      // Whoever has not started moves on when it is to skip its stage.
      const moves = phase === 'Pending' && skips.get(name)?.includes(rules[stage]?.name ?? '') === true;
      return moves ? [] : [[name, stage] as const];
    }),
  );
  const stages = assignStages(rules, given, assigned);
  const stable = before?.stable;
  const clusters: Record<string, ClusterProgress> = {};
  for (const facts of given) {
    const stage = stages.get(facts.name) ?? 0;
    // A cluster may be called as what every object has, such as `constructor`.
    const known =
      before && Object.hasOwn(before.clusters, facts.name) ? before.clusters[facts.name] : undefined;
    if (known && same) clusters[facts.name] = { ...known, stage };
    else if (before && known) clusters[facts.name] = superseded(known, before, stage);
    else clusters[facts.name] = joined(facts, stable, stage, effects);
  }
  const facts = Object.fromEntries(given.map((cluster) => [cluster.name, cluster]));
  const paused = pausedBy(strategy.paused, same ? before.paused : undefined, now);
  if (same) {
    // Who comes later brings a rollout that was over back to life, for itself.
    const behind = Object.values(clusters).some(({ phase }) => phase === 'Pending');
    const { paused: _, ...rest } = before;
    const state: RolloutState = {
      ...rest,
      strategy,
      clusters,
      facts,
      phase: before.phase === 'Succeeded' && behind ? 'Progressing' : before.phase,
      stages: sameStages ? before.stages : rules.map(({ name }) => freshStage(name)),
      incidents,
      baselines: baselines ?? before.baselines,
      ...(paused ? { paused } : {}),
    };
    return { state, effects };
  }
  const state: RolloutState = {
    target: revision,
    ...(stable === undefined ? {} : { stable, previous: stable }),
    strategy,
    phase: 'Progressing',
    startedAt: now,
    stages: rules.map(({ name }) => freshStage(name)),
    clusters,
    facts,
    nextStartAt: before?.nextStartAt ?? 0,
    incidents,
    baselines: baselines ?? {},
    ...(paused ? { paused } : {}),
  };
  return { state, effects };
}

/** The strategy's own word for a pause counts like a person's, and ends with it. */
function pausedBy(paused: boolean | undefined, before: Mark | undefined, now: number): Mark | undefined {
  if (paused === true) return before ?? { by: BY_STRATEGY, at: now };
  return before?.by === BY_STRATEGY ? undefined : before;
}
const BY_STRATEGY = 'the strategy';

function freshStage(name: string): StageProgress {
  return { name, phase: 'Pending', batchStarted: 0, metrics: {} };
}

/** A cluster at the start of another revision goes back to what it had in the end, not to what it was on its way to. */
function superseded(known: ClusterProgress, before: RolloutState, stage: number): ClusterProgress {
  const from = known.phase === 'Updated' ? before.target : known.from;
  return {
    stage,
    phase: 'Pending',
    ...(known.permitted === undefined ? {} : { permitted: known.permitted }),
    ...(from === undefined ? {} : { from }),
    ...(known.seen ? { seen: known.seen } : {}),
  };
}

function joined(
  { name, revision }: RolloutCluster,
  stable: string | undefined,
  stage: number,
  effects: RolloutEffect[],
): ClusterProgress {
  if (revision === undefined && stable !== undefined)
    effects.push({ type: 'release', cluster: name, revision: stable });
  const has = revision ?? stable;
  return { stage, phase: 'Pending', ...(has === undefined ? {} : { permitted: has, from: has }) };
}

function takeIn(draft: Draft, event: RolloutEvent): void {
  switch (event.type) {
    case 'start':
    case 'tick':
      return;
    case 'observe':
      for (const observation of event.observations) {
        const before = draft.state.clusters[observation.cluster];
        if (before) draft.state.clusters[observation.cluster] = seenAt(before, observation, draft.now);
      }
      return;
    case 'sample':
      takeSample(draft, event);
      return;
    case 'incidents':
      draft.state.incidents = event.open;
      return;
    default:
      command(draft, event);
  }
}

function takeSample(
  draft: Draft,
  { metric: name, value, cluster }: Extract<RolloutEvent, { type: 'sample' }>,
): void {
  const { state, now } = draft;
  const { analysis } = state.strategy;
  const metric = analysis?.metrics.find((item) => item.name === name);
  const running = state.stages.findIndex(({ phase }) => phase === 'Running' || phase === 'Soaking');
  const stage = state.stages[running];
  if (!analysis || !metric || !stage || state.phase !== 'Progressing') return;
  if (now < timingOf(analysis, stage.startedAt ?? now).from) return;
  const condition =
    (cluster === undefined ? undefined : state.facts[cluster]?.conditions?.[name]) ?? metric.condition;
  const key = cluster === undefined ? name : `${name}/${cluster}`;
  const { progress, failed } = withSample(
    stage.metrics[key],
    metric,
    condition,
    value,
    state.baselines[name],
    now,
  );
  stage.metrics = { ...stage.metrics, [key]: progress };
  if (!failed) return;
  const message = `${name} is ${value}, must be ${condition} (${progress.failures} in a row)`;
  draft.record('AnalysisFailed', cluster === undefined ? message : `${cluster}: ${message}`, {
    stage: stage.name,
  });
  const failing = cluster === undefined ? undefined : state.clusters[cluster];
  if (cluster !== undefined && failing) failCluster(draft, cluster, failing, message);
  else failStage(draft, running, { reason: 'AnalysisFailed', message, undo: true });
}
