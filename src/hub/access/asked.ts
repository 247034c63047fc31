import {
  isPlainPath,
  parseRequestInfo,
  type RequestInfo,
  splitCluster,
} from '../../apiserver/request/index.ts';
import type { Grantable } from '../../engine/access/index.ts';
import { type Request, upgradeProtocol } from '../../kube/exchange.ts';
import { badRequest } from '../../kube/status-error.ts';

/** What a request to a spoke's API comes to, for authorization at the hub. */
export interface AskedOfSpoke {
  readonly info: RequestInfo;
  /** On `spokeclusters/proxy` at the hub: `get` to look, `create` for all else. */
  readonly verb: 'get' | 'create';
  /** What needs a grant. */
  readonly needs?: Grantable;
  /** '' for what is in no namespace, or in all. */
  readonly namespace: string;
  /** Why nobody gets that by way of the hub. */
  readonly never?: string;
  /** Whether it is about what the hub itself dispatched. */
  readonly dispatches: boolean;
}

const LOOKING: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
/** Creates that change nothing: what may I, who am I. */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  'authorization.k8s.io': ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  'authentication.k8s.io': ['selfsubjectreviews'],
};
const DISPATCHED: ReadonlySet<string> = new Set(['dispatches', 'bundles']);
/** A spoke may be the hub of others, and those of others. */
const MAX_DEPTH = 16;

/**
 * Reads what a request would do on a spoke, by its method and path. What leads on to a spoke of the spoke is judged by what is
 * done there; whatever is not understood is a write, and a stream that is not understood is an exec. Throws 400 for paths
 * that cannot be read.
 */
export function askedOfSpoke(request: Request): AskedOfSpoke {
  let path = request.path;
  if (!isPlainPath(path))
    throw badRequest(`${JSON.stringify(path)} is no path of a cluster: . and .. lead elsewhere`);
  for (let depth = 0; depth < MAX_DEPTH && path.startsWith('/clusters/'); depth++)
    path = splitCluster(path).rest;
  const info = parseRequestInfo(request.method, path);
  const { group, resource, subresource, namespace } = info;
  // Some servers see nothing between two slashes, others make one of them. Only what is proxied to may have such paths.
  if (subresource !== 'proxy' && info.path.includes('//'))
    throw badRequest(
      `${JSON.stringify(path)} is no path of a cluster: something is missing between two slashes`,
    );
  const streams = upgradeProtocol(request) !== undefined && info.verb !== 'watch';
  const dispatches = group === 'atoll.dev' && DISPATCHED.has(resource);
  // A namespace itself is in none, whatever its path says.
  const base = { info, namespace: resource === 'namespaces' ? '' : namespace, dispatches };
  if (info.isResourceRequest && (subresource === 'exec' || subresource === 'attach'))
    return { ...base, verb: 'create', needs: 'exec' };
  if (info.isResourceRequest && subresource === 'portforward')
    return { ...base, verb: 'create', needs: 'port-forward' };
  // A node's proxy reaches its kubelet, which runs whatever it is told to.
  if (info.verb === 'proxy' || subresource === 'proxy')
    return { ...base, verb: 'create', needs: resource === 'nodes' ? 'exec' : 'port-forward' };
  if (resource === 'serviceaccounts' && subresource === 'token')
    return {
      ...base,
      verb: 'create',
      needs: 'write',
      never: "tokens of a spoke's service accounts are not given out by way of the hub",
    };
  if (streams || path.startsWith('/clusters/'))
    return { ...base, verb: 'create', needs: 'exec', namespace: '' };
  if (LOOKING.has(info.verb) && isReading(info)) return { ...base, verb: 'get' };
  if (info.verb === 'create' && QUESTIONS[group]?.includes(resource)) return { ...base, verb: 'get' };
  return { ...base, verb: 'create', needs: 'write' };
}

/** The verb of a resource comes from the method, whatever the path says; what is no resource has the method as its verb. */
function isReading({ method }: RequestInfo): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}
