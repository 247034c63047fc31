import { conflict, failure, notFound } from '../../kube/status-error.ts';
import { isObject, stringAt } from '../../schema/json.ts';
import { forbiddenStatus } from '../admission/refusal.ts';
import { liveCluster } from '../clusters/cluster-record.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { clusterPrefix, objectKey, parseKey, resourcePrefix, SERVER_GROUP } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import { asDefinition, DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, isDefinitionResource } from './definition.ts';

/** An API that a logical cluster serves by the definition of another. */
export interface ApiBinding {
  readonly consumer: string;
  readonly provider: string;
  /** Of the definition, such as `things.example.com`. */
  readonly name: string;
  /** Of the definition that was bound: another one of that name is not meant. */
  readonly uid: string;
}

/** Which logical clusters serve which definitions of others. The definition, and all that is made of it, is there once. */
export interface ApiBindings {
  of(consumer: string): readonly ApiBinding[];
  find(consumer: string, name: string): ApiBinding | undefined;
  consumersOf(provider: string, name: string): Iterable<string>;
  /** Does nothing when it is so. Throws 404 without that definition, 409 where the consumer has such an API already. */
  bind(provider: string, name: string, consumer: string): Promise<void>;
  /** Whether there was such a binding. Throws 409 while the consumer has objects. */
  unbind(consumer: string, name: string): Promise<boolean>;
  close(): void;
}

const RESOURCE = 'apibindings';
const PREFIX: string = resourcePrefix(SERVER_GROUP, RESOURCE);
const NONE: readonly ApiBinding[] = [];

/** The definition of an API in a logical cluster, its own or one that it has bound, whether or not a version of it is served. */
export function definitionIn(store: Store, cluster: string, name: string): StoreRecord | undefined {
  const own = store.get(objectKey(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster, '', name));
  if (own !== undefined) return own;
  const spec = store.get(objectKey(SERVER_GROUP, RESOURCE, cluster, '', name))?.object.spec;
  if (!isObject(spec)) return undefined;
  const provider = stringAt(spec, 'provider') ?? '';
  const bound = store.get(objectKey(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, provider, '', name));
  return bound?.object.metadata.uid === spec.uid ? bound : undefined;
}

/** `store` shows what is stored. `onChange` hears of consumers whose bindings have changed. */
export function apiBindings(store: Store, onChange: (consumer: string) => void): ApiBindings {
  const byConsumer = new Map<string, ApiBinding[]>();
  const byDefinition = new Map<string, Set<string>>();

  const keyOf = (consumer: string, name: string): string =>
    objectKey(SERVER_GROUP, RESOURCE, consumer, '', name);
  const definitionId = (provider: string, name: string): string => `${provider}/${name}`;

  function take(record: StoreRecord, exists: boolean): string {
    const { cluster: consumer, name } = parseKey(record.key);
    const others = (byConsumer.get(consumer) ?? NONE).filter((binding) => binding.name !== name);
    const spec = isObject(record.object.spec) ? record.object.spec : {};
    const provider = stringAt(spec, 'provider') ?? '';
    const id = definitionId(provider, name);
    const consumers = byDefinition.get(id) ?? new Set();
    if (exists) {
      byConsumer.set(consumer, [...others, { consumer, provider, name, uid: stringAt(spec, 'uid') ?? '' }]);
      byDefinition.set(id, consumers.add(consumer));
      return consumer;
    }
    if (others.length > 0) byConsumer.set(consumer, others);
    else byConsumer.delete(consumer);
    consumers.delete(consumer);
    if (consumers.size === 0) byDefinition.delete(id);
    return consumer;
  }

  for (const record of store.list(PREFIX).records) take(record, true);
  const watch = store.watch(PREFIX, store.revision, (events) => {
    for (const { record, type } of events) onChange(take(record, type !== 'deleted'));
  });

  function find(consumer: string, name: string): ApiBinding | undefined {
    return byConsumer.get(consumer)?.find((binding) => binding.name === name);
  }

  function definitionOf(cluster: string, name: string): StoreRecord | undefined {
    return store.get(objectKey(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster, '', name));
  }

  function refuse(name: string, why: string): Error {
    return conflict(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, name, why);
  }

  return {
    of: (consumer) => byConsumer.get(consumer) ?? NONE,
    find,
    consumersOf: (provider, name) => byDefinition.get(definitionId(provider, name)) ?? [],
    async bind(provider, name, consumer) {
      if (provider === consumer) throw refuse(name, 'a logical cluster serves its own definitions anyway');
      const definition = definitionOf(provider, name);
      if (definition === undefined) throw notFound(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, name);
      const uid = definition.object.metadata.uid ?? '';
      const { group, names } = asDefinition(definition.object).spec;
      const where = `the logical cluster ${JSON.stringify(consumer)}`;
      await store.write(keyOf(consumer, name), (current) => {
        if (liveCluster(store, consumer) === undefined) throw notFound('', 'clusters', consumer);
        if (current === undefined) {
          if (definitionOf(consumer, name) !== undefined) throw refuse(name, `${where} has one of its own`);
          if (store.count(clusterPrefix(group, names.plural, consumer)) > 0)
            throw refuse(name, `${where} still has objects of an API of that name`);
        } else {
          const spec = isObject(current.object.spec) ? current.object.spec : {};
          if (spec.provider === provider && spec.uid === uid) return undefined;
          throw refuse(name, `${where} has one bound already`);
        }
        return {
          apiVersion: `${SERVER_GROUP}/v1`,
          kind: 'APIBinding',
          metadata: { name },
          spec: { provider, uid },
        };
      });
    },
    async unbind(consumer, name) {
      const binding = find(consumer, name);
      if (binding === undefined) return false;
      const dot = name.indexOf('.');
      if (store.count(clusterPrefix(name.slice(dot + 1), name.slice(0, dot), consumer)) > 0)
        throw failure(
          409,
          'Conflict',
          `the logical cluster ${JSON.stringify(consumer)} still has objects of ${JSON.stringify(name)}: delete them first`,
        );
      await store.write(keyOf(consumer, name), (current) => (current === undefined ? undefined : null));
      return true;
    },
    close: () => watch.stop(),
  };
}

/** Keeps a cluster from defining what it has bound. `providerOf` tells from where. */
export function boundDefinition(providerOf: (cluster: string, name: string) => string | undefined): {
  readonly name: string;
  validate(request: AdmissionRequest): void;
} {
  return {
    name: 'BoundDefinition',
    validate({ operation, scope, name }): void {
      const { resource, cluster } = scope;
      if (operation !== 'CREATE' || !isDefinitionResource(resource)) return;
      const provider = providerOf(cluster, name);
      if (provider === undefined) return;
      const why = `it is bound from the logical cluster ${JSON.stringify(provider)}`;
      throw forbiddenStatus(resource.group, resource.resource, name, why);
    },
  };
}
