import { ATOLL_API_VERSION } from '../../engine/dispatch/index.ts';
import type { SourceRef } from '../../engine/intent.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { flag, integer, list, record, text } from '../../schema/schema-of.ts';

/** What is still to be taken back from spokes that were away when its source was deleted. */
export interface Retraction extends KubeObject {
  readonly spec: {
    readonly source: SourceRef;
    readonly generation: number;
    readonly digest: string;
    readonly history?: readonly string[];
    readonly clusters: readonly string[];
    readonly release?: true;
  };
}

/**
 * Written by the hub itself when a propagation goes: a spoke that is away holds up no deletion, and one that comes back from a
 * backup is told again. Kept for thirty days.
 */
export const RETRACTION: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Retraction',
  plural: 'retractions',
  categories: ['atoll'],
  scope: 'Cluster',
  description: 'What is to be taken back from spokes that were away when it was deleted at the hub.',
  spec: record(
    {
      source: record({
        apiVersion: text(),
        kind: text(),
        namespace: text(),
        name: text(),
        uid: text(),
        generation: integer(undefined, { format: 'int64' }),
      }),
      generation: integer('Generation of the order to take everything back.', { format: 'int64' }),
      digest: text(),
      history: list(text()),
      clusters: list(text(), 'Spokes that have not carried it out yet. Remove one that will never return.'),
      release: flag('Let the objects stay, without marks.'),
    },
    undefined,
    { required: ['source', 'generation', 'digest', 'clusters'] },
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.source.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.source.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.source.name' },
    { name: 'Clusters', type: 'string', jsonPath: '.spec.clusters' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

const RETRACTIONS = resourceIdOf(RETRACTION);
/** A spoke that comes back from a backup within this time is told again what was taken back from it. */
const REMEMBERED_MS = 30 * 86_400_000;
const LONGEST_WAIT_MS = 86_400_000;

export interface Retractions {
  get(name: string): Retraction | undefined;
  entries(): readonly Retraction[];
  /** Durable when resolved; a no-op where it is there already. */
  add(name: string, spec: Retraction['spec']): Promise<void>;
  /** Whether one was made a moment ago, and may not be among the entries yet. */
  adding(name: string): boolean;
  readonly synced: boolean;
  /** Notes what is left to do. */
  leave(retraction: Retraction, clusters: readonly string[]): Promise<void>;
  /** Nothing is left to do: it goes when it is old. Says when to ask again. */
  forgetLater(retraction: Retraction): Promise<Result | undefined>;
  stop(): void;
}

export function openRetractions(
  runtime: Runtime,
  client: Client,
  onChange: (name: string) => void,
): Retractions {
  const informer: Informer<Retraction> = startInformer<Retraction>(runtime, client, RETRACTIONS);
  const adding = new Set<string>();
  informer.onChange(({ object }) => {
    adding.delete(object.metadata.name ?? '');
    onChange(object.metadata.name ?? '');
  });
  return {
    get: (name) => informer.get('', name),
    entries: () => informer.list(),
    get synced() {
      return informer.synced;
    },
    adding: (name) => adding.has(name),
    async add(name, spec): Promise<void> {
      adding.add(name);
      try {
        await client.create<Retraction>(RETRACTIONS, {
          apiVersion: ATOLL_API_VERSION,
          kind: RETRACTION.kind,
          metadata: { name },
          spec,
        });
      } catch (error) {
        if (hasCode(error, 409)) return;
        adding.delete(name);
        throw error;
      }
    },
    async leave(retraction, clusters): Promise<void> {
      const { name = '', resourceVersion } = retraction.metadata;
      await ignoring(
        404,
        client.patch(RETRACTIONS, '', name, 'merge', {
          metadata: { resourceVersion },
          spec: { clusters },
        }),
      );
    },
    async forgetLater(retraction): Promise<Result | undefined> {
      const { name = '', creationTimestamp } = retraction.metadata;
      const dueMs = (parseTime(creationTimestamp) ?? 0) + REMEMBERED_MS - runtime.clock.now();
      if (dueMs > 0) return { requeueAfterMs: Math.min(dueMs, LONGEST_WAIT_MS) };
      await ignoring(404, client.delete(RETRACTIONS, '', name));
      return undefined;
    },
    stop: () => informer.stop(),
  };
}
