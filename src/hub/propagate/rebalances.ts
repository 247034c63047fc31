import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { type KubeObject, type ObjectRef, refKey } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { integer, list, record, text } from '../../schema/schema-of.ts';

interface Workload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

interface Outcome {
  readonly workload: Workload;
  readonly result: 'Successful' | 'Failed';
  readonly reason?: string;
}

/** Asks once that workloads are placed and divided anew, as if they had come just now. */
interface Rebalance extends KubeObject {
  readonly spec: { readonly workloads: readonly Workload[]; readonly ttlSecondsAfterFinished?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly results?: readonly Outcome[];
    readonly finishTime?: string;
  };
}

const workload = record({ apiVersion: text(), kind: text(), namespace: text(), name: text() }, undefined, {
  required: ['apiVersion', 'kind', 'name'],
});

export const REBALANCE: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Rebalance',
  plural: 'rebalances',
  categories: ['atoll'],
  scope: 'Cluster',
  description: 'Asks once that workloads are placed and divided anew, as if they had come just now.',
  spec: record(
    {
      workloads: list(workload, 'Objects of the hub that are propagated.', { minItems: 1, maxItems: 1000 }),
      ttlSecondsAfterFinished: integer(
        'It goes by itself so long after it is done; never where nothing is said.',
        {
          minimum: 0,
        },
      ),
    },
    undefined,
    { required: ['workloads'] },
  ),
  status: record({
    observedGeneration: integer(undefined, { format: 'int64' }),
    results: list(record({ workload, result: text(), reason: text() }), 'What became of each.'),
    finishTime: text(undefined, { format: 'date-time' }),
  }),
  columns: [
    { name: 'Finished', type: 'date', jsonPath: '.status.finishTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export interface RebalancesOptions {
  readonly client: Client;
  /** The intent that sends an object. */
  readonly senderOf: (ref: ObjectRef) => string | undefined;
  readonly anew: (key: string) => void;
  /** Whether it is still to be done. */
  readonly isAnew: (key: string) => boolean;
}

const LOOK_MS = 250;
const CATCH_UP_MS = 50;
const REBALANCES = resourceIdOf(REBALANCE);

/** Carries out {@link Rebalance} objects: what was done once is not done again, however often the hub starts. */
export function startRebalances(
  runtime: Runtime,
  { client, senderOf, anew, isAnew }: RebalancesOptions,
): { stop(): Promise<void> } {
  const { clock } = runtime;
  const informer = startInformer<Rebalance>(runtime, client, REBALANCES);
  const loop = startController(runtime, { name: 'rebalance', reconcile });
  /** What was asked for, by the uid of who asked. */
  const asked = new Map<string, Set<string>>();
  informer.onChange(({ type, object }) => {
    if (type === 'deleted') asked.delete(object.metadata.uid ?? '');
    else loop.enqueue(object.metadata.name ?? '');
  });

  /** `undefined` while it is being done. */
  function carryOut(uid: string, item: Workload): Outcome | undefined {
    const key = senderOf({ ...item, namespace: item.namespace ?? '' });
    if (key === undefined) return { workload: item, result: 'Failed', reason: 'NotFound' };
    const known = asked.get(uid) ?? new Set<string>();
    asked.set(uid, known);
    if (!known.has(key)) {
      known.add(key);
      anew(key);
    }
    return isAnew(key) ? undefined : { workload: item, result: 'Successful' };
  }

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = informer.get('', name);
    if (!object || object.metadata.deletionTimestamp !== undefined) return undefined;
    const { uid = '', generation = 0 } = object.metadata;
    const { spec, status } = object;
    if (status?.observedGeneration === generation && status.finishTime !== undefined) return end(object);
    const before = new Map(
      (status?.results ?? []).map((outcome) => [refKey(refTo(outcome.workload)), outcome]),
    );
    const results: Outcome[] = [];
    for (const item of spec.workloads) {
      const known = before.get(refKey(refTo(item)));
      const outcome = known?.result === 'Successful' ? known : carryOut(uid, item);
      if (outcome === undefined) return { requeueAfterMs: LOOK_MS };
      results.push(outcome);
    }
    asked.delete(uid);
    const next = { observedGeneration: generation, results, finishTime: formatTime(clock.now()) };
    if (deepEqual(next, status)) return undefined;
    try {
      await client.update(REBALANCES, { ...object, status: next }, { subresource: 'status' });
    } catch (error) {
      if (hasCode(error, 409)) return { requeueAfterMs: CATCH_UP_MS };
      if (!hasCode(error, 404)) throw error;
    }
    return undefined;
  }

  async function end({ spec, status, metadata }: Rebalance): Promise<Result | undefined> {
    const { ttlSecondsAfterFinished } = spec;
    const finished = parseTime(status?.finishTime);
    if (ttlSecondsAfterFinished === undefined || finished === undefined) return undefined;
    const waitMs = finished + ttlSecondsAfterFinished * 1000 - clock.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    try {
      await client.delete(REBALANCES, '', metadata.name ?? '', {
        preconditions: { uid: metadata.uid ?? '' },
      });
    } catch (error) {
      if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
    }
    return undefined;
  }

  return {
    async stop(): Promise<void> {
      informer.stop();
      await loop.stop();
    },
  };
}

function refTo(item: Workload): ObjectRef {
  return { ...item, namespace: item.namespace ?? '' };
}
