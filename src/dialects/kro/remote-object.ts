import type { Compiled } from '../../engine/compiled.ts';
import { digestOf } from '../../engine/digest.ts';
import { REMOTE_OBJECT, type RemoteState } from '../../engine/graph/index.ts';
import type { Author } from '../../engine/intent.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import type { CustomKind } from '../../kube/custom-resource.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { type JsonObject, stringAt } from '../../schema/json.ts';
import { anything, flag, integer, list, record, text } from '../../schema/schema-of.ts';

/** An object of a graph on another cluster than that of the instance. The graph engine writes it; the hub carries it there. */
export interface RemoteObject extends KubeObject {
  readonly spec: {
    readonly cluster: string;
    readonly object: KubeObject;
    /** It is there already and is only looked at: the object here names it. */
    readonly reads?: boolean;
    /** Which of its fields are told beside its status. */
    readonly returns?: readonly string[];
  };
  readonly status?: RemoteObjectStatus;
}

/** One on a cluster that the hub reaches by a kubeconfig in a Secret of its own. */
export interface DirectObject extends KubeObject {
  readonly spec: Omit<RemoteObject['spec'], 'cluster'> & { readonly kubeconfigSecret: SecretName };
  readonly status?: RemoteObjectStatus;
}

export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

export function isDirect(object: KubeObject): object is DirectObject {
  return stringAt(object, 'spec', 'kubeconfigSecret', 'name') !== undefined;
}

export interface RemoteObjectStatus {
  /** Of the RemoteObject that the rest is about. */
  observedGeneration?: number;
  state?: RemoteState;
  message?: string;
  /** That of the object on its cluster. */
  status?: JsonObject;
  /** Other fields of it that were asked for. */
  fields?: JsonObject;
  /** Of the object there, where the hub itself made it. */
  uid?: string;
}

/** Cluster-scoped, so that who may write in a namespace cannot put anything on other clusters by it. */
export const REMOTE_OBJECT_KIND: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: REMOTE_OBJECT.kind,
  plural: 'remoteobjects',
  scope: 'Cluster',
  description: 'An object of a resource graph on another cluster. Written by the engine.',
  spec: record(
    {
      cluster: text('Name of the cluster.', { minLength: 1, maxLength: 253 }),
      kubeconfigSecret: record(
        { namespace: text(), name: text() },
        'Of the hub: with it the hub itself writes the object on that cluster.',
        { required: ['namespace', 'name'] },
      ),
      object: { ...anything('The object.'), type: 'object' },
      reads: flag('It is there already and is only looked at.'),
      returns: list(text(), 'Its fields that are told beside its status.'),
    },
    undefined,
    {
      required: ['object'],
      'x-kubernetes-validations': [
        {
          rule: 'has(self.cluster) != has(self.kubeconfigSecret)',
          message: 'exactly one of cluster and kubeconfigSecret must be given',
        },
      ],
    },
  ),
  status: record({
    observedGeneration: integer(undefined, { format: 'int64' }),
    state: text('Applied, Waiting, Failed or Stale.'),
    message: text(),
    status: { ...anything('The status of the object there.'), type: 'object' },
    fields: { ...anything('Other fields of it that the graph uses.'), type: 'object' },
    uid: text('Of the object there, where the hub itself made it.'),
  }),
  columns: [
    { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster' },
    { name: 'Secret', type: 'string', jsonPath: '.spec.kubeconfigSecret.name', priority: 1 },
    { name: 'Kind', type: 'string', jsonPath: '.spec.object.kind' },
    { name: 'Name', type: 'string', jsonPath: '.spec.object.metadata.name' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** The intent of a RemoteObject: this one object, on this one cluster. */
export function compileRemoteObject(
  { apiVersion, kind, metadata, spec }: RemoteObject,
  author?: Author,
): Compiled {
  const { name = '', uid = '', generation = 0 } = metadata;
  return {
    intent: {
      source: { apiVersion, kind, namespace: '', name, uid, generation },
      ...(author === undefined ? {} : { author }),
      objects: [spec.object],
      placement: { clusterNames: [spec.cluster] },
      overrides: [],
      suspend: false,
      deletionBudget: '100%',
      returns: 'Raw',
      ...((spec.returns ?? []).length > 0 || spec.reads === true ? { returnFields: spec.returns ?? [] } : {}),
      ...(spec.reads === true ? { applyStrategy: { strategy: 'ReadOnly' } } : {}),
    },
    skipped: [],
    emptySelectors: [],
    problems: [],
  };
}

/** On a RemoteObject that is being deleted: nothing waits any longer for a cluster that is away. It is told when it is back. */
const GIVE_UP = 'atoll.dev/give-up';

export function isGivenUp({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[GIVE_UP] === 'true';
}

/** What became of it. */
export interface RemoteFindings {
  /** Digest of what was planned; another one is about another generation. */
  readonly revision: string | undefined;
  readonly observation: ClusterObservation | undefined;
  /** Why it is on no cluster, where it is not. */
  readonly problem: string;
}

/** The status of a RemoteObject; what was known of an older generation is kept as long as nothing newer is. */
export function remoteObjectStatus(object: RemoteObject, found: RemoteFindings): RemoteObjectStatus {
  const { generation: observedGeneration = 0 } = object.metadata;
  const { observation } = found;
  const say = (state: RemoteState, message: string): RemoteObjectStatus => ({
    observedGeneration,
    state,
    message,
    // What was seen last; the state says that it is not of now.
    ...(object.status?.status !== undefined && { status: object.status.status }),
    ...(object.status?.fields !== undefined && { fields: object.status.fields }),
  });
  if (object.metadata.deletionTimestamp !== undefined) {
    const { word = '', message = '' } = observation ? summariseCluster(observation) : {};
    return word === 'Stale' ? say('Stale', message) : say('Waiting', 'it is being removed');
  }
  if (!observation) return say('Waiting', found.problem);
  if (found.revision !== digestOf([object.spec.object])) return say('Waiting', 'it is being sent');
  const { status, wantedGeneration, wantedEpoch = 0 } = observation;
  const { word, message, objects } = summariseCluster(observation);
  if (word === 'Stale') return say('Stale', message);
  const taken =
    (status?.appliedGeneration ?? 0) >= wantedGeneration && (status?.position?.epoch ?? 0) >= wantedEpoch;
  const key = refKey(refOf(object.spec.object));
  const failure = objects.find(({ ref, word: problem }) => refKey(ref) === key && problem !== undefined);
  if (!taken || failure) return say(word === 'Degraded' ? 'Failed' : 'Waiting', message);
  const returned = status?.returned?.find(({ ref }) => refKey(ref) === key);
  if (returned?.truncated === true) return say('Failed', 'what is asked of it is too large to be told');
  // Where fields are asked for, something is told of every object that is there.
  if (!returned && (object.spec.reads === true || (object.spec.returns ?? []).length > 0))
    return say('Waiting', 'it does not exist');
  return {
    observedGeneration,
    state: 'Applied',
    ...(returned && Object.keys(returned.status).length > 0 && { status: returned.status }),
    ...(returned?.fields && Object.keys(returned.fields).length > 0 && { fields: returned.fields }),
  };
}
