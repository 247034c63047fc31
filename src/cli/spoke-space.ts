import type { Space } from '../apiserver/index.ts';
import { failure } from '../kube/status-error.ts';
import type { Link } from '../link/link.ts';

/**
 * A spoke seen through the hub, at `/clusters/<spoke>`: read-only, and only for those who may `get`
 * `spokeclusters/proxy` of that name on the hub. The hub asks as itself, so it sees what a hub may see there: dispatches,
 * bundles, the Cluster object, nodes. Undefined where the hub knows no such spoke.
 */
export function spokeSpace(name: string, linkOf: (spoke: string) => Link | undefined): Space | undefined {
  const link = linkOf(name);
  if (!link) return undefined;
  return {
    handler: async (request) => {
      if (!link.up)
        throw failure(
          503,
          'ServiceUnavailable',
          `spoke ${name} is not connected: ${link.state.message}. What was last known: atoll cluster show ${name}`,
        );
      return link.handler(request);
    },
    attributes: (request) => ({
      isResource: true,
      verb: 'get',
      group: 'core.oam.dev',
      version: 'v1beta1',
      resource: 'spokeclusters',
      subresource: 'proxy',
      namespace: '',
      name,
      path: request.path,
    }),
  };
}
