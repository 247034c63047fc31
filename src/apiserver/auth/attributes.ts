import { failure, type StatusError } from '../../kube/status-error.ts';
import type { UserInfo } from './user.ts';

/** What a request would do, as an authorizer sees it. */
export interface RequestAttributes {
  readonly user: UserInfo;
  /** `get`, `list`, `create` … for resources, the lower-case HTTP method for other paths. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Empty for cluster-scoped resources and for lists over all namespaces. */
  readonly namespace: string;
  /** For requests that are not for a resource. */
  readonly path: string;
  /** The logical cluster. */
  readonly cluster: string;
}

export interface AuthorizationDecision {
  readonly allowed: boolean;
  /** Why, for people; may be empty. */
  readonly reason: string;
}

export interface Authorizer {
  authorize(attributes: RequestAttributes): AuthorizationDecision;
}

/** Attributes for a resource; what is left out is empty. */
export function resourceAttributes(
  user: UserInfo,
  cluster: string,
  asked: Partial<Omit<RequestAttributes, 'user' | 'cluster' | 'isResource' | 'path'>> & {
    verb: string;
    resource: string;
  },
): RequestAttributes {
  return {
    group: '',
    version: '',
    subresource: '',
    name: '',
    namespace: '',
    ...asked,
    user,
    cluster,
    isResource: true,
    path: '',
  };
}

export function pathAttributes(
  user: UserInfo,
  cluster: string,
  verb: string,
  path: string,
): RequestAttributes {
  return {
    user,
    cluster,
    verb,
    path,
    isResource: false,
    group: '',
    version: '',
    resource: '',
    subresource: '',
    name: '',
    namespace: '',
  };
}

/** `User "u" cannot list resource "pods" in API group "" in the namespace "ns"`. */
export function denialText(attributes: RequestAttributes): string {
  const user = JSON.stringify(attributes.user.name);
  if (!attributes.isResource)
    return `User ${user} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const where =
    attributes.namespace === ''
      ? 'at the cluster scope'
      : `in the namespace ${JSON.stringify(attributes.namespace)}`;
  return `User ${user} cannot ${attributes.verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(attributes.group)} ${where}`;
}

/** The 403 for a request that the authorizer denied. */
export function forbidden(attributes: RequestAttributes, reason: string = ''): StatusError {
  const text = escapeHtml(denialText(attributes));
  return forbiddenBecause(attributes, reason === '' ? text : `${text}: ${reason}`);
}

/** A 403 about the object of a request, in Kubernetes' form: `pods "x" is forbidden: <why>`. */
export function forbiddenBecause(
  object: Pick<RequestAttributes, 'group' | 'resource' | 'name'>,
  why: string,
): StatusError {
  const { group, resource, name } = object;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  let message = `forbidden: ${why}`;
  if (resource !== '')
    message =
      name === ''
        ? `${qualified} is forbidden: ${why}`
        : `${qualified} ${JSON.stringify(name)} is forbidden: ${why}`;
  return failure(403, 'Forbidden', message, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(resource === '' ? {} : { kind: resource }),
  });
}

/** Names come from the request, and a browser might show the text. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
