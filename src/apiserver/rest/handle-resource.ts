import type { Response } from '../../kube/exchange.ts';
import { badRequest } from '../../kube/status-error.ts';
import {
  ALL_CLUSTERS,
  checkRoute,
  methodNotAllowed,
  pathNotFound,
  type RequestInfo,
  routeNotFound,
} from '../request/index.ts';
import type { Resource, Verb } from '../resource.ts';
import {
  createOne,
  deleteAll,
  deleteOne,
  getOne,
  listAll,
  patchOne,
  updateOne,
  watchAll,
} from './object-verbs.ts';
import type { ResourceRequest } from './resource-request.ts';
import type { Scope } from './scope.ts';
import { bindByName, handleSubresource, methodNotSupported } from './subresource-verbs.ts';

/** Verbs that need a name in the path. */
const ITEM_VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);

/** Serves one request for a resource. Throws the `StatusError` of a failure. */
export async function handleResource(asked: ResourceRequest): Promise<Response> {
  const { info, server } = asked;
  const resource = server.resources(info.cluster).find(info.group, info.version, info.resource);
  if (!resource || !addresses(resource, info) || hasGap(info)) {
    if (isBuiltIn(asked)) throw routeNotFound();
    return pathNotFound();
  }
  // Where a built-in has no route there is nobody to tell of it.
  if (resource.deprecation !== undefined && (resource.custom || resource.verbs.includes(info.verb as Verb)))
    asked.warnings.push(resource.deprecation);
  const scope: Scope = {
    server,
    cluster: info.consumers ? ALL_CLUSTERS : info.cluster,
    ...(info.consumers ? { consumersOf: info.cluster } : {}),
    resource,
    namespace: resource.namespaced ? info.namespace : '',
    user: asked.user,
    mayCreate: asked.mayCreate,
    warn: (text) => asked.warnings.push(text),
    ...(asked.annotate ? { annotate: asked.annotate } : {}),
  };
  if (info.method === 'HEAD' && !resource.custom) throw methodNotAllowed();
  // Below `watch/` there is nothing but watches of collections and objects.
  const isLegacyWatch = isSpecialPath(info, 'watch');
  if (!resource.custom && (info.verb === 'proxy' || (isLegacyWatch && info.parts.length > 2)))
    throw routeNotFound();
  if (!resource.custom && isLegacyWatch && info.method !== 'GET') throw methodNotAllowed();
  if (!resource.custom && (info.name === '.' || info.name === '..') && info.parts.length > 1)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(info.name)}: may not be '${info.name}'`);
  if (info.subresource !== '') return handleSubresource(asked, scope);
  // What is only made, such as a review, has no items; and there are none of all namespaces together.
  const acrossNamespaces = resource.namespaced && info.namespace === '';
  if (!resource.custom && isMadeOnly(resource) && (info.parts.length > 1 || acrossNamespaces))
    throw routeNotFound();
  const misplaced = info.parts.length < 2 ? ITEM_VERBS.has(info.verb) : info.verb === 'create';
  if (!resource.custom && acrossNamespaces && !READING.has(info.verb)) throw methodNotAllowed();
  // What can be listed has the route of a watch, though nothing may come of it.
  if (
    info.verb === 'watch' &&
    !resource.custom &&
    !resource.verbs.includes('watch') &&
    resource.verbs.includes('list')
  )
    throw isLegacyWatch ? routeNotFound() : methodNotSupported(resource, info.verb);
  if (misplaced || !resource.verbs.includes(info.verb as Verb)) throw methodNotAllowed();
  if (!resource.custom) checkRoute(asked.request.headers, info.verb === 'list' || info.verb === 'watch');
  switch (info.verb) {
    case 'get':
      return getOne(asked, scope);
    case 'list':
      return listAll(asked, scope);
    case 'watch':
      return watchAll(asked, scope);
    case 'create':
      return resource.group === '' && resource.resource === 'bindings'
        ? bindByName(asked, scope)
        : createOne(asked, scope);
    case 'update':
      return updateOne(asked, scope);
    case 'patch':
      return patchOne(asked, scope);
    case 'delete':
      return deleteOne(asked, scope);
    case 'deletecollection':
      return deleteAll(asked, scope);
    default:
      throw methodNotAllowed();
  }
}

/** Whether the path has this word where others have the namespace or the resource. */
function isSpecialPath({ verb, path, apiPrefix }: RequestInfo, word: string): boolean {
  return verb === word && path.split('/')[apiPrefix === 'api' ? 3 : 4] === word;
}

const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function isMadeOnly({ verbs }: Resource): boolean {
  return verbs.length === 1 && verbs[0] === 'create';
}

/** Whether the group of the request has built-in resources: their router answers what it does not know in its own way. */
function isBuiltIn({ server, info }: ResourceRequest): boolean {
  return server
    .resources(info.cluster)
    .all.some((resource) => !resource.custom && resource.group === info.group);
}

/** What custom resources take where no namespace is named. */
const ACROSS_NAMESPACES: ReadonlySet<string> = new Set(['list', 'watch']);

/** Whether a segment of the path is empty, which none of a route is. What is proxied to may have such paths. */
function hasGap({ path, subresource }: RequestInfo): boolean {
  return subresource !== 'proxy' && path.includes('//');
}

/** Whether a path of this form addresses the resource at all. */
function addresses(resource: Resource, info: RequestInfo): boolean {
  if (info.parts.length > 3 && info.subresource !== 'proxy') return false;
  const inNamespace = info.namespace !== '';
  if (!resource.namespaced)
    // `namespaces/<name>` is the object itself; anything of that name within a namespace is not.
    return (
      !inNamespace ||
      (resource.resource === 'namespaces' && resource.group === '' && info.name === info.namespace)
    );
  return inNamespace || ACROSS_NAMESPACES.has(info.verb) || (!resource.custom && info.parts.length < 2);
}
