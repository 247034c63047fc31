import { badRequest, failure } from '../../kube/status-error.ts';
import { forbidden, isMaster, type RequestAttributes } from '../auth/index.ts';
import { ALL_CLUSTERS, methodNotAllowed, type RequestInfo } from '../request/index.ts';
import type { ResourceLookup } from '../rest/scope.ts';

/** All logical clusters at once are there to be listed and watched, by whoever may do everything anyway. */
export function checkAllClusters(info: RequestInfo, attributes: RequestAttributes): void {
  if (!isMaster(attributes.user))
    throw forbidden(attributes, 'all logical clusters at once are for system:masters');
  if (!info.isResourceRequest) return;
  if (info.verb !== 'list' && info.verb !== 'watch') throw methodNotAllowed();
  wholeCollection(info);
}

/** Consumers are seen through custom resources, and only read. */
export function checkConsumers(info: RequestInfo, served: ResourceLookup): void {
  const resource = info.isResourceRequest ? served.find(info.group, info.version, info.resource) : undefined;
  if (info.cluster === ALL_CLUSTERS || !resource?.custom)
    throw failure(
      404,
      'NotFound',
      'what consumers have can be asked of a custom resource of one logical cluster',
    );
  if (info.verb !== 'list' && info.verb !== 'watch') throw methodNotAllowed();
  wholeCollection(info);
}

function wholeCollection(info: RequestInfo): void {
  if (info.namespace !== '' || info.parts.length > 1)
    throw badRequest('of several logical clusters at once, whole collections can be listed and watched only');
}
