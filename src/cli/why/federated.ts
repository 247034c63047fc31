import {
  CONFIG_NAME,
  compileFederated,
  deletionOptionsOf,
  EARLY_GROUP,
  FEDERATED_TYPE_CONFIG,
  type FederatedObject,
  type FederatedType,
  type FederatedTypeConfig,
  federatedTypeOf,
  isOrphaned,
  KUBEFED_CONFIG,
  type KubeFedConfig,
  prefers,
  REPLICA_SCHEDULING_PREFERENCE,
  type ReplicaSchedulingPreference,
  withConfigDefaults,
} from '../../dialects/kubefed/index.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import { rejectionIn, rejectionText } from '../../engine/place/index.ts';
import { planIntent } from '../../engine/plan/plan.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';

/** What stands beside an object of a kind `Federated<Kind>` and decides of it. */
export interface FederatedFacts {
  readonly object: FederatedObject;
  /** Absent where no FederatedTypeConfig enables its kind. */
  readonly type?: FederatedType;
  readonly controlPlane: string;
  readonly namespaced: boolean;
  readonly federatedNamespace?: FederatedObject;
  readonly preference?: ReplicaSchedulingPreference;
}

/** What became of a federated object. */
export interface FederatedChain {
  /** `True`, or the reason of the condition; absent while the hub has told nothing. */
  readonly propagation?: string;
  /** The hub has not told of its newest change yet. */
  readonly pending?: true;
  /** Why nothing is changed on any cluster, or what is left out. */
  readonly problems: readonly string[];
  /** The preference that divides its replicas, and says where it goes. */
  readonly preference?: string;
  readonly clusters: readonly FederatedCluster[];
}

export interface FederatedCluster {
  readonly cluster: string;
  readonly chosen: boolean;
  /** What stands in the way, as its status says it. */
  readonly word?: string;
  readonly message: string;
}

/** Reads what decides of a federated object; `undefined` for every other kind. */
export async function readFederated(hub: Client, object: KubeObject): Promise<FederatedFacts | undefined> {
  if (!object.kind.startsWith('Federated')) return undefined;
  const configs = await present(() => hub.list<FederatedTypeConfig>(resourceIdOf(FEDERATED_TYPE_CONFIG), ''));
  const types = (configs?.items ?? []).map((config) => ({ config, type: federatedTypeOf(config) }));
  const { group } = parseApiVersion(object.apiVersion);
  // The early form is three objects, and none of them says what becomes of it.
  if (group === EARLY_GROUP) return undefined;
  const own = types.find(
    ({ type }) => type.federated.kind === object.kind && (type.federated.group ?? '') === group,
  );
  // Kinds of other groups may be called so as well.
  if (!own && !/(?:^|\.)kubefed\.io$/.test(group)) return undefined;
  const federated = object as FederatedObject;
  const { namespace = '', name = '' } = object.metadata;
  const controlPlane = own?.config.metadata.namespace ?? '';
  const namespaces = types.find(({ type }) => type.target.kind === 'Namespace' && !type.target.group)?.type;
  const [settings, federatedNamespace, preference] = await Promise.all([
    present(() => hub.get<KubeFedConfig>(resourceIdOf(KUBEFED_CONFIG), controlPlane, CONFIG_NAME)),
    namespaces && namespace !== ''
      ? present(() => hub.get<FederatedObject>(resourceOf(namespaces), namespace, namespace))
      : undefined,
    present(() =>
      hub.get<ReplicaSchedulingPreference>(resourceIdOf(REPLICA_SCHEDULING_PREFERENCE), namespace, name),
    ),
  ]);
  return {
    object: federated,
    ...(own === undefined ? {} : { type: own.type }),
    controlPlane,
    namespaced: withConfigDefaults(settings?.spec).scope === 'Namespaced',
    ...(federatedNamespace === undefined ? {} : { federatedNamespace }),
    ...(preference && prefers(preference, federated) ? { preference } : {}),
  };
}

/** What is not there, or not for whoever asks, counts as absent. */
async function present<T>(read: () => Promise<T>): Promise<T | undefined> {
  return ignoring([404, 403], read());
}

function resourceOf({ federated }: FederatedType): ResourceId {
  return {
    group: federated.group ?? '',
    version: federated.version,
    resource: federated.pluralName,
    kind: federated.kind,
    namespaced: federated.scope === 'Namespaced',
  };
}

/** The chain of a federated object. Pure; what decides is compiled with the functions of the hub. */
export function federatedChain(facts: FederatedFacts, clusters: readonly ClusterFacts[]): FederatedChain {
  const { object, type, preference, controlPlane, namespaced, federatedNamespace } = facts;
  const { status, metadata } = object;
  const condition = status?.conditions?.find((item) => item.type === 'Propagation');
  const told = {
    ...(condition === undefined
      ? {}
      : { propagation: condition.status === 'True' ? 'True' : (condition.reason ?? condition.status) }),
    ...(status?.observedGeneration === metadata.generation ? {} : { pending: true as const }),
  };
  const words = new Map((status?.clusters ?? []).map(({ name, status: word = '' }) => [name, word]));
  if (!type) {
    const problems = [
      `no FederatedTypeConfig enables the kind ${object.kind}: what it brought stays. Next: atoll enable`,
    ];
    return { ...told, problems, clusters: lines(words, [], () => '', new Map()) };
  }
  const compiled = compileFederated(object, { type, controlPlane, namespaced, federatedNamespace });
  const plan = planIntent(compiled.intent, clusters);
  const { annotations } = metadata;
  const held =
    metadata.deletionTimestamp === undefined || isOrphaned(annotations) ? {} : deletionOptionsOf(annotations);
  const problems = [
    ...(held.problem === undefined
      ? []
      : [`its deletion waits: ${held.problem}. Next: correct the annotation, or take it away`]),
    ...(compiled.hold === undefined
      ? []
      : [`${compiled.hold}. Nothing is changed on the clusters meanwhile`]),
    ...(type.propagates ? [] : ['its FederatedTypeConfig says propagation: Disabled: changes are held back']),
    ...(compiled.reason === 'NamespaceNotFederated' && compiled.warnings.length === 0
      ? [`there is no FederatedNamespace in namespace ${metadata.namespace ?? ''}, so it goes nowhere`]
      : []),
    ...compiled.warnings.map(({ message }) => message),
  ];
  // Where a preference divides, it says where, by what runs there: that is known to the hub alone.
  const chosen = preference ? [...words.keys()] : plan.decision.chosen;
  const rejected = (cluster: string): string => {
    if (preference) return 'its preference gives it no place there';
    if (compiled.reason === 'NamespaceNotFederated') return 'its namespace is not federated';
    if (compiled.intent.placement.clusterNames?.length === 0) return 'its placement means no cluster';
    const rejection = rejectionIn(plan.decision, cluster);
    return rejection === undefined ? 'it is not in the inventory' : rejectionText(rejection);
  };
  const blocked = new Map([...plan.blocked, ...compiled.blocked]);
  return {
    ...told,
    problems,
    ...(preference === undefined
      ? {}
      : {
          preference: `ReplicaSchedulingPreference ${metadata.namespace ?? ''}/${metadata.name ?? ''} divides ${preference.spec.totalReplicas} replicas among clusters that are ready`,
        }),
    clusters: lines(words, clusters, rejected, blocked, new Set(chosen)),
  };
}

function lines(
  words: ReadonlyMap<string, string>,
  clusters: readonly ClusterFacts[],
  rejected: (cluster: string) => string,
  blocked: ReadonlyMap<string, string>,
  chosen: ReadonlySet<string> = new Set(words.keys()),
): FederatedCluster[] {
  const names = [...new Set([...clusters.map(({ name }) => name), ...words.keys()])].sort();
  return names.map((cluster) => {
    const word = words.get(cluster);
    const isChosen = chosen.has(cluster);
    return {
      cluster,
      chosen: isChosen,
      ...(word === undefined || word === '' ? {} : { word }),
      message: isChosen
        ? (blocked.get(cluster) ?? (word === undefined ? 'the hub has not told of it yet' : ''))
        : rejected(cluster),
    };
  });
}
