import {
  asJson,
  asObject,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../../kube/object.ts';
import { objectAt } from '../../../schema/json.ts';
import { digestOf } from '../../digest.ts';
import type { GraphNode } from '../compile/index.ts';
import { keepingVersion } from './owner.ts';
import { ANNOTATIONS } from './words.ts';

/** What stands on a cluster for an object that its hub makes: a member of the instance like any other. */
export const HUB_OBJECT: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'HubObject',
};

/** Keeps a HubObject until the hub has said that its object is gone. */
export const HUB_OBJECT_FINALIZER = 'atoll.dev/hub-object';

const MAX_READABLE = 40;

export interface HubMarks {
  readonly setId: string;
  /** Name of the definition that the instance is of. */
  readonly graph: string;
  readonly instance: KubeObject;
  readonly node: Pick<GraphNode, 'id' | 'returns' | 'returnsStatus'>;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The HubObject of an object as its template has it. */
export function hubObject(
  object: KubeObject,
  { setId, graph, instance, node, labels, annotations }: HubMarks,
  there: (ref: ObjectRef) => KubeObject | null | undefined,
): KubeObject {
  const digest = digestOf([setId, node.id, refKey(refOf(object))]);
  const readable = node.id
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, MAX_READABLE);
  const name = `${readable}-${digest.slice(-16)}`;
  const { name: instanceName = '', namespace } = instance.metadata;
  return {
    ...HUB_OBJECT,
    metadata: {
      name,
      labels: keepingVersion(labels, there({ ...HUB_OBJECT, namespace: '', name })?.metadata.labels),
      annotations: { [ANNOTATIONS.applyOrder]: annotations[ANNOTATIONS.applyOrder] ?? '' },
      finalizers: [HUB_OBJECT_FINALIZER],
    },
    spec: {
      graph,
      node: node.id,
      instance: {
        apiVersion: instance.apiVersion,
        kind: instance.kind,
        name: instanceName,
        ...(namespace !== undefined && { namespace }),
      },
      object: asJson(object),
      ...(node.returns.length > 0 && { returns: [...node.returns] }),
      ...(node.returnsStatus.length > 0 && { returnsStatus: [...node.returnsStatus] }),
    },
  };
}

/** The object that a HubObject stands for, in words; `undefined` where it is none. */
export function hubObjectText(object: KubeObject): string | undefined {
  if (object.apiVersion !== HUB_OBJECT.apiVersion || object.kind !== HUB_OBJECT.kind) return undefined;
  const content = objectAt(object, 'spec', 'object');
  return content && `${refText(refOf(asObject(content)))} on the hub`;
}
