import { asJson, asObject, type KubeObject, type ObjectRef, refOf } from '../../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../../schema/json.ts';
import { digestOf } from '../../digest.ts';
import { CONTRIBUTE, type GraphNode } from '../compile/index.ts';
import { renderTemplate } from '../template/index.ts';
import { contributionManager, keepingVersion, memberMarks } from './owner.ts';
import type { Reason } from './reason.ts';
import { remoteObject } from './remote.ts';
import { reasonOf, type Walk } from './walk.ts';
import { WISHES } from './words.ts';

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
  /** It is wanted, and not to be written now. */
  readonly held?: boolean;
}

export function desiredObject(
  walk: Walk,
  node: GraphNode,
  variables: Readonly<Record<string, unknown>>,
  index: number,
  size: number,
): DesiredObject | { reason: Reason } {
  const { instance, options } = walk;
  const bindings = { ...walk.bindings, ...variables };
  const { value, unresolved } = renderTemplate(node.template, bindings, options.costLimit);
  if (unresolved) return { reason: reasonOf(unresolved) };
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const name = stringAt(metadata, 'name') ?? '';
  if (name === '') return { reason: { kind: 'Failed', path: 'metadata.name', message: 'the name is empty' } };
  const own = instance.metadata.namespace ?? '';
  const namespace = node.namespaced ? (stringAt(metadata, 'namespace') ?? own) : '';
  if (node.namespaced && namespace === '')
    return { reason: { kind: 'Failed', path: 'metadata.namespace', message: 'the namespace is empty' } };
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
      contributedBy: contributionManager(instance),
    };
  }
  const place = { nodeId: node.id, wave: node.wave, ...(node.kind === 'Collection' && { index, size }) };
  if (node.targeted) {
    const written = asObject({ ...value, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } });
    const marks = memberMarks(instance, options.owner, place, walk.setId);
    const { reads, returns } = node;
    const all = { ...marks, setId: walk.setId, nodeId: node.id, reads, returns };
    const remote = remoteObject(written, all, walk.observed.object);
    if ('reason' in remote) return remote;
    const { object } = remote;
    return { node: node.id, ref: refOf(object), object, digest: digestOf(asJson(object)) };
  }
  const references = ownerReferences(walk, metadata, namespace);
  if ('reason' in references) return references;
  const ref: ObjectRef = { apiVersion: node.apiVersion, kind: node.of.kind, namespace, name };
  const marks = memberMarks(instance, options.owner, place, walk.setId);
  const object = asObject({
    ...value,
    metadata: {
      ...metadata,
      ...(namespace !== '' && { namespace }),
      ...references,
      labels: {
        ...(isObject(metadata['labels']) ? metadata['labels'] : {}),
        ...keepingVersion(marks.labels, walk.observed.object(ref)?.metadata.labels),
      },
      annotations: {
        ...(isObject(metadata['annotations']) ? metadata['annotations'] : {}),
        ...marks.annotations,
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
