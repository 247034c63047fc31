import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { type KubeObject, refKey } from '../../kube/object.ts';
import { optimisticWrite } from '../../kube/optimistic-write.ts';
import { ignoring } from '../../kube/status-error.ts';
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
  /** The intents that send objects, by `refKey`. */
  readonly sendersOf: (objects: ReadonlySet<string>) => ReadonlyMap<string, string>;
  readonly anew: (key: string) => void;
  /** Whether it is still to be done. */
  readonly isAnew: (key: string) => boolean;
}

const LOOK_MS = 250;
const REBALANCES = resourceIdOf(REBALANCE);

/** Carries out {@link Rebalance} objects: what was done once is not done again, however often the hub starts. */
export function startRebalances(
  runtime: Runtime,
  { client, sendersOf, anew, isAnew }: RebalancesOptions,
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
  function carryOut(uid: string, item: Workload, key: string | undefined): Outcome | undefined {
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
    const known = new Map(
      (status?.results ?? [])
        .filter(({ result }) => result === 'Successful')
        .map((outcome) => [keyOf(outcome.workload), outcome]),
    );
    const senders = sendersOf(new Set(spec.workloads.map(keyOf).filter((key) => !known.has(key))));
    // All of them at once: one that cannot be decided now holds up no other one.
    const outcomes = spec.workloads.map(
      (item) => known.get(keyOf(item)) ?? carryOut(uid, item, senders.get(keyOf(item))),
    );
    const results = outcomes.filter((outcome) => outcome !== undefined);
    const isDone = results.length === outcomes.length;
    // What is done is written down meanwhile: a hub that starts anew does not do it again.
    const next = isDone
      ? { observedGeneration: generation, results, finishTime: formatTime(clock.now()) }
      : { ...status, results: results.filter(({ result }) => result === 'Successful') };
    const again = isDone ? undefined : { requeueAfterMs: LOOK_MS };
    if (deepEqual(next.results, status?.results ?? []) && !isDone) return again;
    const write = client.update(REBALANCES, { ...object, status: next }, { subresource: 'status' });
    const conflict = await optimisticWrite(write);
    if (conflict) return conflict;
    if (isDone) asked.delete(uid);
    return again;
  }

  async function end({ spec, status, metadata }: Rebalance): Promise<Result | undefined> {
    const { ttlSecondsAfterFinished } = spec;
    const finished = parseTime(status?.finishTime);
    if (ttlSecondsAfterFinished === undefined || finished === undefined) return undefined;
    const waitMs = finished + ttlSecondsAfterFinished * 1000 - clock.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await ignoring(
      [404, 409],
      client.delete(REBALANCES, '', metadata.name ?? '', {
        preconditions: { uid: metadata.uid ?? '' },
      }),
    );
    return undefined;
  }

  return {
    async stop(): Promise<void> {
      informer.stop();
      await loop.stop();
    },
  };
}

function keyOf(item: Workload): string {
  return refKey({ ...item, namespace: item.namespace ?? '' });
}
