import { neverPropagated } from '../../engine/select/index.ts';
import { formatApiVersion, type KubeObject, type ObjectRef, refOf } from '../../kube/object.ts';
import { clone, isObject, type JsonObject, listAt } from '../../schema/json.ts';
import { namespaceProblem } from './placement.ts';
import type { ApiType } from './resolve.ts';
import { isNamespaceType } from './type-config.ts';
import type { FederatedObject, FederatedPlacement, FederatedType } from './types.ts';

/** Every cluster, as federating an object has it where nothing else is said. */
const EVERYWHERE: FederatedPlacement = { clusterSelector: { matchLabels: {} } };

/**
 * The federated form of an object: the template has what means the same on any cluster. Of its metadata only labels stay; what its
 * cluster allocated goes.
 */
export function federate(
  object: KubeObject,
  type: FederatedType,
  placement: FederatedPlacement = EVERYWHERE,
): FederatedObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata, status: _status, ...rest } = clone(object);
  const { name = '', namespace, labels = {} } = metadata;
  const { group = '', version, kind } = type.federated;
  const home = isNamespaceType(type.target) ? name : namespace;
  return {
    apiVersion: formatApiVersion(group, version),
    kind,
    metadata: { name, ...(home === undefined ? {} : { namespace: home }) },
    spec: {
      template: {
        ...(Object.keys(labels).length === 0 ? {} : { metadata: { labels } }),
        ...withoutAllocated(rest as JsonObject, type),
      },
      placement,
    },
  };
}

function withoutAllocated(content: JsonObject, { target: { group = '', kind } }: FederatedType): JsonObject {
  if (group !== '') return content;
  const spec = content['spec'];
  if (kind === 'ServiceAccount') delete content['secrets'];
  else if (kind === 'Namespace' && isObject(spec)) {
    delete spec['finalizers'];
    if (Object.keys(spec).length === 0) delete content['spec'];
  } else if (kind === 'Service' && isObject(spec)) {
    delete spec['clusterIP'];
    delete spec['clusterIPs'];
    for (const port of listAt(spec, 'ports')) if (isObject(port)) delete port['nodePort'];
  }
  return content;
}

/** Plurals that stand for the machinery of one cluster. */
const NEVER = new Set(['endpoints', 'events', 'endpointslices', 'propagatedversions']);
const NEVER_GROUPS = new Set(['extensions']);
const FEDERATION_GROUPS = /(?:^|\.)(?:kubefed\.io|federation\.k8s\.io)$/;

/**
 * Why objects of a type are no contents of a namespace that could be federated; `undefined` where they are. `skip` holds
 * `plural` or `plural.group`, as people ask for it.
 */
export function notContents(type: ApiType, skip: readonly string[] = []): string | undefined {
  const name = type.group === '' ? type.plural : `${type.plural}.${type.group}`;
  if (!type.namespaced) return 'it is not in namespaces';
  if (type.verbs !== undefined && !type.verbs.includes('list')) return 'it cannot be listed';
  if (NEVER.has(type.plural) || NEVER_GROUPS.has(type.group)) return 'each cluster makes its own';
  if (FEDERATION_GROUPS.test(type.group)) return 'it is of the federation itself';
  return skip.includes(name) || skip.includes(type.plural) ? 'it is to be skipped' : undefined;
}

export interface FederatedContents {
  /** The namespace first. */
  readonly objects: readonly FederatedObject[];
  /** What stays out, with the reason: made by others, or of a type that is not enabled. */
  readonly skipped: readonly { readonly ref: ObjectRef; readonly reason: string }[];
}

/**
 * A namespace with what is in it. `contents` are the objects of the types that {@link notContents} lets through; `typeOf`
 * gives the federated type of an object, if its type is enabled or is to be.
 */
export function federateNamespace(
  namespace: KubeObject,
  contents: Iterable<KubeObject>,
  typeOf: (object: KubeObject) => FederatedType | undefined,
  controlPlane: string,
): FederatedContents | { readonly problem: string } {
  const name = namespace.metadata.name ?? '';
  const problem = namespaceProblem(name, controlPlane);
  if (problem !== undefined) return { problem: `${problem} and cannot be federated` };
  const objects: FederatedObject[] = [];
  const skipped: { ref: ObjectRef; reason: string }[] = [];
  for (const object of [namespace, ...contents]) {
    const type = typeOf(object);
    const reason =
      neverPropagated(object) ??
      (type === undefined ? `${object.kind} is not a federated type: enable it first` : undefined);
    if (type === undefined || reason !== undefined)
      skipped.push({ ref: refOf(object), reason: reason ?? '' });
    else objects.push(federate(object, type));
  }
  return { objects, skipped };
}
