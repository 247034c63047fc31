import type { Request, Response } from '../../kube/exchange.ts';
import { notFound } from '../../kube/status-error.ts';
import {
  type Authorizer,
  forbidden,
  type Impersonated,
  impersonate,
  pathAttributes,
  type RbacAuthorizer,
  type RequestAttributes,
  resourceAttributes,
  UnnamedImpersonation,
  type UserInfo,
} from '../auth/index.ts';
import type { ResourceRegistry } from '../crd/index.ts';
import type { FairQueue } from '../fairness/index.ts';
import type { Identity } from '../identity.ts';
import { ALL_CLUSTERS, type RequestInfo, textResponse } from '../request/index.ts';
import { handleResource } from '../rest/handle-resource.ts';
import type { WatchRegister } from '../rest/open-watches.ts';
import type { RestServer } from '../rest/scope.ts';
import { answerReview } from '../reviews.ts';
import { ROOT_CLUSTER } from '../server-options.ts';
import type { AskedRight, PlacedSpace } from '../space.ts';
import { checkAllClusters, checkConsumers } from './several-clusters.ts';
import { annotate, type Tracked } from './tracked.ts';
import { inTurn, needsTurn } from './turns.ts';

/** What stands behind the pipeline. */
export interface Backends {
  readonly authorizer: Authorizer;
  /** Answers access reviews, whoever decides. */
  readonly rbac: RbacAuthorizer;
  readonly identity: Pick<Identity, 'reviewer'>;
  readonly queue: FairQueue;
  readonly registry: ResourceRegistry;
  readonly rest: RestServer;
  readonly watches: WatchRegister;
  /** Whether there is such a logical cluster. */
  exists(cluster: string): boolean;
  /** What someone else serves, by path. */
  space(path: string): PlacedSpace | undefined;
  /** The extension API server that a request is for; `undefined` for every other request. */
  remote(info: RequestInfo): Remote | undefined;
  /** Serves what is no resource. */
  path(request: Request, info: RequestInfo): Response;
}

/** Serves a request as somebody, elsewhere. */
type Remote = (request: Request, user: UserInfo) => Promise<Response>;

/** A request of somebody known, on its way through the pipeline. */
interface Asked {
  readonly request: Request;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly space: PlacedSpace | undefined;
  readonly remote: Remote | undefined;
  readonly track: Tracked;
}

/** Serves a request of somebody known: impersonation, then its turn, then authorization, then whoever has the answer. */
export async function serveKnown(
  backends: Backends,
  asked: Request,
  info: RequestInfo,
  requester: UserInfo,
  track: Tracked,
): Promise<Response> {
  const space = backends.space(asked.path);
  const authority = space ? ROOT_CLUSTER : info.cluster;
  let acting: Impersonated | undefined;
  try {
    acting = impersonate(backends.authorizer, requester, authority, asked);
  } catch (error) {
    if (!(error instanceof UnnamedImpersonation)) throw error;
    return textResponse(500, `Internal Server Error: ${JSON.stringify(asked.path)}: ${error.message}\n`);
  }
  const user = acting?.user ?? requester;
  const request = acting?.request ?? asked;
  if (acting) track.impersonated = acting.user;
  const remote = space || info.consumers ? undefined : backends.remote(info);
  const known: Asked = { request, info, user, space, remote, track };
  // What a slow server elsewhere keeps waiting must not keep others.
  if (space || remote || !needsTurn(info, user)) return authorized(backends, known);
  const lane = backends.exists(info.cluster) ? info.cluster : '';
  return inTurn(backends.queue, lane, info, request, () => authorized(backends, known));
}

/** Authorizes a request whose turn it is, and serves it. */
async function authorized(backends: Backends, asked: Asked): Promise<Response> {
  const { authorizer, registry } = backends;
  const { request, info, user, space, remote, track } = asked;
  if (space) return serveSpace(backends, asked, space);
  const attributes = attributesOf(info, user);
  decide(authorizer, attributes, track);
  if (info.cluster === ALL_CLUSTERS) checkAllClusters(info, attributes);
  if (info.consumers) checkConsumers(info, registry.of(info.cluster));
  if (info.cluster !== ALL_CLUSTERS && !backends.exists(info.cluster))
    throw notFound('', 'clusters', info.cluster);
  if (remote) return remote(request, user);
  if (!info.isResourceRequest) return backends.path(request, info);
  return serveResource(backends, asked, attributes);
}

/** Throws the 403 of a user who may not. */
function decide(authorizer: Authorizer, attributes: RequestAttributes, track: Tracked): void {
  track.attributes = attributes;
  const decision = authorizer.authorize(attributes);
  annotate(track, {
    'authorization.k8s.io/decision': decision.allowed ? 'allow' : 'forbid',
    'authorization.k8s.io/reason': decision.reason,
  });
  if (!decision.allowed) throw forbidden(attributes, decision.reason);
}

/** A watch over a WebSocket is one of this server's: to whom it asks, it is a watch. */
function serveSpace(
  { authorizer }: Backends,
  { request, info, user, track }: Asked,
  { space, path }: PlacedSpace,
): Promise<Response> {
  const inner = { ...(info.verb === 'watch' ? withoutUpgrade(request) : request), path };
  const attributesOfRight = (right: AskedRight): RequestAttributes => ({
    ...right,
    user,
    cluster: ROOT_CLUSTER,
  });
  if (space.attributes) decide(authorizer, attributesOfRight(space.attributes(inner)), track);
  return space.serve(inner, {
    user,
    may: (right) => authorizer.authorize(attributesOfRight(right)).allowed,
  });
}

function withoutUpgrade(request: Request): Request {
  const { upgrade: _upgrade, connection: _connection, ...headers } = request.headers;
  return { ...request, headers };
}

function serveResource(
  { authorizer, rbac, identity, rest, watches }: Backends,
  { request, info, user, track }: Asked,
  attributes: RequestAttributes,
): Promise<Response> {
  return handleResource({
    server: rest,
    watches,
    request,
    info,
    user,
    warnings: track.warnings,
    annotate: (key, value) => annotate(track, { [key]: value }),
    mayCreate: () => {
      const creation = { ...attributes, verb: 'create' };
      const allowed = authorizer.authorize(creation);
      if (!allowed.allowed) throw forbidden(creation, allowed.reason);
    },
    review: (resource, body, namespace) =>
      answerReview(rbac, identity.reviewer, resource, { user, cluster: info.cluster, namespace }, body),
  });
}

/** What a request would do, as its path says. */
export function attributesOf(info: RequestInfo, user: UserInfo): RequestAttributes {
  if (!info.isResourceRequest) return pathAttributes(user, info.cluster, info.verb, info.path);
  const { verb, group, version, resource, name, namespace } = info;
  const subresource = info.consumers ? 'consumers' : info.subresource;
  return resourceAttributes(user, info.cluster, {
    verb,
    group,
    version,
    resource,
    subresource,
    name,
    namespace,
  });
}
