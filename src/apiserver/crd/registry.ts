import { formatApiVersion } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { ALL_CLUSTERS } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import type { ResourceLookup } from '../rest/scope.ts';
import { clusterPrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import { type ApiBindings, apiBindings } from './bindings.ts';
import { customResources } from './custom-resource.ts';
import {
  asDefinition,
  DEFINITIONS_GROUP,
  DEFINITIONS_RESOURCE,
  type Definition,
  isEstablished,
  isTerminating,
} from './definition.ts';

/** What one logical cluster serves: built-ins that all share, and its own custom resources. */
export interface ClusterResources extends ResourceLookup {
  /** Whether instances of a custom resource may not be created any more. */
  terminating(resource: Resource): boolean;
}

export interface ResourceRegistry {
  /** The resources of a cluster as of now. The same object until its definitions change. */
  of(cluster: string): ClusterResources;
  /** Calls back after the definitions of a cluster have changed, with its name. */
  onChange(listener: (cluster: string) => void): () => void;
  /** Whether the server has resources of a group by itself. */
  isBuiltIn(group: string): boolean;
  /** What clusters have taken over from others. */
  readonly bindings: ApiBindings;
  close(): void;
}

interface Known {
  readonly spec: Definition['spec'];
  readonly resources: readonly Resource[];
}

/** Serves `builtins` in every cluster and what the definitions in `store` say. `definitionOf` finds built-in types. */
export function resourceRegistry(
  store: Store,
  builtins: readonly Resource[],
  definitionOf: (name: string) => OpenApiSchema | undefined,
): ResourceRegistry {
  const clusters = new Map<string, ClusterResources>();
  /** By uid: resources keep their identity, and with it all that is cached for them, while the spec stays. */
  const known = new Map<string, Known>();
  /** By what is bound: one for all clusters that have bound the same and define nothing. */
  const shared = new Map<string, ClusterResources>();
  const listeners = new Set<(cluster: string) => void>();
  const builtinGroups = new Set(builtins.map(({ group }) => group));
  const builtinNames = new Set(builtins.map((resource) => `${resource.group}/${resource.resource}`));

  /** What clusters without definitions serve: one for all of them. */
  const base = lookup(builtins, undefined, () => false);

  const changes = store.watch(
    resourcePrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE),
    store.revision,
    (events) => {
      for (const event of events) {
        const { cluster } = parseKey(event.record.key);
        clusters.delete(cluster);
        clusters.delete(ALL_CLUSTERS);
        shared.clear();
        for (const consumer of bindings.consumersOf(cluster, event.record.object.metadata.name ?? '')) {
          clusters.delete(consumer);
          for (const listener of listeners) listener(consumer);
        }
        if (event.type === 'deleted') known.delete(event.record.object.metadata.uid ?? '');
        for (const listener of listeners) listener(cluster);
      }
    },
  );

  const bindings = apiBindings(store, (consumer) => {
    clusters.delete(consumer);
    for (const listener of listeners) listener(consumer);
  });

  function resourcesOf(record: StoreRecord): readonly Resource[] {
    const definition = asDefinition(record.object);
    const uid = definition.metadata.uid ?? record.key;
    const cached = known.get(uid);
    if (cached && deepEqual(cached.spec, definition.spec)) return cached.resources;
    const resources = servedBy(definition, definitionOf);
    known.set(uid, { spec: definition.spec, resources });
    return resources;
  }

  /** All that some cluster serves. Of what several define for themselves, one stands for the others. */
  function buildAll(): ClusterResources {
    const own = new Map<string, Resource>();
    for (const record of store.list(resourcePrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE)).records) {
      const { spec } = asDefinition(record.object);
      if (!isEstablished(asDefinition(record.object))) continue;
      if (builtinNames.has(`${spec.group}/${spec.names.plural}`)) continue;
      for (const resource of resourcesOf(record)) {
        const id = `${resource.group}/${resource.version}/${resource.resource}`;
        if (!own.has(id)) own.set(id, resource);
      }
    }
    return lookup([...own.values()], base, () => false);
  }

  function build(cluster: string): ClusterResources {
    if (store.count(clusterPrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster)) > 0)
      return buildOwn(cluster);
    const id = bindings
      .of(cluster)
      .map(({ provider, name, uid }) => `${provider}/${name}/${uid}`)
      .sort()
      .join(' ');
    let resources = shared.get(id);
    if (resources === undefined) {
      resources = buildOwn(cluster);
      shared.set(id, resources);
    }
    return resources;
  }

  function buildOwn(cluster: string): ClusterResources {
    const own: Resource[] = [];
    const ending = new Set<string>();
    const records = store.list(clusterPrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster)).records;
    for (const record of records) {
      const definition = asDefinition(record.object);
      const id = `${definition.spec.group}/${definition.spec.names.plural}`;
      if (!isEstablished(definition) || builtinNames.has(id)) continue;
      if (isTerminating(definition)) ending.add(id);
      own.push(...resourcesOf(record));
    }
    for (const { provider, name, uid } of bindings.of(cluster)) {
      const record = store.get(objectKey(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, provider, '', name));
      // Another definition of that name is somebody else's.
      if (record?.object.metadata.uid !== uid) continue;
      const definition = asDefinition(record.object);
      if (!isEstablished(definition)) continue;
      if (isTerminating(definition)) ending.add(`${definition.spec.group}/${definition.spec.names.plural}`);
      own.push(...resourcesOf(record));
    }
    return lookup(own, base, (resource) => ending.has(`${resource.group}/${resource.resource}`));
  }

  return {
    isBuiltIn: (group) => builtinGroups.has(group),
    of(cluster) {
      let resources = clusters.get(cluster);
      if (!resources && cluster === ALL_CLUSTERS) {
        resources = buildAll();
        clusters.set(cluster, resources);
      }
      // Whoever asks for what has no definitions leaves nothing behind.
      if (
        !resources &&
        bindings.of(cluster).length === 0 &&
        store.count(clusterPrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster)) === 0
      )
        return base;
      if (!resources) {
        resources = build(cluster);
        clusters.set(cluster, resources);
      }
      return resources;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    bindings,
    close() {
      changes.stop();
      bindings.close();
    },
  };
}

type FindType = (name: string) => OpenApiSchema | undefined;

/** By what finds built-in types. Servers of one process that have read the same definition from one storage share what follows from it. */
const served = new WeakMap<FindType, WeakMap<Definition, readonly Resource[]>>();

function servedBy(definition: Definition, definitionOf: FindType): readonly Resource[] {
  let known = served.get(definitionOf);
  if (!known) {
    known = new WeakMap();
    served.set(definitionOf, known);
  }
  let resources = known.get(definition);
  if (!resources) {
    resources = customResources(definition, definitionOf);
    known.set(definition, resources);
  }
  return resources;
}

/** Finds `own` resources, and behind them those of `base`. */
function lookup(
  own: readonly Resource[],
  base: ClusterResources | undefined,
  terminating: (resource: Resource) => boolean,
): ClusterResources {
  const byPath = new Map<string, Resource>();
  const byKind = new Map<string, Resource>();
  const stored = new Map<string, Resource>();
  for (const resource of own) {
    const { group, version } = resource;
    byPath.set(`${group}/${version}/${resource.resource}`, resource);
    const kind = `${formatApiVersion(group, version)}/${resource.kind}`;
    if (!byKind.has(kind)) byKind.set(kind, resource);
    const id = `${group}/${resource.resource}`;
    if (!stored.has(id) || version === resource.storageVersion) stored.set(id, resource);
  }
  return {
    all: base ? [...base.all, ...own] : own,
    find: (group, version, resource) =>
      byPath.get(`${group}/${version}/${resource}`) ?? base?.find(group, version, resource),
    stored: (group, resource) => base?.stored(group, resource) ?? stored.get(`${group}/${resource}`),
    byKind: (apiVersion, kind) => base?.byKind(apiVersion, kind) ?? byKind.get(`${apiVersion}/${kind}`),
    terminating,
  };
}
