import {
  EARLY_GROUP,
  FEDERATED_TYPE_CONFIG,
  type FederatedObject,
  type FederatedType,
  type FederatedTypeConfig,
  type FullKubeFedConfig,
  federatedTypeOf,
  type KubeFedConfig,
  prefers,
  REPLICA_SCHEDULING_PREFERENCE,
  type ReplicaSchedulingPreference,
  scopeProblem,
  typeConfigName,
  validateTypeConfig,
  withConfigDefaults,
  withTypeConfigDefaults,
} from '../../dialects/kubefed/index.ts';
import type { FieldPath } from '../../engine/retain/index.ts';
import type { AnyCustomKind } from '../../kube/custom-resource.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, listAt, stringAt } from '../../schema/json.ts';
import type { IntentRecords } from '../intents/records.ts';
import type { ControlPlane } from './control-plane.ts';
import { type KindWatch, watchKind } from './kind-watch.ts';

/** A federated kind and its objects. */
export interface TypeEntry {
  /** `<kind>.<group>`: the first part of the keys of its objects. */
  readonly key: string;
  /** Absent where no config enables it any more: what it brought stays where it is. */
  readonly type?: FederatedType;
  readonly config?: FederatedTypeConfig;
  readonly watch: KindWatch<FederatedObject>;
}

/** What is wished by objects of KubeFed, as it is at the hub now. */
export interface Federation {
  /** Whether everything that an intent may depend on is known. Before that nothing is decided. */
  readonly synced: boolean;
  /** Whether nothing may be decided although all is known that may be: what decides may not be read. */
  readonly blind: boolean;
  /** The namespace of the control plane: that of the KubeFedConfig, where there is one. */
  readonly controlPlane: string;
  readonly settings: FullKubeFedConfig;
  readonly config: KubeFedConfig | undefined;
  types(): Iterable<TypeEntry>;
  /** By the first part of keys. */
  entry(key: string): TypeEntry | undefined;
  /** All type configs that there are, of the control plane or not. */
  typeConfigs(): readonly FederatedTypeConfig[];
  /** Why a type config is not heeded; undefined where it is. */
  refusal(config: FederatedTypeConfig): string | undefined;
  /** The config that enables the type `namespaces`. */
  readonly namespaces: TypeEntry | undefined;
  federatedNamespace(namespace: string): FederatedObject | undefined;
  preferenceOf(federated: FederatedObject): ReplicaSchedulingPreference | undefined;
  /** Where a custom kind keeps its number of replicas, if it says so. */
  replicasPath(type: FederatedType): FieldPath | undefined;
  /** Hears of keys of federated objects whose wish may have changed. Returns how to stop listening. */
  onWish(listener: (key: string) => void): () => void;
  /** Hears when types, their configs or the settings changed. */
  onTypes(listener: () => void): () => void;
  /** Looks at everything anew. */
  refresh(): void;
  /** Something that is kept elsewhere changed what is wished of an object. */
  touch(key: string): void;
  stop(): void;
}

export function federatedKey(entry: TypeEntry, { metadata }: KubeObject): string {
  return `${entry.key}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

export interface FederationOptions {
  readonly controlPlane: ControlPlane;
  readonly definitions: Informer;
  readonly records: IntentRecords;
}

export function openFederation(
  runtime: Runtime,
  { controlPlane: seat, definitions, records }: FederationOptions,
): Federation {
  const wishListeners = new Set<(key: string) => void>();
  const typeListeners = new Set<() => void>();
  const entries = new Map<string, TypeEntry>();
  /** What each entry's watch was opened for. */
  const watched = new Map<string, { definition: string; version: string }>();
  const refusals = new Map<string, string>();
  let stopped = false;
  let settings = withConfigDefaults();
  const open = <T extends KubeObject>(
    kind: AnyCustomKind,
    onChange: (change: Change<T>) => void,
  ): KindWatch<T> =>
    watchKind<T>(runtime, seat.client, definitions, {
      definition: `${kind.plural}.${kind.group}`,
      version: kind.version,
      seat,
      onChange,
      onServed: retype,
    });

  const unsubscribe = seat.onChange(retype);
  const typeConfigs = open<FederatedTypeConfig>(FEDERATED_TYPE_CONFIG, ({ type, object, previous }) => {
    if (type !== 'updated' || !deepEqual(object.spec, previous?.spec)) retype();
  });
  const preferences = open<ReplicaSchedulingPreference>(
    REPLICA_SCHEDULING_PREFERENCE,
    ({ type, object, previous }) => {
      if (type === 'updated' && deepEqual(object.spec, previous?.spec)) return;
      for (const { targetKind } of [object.spec, ...(previous ? [previous.spec] : [])])
        for (const entry of entries.values())
          if (entry.key.startsWith(`${targetKind}.`)) tell(federatedKey(entry, object));
    },
  );

  /** What a type config comes to, or why to nothing. */
  function typeIn(config: FederatedTypeConfig): FederatedType | string {
    const [issue] = validateTypeConfig(withTypeConfigDefaults(config));
    if (issue) return `${issue.path}: ${issue.detail || issue.type}`;
    if (config.metadata.namespace !== seat.home)
      return `it is not in ${seat.home}, the namespace of the control plane`;
    const type = federatedTypeOf(config);
    return scopeProblem(type, settings.scope) ?? type;
  }

  function retype(): void {
    if (stopped) return;
    settings = withConfigDefaults(seat.config?.spec);
    refusals.clear();
    const wanted = new Map<string, { type: FederatedType; config: FederatedTypeConfig }>();
    for (const config of typeConfigs.list()) {
      const type = typeIn(config);
      const id = idOf(config);
      if (typeof type === 'string') refusals.set(id, type);
      else {
        const key = keyOf(type);
        if (wanted.has(key)) refusals.set(id, `${type.federated.kind} is that of another type already`);
        else wanted.set(key, { type, config });
      }
    }
    for (const [key, { type, config }] of wanted) {
      const { group = '', version, pluralName } = type.federated;
      put(key, `${pluralName}.${group}`, version, type, config);
    }
    for (const { apiVersion, kind, namespace } of records.sources())
      if (seat.sees(namespace)) retire(apiVersion, kind, wanted);
    for (const [key, entry] of entries)
      if (!wanted.has(key) && entry.type !== undefined) entries.set(key, { key, watch: entry.watch });
    for (const listener of typeListeners) listener();
    for (const entry of entries.values()) tellAll(entry);
  }

  /** Objects of a kind that no config enables any more are known all the same: nobody gave the order to take them away. */
  function retire(apiVersion: string, kind: string, wanted: ReadonlyMap<string, unknown>): void {
    const { group, version } = parseApiVersion(apiVersion);
    const key = `${kind}.${group}`;
    if (!kind.startsWith('Federated') || wanted.has(key) || entries.has(key)) return;
    const definition = definitions
      .list()
      .find(
        (item) =>
          stringAt(item, 'spec', 'group') === group && stringAt(item, 'spec', 'names', 'kind') === kind,
      );
    // Kinds of the early form are none of these.
    if (!definition || group === EARLY_GROUP) return;
    put(key, definition.metadata.name ?? '', version);
  }

  function put(
    key: string,
    definition: string,
    version: string,
    type?: FederatedType,
    config?: FederatedTypeConfig,
  ): void {
    const present = entries.get(key);
    const named = watched.get(key);
    const same = present && named?.definition === definition && named.version === version;
    if (present && !same) present.watch.stop();
    watched.set(key, { definition, version });
    const watch = same
      ? present.watch
      : watchKind<FederatedObject>(runtime, seat.client, definitions, {
          definition,
          version,
          seat,
          onChange: (change) => onObject(key, change),
          onServed: retype,
        });
    entries.set(key, {
      key,
      watch,
      ...(type === undefined ? {} : { type }),
      ...(config === undefined ? {} : { config }),
    });
  }

  function onObject(key: string, { type, object, previous }: Change<FederatedObject>): void {
    const entry = entries.get(key);
    if (!entry || (type === 'updated' && !wishDiffers(object, previous))) return;
    tell(federatedKey(entry, object));
    if (entry !== namespacesEntry()) return;
    for (const other of entries.values())
      if (other !== entry)
        for (const item of other.watch.list(object.metadata.namespace)) tell(federatedKey(other, item));
  }

  function namespacesEntry(): TypeEntry | undefined {
    for (const entry of entries.values())
      if (entry.type?.target.kind === 'Namespace' && !entry.type.target.group) return entry;
    return undefined;
  }

  function tell(key: string): void {
    for (const listener of wishListeners) listener(key);
  }

  function tellAll(entry: TypeEntry): void {
    for (const object of entry.watch.list()) tell(federatedKey(entry, object));
  }

  records.whenSynced().then(retype, () => undefined);
  definitions.whenSynced().then(retype, () => undefined);

  return {
    get synced() {
      return (
        definitions.synced &&
        records.synced &&
        [typeConfigs, preferences, ...[...entries.values()].map(({ watch }) => watch)].every(
          ({ synced, refused }) => synced || refused,
        )
      );
    },
    get blind() {
      return [typeConfigs, preferences, namespacesEntry()?.watch].some((watch) => watch?.refused === true);
    },
    get controlPlane() {
      return seat.home;
    },
    get settings() {
      return settings;
    },
    get config() {
      return seat.config;
    },
    types: () => entries.values(),
    entry: (key) => entries.get(key),
    typeConfigs: () => typeConfigs.list(),
    refusal: (config) => refusals.get(idOf(config)),
    get namespaces() {
      return namespacesEntry();
    },
    federatedNamespace: (namespace) => namespacesEntry()?.watch.get(namespace, namespace),
    preferenceOf(federated) {
      const { namespace = '', name = '' } = federated.metadata;
      const preference = preferences.get(namespace, name);
      return preference &&
        preference.metadata.deletionTimestamp === undefined &&
        prefers(preference, federated)
        ? preference
        : undefined;
    },
    replicasPath(type) {
      const definition = definitions.get('', typeConfigName(type.target));
      const version = listAt(definition, 'spec', 'versions').find(
        (item) => stringAt(item, 'name') === type.target.version,
      );
      const path = stringAt(version, 'subresources', 'scale', 'specReplicasPath');
      return path === undefined ? undefined : path.split('.').filter((name) => name !== '');
    },
    onWish(listener) {
      wishListeners.add(listener);
      return () => wishListeners.delete(listener);
    },
    onTypes(listener) {
      typeListeners.add(listener);
      return () => typeListeners.delete(listener);
    },
    refresh: retype,
    touch: tell,
    stop(): void {
      stopped = true;
      unsubscribe();
      for (const watch of [typeConfigs, preferences]) watch.stop();
      for (const { watch } of entries.values()) watch.stop();
    },
  };
}

function keyOf({ federated }: FederatedType): string {
  return `${federated.kind}.${federated.group ?? ''}`;
}

function idOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** What is no status and no bookkeeping of an object. */
export function wishDiffers(object: KubeObject, previous: KubeObject | undefined): boolean {
  if (!previous) return true;
  const { metadata: a, status: _now, ...wish } = object;
  const { metadata: b, status: _before, ...wishBefore } = previous;
  return (
    a.deletionTimestamp !== b.deletionTimestamp ||
    a.uid !== b.uid ||
    !deepEqual(wish, wishBefore) ||
    !deepEqual(a.annotations, b.annotations) ||
    !deepEqual(a.labels, b.labels)
  );
}
