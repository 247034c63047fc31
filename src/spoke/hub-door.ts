import { isPlainPath, parseRequestInfo, ROOT_CLUSTER } from '../apiserver/request/index.ts';
import { readImpersonation, type SpokeIdentity } from '../engine/access/index.ts';
import { allowsService, CONTRACTS_PATH, serviceRefusal } from '../engine/contract/index.ts';
import { type Handler, isUpgraded, type Request, readBody, type Upgrader } from '../kube/exchange.ts';
import { failure, StatusError } from '../kube/status-error.ts';
import { listAt } from '../schema/json.ts';
import { parseJson } from '../schema/json-text.ts';
import { CAPACITY_PATH, capacityAnswer } from './capacity.ts';
import { HUB_USER, SURVEYOR_USER } from './hub-access.ts';

/**
 * The door by which a hub's requests come in, whatever the hub says of itself: they act as the hub's own user, or, where they
 * name one, as a user of the hub behind `hub:`. The hub holds no right to impersonate, so a stolen hub is nobody else here;
 * RBAC cannot say "names that begin with", this can. Services are reached that the owner's contracts name, and no others.
 * `as` makes a way into the API for somebody. `byToken` is the way for whoever shows a token of this cluster: the token is
 * passed on as it is, and the API decides who that is. Without it nobody does.
 */
export function hubDoor(as: (user: SpokeIdentity) => Handler, byToken?: Handler): Handler {
  const hub = as(HUB_IDENTITY);
  const capacity = capacityAnswer(as(SURVEYOR));
  return async (request) => {
    if (hasToken(request)) return byToken === undefined ? refusal(noTokens()) : byToken(withToken(request));
    const { user, inner } = enter(request);
    if (user instanceof Error) return refusal(user);
    const refused = await refusedService(inner, hub);
    if (refused) return refusal(refused);
    if (user === HUB_IDENTITY && inner.path === CAPACITY_PATH && inner.method === 'GET')
      return capacity(inner).catch(asAnswer);
    return (user === HUB_IDENTITY ? hub : as(user))(inner);
  };
}

/** The same for requests that ask for another protocol. */
export function hubDoorUpgrade(as: (user: SpokeIdentity) => Upgrader, byToken?: Upgrader): Upgrader {
  const hub = as(HUB_IDENTITY);
  return async (request) => {
    if (hasToken(request)) return byToken === undefined ? refusal(noTokens()) : byToken(withToken(request));
    const { user, inner } = enter(request);
    if (user instanceof Error) return refusal(user);
    const refused = await refusedService(inner, async (asked) => {
      const answer = await hub(asked);
      if (isUpgraded(answer)) answer.socket.destroy();
      return isUpgraded(answer) ? { ...answer, body: new Uint8Array() } : answer;
    });
    return refused ? refusal(refused) : as(user)(inner);
  };
}

function hasToken({ headers }: Request): boolean {
  return headers['authorization'] !== undefined;
}

function noTokens(): StatusError {
  return failure(501, 'NotImplemented', 'this cluster takes no tokens by way of its hub');
}

/** Whoever shows a token acts as nobody else. */
function withToken(request: Request): Request {
  const { headers } = enter(request).inner;
  return { ...request, headers: { ...headers, authorization: request.headers['authorization'] ?? '' } };
}

const CONTRACTS_LIMIT = 16 * 1024 * 1024;

/** Why a service is not reached; undefined for what is about no service, and for those that the owner's contracts name. */
async function refusedService(request: Request, hub: Handler): Promise<StatusError | undefined> {
  const asked = serviceAsked(request);
  if (asked === undefined || asked instanceof StatusError) return asked;
  const { namespace, name } = asked;
  const answer = await hub({ method: 'GET', path: CONTRACTS_PATH, headers: { accept: 'application/json' } });
  const body = parseJson(Buffer.from(await readBody(answer, CONTRACTS_LIMIT)).toString('utf8'));
  const contracts = answer.status === 200 ? listAt(body, 'items') : [];
  if (allowsService(contracts, namespace, name)) return undefined;
  return failure(403, 'Forbidden', serviceRefusal(namespace, name));
}

/** The service whose proxy a request leads to, read as the API server reads it: paths can be written in many ways. */
function serviceAsked({
  method,
  path,
}: Request): { namespace: string; name: string } | StatusError | undefined {
  if (!path.includes('/services/') && !path.includes('%')) return undefined;
  try {
    const info = parseRequestInfo(method, path);
    const { cluster, resource, subresource, namespace, name } = info;
    // Servers differ in what they make of two slashes: it could be a service to one of them.
    if (subresource !== 'proxy' && info.path.includes('//'))
      return failure(
        403,
        'Forbidden',
        `${JSON.stringify(path)}: nothing is reached by a path that lacks something between two slashes`,
      );
    // What leads on to a spoke of this one is judged there; its own API is at `/clusters/root`, too.
    if (resource !== 'services' || subresource !== 'proxy' || cluster !== ROOT_CLUSTER) return undefined;
    return { namespace, name };
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** The hub gets to know how much room there is, and no pod that takes it. */
const SURVEYOR: SpokeIdentity = { name: SURVEYOR_USER, groups: [] };
const HUB_IDENTITY: SpokeIdentity = { name: HUB_USER, groups: ['system:authenticated'] };

function enter(request: Request): { user: SpokeIdentity | StatusError; inner: Request } {
  const headers: Record<string, string> = {};
  for (const name in request.headers) {
    if (name.startsWith('impersonate-') || name === 'authorization' || name.startsWith('x-remote-')) continue;
    headers[name] = request.headers[name] ?? '';
  }
  const inner = { ...request, headers };
  if (!isPlainPath(request.path))
    return {
      user: failure(400, 'BadRequest', `${JSON.stringify(request.path)} is no path of this API`),
      inner,
    };
  const asked = readImpersonation(request.headers);
  if (asked === undefined) return { user: HUB_IDENTITY, inner };
  if ('refused' in asked) return { user: failure(403, 'Forbidden', `forbidden: ${asked.refused}`), inner };
  return { user: asked, inner };
}

/** What the cluster itself says of it is passed on. */
function asAnswer(error: unknown): ReturnType<typeof refusal> {
  if (error instanceof StatusError) return refusal(error);
  throw error;
}

function refusal({ status, code }: StatusError): {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
} {
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(status)),
  };
}
