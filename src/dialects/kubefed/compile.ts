import { readReplicas, replicasPatch, replicasPathOf } from '../../engine/divide/index.ts';
import type {
  ApplyStrategy,
  Author,
  ClusterFacts,
  ClusterMatch,
  Intent,
  Override,
} from '../../engine/intent.ts';
import { compileMatch, matchesCluster } from '../../engine/place/index.ts';
import { type FieldPath, formatFieldPath } from '../../engine/retain/index.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { clone, isObject, stringsAt } from '../../schema/json.ts';
import { formatJsonPointer } from '../../schema/json-pointer.ts';
import { deletionOptionsOf, isOrphaned } from './deletion.ts';
import { compileFederatedOverrides } from './overrides.ts';
import { clusterMatchOf, namespaceProblem, placementOf } from './placement.ts';
import { type Schedule, schedule, type WorkloadObservation } from './scheduling.ts';
import { isNamespaceType } from './type-config.ts';
import type { FederatedObject, FederatedType, ReplicaSchedulingPreference } from './types.ts';

/** What compiling a federated object may know beside it. */
export interface FederatedContext {
  readonly type: FederatedType;
  /** The FederatedNamespace in its namespace; absent where there is none. */
  readonly federatedNamespace?: FederatedObject | undefined;
  /** The namespace of the control plane. */
  readonly controlPlane: string;
  /** Whether the control plane federates one namespace only. */
  readonly namespaced?: boolean;
  /** Whether objects that are there already are taken over; they are where nothing is said. */
  readonly adopt?: boolean;
  readonly author?: Author;
  /** The preference of the same name whose target this is. */
  readonly preference?: ReplicaSchedulingPreference | undefined;
  /** Clusters that are ready. For preferences only. */
  readonly ready?: readonly ClusterFacts[];
  /** What is known of the workload, by cluster. For preferences only. */
  readonly workloads?: ReadonlyMap<string, WorkloadObservation>;
  /** Where replicas are in kinds that the engine does not know. */
  readonly replicasPath?: FieldPath;
}

/** The reasons of the condition Propagation; none where it is True. */
export type AggregateReason =
  | ''
  | 'ClusterRetrievalFailed'
  | 'ComputePlacementFailed'
  | 'CheckClusters'
  | 'NamespaceNotFederated';

export interface FederatedWarning {
  readonly reason: 'AnnotationsNotSupported' | 'FinalizersNotSupported' | 'InvalidName' | 'SystemNamespace';
  readonly message: string;
}

export interface CompiledFederated {
  readonly intent: Intent;
  /** For events of the type Warning. */
  readonly warnings: readonly FederatedWarning[];
  /** Clusters that keep what they have, with the reason; the status word is ApplyOverridesFailed. */
  readonly blocked: ReadonlyMap<string, string>;
  /** Why the placement is what it is, where that is worth a reason. */
  readonly reason: '' | 'NamespaceNotFederated' | 'ComputePlacementFailed';
  /** Nothing must be dispatched and nothing taken away while this is set. */
  readonly hold?: string;
  readonly schedule?: Schedule;
}

/** A federated object is one object on a cluster: there is nothing that a change could deselect. */
const DELETION_BUDGET = '100%';

/** The intent of a federated object. Equal for equal input. */
export function compileFederated(federated: FederatedObject, context: FederatedContext): CompiledFederated {
  const { type } = context;
  const warnings: FederatedWarning[] = [];
  const { name = '', namespace = '', uid = '', generation = 0, annotations = {} } = federated.metadata;
  const object = targetOf(federated, type, warnings);
  const isNamespace = isNamespaceType(type.target);
  const own = clusterMatchOf(federated.spec.placement);
  let reason: CompiledFederated['reason'] = '';
  let hold: string | undefined;
  let within: ClusterMatch | undefined;
  let refused = false;
  const system =
    namespace === '' && !isNamespace ? undefined : namespaceProblem(namespace || name, context.controlPlane);
  if (system !== undefined && !(context.namespaced === true && namespace === context.controlPlane)) {
    warnings.push({ reason: 'SystemNamespace', message: `${system}: nothing in it is federated` });
    reason = 'NamespaceNotFederated';
    refused = true;
  } else if (isNamespace && name !== namespace) {
    warnings.push({
      reason: 'InvalidName',
      message: `a FederatedNamespace must have the name of the namespace that it is in, ${namespace}, not ${name}`,
    });
    reason = 'NamespaceNotFederated';
    refused = true;
  } else if (type.target.scope === 'Namespaced') {
    if (context.federatedNamespace) within = clusterMatchOf(context.federatedNamespace.spec.placement);
    else if (context.namespaced !== true) {
      reason = 'NamespaceNotFederated';
      refused = true;
    }
  }
  const path = replicasPathOf(object, context.replicasPath);
  const scheduled =
    context.preference && !refused ? scheduleFor(federated, context.preference, context) : undefined;
  const pointer = scheduled && path ? pointerOf(path) : undefined;
  const { overrides, blocked } = compileFederatedOverrides(federated.spec.overrides, pointer);
  let replicas: readonly Override[] = [];
  if (scheduled?.hold !== undefined) hold = scheduled.hold;
  else if (scheduled) {
    const found = path && replicaOverrides(object, path, scheduled.replicas);
    if (found) replicas = found;
    else
      hold = `${type.target.kind} has no number of replicas that ReplicaSchedulingPreference ${name} could divide`;
  }
  const issues: string[] = [];
  for (const match of within ? [own, within] : [own]) compileMatch(match, 'placement', issues);
  if (issues.length > 0) {
    reason = 'ComputePlacementFailed';
    hold ??= issues.join('; ');
  }
  const match = refused
    ? { clusterNames: [] }
    : scheduled && scheduled.hold === undefined
      ? { clusterNames: [...scheduled.replicas.keys()] }
      : own;
  return {
    intent: {
      source: {
        apiVersion: federated.apiVersion,
        kind: federated.kind,
        namespace,
        name,
        uid,
        generation,
      },
      ...(context.author === undefined ? {} : { author: context.author }),
      objects: [object],
      placement: placementOf(match, within),
      overrides: [...overrides, ...replicas],
      suspend: !type.propagates,
      deletionBudget: DELETION_BUDGET,
      applyStrategy: strategyOf(federated, object, context, annotations),
    },
    warnings,
    blocked,
    reason,
    ...(hold === undefined ? {} : { hold }),
    ...(scheduled === undefined ? {} : { schedule: scheduled }),
  };
}

/** Of a Service, what cannot be changed once it is there: each cluster keeps its own, whatever the template says. */
const SERVICE_ADDRESSES = ['clusterIP', 'clusterIPs', 'healthCheckNodePort'] as const;

function strategyOf(
  federated: FederatedObject,
  object: KubeObject,
  { adopt = true, type }: FederatedContext,
  annotations: Readonly<Record<string, string>>,
): ApplyStrategy {
  const deletion = deletionOptionsOf(annotations).options;
  const { group = '', kind } = type.target;
  const spec = group === '' && kind === 'Service' ? object['spec'] : undefined;
  const kept = isObject(spec) ? SERVICE_ADDRESSES.filter((field) => spec[field] !== undefined) : [];
  return {
    // A namespace that is there is always taken over.
    adopt: adopt || isNamespaceType(type.target) ? 'Always' : 'Never',
    ...(federated.spec.retainReplicas === true ? { retainReplicas: true } : {}),
    ...(kept.length === 0
      ? {}
      : { ignoreFields: [{ condition: 'OnPresent', paths: kept.map((field) => `spec.${field}`) }] }),
    ...(isOrphaned(annotations) ? { preserveOnDeletion: true } : {}),
    ...(deletion === undefined ? {} : { deletion }),
  };
}

/** The object that a federated object stands for. Of the template's metadata only labels count. */
function targetOf(federated: FederatedObject, type: FederatedType, warnings: FederatedWarning[]): KubeObject {
  const {
    metadata,
    status: _status,
    apiVersion,
    kind: _kind,
    ...rest
  } = clone(federated.spec.template ?? {});
  const given = isObject(metadata) ? metadata : {};
  const name = federated.metadata.name ?? '';
  if (isObject(given['annotations']) && Object.keys(given['annotations']).length > 0)
    warnings.push({
      reason: 'AnnotationsNotSupported',
      message: 'annotations of the template are left out: an override of a cluster can set them',
    });
  if (Array.isArray(given['finalizers']) && given['finalizers'].length > 0)
    warnings.push({
      reason: 'FinalizersNotSupported',
      message: 'finalizers of the template are left out: an override of a cluster can set them',
    });
  const { group = '', version, kind, scope } = type.target;
  const namespace = scope === 'Namespaced' ? federated.metadata.namespace : undefined;
  const labels = stringsAt(given, 'labels');
  return {
    apiVersion:
      typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion : formatApiVersion(group, version),
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
    ...rest,
  };
}

/** Whether a preference is for a federated object. */
export function prefers(preference: ReplicaSchedulingPreference, federated: FederatedObject): boolean {
  return (
    preference.spec.targetKind === federated.kind &&
    preference.metadata.name === federated.metadata.name &&
    preference.metadata.namespace === federated.metadata.namespace
  );
}

function scheduleFor(
  federated: FederatedObject,
  preference: ReplicaSchedulingPreference,
  { ready = [], workloads, federatedNamespace }: FederatedContext,
): Schedule | undefined {
  if (!prefers(preference, federated)) return undefined;
  const matches: ClusterMatch[] = [];
  if (preference.spec.intersectWithClusterSelector === true) {
    const { clusterSelector, ...named } = federated.spec.placement ?? {};
    // KubeFed writes names beside a selector, by which it scheduled last: what is meant is the selector.
    matches.push(clusterMatchOf(clusterSelector ? { clusterSelector } : named));
  }
  // Where its namespace is not, replicas would be lost.
  if (federatedNamespace) matches.push(clusterMatchOf(federatedNamespace.spec.placement));
  const issues: string[] = [];
  const compiled = matches.map((match) => compileMatch(match, 'placement', issues));
  if (issues.length > 0) return { replicas: new Map(), reasons: new Map(), hold: issues.join('; ') };
  const names = ready
    .filter((facts) => compiled.every((match) => matchesCluster(match, facts)))
    .map((facts) => facts.name)
    .sort();
  return schedule(preference, names, workloads);
}

/** An override for each number of replicas, not one a cluster. */
function replicaOverrides(
  object: KubeObject,
  path: FieldPath,
  replicas: ReadonlyMap<string, number>,
): readonly Override[] | undefined {
  const stated = readReplicas(object, path);
  const byNumber = new Map<number, string[]>();
  for (const [cluster, number] of replicas) {
    const names = byNumber.get(number);
    if (names) names.push(cluster);
    else byNumber.set(number, [cluster]);
  }
  const overrides: Override[] = [];
  for (const [number, clusterNames] of [...byNumber].sort(([a], [b]) => a - b)) {
    const patch = replicasPatch(object, path, number);
    if (!patch || stated === undefined) return undefined;
    overrides.push({ clusterNames, patch });
  }
  return overrides;
}

/** The JSON pointer of a path of plain names, which is what overrides of replicas name. */
function pointerOf(path: FieldPath): string {
  const names = path.filter((step) => typeof step === 'string');
  return names.length === path.length ? formatJsonPointer(names) : formatFieldPath(path);
}
