import { clusterFactsOf } from '../../dialects/kubevela/cluster-facts.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import { UNREACHABLE_TAINT } from '../../dialects/kubevela/report.ts';
import type { ApiEnablement, SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import type { PlaneName } from '../../engine/render/cluster-patches.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { sharedValues } from './shared-values.ts';

export const SPOKE_CLUSTERS: ResourceId = resourceIdOf(SPOKE_CLUSTER);

/** A change that says something other than what the hub itself keeps up. */
export interface ClusterChange {
  readonly key: string;
  readonly object: SpokeCluster;
  readonly type: 'added' | 'updated' | 'deleted';
  /** Whether the wish is another: what was found before may not hold. */
  readonly restated: boolean;
  /** Set where it is about the patches of the cluster only: of which intents they are, before or now. */
  readonly planes?: readonly PlaneName[];
}

/** The SpokeClusters that there are. Names are the fleet's: of several of one name the oldest is the cluster. */
export interface KnownClusters {
  /** By `namespace/name`. */
  get(key: string): SpokeCluster | undefined;
  /** The cluster of a name. */
  ownerOf(name: string): SpokeCluster | undefined;
  keysOf(name: string): readonly string[];
  keys(): readonly string[];
  /** The clusters, one a name, also those that are leaving. */
  owners(): readonly SpokeCluster[];
  /** What is known of those that stay. The same facts are the same object: what was computed of them holds. */
  facts(): readonly ClusterFacts[];
  /** Clusters of other names that say that they have this id. */
  withId(id: string, exceptName: string): readonly SpokeCluster[];
  /** Why it is not known which clusters there are, where that is known. */
  readonly unread: string | undefined;
  /** Resolves once they were read, or could not be. */
  whenTried(): Promise<void>;
  whenSynced(): Promise<void>;
  stop(): void;
}

export function followClusters(
  runtime: Runtime,
  client: Client,
  onChange: (change: ClusterChange) => void,
  /** Hears of every change, also of those that the hub writes itself. */
  onSeen: (key: string) => void = () => undefined,
): KnownClusters {
  let failure: string | undefined;
  const sharedKinds = sharedValues<readonly string[]>();
  const sharedApis = sharedValues<ApiEnablement[]>();
  const objects = startInformer<SpokeCluster>(runtime, client, SPOKE_CLUSTERS, {
    keep(object) {
      const { status } = object;
      if (status?.apiEnablements) status.apiEnablements = sharedApis(status.apiEnablements);
      return object;
    },
    onFailure(error) {
      failure = errorText(error);
      tried.resolve();
    },
  });
  const tried = Promise.withResolvers<void>();
  objects.whenSynced().then(tried.resolve, tried.resolve);
  /** Keys by name: no event of a spoke looks at the whole fleet. */
  const named = keyIndex();
  const byId = keyIndex();
  const facts = new Map<string, ClusterFacts>();
  /** All of them, until a cluster comes, goes or changes: each plan asks. */
  let known: readonly ClusterFacts[] | undefined;

  objects.onChange(({ type, object, previous }) => {
    known = undefined;
    const key = keyOf(object);
    const id = idOf(object);
    if (type !== 'updated') named.set(object.metadata.name ?? '', key, type === 'added');
    if (type === 'deleted') byId.set(id, key, false);
    else {
      const before = previous && idOf(previous);
      if (before !== id) byId.set(before, key, false);
      byId.set(id, key, true);
    }
    if (type === 'deleted' && named.of(object.metadata.name ?? '').length === 0)
      facts.delete(object.metadata.name ?? '');
    const restated = type !== 'updated' || !deepEqual(withoutPatches(object), withoutPatches(previous));
    const { patches = [], ...now } = clusterFactsOf(object);
    const { patches: before = [], ...past } = clusterFactsOf(previous ?? object);
    const isRelevant =
      restated ||
      object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp ||
      !deepEqual(object.metadata.labels, previous?.metadata.labels) ||
      !deepEqual(now, past);
    onSeen(key);
    if (isRelevant) onChange({ key, object, type, restated });
    else if (!deepEqual(patches, before))
      onChange({ key, object, type, restated, planes: [...before, ...patches].map(({ plane }) => plane) });
  });

  function ownerOf(name: string): SpokeCluster | undefined {
    let oldest: SpokeCluster | undefined;
    for (const key of named.of(name)) {
      const object = get(key);
      if (object && (!oldest || isOlder(object, oldest))) oldest = object;
    }
    return oldest;
  }

  function get(key: string): SpokeCluster | undefined {
    const slash = key.indexOf('/');
    return objects.get(key.slice(0, slash), key.slice(slash + 1));
  }

  function owners(): SpokeCluster[] {
    const oldest = new Map<string, SpokeCluster>();
    for (const object of objects.list()) {
      const { name = '' } = object.metadata;
      const present = oldest.get(name);
      if (!present || isOlder(object, present)) oldest.set(name, object);
    }
    return [...oldest.values()];
  }

  function factsOf(object: SpokeCluster): ClusterFacts {
    const { name = '' } = object.metadata;
    const read = clusterFactsOf(object);
    const now = read.apis ? { ...read, apis: { ...read.apis, kinds: sharedKinds(read.apis.kinds) } } : read;
    const before = facts.get(name);
    if (before && deepEqual(before, now)) return before;
    facts.set(name, now);
    return now;
  }

  return {
    get,
    ownerOf,
    keysOf: (name) => named.of(name),
    keys: () => objects.list().map(keyOf),
    owners,
    facts: () => {
      known ??= owners().filter(stays).map(factsOf);
      return known;
    },
    withId: (id, exceptName) =>
      byId
        .of(id)
        .map(get)
        .filter((object) => object !== undefined)
        .filter(({ metadata }) => metadata.name !== exceptName),
    get unread() {
      return objects.synced ? undefined : failure;
    },
    whenTried: () => tried.promise,
    whenSynced: () => objects.whenSynced(),
    stop: () => objects.stop(),
  };
}

export function keyOf({ metadata }: SpokeCluster): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

export function isOlder(a: SpokeCluster, b: SpokeCluster): boolean {
  return ageKey(a) < ageKey(b);
}

export function isUnreachable(spoke: SpokeCluster | undefined): boolean {
  return spoke?.status?.taints?.some((taint) => taint.key === UNREACHABLE_TAINT) ?? false;
}

/** What a cluster said last of who it is. */
export function idOf(spoke: SpokeCluster): string | undefined {
  return spoke.status?.clusterInfo?.id;
}

function withoutPatches(spoke: SpokeCluster | undefined): unknown {
  const { patches: _patches, ...spec } = spoke?.spec ?? {};
  return spec;
}

function stays({ metadata }: SpokeCluster): boolean {
  return metadata.deletionTimestamp === undefined;
}

function ageKey({ metadata }: SpokeCluster): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}

interface KeyIndex {
  set(word: string | undefined, key: string, isPresent: boolean): void;
  of(word: string): readonly string[];
}

function keyIndex(): KeyIndex {
  const keys = new Map<string, Set<string>>();
  return {
    set(word, key, isPresent): void {
      if (word === undefined) return;
      const present = keys.get(word) ?? new Set<string>();
      if (isPresent) present.add(key);
      else present.delete(key);
      if (present.size > 0) keys.set(word, present);
      else keys.delete(word);
    },
    of: (word) => [...(keys.get(word) ?? [])],
  };
}
