import { atRevisionOf, pinOf } from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import {
  formatApiVersion,
  type GroupVersionKind,
  type KubeObject,
  refKey,
  refOf,
} from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { Sample } from '../../runtime/metrics.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { type InstanceMemory, instanceMemory } from './instance-memory.ts';
import { passInstance } from './instance-pass.ts';
import { stateOf } from './instance-tally.ts';
import { createInterests } from './interest.ts';
import { kindWatches } from './kind-watch.ts';
import { createMembers } from './members.ts';
import { type GraphMetrics, graphMeter } from './metrics.ts';
import { NO_ORIGINS, openOrigins } from './origins.ts';
import { createPace } from './pace.ts';
import type { PassContext } from './pass-context.ts';
import { createReadsByHand } from './reads-by-hand.ts';
import { instanceResource, laterOf, type ServedGraph } from './served-graph.ts';
import { gvrText, type Transitions } from './transitions.ts';

/** All instances of all definitions of this cluster, by one queue. */
export interface Instances {
  /** Looks after the instances of a definition from now on, by what it says now. */
  serve(served: ServedGraph): void;
  /** Looks at some of its instances again. */
  retry(definition: string, which: (instance: KubeObject) => boolean): void;
  /** Stops looking after them. */
  drop(definition: string): void;
  /** The instances of a definition that are there; `undefined` where that is not known. */
  list(definition: string): readonly KubeObject[] | undefined;
  /** The revisions that instances of a definition are pinned to, or still made by. */
  pins(definition: string): ReadonlySet<number>;
  /** Kinds that are served, watches of objects, instances that wait. */
  readonly load: { readonly kinds: number; readonly watches: number; readonly busy: number };
  /** Instances that are told of changes, by their kind. */
  watchers(): Iterable<Sample>;
  /** What they want to be told of, by its kind. */
  requests(): Iterable<Sample>;
  stop(): Promise<void>;
}

export interface InstancesOptions {
  readonly metrics: GraphMetrics;
  readonly transitions: Transitions;
  readonly client: Client;
  /** An instance of the definition came or went. */
  readonly onCount: (definition: string) => void;
  /** An instance of the definition came, went, or is in another state than before. */
  readonly onState?: (definition: string) => void;
  readonly concurrency?: number;
  readonly cluster?: ClusterName;
  /** With whose rights the objects of instances are read, written and deleted; the engine's own where nothing is said. */
  readonly actFor?: (definition: string, namespace: string, instance: KubeObject) => Client;
  /** What an instance is made by, where each is the definition of itself. */
  readonly graphFor?: (instance: KubeObject) => Promise<ServedGraph>;
  readonly costLimit?: number;
  readonly maxCollectionSize?: number;
  /** Whether instances of a kind stay here that come from other clusters; none come where nothing is said. */
  readonly stays?: (of: GroupVersionKind) => boolean;
  /** 20 by default. */
  readonly applyConcurrency?: number;
  /** Pauses after failures; 200 ms and 30 s by default. */
  readonly firstRetryMs?: number;
  readonly longestRetryMs?: number;
  /** After which all are looked at again, and those that wait; never by default, since watches tell. */
  readonly resyncMs?: number;
  readonly requeueMs?: number;
}

interface Served {
  graph: ServedGraph;
  readonly informer: Informer;
}

export function startInstances(runtime: Runtime, options: InstancesOptions): Instances {
  const { client } = options;
  const served = new Map<string, Served>();
  const memories = new Map<string, InstanceMemory>();
  /** What was heard during passes, by instance. The change of the instance itself has no name there. */
  const passing = new Map<string, Map<string, Change>>();
  const interests = createInterests();
  const { metrics } = options;
  const origins = options.stays ? openOrigins(runtime, client, (key) => queue.enqueue(key)) : NO_ORIGINS;
  const reads = createReadsByHand(runtime.clock, (key) => queue.enqueue(key));
  const watches = kindWatches(runtime, client, {
    onChange: (change, resource) => {
      const concerned = interests.of(change);
      const gvr = gvrText(resource);
      metrics.count('dynamic_controller_informer_events_total', { gvr, event_type: change.type });
      metrics.count('dynamic_controller_route_total', { gvr });
      if (concerned.size > 0) metrics.count('dynamic_controller_route_match_total', { gvr });
      for (const key of concerned) heard(key, change);
    },
    onSynced: (resource, milliseconds) =>
      metrics.observe(
        'dynamic_controller_informer_sync_duration_seconds',
        { gvr: gvrText(resource) },
        milliseconds,
      ),
    onOpened: () => metrics.count('dynamic_controller_handler_attach_total', { type: 'child' }),
    onClosed: () => metrics.count('dynamic_controller_handler_detach_total', { type: 'child' }),
    onState: enqueueAll,
  });
  const { cluster, costLimit, maxCollectionSize, firstRetryMs = 200, longestRetryMs = 30_000 } = options;
  const context: PassContext = {
    ...{ runtime, client, watches, interests, members: createMembers(client, runtime.clock) },
    ...{ childClient: client, actsForOthers: false },
    ...{ pace: createPace(runtime.clock), origins, stays: options.stays ?? (() => false) },
    ...{ reads, metrics, meter: graphMeter(metrics, runtime.clock), transitions: options.transitions },
    ...(cluster !== undefined && { cluster }),
    ...(costLimit !== undefined && { costLimit }),
    ...(maxCollectionSize !== undefined && { maxCollectionSize }),
    applyConcurrency: options.applyConcurrency ?? 20,
    ...(options.requeueMs !== undefined && { requeueMs: options.requeueMs }),
    ...{ firstRetryMs, longestRetryMs },
  };
  /** The same with the rights of whoever instances of a definition in a namespace are carried out for. */
  function contextFor(definition: string, namespace: string, instance: KubeObject): PassContext {
    const childClient = options.actFor?.(definition, namespace, instance);
    if (!childClient) return context;
    const members = createMembers(client, runtime.clock, childClient);
    return { ...context, childClient, actsForOthers: true, members };
  }

  const queue = startController(runtime, {
    name: 'graph instances',
    concurrency: options.concurrency ?? 8,
    backoff: { baseMs: firstRetryMs, maxMs: longestRetryMs },
    reconcile,
  });

  let resync: Timer | undefined;
  function lookAgain(afterMs: number): void {
    resync = runtime.clock.after(afterMs, () => {
      for (const [definition, { informer }] of served)
        for (const instance of informer.list()) queue.enqueue(keyOf(definition, instance));
      lookAgain(afterMs);
    });
  }
  if (options.resyncMs !== undefined) lookAgain(options.resyncMs);

  /** What is heard during a pass may be its own doing: it is judged when the pass is over. */
  function heard(key: string, change: Change, ofInstance = false): void {
    const during = passing.get(key);
    if (during) during.set(ofInstance ? '' : refKey(refOf(change.object)), change);
    else if (ofInstance || isNews(key, change)) queue.enqueue(key);
  }

  function isNews(key: string, { type, object }: Change): boolean {
    return type === 'deleted' || memories.get(key)?.told(refKey(refOf(object)), object) !== true;
  }

  function isNewsOfInstance({ type, object }: Change, looked: KubeObject | undefined): boolean {
    if (type === 'deleted' || !looked) return true;
    // The pass may have seen it in an answer to what it wrote, but it went on to bring about what is to go.
    if (object.metadata.deletionTimestamp !== undefined) return true;
    const { apiVersion, kind } = looked;
    return concernsUs({ ...object, apiVersion, kind }, looked);
  }

  function enqueueAll(keys: Iterable<string>): void {
    for (const key of keys) queue.enqueue(key);
  }

  function changed(definition: string, { type, object, previous }: Change): void {
    if (type !== 'updated' || !previous || concernsUs(object, previous))
      heard(keyOf(definition, object), { type, object, ...(previous && { previous }) }, true);
    const kept = previous?.metadata.finalizers?.length === object.metadata.finalizers?.length;
    if (type !== 'updated' || !kept) options.onCount(definition);
    if (type !== 'updated' || !previous || stateOf(object) !== stateOf(previous))
      options.onState?.(definition);
  }

  function forget(key: string): void {
    memories.delete(key);
    interests.set(key, undefined);
    watches.hold(key, []);
    reads.forget(key);
    origins.forget(key);
  }

  function drop(definition: string): void {
    const before = served.get(definition);
    if (!before) return;
    served.delete(definition);
    context.pace.forget(definition);
    before.informer.stop();
    metrics.count('dynamic_controller_handler_detach_total', { type: 'parent' });
    for (const instance of before.informer.list()) forget(keyOf(definition, instance));
  }

  async function reconcile(key: string): Promise<Result | undefined> {
    const [definition = '', namespace = '', name = ''] = key.split('\n');
    const of = served.get(definition);
    const copy = of?.informer.get(namespace, name);
    if (!of || !copy) {
      forget(key);
      return undefined;
    }
    const known = memories.get(key);
    const same = known?.instance === undefined || known.instance.metadata.uid === copy.metadata.uid;
    const memory = known && same ? known : instanceMemory();
    memories.set(key, memory);
    const { group, version, kind, plural } = of.graph.kind;
    const gvr = gvrText({ group, version, resource: plural });
    const began = runtime.clock.monotonic();
    metrics.count('dynamic_controller_reconcile_total', { gvr });
    metrics.count('instance_reconcile_total', { gvr });
    const instance = {
      ...laterOf(copy, memory.instance),
      apiVersion: formatApiVersion(group, version),
      kind,
    };
    const during = new Map<string, Change>();
    passing.set(key, during);
    let looked: KubeObject | undefined;
    try {
      const acting = contextFor(definition, namespace, instance);
      const graph = (await options.graphFor?.(instance)) ?? of.graph;
      const result = await passInstance(acting, key, graph, instance, memory);
      looked = result.looked;
      const took = runtime.clock.monotonic() - began;
      metrics.observe('dynamic_controller_reconcile_duration_seconds', { gvr }, took);
      metrics.observe('instance_reconcile_duration_seconds', { gvr }, took);
      if (result.gone) {
        options.transitions.gone(gvr, namespace, name);
        forget(key);
        return undefined;
      }
      if (served.get(definition) !== of) {
        // Nobody looks after it any longer, or somebody anew, who was told.
        forget(key);
        return undefined;
      }
      watches.hold(key, result.wishes);
      interests.set(key, result.interest);
      if (result.requeueAfterMs !== undefined)
        metrics.count('dynamic_controller_requeue_total', { gvr, type: 'requeue_after' });
      return result.requeueAfterMs === undefined ? undefined : { requeueAfterMs: result.requeueAfterMs };
    } catch (error) {
      // It went away while it was looked at; the watch tells the rest.
      if (hasCode(error, 404) && of.informer.get(namespace, name) === undefined) return undefined;
      metrics.count('dynamic_controller_handler_errors_total', { gvr });
      metrics.count('instance_reconcile_errors_total', { gvr });
      // No API answers so: it is ours. The queue takes it as any other failure, and others go on.
      if (isDefect(error)) metrics.count('dynamic_controller_reconcile_panics_total', {});
      throw error;
    } finally {
      passing.delete(key);
      for (const [ref, change] of during)
        if (ref === '' ? isNewsOfInstance(change, looked) : isNews(key, change)) queue.enqueue(key);
    }
  }

  return {
    serve(graph) {
      const definition = graph.owner.name;
      if (options.stays?.(graph.kind) === true) origins.listen();
      const before = served.get(definition);
      if (before && deepEqual({ ...before.graph.kind }, { ...graph.kind })) {
        const same = deepEqual(signature(before.graph), signature(graph));
        before.graph = graph;
        if (same) return;
      } else {
        if (before) drop(definition);
        const informer = startInformer(runtime, client, instanceResource(graph.kind));
        metrics.count('dynamic_controller_handler_attach_total', { type: 'parent' });
        served.set(definition, { graph, informer });
        informer.onChange((change) => changed(definition, change));
        return;
      }
      for (const instance of before.informer.list()) queue.enqueue(keyOf(definition, instance));
    },
    drop,
    retry(definition, which) {
      for (const instance of served.get(definition)?.informer.list() ?? [])
        if (which(instance)) queue.enqueue(keyOf(definition, instance));
    },
    list(definition) {
      const of = served.get(definition);
      return of?.informer.synced ? of.informer.list() : undefined;
    },
    pins(definition) {
      const of = served.get(definition);
      const pinned = (of?.informer.list() ?? []).flatMap((instance) => [
        pinOf(instance),
        // Those that are still to go on are served by it until then.
        of?.graph.pace === undefined ? undefined : atRevisionOf(instance),
      ]);
      return new Set(pinned.filter((number) => number !== undefined));
    },
    get load() {
      return { kinds: served.size, watches: watches.size, busy: queue.busy };
    },
    *watchers() {
      const counts = new Map<string, number>();
      for (const key of memories.keys()) {
        const definition = key.slice(0, key.indexOf('\n'));
        counts.set(definition, (counts.get(definition) ?? 0) + 1);
      }
      for (const [definition, { graph }] of served)
        yield {
          labels: { parent_gvr: gvrText({ ...graph.kind, resource: graph.kind.plural }) },
          value: counts.get(definition) ?? 0,
        };
    },
    *requests() {
      for (const { groupKind, type, count } of interests.requests()) {
        const resource = watches.resourceOf(groupKind);
        yield { labels: { gvr: resource ? gvrText(resource) : groupKind, type }, value: count };
      }
    },
    async stop() {
      resync?.cancel();
      watches.stop();
      reads.stop();
      origins.stop();
      for (const { informer } of served.values()) informer.stop();
      await queue.stop();
    },
  };
}

function isDefect(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

function keyOf(definition: string, { metadata: { namespace = '', name = '' } }: KubeObject): string {
  return `${definition}\n${namespace}\n${name}`;
}

/** What makes instances be looked at anew when it changes. */
function signature({ owner, revisions, graphs, pinned, pace, abandoning }: ServedGraph): object {
  return {
    owner,
    abandoning: abandoning === true,
    pinned: pinned ?? null,
    pace: pace ?? null,
    revisions: revisions.map(({ number, state, message = '' }) => ({ number, state, message })),
    digests: [...graphs].map(([number, { digest }]) => [number, digest.digest]),
  };
}

/** Everything but the status: labels and annotations may be used by expressions. */
function concernsUs(object: KubeObject, previous: KubeObject): boolean {
  const relevant = ({ metadata, status: _status, ...rest }: KubeObject): object => {
    const { resourceVersion: _version, ...kept } = metadata;
    return { ...rest, metadata: kept };
  };
  return !deepEqual(relevant(object), relevant(previous));
}
