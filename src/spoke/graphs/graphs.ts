import type { GraphRevision, GraphRollout, ResourceGraphDefinition } from '../../dialects/kro/index.ts';
import {
  definitionOf,
  distributedRevisionOf,
  GRAPH_ROLLOUT,
  hubOnlyKinds,
  revisionsInUse,
} from '../../dialects/kro/index.ts';
import { LABELS } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import { clusterName } from '../../kube/cluster-name.ts';
import { startController } from '../../kube/controller-loop.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startEventRecorder } from '../../kube/events.ts';
import type { Change } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { clusterSchemas, defines, kindsOf } from './cluster-schemas.ts';
import { createDefinitions, GRAPH_DEFINITIONS } from './definitions.ts';
import { startGraphObjects } from './graph-objects.ts';
import { startHubObjects } from './hub-objects.ts';
import { type Instances, startInstances } from './instances.ts';
import { limitedClient } from './limited-client.ts';
import { meteredClient } from './metered-client.ts';
import { createGraphMetrics } from './metrics.ts';
import { createRevisions, GRAPH_REVISIONS } from './revisions.ts';
import { createTransitions } from './transitions.ts';

export interface GraphsOptions {
  readonly client: Client;
  /** Of the engine; objects are marked with it. */
  readonly version: string;
  /** Whether deleting a definition deletes its kind, and so all instances. Off by default. */
  readonly allowKindDeletion?: boolean;
  /** The name of the cluster, for messages. */
  readonly cluster?: string;
  /** Bounds of expressions and collections; those of `docs/graphs.md` by default. */
  readonly costLimit?: number;
  readonly maxCollectionSize?: number;
  readonly maxDimensions?: number;
  /** Revisions of a definition that are kept; 5 by default. */
  readonly keptRevisions?: number;
  /** Instances looked after at the same time, 8 by default, and objects of one that are written at the same time, 20. */
  readonly instanceConcurrency?: number;
  /** Definitions looked after at the same time, 1 by default. */
  readonly definitionConcurrency?: number;
  readonly applyConcurrency?: number;
  /** Gates: an Event where Ready of an instance changes; a series for each condition of each instance. */
  readonly conditionEvents?: boolean;
  readonly conditionMetrics?: boolean;
  /** Whether `omit()` may be used. */
  readonly omit?: boolean;
  /** Whether keys of maps may hold expressions. */
  readonly dynamicKeys?: boolean;
  /** Whether objects of the kind Graph are looked after; they are by default. At the same time, 1 by default. */
  readonly graphObjects?: boolean;
  readonly graphConcurrency?: number;
  /** Requests to the API in a second, over time; as many as there are by default. At once after a rest, 150 by default. */
  readonly requestsPerSecond?: number;
  readonly requestBurst?: number;
  /** Pauses after failures: 200 ms at first, 30 s at most by default. */
  readonly firstRetryMs?: number;
  readonly longestRetryMs?: number;
  /** After which all instances are looked at again, and those that wait; never by default, since watches tell. */
  readonly resyncMs?: number;
  readonly requeueMs?: number;
  /** After which a definition that waits for its revision is looked at again; 1 s by default. */
  readonly progressMs?: number;
  /** Whether labels are written with the prefix `internal.kro.run/` as well, for those who select by it already. */
  readonly bothPrefixes?: boolean;
  /** Whether targets may be Secrets with kubeconfigs: whether somebody carries objects there (`hub/engaged/targets`). */
  readonly kubeconfigTargets?: boolean;
}

export interface Graphs {
  /** What its process counts, with what it counts (`metric-table.ts`), in the text format of Prometheus. */
  metrics(): string;
  stop(): Promise<void>;
}

/**
 * Runs the resource graphs of one cluster, the one whose API it is given. Everything is told by watches: at rest it asks nothing.
 * What fails is tried again for as long as it is wanted. It may be killed at any time and started again on what is stored.
 */
export function startGraphs(runtime: Runtime, options: GraphsOptions): Graphs {
  const { version } = options;
  const { clock } = runtime;
  const cluster = options.cluster === undefined ? undefined : clusterName(options.cluster);
  const metrics = createGraphMetrics(runtime.metrics, {
    dynamic_controller_gvr_count: () => [{ value: load('kinds') }],
    dynamic_controller_watch_count: () => [{ value: load('watches') }],
    dynamic_controller_queue_length: () => [{ value: load('busy') }],
    dynamic_controller_handler_count_total: () => [
      { labels: { type: 'parent' }, value: load('kinds') },
      { labels: { type: 'child' }, value: load('watches') },
    ],
    dynamic_controller_instance_watch_count: () => instances.watchers(),
    dynamic_controller_watch_request_count: () => instances.requests(),
    graph_revision_registry_entries: () => revisions.states(),
    instance_condition_current_status_seconds: () => transitions.conditions(clock.now()),
    schema_resolver_cache_size: () => [{ value: schemas.size }],
  });
  const load = (of: keyof Instances['load']): number => instances.load[of] + (objects?.load[of] ?? 0);
  const { requestsPerSecond, requestBurst: burst = 150 } = options;
  const asked =
    requestsPerSecond === undefined
      ? options.client
      : limitedClient(options.client, clock, { perSecond: requestsPerSecond, burst });
  const client = meteredClient(asked, clock, metrics, options.cluster ?? 'local');
  const timing = given({
    firstRetryMs: options.firstRetryMs,
    longestRetryMs: options.longestRetryMs,
    resyncMs: options.resyncMs,
    requeueMs: options.requeueMs,
  });
  const definitions = startInformer<ResourceGraphDefinition>(runtime, client, GRAPH_DEFINITIONS);
  const stored = startInformer<GraphRevision>(runtime, client, GRAPH_REVISIONS);
  const rollouts = startInformer<GraphRollout>(runtime, client, resourceIdOf(GRAPH_ROLLOUT));
  const kinds = startInformer(runtime, client, customResourceDefinitions);
  const schemas = clusterSchemas(client, () => kinds.list(), clock, metrics);
  const revisions = createRevisions(client, clock, schemas, metrics, {
    ...given({ omit: options.omit, dynamicKeys: options.dynamicKeys, maxDimensions: options.maxDimensions }),
  });
  const events =
    options.conditionEvents === true
      ? startEventRecorder(runtime, client, { component: 'resource-graphs' })
      : undefined;
  const transitions = createTransitions({
    metrics,
    ...(events && { events }),
    conditionMetrics: options.conditionMetrics === true,
  });
  const instances = startInstances(runtime, {
    ...timing,
    client,
    metrics,
    transitions,
    ...given({
      cluster,
      costLimit: options.costLimit,
      maxCollectionSize: options.maxCollectionSize,
      concurrency: options.instanceConcurrency,
      applyConcurrency: options.applyConcurrency,
    }),
    stays: ({ group, kind }) => hubOnlyKinds(definitions.list()).has(`${group}/${kind}`),
    onCount(definition) {
      if (definitions.get('', definition)?.metadata.deletionTimestamp !== undefined)
        queue.enqueue(definition);
    },
    onState(definition) {
      const object = definitions.get('', definition);
      // Whoever sent it wants to know of its instances.
      if (object && distributedRevisionOf(object) !== undefined) queue.enqueue(definition, TALLY_MS);
    },
  });
  const objects =
    options.graphObjects === false
      ? undefined
      : startGraphObjects(runtime, {
          ...{ client, metrics, transitions, version, schemas, ...timing },
          concurrency: options.graphConcurrency ?? 1,
          ...given({
            cluster,
            costLimit: options.costLimit,
            maxCollectionSize: options.maxCollectionSize,
            applyConcurrency: options.applyConcurrency,
            omit: options.omit,
            dynamicKeys: options.dynamicKeys,
            maxDimensions: options.maxDimensions,
            bothPrefixes: options.bothPrefixes,
          }),
        });
  const queue = startController(runtime, {
    name: 'graph definitions',
    ...given({ concurrency: options.definitionConcurrency }),
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
    metrics,
    allowKindDeletion: options.allowKindDeletion === true,
    revisionsInUse: (name) => (rollouts.synced ? revisionsInUse(name, rollouts.list()) : undefined),
    ...given({
      bothPrefixes: options.bothPrefixes,
      keptRevisions: options.keptRevisions,
      progressMs: options.progressMs,
      kubeconfigTargets: options.kubeconfigTargets,
    }),
  });

  function kindChanged({ type, object, previous }: Change): void {
    if (type === 'updated' && previous && isSameKind(object, previous)) return;
    revisions.kindChanged(object);
    objects?.kindChanged(object);
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

  const hubObjects = startHubObjects(runtime, client);
  let stopping = false;
  begin().catch((error: unknown) => {
    if (!stopping) runtime.log.error('resource graphs could not start', { error: errorText(error) });
  });

  return {
    metrics: () => runtime.metrics.text(),
    async stop() {
      stopping = true;
      events?.stop();
      metrics.stop();
      definitions.stop();
      stored.stop();
      rollouts.stop();
      kinds.stop();
      await Promise.all([queue.stop(), instances.stop(), objects?.stop(), hubObjects.stop()]);
    },
  };
}

/** Instances that come to be at the same time are told of together. */
const TALLY_MS = 1_000;

/** Those options that were given. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Whether a definition is made of resources of a kind, or waits for it. */
export function names(object: ResourceGraphDefinition, kind: KubeObject): boolean {
  const { definition } = definitionOf(object);
  return definition !== undefined && kindsOf(definition).some((item) => defines(kind, item));
}

/** All but the status, which only the engine writes. */
function concernsUs(object: ResourceGraphDefinition, previous: ResourceGraphDefinition): boolean {
  return (
    !deepEqual(object.spec as unknown, previous.spec as unknown) ||
    object.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp ||
    !deepEqual(object.metadata.annotations, previous.metadata.annotations) ||
    !deepEqual(object.metadata.labels, previous.metadata.labels) ||
    !deepEqual(object.metadata.finalizers, previous.metadata.finalizers)
  );
}

/** Whether it is served as before, and belongs to whom it belonged to. */
export function isSameKind(object: KubeObject, previous: KubeObject): boolean {
  return (
    deepEqual(object['spec'], previous['spec']) &&
    deepEqual(object['status'], previous['status']) &&
    deepEqual(object.metadata.labels, previous.metadata.labels)
  );
}
