import { describeOverrides, describePlacement } from '../dialects/propagation/describe.ts';
import type { PropagationFindings } from '../dialects/propagation/report.ts';
import { type ClusterObservation, summariseFleet } from '../engine/summarise/summarise.ts';
import type { Result } from '../kube/controller.ts';
import type { foreseenRefusals } from './contract/index.ts';
import type { Fleet } from './fleet.ts';
import type { Intents } from './intents/index.ts';
import type { HubMode } from './mode.ts';
import type { Tracked, TrackedTable } from './tracked.ts';

export interface ReporterOptions {
  readonly intents: Intents;
  readonly tracked: TrackedTable;
  readonly fleet: Fleet;
  readonly mode: HubMode;
  readonly refusals: ReturnType<typeof foreseenRefusals>;
  readonly epoch: () => number;
}

/** Sums up what the spokes say of an intent; its dialect tells it. */
export function createReporter(options: ReporterOptions): (key: string) => Promise<Result | undefined> {
  const { intents, tracked, fleet, mode } = options;

  function permitted({ compiled, latest, dispatch }: Tracked): PropagationFindings['permitted'] {
    if (!compiled || !latest) return undefined;
    return options.refusals.of(compiled.intent, latest, (spoke) => fleet.session(spoke)?.dispatch(dispatch));
  }

  function observe(item: Tracked): ClusterObservation[] {
    const known = item.retracting || !item.plan ? [...item.dispatchedTo] : item.plan.decision.chosen;
    return known.map((cluster) => {
      const session = fleet.session(cluster);
      const seen = session?.dispatch(item.dispatch);
      const problem = item.problems.get(cluster);
      return {
        cluster,
        live: session?.live ?? false,
        staleReason: session?.staleReason ?? 'the spoke has not connected since this hub started',
        ...(session?.seenUntil === undefined ? {} : { observedAt: session.seenUntil }),
        wantedGeneration: item.generation,
        wantedEpoch: options.epoch(),
        ...(seen?.status === undefined ? {} : { status: seen.status }),
        ...(problem === undefined ? {} : { dispatchProblem: problem.message }),
        ...(problem?.late === true ? { dispatchTimedOut: true } : {}),
      };
    });
  }

  return async (key) => {
    const intent = intents.get(key);
    const item = tracked.get(key);
    if (!intent || !item) return undefined;
    const { source, object } = intent;
    const record = source.record(object);
    const decision = item.latest?.decision;
    const observations = observe(item);
    return source.report(object, {
      generation: object.metadata.generation ?? 0,
      objects: item.compiled?.intent.objects.length,
      revision: item.plan?.revision,
      dispatchGeneration: item.generation,
      dispatchDigest: item.digest,
      dispatchHistory: item.history,
      observing: mode.observing,
      dispatchedTo: [...item.dispatchedTo].sort(),
      observations,
      summary: summariseFleet(observations),
      suspended: item.compiled?.intent.suspend ?? false,
      selection: item.selection,
      decision: decision ?? record?.decision,
      replicas: item.latest?.replicas ?? record?.replicas,
      placement: describePlacement(
        decision?.problem,
        decision?.chosen.length ?? 0,
        decision?.unknown ?? [],
        decision?.shortage ?? item.latest?.replicaProblems[0],
      ),
      overrides: describeOverrides(item.latest),
      permitted: permitted(item),
    });
  };
}
