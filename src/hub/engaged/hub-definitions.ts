import {
  type AskedDefinition,
  type CompiledDistribution,
  compileDistribution,
  type DefinitionSource,
  definitionAt,
  GRAPH_REVISION,
  GRAPH_ROLLOUT,
  type GraphRevision,
  type GraphRollout,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
  revisionFor,
} from '../../dialects/kro/index.ts';
import { type ClusterFacts, compileMatch, matchesCluster } from '../../engine/place/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { failure } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';

export const DEFINITIONS: ReturnType<typeof resourceIdOf> = resourceIdOf(RESOURCE_GRAPH_DEFINITION);

/** On definitions that engaged clusters have: they are not gone before. */
export const ENGAGED_FINALIZER = 'atoll.dev/engaged-clusters';

/** The definitions of the hub, read once for all clusters. */
export interface HubDefinitions {
  /** As a cluster is to have them. `recorded` is awaited before a cluster has anything of one. */
  for(facts: ClusterFacts, recorded: (definition: string) => Promise<void>): DefinitionSource;
  /** Returns how to stop listening. */
  onChange(listener: (name: string) => void): () => void;
  get(name: string): ResourceGraphDefinition | undefined;
  list(): ResourceGraphDefinition[];
  readonly synced: boolean;
  stop(): void;
}

export function hubDefinitions(runtime: Runtime, client: Client): HubDefinitions {
  const definitions = startInformer<ResourceGraphDefinition>(runtime, client, DEFINITIONS);
  const revisions = startInformer<GraphRevision>(runtime, client, resourceIdOf(GRAPH_REVISION));
  const rollouts = startInformer<GraphRollout>(runtime, client, resourceIdOf(GRAPH_ROLLOUT));
  const listeners = new Set<(name: string) => void>();
  /** The same for all clusters, until something of it changes. */
  const compiled = new Map<string, CompiledDistribution>();

  function tell(name: string): void {
    compiled.delete(name);
    for (const listener of listeners) listener(name);
  }

  definitions.onChange(({ type, object, previous }) => {
    if (type !== 'updated' || !previous || concerns(object, previous)) tell(object.metadata.name ?? '');
  });
  revisions.onChange(({ object }) => tell(object.spec.snapshot.name));
  rollouts.onChange(({ object, previous }) => {
    for (const name of new Set([object.spec.graph, previous?.spec.graph])) if (name !== undefined) tell(name);
  });

  function compiledOf(object: ResourceGraphDefinition): CompiledDistribution {
    const name = object.metadata.name ?? '';
    const known = compiled.get(name);
    if (known) return known;
    const context = { revisions: revisions.list(), rollouts: rollouts.list(), begun: true };
    const made = compileDistribution(object, context);
    compiled.set(name, made);
    return made;
  }

  function askedBy(facts: ClusterFacts, name: string): AskedDefinition | undefined {
    const object = definitions.get('', name);
    if (!object) return undefined;
    const distribution = compiledOf(object);
    const number = revisionFor(distribution, facts);
    const revision = revisions
      .list()
      .find(({ spec }) => spec.snapshot.name === name && spec.revision === number);
    // Nothing of it was ever served at the hub.
    if (!revision) return undefined;
    const { uid = '', deletionTimestamp } = object.metadata;
    const at = definitionAt(object, revision) as ResourceGraphDefinition;
    const { placement } = distribution.intent;
    const chosen = distribution.everywhere && matchesCluster(compileMatch(placement, 'clusters', []), facts);
    return {
      object: {
        ...at,
        metadata: { ...at.metadata, uid, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
      },
      wanted: chosen && deletionTimestamp === undefined,
      ...(distribution.problems.length > 0 && { problem: distribution.problems.join('; ') }),
    };
  }

  /** Before a cluster has anything of it. */
  async function hold(name: string): Promise<void> {
    const object = definitions.get('', name);
    const { finalizers = [], deletionTimestamp, uid = '' } = object?.metadata ?? {};
    if (!object || deletionTimestamp !== undefined)
      throw failure(409, 'Conflict', `the definition ${name} is being deleted`);
    if (finalizers.includes(ENGAGED_FINALIZER)) return;
    // With the UID one that is gone meanwhile is not made again; applied, it is added to those of others.
    const { apiVersion, kind } = object;
    await client.apply(
      DEFINITIONS,
      { apiVersion, kind, metadata: { name, uid, finalizers: [ENGAGED_FINALIZER] } },
      { fieldManager: 'atoll-engaged-clusters', force: true },
    );
  }

  return {
    for: (facts, recorded) => ({
      revisions,
      names: () => definitions.list().map(({ metadata: { name = '' } }) => name),
      get: (name) => askedBy(facts, name),
      async hold(name) {
        await hold(name);
        await recorded(name);
      },
      onChange: listen,
      whenSynced: async () => {
        await Promise.all([definitions.whenSynced(), revisions.whenSynced(), rollouts.whenSynced()]);
      },
    }),
    onChange: listen,
    get: (name) => definitions.get('', name),
    list: () => definitions.list(),
    get synced() {
      return definitions.synced;
    },
    stop() {
      definitions.stop();
      revisions.stop();
      rollouts.stop();
      listeners.clear();
    },
  };

  function listen(listener: (name: string) => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
}

/** Of the status only what says which revision is served. */
function concerns(object: ResourceGraphDefinition, previous: ResourceGraphDefinition): boolean {
  const relevant = ({ metadata, spec, status }: ResourceGraphDefinition): object => ({
    spec,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    finalizers: metadata.finalizers ?? [],
    deletionTimestamp: metadata.deletionTimestamp ?? null,
    issued: status?.lastIssuedRevision ?? 0,
    state: status?.state ?? '',
  });
  return !deepEqual(relevant(object), relevant(previous));
}
