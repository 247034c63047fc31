import { describeOverrides, describePlacement } from '../dialects/propagation/describe.ts';
import { type PropagationFindings, reportPropagation } from '../dialects/propagation/report.ts';
import type { PropagationStatus } from '../dialects/propagation/types.ts';
import { type ClusterObservation, summariseFleet } from '../engine/summarise/summarise.ts';
import type { Result } from '../kube/controller.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { deepEqual, isObject } from '../schema/json.ts';
import type { foreseenRefusals } from './contract/index.ts';
import type { Fleet } from './fleet.ts';
import type { HubMode } from './mode.ts';
import type { Propagations, StatusPatch } from './propagations.ts';
import type { Tracked, TrackedTable } from './tracked.ts';

export interface ReporterOptions {
  readonly clock: Clock;
  readonly propagations: Propagations;
  readonly tracked: TrackedTable;
  readonly fleet: Fleet;
  readonly mode: HubMode;
  readonly refusals: ReturnType<typeof foreseenRefusals>;
  readonly epoch: () => number;
}

/** Somebody wrote the object in between: its copy here follows. */
const CATCH_UP_MS = 40;

/** Sums up what the spokes say of a propagation, in its status. Writes on change only. */
export function createReporter(options: ReporterOptions): (key: string) => Promise<Result | undefined> {
  const { clock, propagations, tracked, fleet, mode } = options;

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
    const propagation = propagations.get(key);
    const item = tracked.get(key);
    if (!propagation || !item) return undefined;
    const decision = item.latest?.decision;
    const found: PropagationFindings = {
      generation: propagation.metadata.generation ?? 0,
      objects: item.compiled?.intent.objects.length ?? propagation.status?.objects ?? 0,
      revision: item.plan?.revision ?? propagation.status?.revision ?? '',
      dispatchGeneration: item.generation,
      dispatchDigest: item.digest,
      dispatchHistory: item.history,
      observing: mode.observing,
      dispatchedTo: [...item.dispatchedTo].sort(),
      summary: summariseFleet(observe(item)),
      suspended: propagation.spec.suspend === true,
      selection: item.selection,
      decision,
      replicas: item.latest?.replicas,
      placement: describePlacement(
        decision?.problem,
        decision?.chosen.length ?? 0,
        decision?.unknown ?? [],
        decision?.shortage ?? item.latest?.replicaProblems[0],
      ),
      overrides: describeOverrides(item.latest),
      permitted: permitted(item),
    };
    const status = reportPropagation(found, propagation.status, clock.now());
    if (deepEqual(status, propagation.status)) return undefined;
    try {
      // Only over what was read: a plan that was recorded meanwhile must not be undone.
      const patch = { ...status, ...withoutLeftovers(status, propagation.status) };
      await propagations.writeStatus(propagation, patch, propagation.metadata.resourceVersion);
    } catch (error) {
      if (hasCode(error, 409)) return { requeueAfterMs: CATCH_UP_MS };
      if (!hasCode(error, 404)) throw error;
    }
    return undefined;
  };
}

/** A merge keeps what it is not told of: fields of records that are gone are taken away by name. */
function withoutLeftovers(next: PropagationStatus, before: PropagationStatus | undefined): StatusPatch {
  const out: Record<string, object> = {};
  for (const name of ['freshness', 'decision', 'replicas'] as const)
    if (before?.[name] !== undefined) out[name] = mergeTo(before[name], next[name] ?? {});
  return out;
}

/** The merge patch that makes one record of another. */
function mergeTo(before: object, next: object): object {
  const patch: Record<string, unknown> = { ...next };
  for (const [field, value] of Object.entries(before)) {
    const wanted = (next as Record<string, unknown>)[field];
    if (wanted === undefined) patch[field] = null;
    else if (isObject(wanted) && isObject(value)) patch[field] = mergeTo(value, wanted);
  }
  return patch;
}
