import {
  BOOL,
  createEnvironment,
  DYN,
  type Environment,
  formatIssues,
  type Program,
} from '../../cel/index.ts';
import type { RolloutState, StageProgress } from './state.ts';

/** Cost units for one gate: it walks over all clusters at most a few times. */
const GATE_BUDGET = 2_000_000;
/** Programs of gates, by text: a rollout asks the same ones again at each change. */
const MAX_PROGRAMS = 256;

let environment: Environment | undefined;
const programs = new Map<string, { readonly program?: Program; readonly problems: readonly string[] }>();

/** What is wrong with the expression of a gate; empty where nothing is. */
export function gateProblems(expression: string): readonly string[] {
  return compiled(expression).problems;
}

function compiled(expression: string): { readonly program?: Program; readonly problems: readonly string[] } {
  const known = programs.get(expression);
  if (known) return known;
  environment ??= createEnvironment({
    variables: { fleet: DYN, stage: DYN, stages: DYN, clusters: DYN, metrics: DYN, target: DYN },
  });
  const result = environment.compile(expression);
  const made = !result.program
    ? { problems: [formatIssues(expression, result.issues)] }
    : result.type !== DYN && result.type.kind !== BOOL.kind
      ? { problems: ['the expression gives no bool'] }
      : { program: result.program, problems: [] };
  if (programs.size >= MAX_PROGRAMS) programs.clear();
  programs.set(expression, made);
  return made;
}

/** `undefined` where the gate is open; why it is not otherwise. A cluster out of sight is `Stale` and not `ready`. */
export function gateClosed(
  expression: string,
  state: RolloutState,
  stage: StageProgress,
): string | undefined {
  const { program, problems } = compiled(expression);
  if (!program) return problems.join('; ');
  const { value, error } = program.evaluate(
    { ...viewOf(state), stage: stageView(stage) },
    { budget: GATE_BUDGET },
  );
  if (error) return error.message;
  return value === true ? undefined : 'it is not true';
}

function viewOf(state: RolloutState): Record<string, unknown> {
  const clusters = Object.entries(state.clusters).map(([name, cluster]) => {
    const live = cluster.seen?.live === true;
    const word = live ? (cluster.seen?.word ?? 'Waiting') : 'Stale';
    const revision = cluster.seen?.revision ?? '';
    return {
      name,
      labels: state.facts[name]?.labels ?? {},
      stage: state.stages[cluster.stage]?.name ?? '',
      phase: cluster.phase,
      word,
      revision,
      updated: live && revision === state.target,
      ready: word === 'Ready',
    };
  });
  const count = (test: (cluster: (typeof clusters)[number]) => boolean): number =>
    clusters.filter(test).length;
  return {
    target: state.target,
    clusters,
    stages: state.stages.map(stageView),
    metrics: Object.fromEntries(
      state.stages.flatMap(({ metrics }) =>
        Object.entries(metrics).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]])),
      ),
    ),
    fleet: {
      total: clusters.length,
      ready: count(({ ready }) => ready),
      stale: count(({ word }) => word === 'Stale'),
      degraded: count(({ word }) => word === 'Degraded'),
      updated: count(({ phase }) => phase === 'Updated'),
      failed: count(({ phase }) => phase === 'Failed'),
    },
  };
}

function stageView({ name, phase, startedAt = 0, doneAt = 0 }: StageProgress): object {
  return { name, phase, startedAt, doneAt };
}
