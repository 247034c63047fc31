import {
  type AskedDefinition,
  distributedRevisionOf,
  type EngagedWork,
  type GraphOnEngaged,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../dialects/kro/index.ts';
import { newestOf } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { startEventRecorder } from '../../kube/events.ts';
import type { Change } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { clusterSchemas } from './cluster-schemas.ts';
import { createDefinitionRemoval } from './definition-removal.ts';
import { createServing, kindOf, type Outcome } from './definition-serving.ts';
import { type GraphsOptions, given, isSameKind, names } from './graphs.ts';
import { tallyOf } from './instance-tally.ts';
import { startInstances } from './instances.ts';
import { meteredClient } from './metered-client.ts';
import { createGraphMetrics } from './metrics.ts';
import { createRevisions } from './revisions.ts';
import { createTransitions } from './transitions.ts';

export interface EngagedGraphsOptions extends Omit<GraphsOptions, 'cluster' | 'bothPrefixes'>, EngagedWork {
  readonly bothPrefixes?: boolean;
  /** With whose rights objects of instances are read, written and deleted; those of `client` where nothing is said. */
  readonly actFor?: (definition: string, namespace: string) => Client;
}

/** The engine on a cluster that has none. */
export interface EngagedGraphs {
  /** Closes all watches. Nothing on the cluster is touched. */
  stop(): Promise<void>;
}

const ENGINE_KIND = `${RESOURCE_GRAPH_DEFINITION.plural}.${RESOURCE_GRAPH_DEFINITION.group}`;
/** On a kind of a cluster without an engine: the hub that looks after its instances. */
const ENGAGED_BY = 'atoll.dev/engaged-by';
const NOT_YET_MS = 1_000;
const LEAVING_MS = 30_000;
const TALLY_MS = 1_000;
/** So long a cluster may be silent before it counts as unreachable; a watch that breaks is often back at once. */
const SILENT_MS = 5_000;

/**
 * Runs the graphs of a hub on a cluster that has no engine: definitions and revisions are read from the hub, whereas kinds, instances
 * and their objects are the cluster's. Whatever is served there is served by the same passes that clusters with an engine make. Where an
 * engine of graphs is found on the cluster, which has definitions of its own, nothing is touched as long as it is there.
 */
export function startEngagedGraphs(base: Runtime, options: EngagedGraphsOptions): EngagedGraphs {
  const { cluster, hub, source, reports } = options;
  const runtime: Runtime = { ...base, log: base.log.with({ cluster }) };
  const { clock, log } = runtime;
  const metrics = createGraphMetrics(
    runtime.metrics,
    {
      dynamic_controller_gvr_count: () => [{ value: instances.load.kinds }],
      dynamic_controller_watch_count: () => [{ value: instances.load.watches }],
      dynamic_controller_queue_length: () => [{ value: instances.load.busy }],
      dynamic_controller_instance_watch_count: () => instances.watchers(),
      dynamic_controller_watch_request_count: () => instances.requests(),
      graph_revision_registry_entries: () => revisions.states(),
      instance_condition_current_status_seconds: () => transitions.conditions(clock.now()),
      schema_resolver_cache_size: () => [{ value: schemas.size }],
    },
    cluster,
  );
  const client = meteredClient(options.client, clock, metrics, cluster);
  const kinds = startInformer(runtime, client, customResourceDefinitions);
  const schemas = clusterSchemas(client, () => kinds.list(), clock, metrics);
  const revisions = createRevisions(client, clock, schemas, metrics, {
    ...given({ omit: options.omit, dynamicKeys: options.dynamicKeys, maxDimensions: options.maxDimensions }),
    elsewhere: true,
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
    client,
    metrics,
    transitions,
    cluster,
    ...given({
      costLimit: options.costLimit,
      maxCollectionSize: options.maxCollectionSize,
      concurrency: options.instanceConcurrency,
      applyConcurrency: options.applyConcurrency,
      actFor: options.actFor,
    }),
    onCount(definition) {
      if (source.get(definition)?.wanted !== true) queue.enqueue(definition);
    },
    onState: (definition) => queue.enqueue(definition, TALLY_MS),
  });
  /** The revision that is asked for, by definition. */
  const asked = new Map<string, number>();
  /** Those that the hub was told of. */
  const held = new Set<string>();
  const serving = createServing({
    ...{ runtime, client, version: options.version, revisions, instances, metrics },
    ...given({ bothPrefixes: options.bothPrefixes }),
    // A cluster compiles no more of the hub's revisions than it serves.
    stored: {
      get synced() {
        return source.revisions.synced;
      },
      list: () =>
        source.revisions
          .list()
          .filter(
            ({ spec: { revision, snapshot } }) =>
              asked.get(snapshot.name) === revision || instances.pins(snapshot.name).has(revision),
          ),
    },
  });
  const { leaving } = createDefinitionRemoval({
    ...{ client, instances, servedBy: serving.servedBy },
    allowKindDeletion: options.allowKindDeletion === true,
  });
  const queue = startController(runtime, {
    name: 'engaged graphs',
    ...given({ concurrency: options.definitionConcurrency }),
    reconcile,
  });

  async function reconcile(name: string): Promise<Result | undefined> {
    if (engineThere()) return undefined;
    const found = source.get(name);
    if (!found) {
      drop(name);
      return undefined;
    }
    try {
      const result = await (found.wanted ? serve(name, found) : leave(name, found));
      if (!engineThere()) return result;
      // It came meanwhile: what was begun is its own now.
      drop(name);
      return undefined;
    } catch (error) {
      reports.graph(name, { state: found.wanted ? 'Inactive' : 'Leaving', message: errorText(error) });
      throw error;
    }
  }

  async function serve(name: string, { object, problem }: AskedDefinition): Promise<Result | undefined> {
    const other = otherHub(object);
    if (other !== undefined) {
      drop(name);
      reports.graph(name, { state: 'Inactive', message: other });
      return undefined;
    }
    if (!held.has(name)) await source.hold(name);
    held.add(name);
    const revision = distributedRevisionOf(object);
    // What cannot be served changes nothing that is.
    if (revision !== undefined && (problem === undefined || !asked.has(name))) asked.set(name, revision);
    const outcome = await serving.bringAbout(object);
    if (outcome.served) {
      await mark(object);
      instances.serve(outcome.served);
    }
    reports.graph(name, reportOf(name, outcome, problem));
    return outcome.again ? { requeueAfterMs: NOT_YET_MS } : undefined;
  }

  function crdNameOf(object: ResourceGraphDefinition): string | undefined {
    const kind = kindOf(object);
    return kind && `${kind.plural}.${kind.group}`;
  }

  /** One hub at a time has a kind of a cluster: why this one has not. */
  function otherHub(object: ResourceGraphDefinition): string | undefined {
    const name = crdNameOf(object) ?? '';
    const by = kinds.get('', name)?.metadata.annotations?.[ENGAGED_BY];
    return by === undefined || by === hub
      ? undefined
      : `another hub (${by}) runs this graph here; where it does so no longer: kubectl annotate crd ${name} ${ENGAGED_BY}-`;
  }

  /** Nothing is forced: where two hubs come at the same time, the second is told of a conflict. */
  async function mark(object: ResourceGraphDefinition): Promise<void> {
    const name = crdNameOf(object) ?? '';
    const present = kinds.get('', name);
    if (present?.metadata.annotations?.[ENGAGED_BY] === hub) return;
    const { apiVersion, kind } = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
    const patch = { apiVersion, kind, metadata: { name, annotations: { [ENGAGED_BY]: hub } } };
    await client.apply(customResourceDefinitions, patch, { fieldManager: `atoll-engaged-${hub}` });
  }

  /** Another hub may have it from now on. */
  async function unmark(object: ResourceGraphDefinition): Promise<void> {
    const name = crdNameOf(object) ?? '';
    if (kinds.get('', name)?.metadata.annotations?.[ENGAGED_BY] !== hub) return;
    await ignoring(
      404,
      client.patch(customResourceDefinitions, '', name, 'merge', {
        metadata: { annotations: { [ENGAGED_BY]: null } },
      }),
    );
  }

  async function leave(name: string, { object }: AskedDefinition): Promise<Result | undefined> {
    const revision = distributedRevisionOf(object);
    if (revision !== undefined && !asked.has(name)) asked.set(name, revision);
    const known = await serving.loaded(name);
    const kind = newestOf(known)?.graph?.instance ?? kindOf(object);
    const left = kind && (await leaving(object, kind, known));
    if (left !== undefined) {
      const all = instances.list(name);
      reports.graph(name, {
        state: 'Leaving',
        message: left,
        ...(all && { instances: tallyOf(all) }),
      });
      return { requeueAfterMs: LEAVING_MS };
    }
    await unmark(object);
    drop(name);
    return undefined;
  }

  function drop(name: string): void {
    instances.drop(name);
    asked.delete(name);
    held.delete(name);
    reports.graph(name, undefined);
  }

  function reportOf(name: string, { findings, served }: Outcome, problem?: string): GraphOnEngaged {
    const wrong = [findings.accepted, findings.kind, findings.controller].find(
      ({ status }) => status !== 'True',
    );
    const message = problem ?? wrong?.message;
    const all = instances.list(name);
    return {
      state: wrong === undefined ? 'Active' : 'Inactive',
      message: message ?? '',
      ...(served?.pinned !== undefined && { revision: served.pinned }),
      ...(all && { instances: tallyOf(all) }),
    };
  }

  /** Whether the cluster has definitions of its own, and so somebody who writes what we would. */
  function engineThere(): boolean {
    return kinds.get('', ENGINE_KIND) !== undefined;
  }

  function kindChanged({ type, object, previous }: Change): void {
    const by = (kind: KubeObject | undefined): string | undefined => kind?.metadata.annotations?.[ENGAGED_BY];
    if (type === 'updated' && previous && isSameKind(object, previous) && by(object) === by(previous)) return;
    if (object.metadata.name === ENGINE_KIND) {
      tellState();
      if (engineThere()) giveWay();
      else enqueueAll();
      return;
    }
    revisions.kindChanged(object);
    for (const name of source.names()) if (concerns(name, object)) queue.enqueue(name);
  }

  function concerns(name: string, kind: KubeObject): boolean {
    const definition = source.get(name)?.object;
    if (!definition) return false;
    const own = kindOf(definition);
    const makes = own !== undefined && kind.metadata.name === `${own.plural}.${own.group}`;
    return makes || names(definition, kind);
  }

  function giveWay(): void {
    log.warn('an engine of graphs came to this cluster: it is left to that one');
    for (const name of asked.keys()) drop(name);
  }

  function enqueueAll(): void {
    for (const name of source.names()) queue.enqueue(name);
  }

  let silence: Timer | undefined;
  let stopping = false;

  function tellState(): void {
    if (stopping) return;
    if (!kinds.live || !kinds.synced) return;
    reports.state(
      engineThere()
        ? {
            state: 'EnginePresent',
            message: `the cluster has the kind ${ENGINE_KIND}, so an engine of its own looks after its graphs; nothing is touched. Make it a spoke of this hub, or delete that kind there where no engine runs`,
          }
        : { state: 'Ready' },
    );
  }

  function silent(error?: unknown): void {
    silence ??= clock.after(SILENT_MS, () => {
      silence = undefined;
      if (kinds.live && kinds.synced) return;
      const why = error === undefined ? '' : `: ${errorText(error)}`;
      reports.state({
        state: 'Unreachable',
        message: `the cluster does not answer; it is asked again${why}`,
      });
    });
  }

  kinds.onLive((live, error) => {
    if (stopping) return;
    if (!live) return silent(error);
    silence?.cancel();
    silence = undefined;
    tellState();
  });
  silent();

  const stopListening: (() => void)[] = [];
  async function begin(): Promise<void> {
    await Promise.all([source.whenSynced(), kinds.whenSynced()]);
    if (stopping) return;
    stopListening.push(source.onChange((name) => queue.enqueue(name)));
    kinds.onChange(kindChanged);
    tellState();
    enqueueAll();
  }
  begin().catch((error: unknown) => {
    if (!stopping) log.error('graphs could not start on an engaged cluster', { error: errorText(error) });
  });

  return {
    async stop() {
      stopping = true;
      silence?.cancel();
      for (const stop of stopListening) stop();
      events?.stop();
      kinds.stop();
      await Promise.all([queue.stop(), instances.stop()]);
      // Whatever was under way has counted.
      metrics.stop();
    },
  };
}
