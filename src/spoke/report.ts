import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { deepEqual } from '../schema/json.ts';
import { clusterStatusOf, writeClusterStatus } from './cluster-report.ts';
import { withConflicts } from './conflicts.ts';
import { contestedMs, refusedStatus, statusOf } from './dispatch-status.ts';
import type { DriftRecord } from './drift.ts';
import type { Holdings } from './holdings.ts';

/** Tells how the spoke is, in its own API server: whoever wants to know reads it there. Writes on change only. */
export interface Reporter {
  dispatch(name: string): Promise<Result | undefined>;
  cluster(): Promise<void>;
}

export interface ReporterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly spoke: string;
  /** Version of the engine. */
  readonly engine: string;
  readonly holdings: Holdings;
  readonly dispatches: Informer<Dispatch>;
  readonly nodes: Informer;
  readonly drift: () => DriftRecord;
  /** One word for the contracts of the cluster's owner. */
  readonly contract: () => string;
  /** What the cluster says of itself. */
  readonly properties: () => Record<string, string>;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const CONFLICT_RETRY_MS = 20;

export function createReporter(options: ReporterOptions): Reporter {
  const { client, clock, holdings, dispatches, spoke } = options;
  return {
    async dispatch(name: string): Promise<Result | undefined> {
      const dispatch = dispatches.get(SYSTEM_NAMESPACE, name);
      if (!dispatch) return undefined;
      const now = clock.now();
      const current = holdings.get(name);
      const refusal = holdings.refusal(name);
      if (!current && !refusal) return undefined;
      const status = current
        ? withConflicts(statusOf(current, dispatch.status, clock), holdings.claims.conflicts(name), now)
        : refusal && refusedStatus(dispatch.status, refusal, now);
      try {
        if (!deepEqual(status, dispatch.status))
          await client.update(DISPATCHES, { ...dispatch, status }, { subresource: 'status' });
      } catch (error) {
        if (hasCode(error, 404)) return undefined;
        // The hub wrote in between: the informer brings its word, and the report is made again from it.
        if (hasCode(error, 409)) return { requeueAfterMs: CONFLICT_RETRY_MS };
        throw error;
      }
      const requeueAfterMs = current && contestedMs(current, clock);
      return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
    },
    async cluster(): Promise<void> {
      const { gitVersion = '' } = await client.getJson<{ gitVersion?: string }>('/version');
      const { corrections, last } = options.drift();
      const report = {
        name: spoke,
        engine: options.engine,
        gitVersion,
        nodes: options.nodes.list(),
        dispatches: dispatches.list(SYSTEM_NAMESPACE),
        held: [...holdings.all()],
        corrections,
        lastCorrection: last,
        contract: options.contract(),
        properties: options.properties(),
      };
      await writeClusterStatus(client, spoke, (previous) => clusterStatusOf(report, previous, clock.now()));
    },
  };
}
