import type { GraphRevision, ResourceGraphDefinition } from '../../dialects/kro/index.ts';
import { definitionOf } from '../../dialects/kro/index.ts';
import { LABELS } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { Change } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { clusterSchemas, defines, kindsOf } from './cluster-schemas.ts';
import { createDefinitions, GRAPH_DEFINITIONS } from './definitions.ts';
import { startInstances } from './instances.ts';
import { createRevisions, GRAPH_REVISIONS } from './revisions.ts';

export interface GraphsOptions {
  readonly client: Client;
  /** Of the engine; objects are marked with it. */
  readonly version: string;
  /** Whether deleting a definition deletes its kind, and so all instances. Off by default. */
  readonly allowKindDeletion?: boolean;
}

export interface Graphs {
  stop(): Promise<void>;
}

/**
 * Runs the resource graphs of one cluster, the one whose API it is given. Everything is told by watches: at rest it asks nothing.
 * What fails is tried again for as long as it is wanted. It may be killed at any time and started again on what is stored.
 */
export function startGraphs(runtime: Runtime, options: GraphsOptions): Graphs {
  const { client, version } = options;
  const definitions = startInformer<ResourceGraphDefinition>(runtime, client, GRAPH_DEFINITIONS);
  const stored = startInformer<GraphRevision>(runtime, client, GRAPH_REVISIONS);
  const kinds = startInformer(runtime, client, customResourceDefinitions);
  const revisions = createRevisions(
    client,
    runtime.clock,
    clusterSchemas(client, () => kinds.list()),
  );
  const instances = startInstances(runtime, {
    client,
    onCount(definition) {
      if (definitions.get('', definition)?.metadata.deletionTimestamp !== undefined)
        queue.enqueue(definition);
    },
  });
  const queue = startController(runtime, {
    name: 'graph definitions',
    reconcile: (name) => work.reconcile(name),
  });
  const work = createDefinitions({
    runtime,
    client,
    version,
    definitions,
    stored,
    revisions,
    instances,
    allowKindDeletion: options.allowKindDeletion === true,
  });

  function kindChanged({ type, object, previous }: Change): void {
    if (type === 'updated' && previous && isSameKind(object, previous)) return;
    revisions.kindChanged(object);
    const owner = object.metadata.labels?.[LABELS.graphName];
    for (const definition of definitions.list()) {
      const name = definition.metadata.name ?? '';
      const own = owner !== undefined && definition.metadata.uid === object.metadata.labels?.[LABELS.graphId];
      if (own || names(definition, object)) queue.enqueue(name);
    }
  }

  async function begin(): Promise<void> {
    await Promise.all([definitions.whenSynced(), stored.whenSynced(), kinds.whenSynced()]);
    for (const definition of definitions.list()) queue.enqueue(definition.metadata.name ?? '');
    definitions.onChange(({ type, object, previous }) => {
      if (type !== 'updated' || !previous || concernsUs(object, previous))
        queue.enqueue(object.metadata.name ?? '');
    });
    stored.onChange(({ type, object }) => {
      work.revisionSeen(object.metadata.name ?? '');
      if (type === 'deleted') revisions.forget(object.metadata.uid ?? '');
      if (type !== 'updated' || object.metadata.deletionTimestamp !== undefined)
        queue.enqueue(object.spec.snapshot.name);
    });
    kinds.onChange(kindChanged);
  }

  let stopping = false;
  begin().catch((error: unknown) => {
    if (!stopping) runtime.log.error('resource graphs could not start', { error: errorText(error) });
  });

  return {
    async stop() {
      stopping = true;
      definitions.stop();
      stored.stop();
      kinds.stop();
      await Promise.all([queue.stop(), instances.stop()]);
    },
  };
}

/** Whether a definition is made of resources of a kind, or waits for it. */
function names(object: ResourceGraphDefinition, kind: KubeObject): boolean {
  const { definition } = definitionOf(object);
  return definition !== undefined && kindsOf(definition).some((item) => defines(kind, item));
}

/** All but the status, which only the engine writes. */
function concernsUs(object: ResourceGraphDefinition, previous: ResourceGraphDefinition): boolean {
  return (
    !deepEqual(object.spec as unknown, previous.spec as unknown) ||
    object.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp ||
    !deepEqual(object.metadata.annotations, previous.metadata.annotations) ||
    !deepEqual(object.metadata.finalizers, previous.metadata.finalizers)
  );
}

/** Whether it is served as before, and belongs to whom it belonged to. */
function isSameKind(object: KubeObject, previous: KubeObject): boolean {
  return (
    deepEqual(object['spec'], previous['spec']) &&
    deepEqual(object['status'], previous['status']) &&
    deepEqual(object.metadata.labels, previous.metadata.labels)
  );
}
