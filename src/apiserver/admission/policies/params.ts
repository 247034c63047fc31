import type { KubeObject } from '../../../kube/object.ts';
import { type JsonObject, objectAt, stringAt } from '../../../schema/json.ts';
import { matchesSelector, type Selector, selectorFromObject } from '../../../schema/label-selector.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { viewOf } from '../../rest/view.ts';
import { clusterPrefix, namespacePrefix, objectKey } from '../../store/key.ts';
import type { StoreRecord } from '../../store/store.ts';
import type { Policy } from './policy.ts';

/** Which objects a binding gives its policy as parameters. */
export interface ParamRef {
  readonly name: string;
  readonly namespace: string;
  readonly selector: Selector | undefined;
  readonly deniesWhenNotFound: boolean;
}

export function paramRefOf(spec: JsonObject): ParamRef | undefined {
  const ref = objectAt(spec, 'paramRef');
  if (!ref) return undefined;
  const selector = objectAt(ref, 'selector');
  return {
    name: stringAt(ref, 'name') ?? '',
    namespace: stringAt(ref, 'namespace') ?? '',
    selector: selector && selectorFromObject(selector).selector,
    deniesWhenNotFound: ref.parameterNotFoundAction === 'Deny',
  };
}

/** Why there are no parameters to judge by. `policy`: whatever the binding, it is the policy's fault. */
export interface ParamProblem {
  readonly of: 'policy' | 'binding';
  readonly why: string;
}

/** The parameters with which a policy is asked, each by itself; `null` where there is none to give. */
export function paramsOf(
  policy: Policy,
  ref: ParamRef | undefined,
  request: AdmissionRequest,
): readonly (KubeObject | null)[] | ParamProblem {
  const kind = policy.paramKind;
  if (!kind) return [null];
  const { scope } = request;
  const resource = scope.server.resources(scope.cluster).byKind(kind.apiVersion, kind.kind);
  if (!resource) {
    const why = `failed to find resource referenced by paramKind: '${kind.apiVersion}, Kind=${kind.kind}'`;
    return { of: 'policy', why };
  }
  if (!ref) return [null];
  const problem = (why: string): ParamProblem => ({ of: 'binding', why });
  if (!resource.namespaced && ref.namespace !== '')
    return problem('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const namespace = resource.namespaced ? ref.namespace || namespaceOf(request) : '';
  if (resource.namespaced && namespace === '')
    return problem('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  if (ref.name !== '' && ref.selector)
    return problem('paramRef.name and paramRef.selector are mutually exclusive');
  if (ref.name === '' && !ref.selector) return problem('one of name or selector must be provided');
  const found = recordsOf(request, resource, namespace, ref).map((record) => viewOf(resource, record).object);
  if (found.length === 0 && ref.deniesWhenNotFound)
    return problem('no params found for policy binding with `Deny` parameterNotFoundAction');
  return found;
}

function namespaceOf({ scope, object, old }: AdmissionRequest): string {
  if (!scope.resource.namespaced) return '';
  return object?.metadata.namespace ?? old?.metadata.namespace ?? scope.namespace;
}

function recordsOf(
  { scope }: AdmissionRequest,
  resource: Resource,
  namespace: string,
  ref: ParamRef,
): readonly StoreRecord[] {
  const { store } = scope.server;
  const group = resource.storageGroup ?? resource.group;
  if (ref.name !== '') {
    const record = store.get(objectKey(group, resource.resource, scope.cluster, namespace, ref.name));
    return record ? [record] : [];
  }
  const { selector } = ref;
  if (!selector) return [];
  const prefix =
    namespace === ''
      ? clusterPrefix(group, resource.resource, scope.cluster)
      : namespacePrefix(group, resource.resource, scope.cluster, namespace);
  return store
    .list(prefix)
    .records.filter((record) => matchesSelector(selector, record.object.metadata.labels));
}
