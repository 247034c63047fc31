import {
  asJson,
  asObject,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../../kube/object.ts';
import { isObject, type JsonObject, numberAt, objectAt, stringAt } from '../../../schema/json.ts';
import { digestOf } from '../../digest.ts';
import { TARGET_CLUSTER } from '../compile/index.ts';
import { keepingVersion } from './owner.ts';
import type { Reason } from './reason.ts';
import { ANNOTATIONS, LABELS } from './words.ts';

/** What stands for an object of another cluster where the instance is: a member of the instance like any other. */
export const REMOTE_OBJECT: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'RemoteObject',
};

/** How the object is on its cluster, for the generation of the RemoteObject that it names. */
export type RemoteState = 'Applied' | 'Waiting' | 'Failed' | 'Stale';

/** Marks by which an instance of the same name on the other cluster would take the object for its own. */
const LOCAL_MARKS: ReadonlySet<string> = new Set([LABELS.partOf, LABELS.setId]);
const MAX_READABLE = 40;

export interface RemoteMarks {
  readonly setId: string;
  readonly nodeId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** It is there already and is only looked at. */
  readonly reads?: boolean;
  /** The target is a Secret with a kubeconfig. */
  readonly bySecret?: boolean;
  /** Which of its fields come back beside the status. */
  readonly returns?: readonly string[];
}

/** The RemoteObject of an object as its template has it, or why there is none. `there` gives what is there by now. */
export function remoteObject(
  object: KubeObject,
  marks: RemoteMarks,
  there: (ref: ObjectRef) => KubeObject | null | undefined,
): { readonly object: KubeObject } | { readonly reason: Reason } {
  const { [TARGET_CLUSTER]: written = '', ...annotations } = object.metadata.annotations ?? {};
  const place = marks.bySecret === true ? bySecret(written) : byName(written);
  if ('reason' in place) return place;
  const own =
    marks.reads === true ? [] : Object.entries(marks.labels).filter(([key]) => !LOCAL_MARKS.has(key));
  const { annotations: _written, ...metadata } = object.metadata;
  const content = {
    ...object,
    metadata: {
      ...metadata,
      ...(own.length > 0 && { labels: { ...metadata.labels, ...Object.fromEntries(own) } }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  };
  const digest = digestOf([marks.setId, place.key, refKey(refOf(object))]);
  const readable = marks.nodeId
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, MAX_READABLE);
  const ref = { ...REMOTE_OBJECT, namespace: '', name: `${readable}-${digest.slice(-16)}` };
  const remote: KubeObject = {
    ...REMOTE_OBJECT,
    metadata: {
      name: ref.name,
      labels: keepingVersion(marks.labels, there(ref)?.metadata.labels),
      annotations: { [ANNOTATIONS.applyOrder]: marks.annotations[ANNOTATIONS.applyOrder] ?? '' },
    },
    spec: {
      ...place.of,
      object: asJson(content),
      ...(marks.reads === true && { reads: true }),
      ...((marks.returns ?? []).length > 0 && { returns: [...(marks.returns ?? [])] }),
    },
  };
  return { object: remote };
}

type Place =
  | { readonly key: string; readonly of: JsonObject }
  | { readonly reason: Reason; readonly key?: undefined };

function byName(written: string): Place {
  const cluster = written.trim();
  return cluster === ''
    ? failedTarget('name', 'the name of the cluster is empty')
    : { key: cluster, of: { cluster } };
}

const SECRET =
  /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)\/([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/;
const MAX_SECRET = 253;

/** Expressions may have made anything of it: only what can be one Secret is taken. */
function bySecret(written: string): Place {
  const [, namespace = '', , name = ''] = SECRET.exec(written.trim()) ?? [];
  if (name === '' || name.length > MAX_SECRET)
    return failedTarget(
      'kubeconfigSecretName',
      `${JSON.stringify(written.slice(0, MAX_SECRET))} can be no Secret: a namespace and a name are needed`,
    );
  return { key: `secret ${namespace}/${name}`, of: { kubeconfigSecret: { namespace, name } } };
}

function failedTarget(field: string, message: string): { readonly reason: Reason } {
  return { reason: { kind: 'Failed', path: `target.cluster.${field}`, message } };
}

/** How the cluster of a RemoteObject is called in messages. */
function clusterOfRemote(remote: KubeObject): string | undefined {
  const name = stringAt(remote, 'spec', 'kubeconfigSecret', 'name');
  return name === undefined
    ? stringAt(remote, 'spec', 'cluster')
    : `of Secret ${stringAt(remote, 'spec', 'kubeconfigSecret', 'namespace') ?? ''}/${name}`;
}

/**
 * The object that a RemoteObject, or a HubObject, stands for, as expressions see it: what was sent, with the status that its cluster tells. Nothing of
 * it is believed that is not of now: a node waits while its cluster is out of sight. `ahead` takes it as if it were there.
 */
export function seenRemote(
  remote: KubeObject,
  ahead: boolean,
): { readonly object: KubeObject } | { readonly reason: Reason; readonly failed: boolean } {
  const content = asObject(objectAt(remote, 'spec', 'object') ?? {});
  const status = objectAt(remote, 'status') ?? {};
  const state = stringAt(status, 'state');
  const current = numberAt(status, 'observedGeneration') === (remote.metadata.generation ?? 0);
  if (ahead || (current && state === 'Applied'))
    return { object: asItIs(content, status['fields'], status['status']) };
  const message = stringAt(status, 'message');
  const cluster = clusterOfRemote(remote);
  const unheard =
    cluster === undefined ? 'the hub has not taken it up yet' : 'it was not told to its cluster yet';
  return {
    failed: current && state === 'Failed',
    reason: {
      kind: 'Remote',
      ref: refOf(content),
      ...(cluster !== undefined && { cluster }),
      message: current && message !== undefined ? message : unheard,
    },
  };
}

/** The object that a RemoteObject stands for, in words; `undefined` where it is none. */
export function remoteText(object: KubeObject): string | undefined {
  const content = object.kind === REMOTE_OBJECT.kind ? objectAt(object, 'spec', 'object') : undefined;
  if (object.apiVersion !== REMOTE_OBJECT.apiVersion || !content) return undefined;
  return `${refText(refOf(asObject(content)))} on cluster ${clusterOfRemote(object) ?? ''}`;
}

/** What was sent, with what its cluster says of it. */
function asItIs(
  object: KubeObject,
  fields: JsonObject[string] | undefined,
  status: JsonObject[string] | undefined,
): KubeObject {
  const { metadata, ...others } = isObject(fields) ? fields : {};
  return {
    ...object,
    ...others,
    ...(isObject(metadata) && { metadata: { ...object.metadata, ...metadata } }),
    ...(isObject(status) && Object.keys(status).length > 0 && { status }),
  };
}
