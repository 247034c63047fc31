import { asJson, asObject, type KubeObject, type ObjectRef, refKey, refOf } from '../../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../../schema/json.ts';
import { digestOf } from '../../digest.ts';
import { CONTRIBUTE, type GraphNode, TARGET_CLUSTER } from '../compile/index.ts';
import { renderTemplate } from '../template/index.ts';
import { kindOfObject } from './dynamic-kind.ts';
import { hubObject } from './hub-object.ts';
import { type Origin, placeOnHub } from './origin.ts';
import { contributionManager, keepingVersion, type MemberPlace, memberMarks, patchManager } from './owner.ts';
import type { Reason } from './reason.ts';
import { remoteObject } from './remote.ts';
import { originOf, reasonOf, type Walk } from './walk.ts';
import { ANNOTATIONS, WISHES } from './words.ts';

/** An object as it shall be. */
export interface DesiredObject {
  readonly node: string;
  readonly ref: ObjectRef;
  /** With all labels and annotations of the engine. */
  readonly object: KubeObject;
  /** Of the object; what was applied with the same digest need not be applied again. */
  readonly digest: string;
  /** Who writes it, where it is an object of somebody else's that fields are added to. */
  readonly contributedBy?: string;
  /** The fields are of this part of the object. */
  readonly subresource?: 'status';
  /** It is wanted, and not to be written now. */
  readonly held?: boolean;
  /** It is an instance, and comes from where the instance comes from. */
  readonly origin?: Origin;
}

/** Tells apart who writes an object: an instance itself, or by a field manager for fields of somebody else's object. */
export function writerKey(ref: ObjectRef, contributedBy: string | undefined): string {
  return contributedBy === undefined ? refKey(ref) : `${refKey(ref)}\n${contributedBy}`;
}

export function desiredObject(
  walk: Walk,
  node: GraphNode,
  bindings: Readonly<Record<string, unknown>>,
  index: number,
  size: number,
): DesiredObject | { reason: Reason } {
  const { instance, options } = walk;
  const { value, unresolved } = renderTemplate(node.template, bindings, options.costLimit);
  if (unresolved) return { reason: reasonOf(unresolved) };
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const name = stringAt(metadata, 'name') ?? '';
  if (name === '') return { reason: { kind: 'Failed', path: 'metadata.name', message: 'the name is empty' } };
  const of = kindOfObject(walk, node, value);
  if ('reason' in of) return of;
  const own = options.origin?.namespace ?? instance.metadata.namespace ?? '';
  const namespace = of.namespaced ? (stringAt(metadata, 'namespace') ?? own) : '';
  if (of.namespaced && namespace === '')
    return { reason: { kind: 'Failed', path: 'metadata.namespace', message: 'the namespace is empty' } };
  const from = originOf(walk, node);
  if (node.contributes && from !== undefined)
    return {
      reason: { kind: 'Failed', message: `fields cannot be added to an object on the cluster ${from}` },
    };
  if (node.contributes) {
    const { labels, annotations, ...rest } = metadata;
    const kept = isObject(annotations)
      ? Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== CONTRIBUTE))
      : {};
    const object = asObject({
      ...value,
      metadata: {
        ...rest,
        ...(namespace !== '' && { namespace }),
        ...(isObject(labels) && { labels }),
        ...(Object.keys(kept).length > 0 && { annotations: kept }),
      },
    });
    return {
      node: node.id,
      ref: refOf(object),
      object,
      digest: digestOf(asJson(object)),
      contributedBy: node.patches ? patchManager(instance, node.id) : contributionManager(instance),
      ...(node.patches === 'status' && { subresource: 'status' }),
    };
  }
  const place = { nodeId: node.id, wave: node.wave, ...(node.kind === 'Collection' && { index, size }) };
  const whole = asObject({ ...value, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } });
  if (node.onHub) {
    const marks = memberMarks(instance, options.owner, place, walk.setId);
    const all = { ...marks, setId: walk.setId, graph: options.owner.name, instance, node };
    const object = hubObject(whole, all, walk.observed.object);
    return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
  }
  if (node.targeted || from !== undefined) {
    const written = from === undefined ? whole : withTarget(whole, from);
    const marks = memberMarks(instance, options.owner, place, walk.setId);
    const { reads, returns, bySecret } = node;
    const all = { ...marks, setId: walk.setId, nodeId: node.id, reads, returns, bySecret };
    const remote = remoteObject(written, all, walk.observed.object);
    if ('reason' in remote) return remote;
    const { object } = remote;
    return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
  }
  if (options.origin) {
    const { cluster } = options.origin;
    const origin = { cluster, namespace, name };
    return {
      ...localObject(walk, node, value, placeOnHub(cluster, node.namespaced, origin), place, cluster),
      origin,
    };
  }
  const references = ownerReferences(walk, metadata, namespace);
  if ('reason' in references) return references;
  return localObject(
    walk,
    node,
    { ...value, metadata: { ...metadata, ...references } },
    { namespace, name },
    place,
  );
}

function withTarget(object: KubeObject, cluster: string): KubeObject {
  const { annotations } = object.metadata;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...annotations, [TARGET_CLUSTER]: cluster } },
  };
}

/** An object where the instance is, with all marks. */
function localObject(
  walk: Walk,
  node: GraphNode,
  value: JsonObject,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  place: MemberPlace,
  from?: string,
): DesiredObject {
  const { instance, options } = walk;
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const { apiVersion = node.apiVersion, kind = node.of.kind } = asObject(value);
  const ref: ObjectRef = { apiVersion, kind, namespace, name };
  const marks = memberMarks(instance, options.owner, place, walk.setId);
  const object = asObject({
    ...value,
    metadata: {
      ...metadata,
      name,
      ...(namespace !== '' && { namespace }),
      labels: {
        ...(isObject(metadata['labels']) ? metadata['labels'] : {}),
        ...keepingVersion(marks.labels, walk.observed.object(ref)?.metadata.labels),
      },
      annotations: {
        ...(isObject(metadata['annotations']) ? metadata['annotations'] : {}),
        ...marks.annotations,
        ...(from !== undefined && { [ANNOTATIONS.origin]: from }),
      },
    },
  });
  return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
}

/** The instance as an owner of the object, where the template asks for it. */
function ownerReferences(
  { instance }: Walk,
  metadata: JsonObject,
  namespace: string,
): { readonly ownerReferences?: JsonValue } | { readonly reason: Reason } {
  if (stringAt(metadata, 'annotations', WISHES.ownerReference) !== 'true') return {};
  const { name = '', uid = '', namespace: own } = instance.metadata;
  if (own !== undefined && own !== namespace)
    return {
      reason: {
        kind: 'Failed',
        path: 'metadata.namespace',
        message: `an object in ${namespace === '' ? 'no namespace' : `the namespace ${namespace}`} cannot be owned by an instance in ${own}`,
      },
    };
  const { apiVersion, kind } = instance;
  const written = metadata['ownerReferences'];
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ownerReferences: [...(Array.isArray(written) ? written : []), reference] };
}
