import type { Client, ResourceId } from '../../kube/client.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { at, isObject, listAt, stringAt } from '../../schema/json.ts';

/** What of the cluster's objects whoever watches may see. It may become another. */
export interface Seat {
  /** Whether it is known where that is. */
  readonly known: boolean;
  /** '' for everywhere; undefined where nothing may be seen, or where it is not known what. */
  readonly namespace: string | undefined;
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
}

/** A live copy of the objects of a custom kind, for as long as the API server serves it. */
export interface KindWatch<T extends KubeObject = KubeObject> {
  /** Whether all objects that there are are known; also where the kind is not served. */
  readonly synced: boolean;
  /** Whether it may not be read, and never was: then nothing is known of what there is. */
  readonly refused: boolean;
  /** How the kind is addressed; undefined while it is not served. */
  readonly resource: ResourceId | undefined;
  /** Whether its status is a subresource. */
  readonly hasStatus: boolean;
  get(namespace: string, name: string): T | undefined;
  list(namespace?: string): readonly T[];
  stop(): void;
}

export interface KindWatchOptions<T extends KubeObject> {
  /** Of the definition: `plural.group`. */
  readonly definition: string;
  /** The version to read, where it is served; the stored one otherwise. */
  readonly version?: string;
  /** What of it is seen; everything where nothing is said. Kinds without a namespace are seen from everywhere only. */
  readonly seat?: Seat;
  readonly onChange?: (change: Change<T>) => void;
  /** The kind came, went, or is wholly known now. */
  readonly onServed?: () => void;
}

interface Open<T extends KubeObject> {
  readonly resource: ResourceId;
  readonly hasStatus: boolean;
  readonly namespace: string;
  readonly informer: Informer<T>;
}

/** Watches a kind whose definition may come, change its version, and go. `definitions` has all CustomResourceDefinitions. */
export function watchKind<T extends KubeObject = KubeObject>(
  runtime: Runtime,
  client: Client,
  definitions: Informer,
  options: KindWatchOptions<T>,
): KindWatch<T> {
  const { definition, version, seat, onChange, onServed } = options;
  let current: Open<T> | undefined;
  /** Takes over when it knows everything: a change of version forgets nothing meanwhile. */
  let next: Open<T> | undefined;
  let stopped = false;
  /** The copy that may not be read. */
  let refused: Informer<T> | undefined;

  function look(): void {
    const namespace = seat === undefined ? '' : seat.namespace;
    const served = servedResource(definitions.get('', definition), version);
    const found = namespace === '' || served?.resource.namespaced ? served : undefined;
    const newest = next ?? current;
    if (!found || namespace === undefined) {
      const had = newest !== undefined;
      close();
      if (had) onServed?.();
      return;
    }
    const isMoved = newest !== undefined && newest.namespace !== namespace;
    if (newest && !isMoved && newest.resource.version === found.resource.version) return;
    // What was seen from elsewhere is not to be seen from here.
    if (isMoved) close();
    next?.informer.stop();
    const informer = startInformer<T>(runtime, client, found.resource, {
      namespace,
      onFailure(error) {
        if (!hasCode(error, 403) || informer.synced) return;
        refused = informer;
        onServed?.();
      },
    });
    const opened: Open<T> = { ...found, namespace, informer };
    if (current) next = opened;
    else current = opened;
    informer.onChange((change) => onChange?.(change));
    informer.whenSynced().then(
      () => {
        if (stopped) return;
        if (refused === informer) refused = undefined;
        if (next === opened) {
          current?.informer.stop();
          current = opened;
          next = undefined;
        }
        onServed?.();
      },
      // It was stopped before: whoever did that knows.
      () => undefined,
    );
  }

  function close(): void {
    current?.informer.stop();
    next?.informer.stop();
    current = undefined;
    next = undefined;
    refused = undefined;
  }

  const unsubscribe = [
    definitions.onChange(({ object }) => {
      if (!stopped && object.metadata.name === definition) look();
    }),
    seat?.onChange(() => {
      if (!stopped) look();
    }),
  ];
  look();

  return {
    get synced() {
      return definitions.synced && seat?.known !== false && (current?.informer.synced ?? true);
    },
    get refused() {
      return refused !== undefined && refused === current?.informer;
    },
    get resource() {
      return current?.resource;
    },
    get hasStatus() {
      return current?.hasStatus ?? false;
    },
    get: (namespace, name) => current?.informer.get(namespace, name),
    list: (namespace) => current?.informer.list(namespace) ?? [],
    stop(): void {
      stopped = true;
      for (const end of unsubscribe) end?.();
      close();
    },
  };
}

/** How the kind of a definition is addressed, once it is served. */
export function servedResource(
  definition: KubeObject | undefined,
  version?: string,
): { readonly resource: ResourceId; readonly hasStatus: boolean } | undefined {
  if (!definition || definition.metadata.deletionTimestamp !== undefined) return undefined;
  const established = listAt(definition, 'status', 'conditions').some(
    (condition) => stringAt(condition, 'type') === 'Established' && stringAt(condition, 'status') === 'True',
  );
  if (!established) return undefined;
  const served = listAt(definition, 'spec', 'versions').filter((item) => at(item, 'served') === true);
  const chosen =
    served.find((item) => stringAt(item, 'name') === version) ??
    served.find((item) => at(item, 'storage') === true) ??
    served[0];
  if (!chosen) return undefined;
  return {
    resource: {
      group: stringAt(definition, 'spec', 'group') ?? '',
      version: stringAt(chosen, 'name') ?? '',
      resource: stringAt(definition, 'spec', 'names', 'plural') ?? '',
      kind: stringAt(definition, 'spec', 'names', 'kind') ?? '',
      namespaced: stringAt(definition, 'spec', 'scope') === 'Namespaced',
    },
    hasStatus: isObject(at(chosen, 'subresources', 'status')),
  };
}
