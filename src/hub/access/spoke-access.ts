import { bearerToken } from '../../apiserver/auth/index.ts';
import type { AskedRight, SpaceCaller } from '../../apiserver/index.ts';
import { ROOT_CLUSTER, splitCluster } from '../../apiserver/request/index.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import {
  DISPATCH_READERS_GROUP,
  type GrantedAct,
  grantGroup,
  grantState,
  impersonationHeaders,
  userOnSpoke,
} from '../../engine/access/index.ts';
import { allowsService, CONTRACTS_PATH, serviceRefusal } from '../../engine/contract/index.ts';
import {
  isUpgraded,
  type Request,
  type Response,
  readBody,
  type Upgraded,
  upgradeProtocol,
} from '../../kube/exchange.ts';
import { failure, notFound, StatusError } from '../../kube/status-error.ts';
import { upgradedResponse } from '../../kube/wire/index.ts';
import type { Link } from '../../link/link.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { listAt } from '../../schema/json.ts';
import { parseJson } from '../../schema/json-text.ts';
import { type AskedOfSpoke, askedOfSpoke } from './asked.ts';
import type { Grants } from './grants.ts';
import { forwardedAnswer, spokeHeaders } from './headers.ts';

const CONTRACTS_LIMIT = 16 * 1024 * 1024;

/** What access needs to know of the fleet. */
export interface AccessibleFleet {
  /** The cluster of a name, if it is in the inventory. */
  cluster(name: string): SpokeCluster | undefined;
  names(): readonly string[];
  /** How it is reached; the same link while connections come and go. */
  link(name: string): Link | undefined;
}

/** What the operator of a hub decides. */
export interface AccessRules {
  /** Whether writing needs a grant, as exec and port-forward do. True by default. */
  readonly writesNeedGrant?: boolean;
}

/** The way of a user's request to one spoke. */
export interface SpokeAccess {
  /** What a request means at the hub, also for a cluster that is not of the fleet. Throws 400 for what cannot be read. */
  right(name: string, request: Request): AskedRight;
  /** Passes a request on that the hub has authorized. Throws the `StatusError` of a refusal, 404 for an unknown cluster. */
  serve(name: string, request: Request, caller: SpaceCaller): Promise<Response>;
  /**
   * Passes a request on, and the token with it, for the spoke to say whose that is. The hub has to know the caller by a client
   * certificate: a token that it was known by would be given away. Throws as above.
   */
  serveByToken(name: string, request: Request, caller: SpaceCaller): Promise<Response>;
}

/** By what somebody was known; of certificates it begins so. */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const BY_CERTIFICATE = 'X509SHA256=';

export function spokeAccess(
  runtime: Runtime,
  fleet: AccessibleFleet,
  grants: Grants,
  rules: AccessRules = {},
): SpokeAccess {
  function clusterOf(name: string): SpokeCluster {
    const cluster = fleet.cluster(name);
    if (!cluster) throw notFound(SPOKE_CLUSTER.group, SPOKE_CLUSTER.plural, name);
    return cluster;
  }

  function linkOf(name: string, asked: AskedOfSpoke): Link {
    const link = fleet.link(name);
    if (link?.up === true) return link;
    throw away(
      `the cluster ${name} is not connected: ${link?.state.message ?? 'it has not connected since the hub started'}`,
      name,
      asked,
    );
  }

  /** Counts a use of the grant that an act needs, or throws the 403 that says how to get one. */
  function granted(act: GrantedAct): void {
    if (grants.use(act)) return;
    throw failure(403, 'Forbidden', refusalText(grants, act, runtime.clock.now()));
  }

  async function identityOf(
    name: string,
    asked: AskedOfSpoke,
    caller: SpaceCaller,
  ): Promise<Readonly<Record<string, string>>> {
    const extra: string[] = [];
    if (asked.needs !== undefined) extra.push(grantGroup(asked.needs));
    if (asked.dispatches && asked.verb === 'get') {
      if (await caller.may(rightOn(name, fleet.cluster(name), 'get', 'dispatches')))
        extra.push(DISPATCH_READERS_GROUP);
    }
    const identity = userOnSpoke(caller.user, extra);
    if (identity === undefined)
      throw failure(403, 'Forbidden', 'forbidden: only users with a name of their own act on a spoke');
    return impersonationHeaders(identity);
  }

  async function pass(
    name: string,
    link: Link,
    asked: AskedOfSpoke,
    forwarded: Request,
    act?: GrantedAct,
  ): Promise<Response> {
    const from = { path: forwarded.path, isOwnToken: forwarded.headers['authorization'] !== undefined };
    if (upgradeProtocol(forwarded) === undefined)
      return forwardedAnswer(name, await reached(name, asked, () => link.handler(forwarded)), from);
    if (link.upgrade === undefined)
      throw failure(501, 'NotImplemented', `the link to the cluster ${name} carries no streams`);
    const { upgrade } = link;
    const answer = await reached(name, asked, () => upgrade(forwarded));
    if (!isUpgraded(answer)) return forwardedAnswer(name, answer, from);
    if (act) cutWithGrant(grants, act, answer);
    return upgradedResponse(answer);
  }

  return {
    right(name, request) {
      const { verb } = askedOfSpoke(request);
      return rightOn(name, fleet.cluster(name), verb, 'proxy');
    },
    async serve(name, request, caller) {
      const asked = askedOfSpoke(request);
      const cluster = clusterOf(name);
      const { user } = caller;
      if (asked.never !== undefined) throw failure(403, 'Forbidden', `forbidden: ${asked.never}`);
      const link = linkOf(name, asked);
      const isFree =
        asked.needs === undefined || (asked.needs === 'write' && rules.writesNeedGrant === false);
      const act: GrantedAct | undefined =
        isFree || asked.needs === undefined
          ? undefined
          : {
              user,
              cluster: { name, labels: cluster.metadata.labels ?? {} },
              namespace: asked.namespace,
              what: asked.needs,
            };
      const headers = { ...spokeHeaders(request), ...(await identityOf(name, asked, caller)) };
      if (act) granted(act);
      await namedService(name, link, request, asked);
      return pass(name, link, asked, { ...request, headers }, act);
    },
    async serveByToken(name, request, { user }) {
      const asked = askedOfSpoke(request);
      clusterOf(name);
      const token = bearerToken(request);
      if (token === undefined)
        throw failure(401, 'Unauthorized', `a token of the cluster ${name} is needed here, as bearer token`);
      if (user.extra?.[CREDENTIAL_ID]?.some((id) => id.startsWith(BY_CERTIFICATE)) !== true)
        throw failure(
          403,
          'Forbidden',
          `forbidden: with a token of the cluster ${name}, show the hub a client certificate; a token that the hub knows you by is not passed on`,
        );
      const headers = { ...spokeHeaders(request), authorization: `Bearer ${token}` };
      return pass(name, linkOf(name, asked), asked, { ...request, headers });
    },
  };
}

/**
 * Throws the 403 of a service that no contract of the spoke names. A spoke that dials sees to that itself; one whose kubeconfig the
 * hub has cannot tell the hub's requests from others.
 */
async function namedService(name: string, link: Link, { path }: Request, asked: AskedOfSpoke): Promise<void> {
  const { resource, subresource, namespace, name: id } = asked.info;
  // What leads on to a spoke of the spoke is judged there; its own API is at `/clusters/root`, too.
  const leadsOn = splitCluster(path).cluster !== ROOT_CLUSTER;
  if (resource !== 'services' || subresource !== 'proxy' || leadsOn) return;
  const headers = { accept: 'application/json' };
  const answer = await reached(name, asked, () =>
    link.handler({ method: 'GET', path: CONTRACTS_PATH, headers }),
  );
  const body = parseJson(Buffer.from(await readBody(answer, CONTRACTS_LIMIT)).toString('utf8'));
  const contracts = answer.status === 200 ? listAt(body, 'items') : [];
  if (!allowsService(contracts, namespace, id))
    throw failure(403, 'Forbidden', serviceRefusal(namespace, id));
}

/** `get` or `create` on a subresource of a SpokeCluster, in whose namespace a role is enough. */
function rightOn(
  name: string,
  cluster: SpokeCluster | undefined,
  verb: string,
  subresource: string,
): AskedRight {
  return {
    isResource: true,
    verb,
    group: SPOKE_CLUSTER.group,
    version: SPOKE_CLUSTER.version,
    resource: SPOKE_CLUSTER.plural,
    subresource,
    namespace: cluster?.metadata.namespace ?? '',
    name,
    path: '',
  };
}

function cutWithGrant(grants: Grants, act: GrantedAct, { socket }: Upgraded): void {
  const release = grants.follow(act, (why) => socket.destroy(new Error(why)));
  if (socket.destroyed) release();
  else socket.once('close', release);
}

function refusalText(grants: Grants, act: GrantedAct, now: number): string {
  const { user, cluster, namespace, what } = act;
  const where = `on the cluster ${cluster.name}${namespace === '' ? '' : ` in the namespace ${namespace}`}`;
  const begin = `forbidden: ${what} ${where} by way of the hub needs an AccessGrant`;
  if (grants.problem !== undefined) return `${begin}; ${grants.problem}`;
  const near = grants.nearest(act);
  if (near) {
    const { state, message } = grantState(near, now);
    const name = near.metadata.name ?? '';
    const next = state === 'Pending' ? `. Next: atoll grant approve ${name}` : '';
    return `${begin}; ${name} is ${state.toLowerCase()}: ${message}${next}`;
  }
  const scope = namespace === '' ? "-n '*'" : `-n ${namespace}`;
  return `${begin}. Next: atoll grant create ${what} --user ${user.name} --clusters ${cluster.name} ${scope} --reason '…'`;
}

/** No answer could be had: that is for the client to hear, not an error of the hub. */
async function reached<T>(cluster: string, asked: AskedOfSpoke, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw away(`the cluster ${cluster} cannot be reached now: ${errorText(error)}`, cluster, asked, error);
  }
}

function away(why: string, cluster: string, asked: AskedOfSpoke, cause?: unknown): StatusError {
  const message = `${why}. What was last known: atoll cluster show ${cluster}`;
  const { status } = failure(503, 'ServiceUnavailable', message);
  // Of what goes wrong in discovery kubectl shows nothing but warnings.
  return new StatusError(status, { cause, warnings: asked.info.isResourceRequest ? [] : [message] });
}
