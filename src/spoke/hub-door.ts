import { readImpersonation, type SpokeIdentity } from '../engine/access/index.ts';
import type { Handler, Request, Upgrader } from '../kube/exchange.ts';
import { failure, StatusError } from '../kube/status-error.ts';
import { CAPACITY_PATH, capacityAnswer } from './capacity.ts';
import { HUB_USER, SURVEYOR_USER } from './hub-access.ts';

/**
 * The door by which a hub's requests come in, whatever the hub says of itself: they act as the hub's own user, or, where they
 * name one, as a user of the hub behind `hub:`. The hub holds no right to impersonate, so a stolen hub is nobody else here;
 * RBAC cannot say "names that begin with", this can. `as` makes a way into the API for somebody.
 */
export function hubDoor(as: (user: SpokeIdentity) => Handler): Handler {
  const hub = as(HUB_IDENTITY);
  const capacity = capacityAnswer(as(SURVEYOR));
  return async (request) => {
    const { user, inner } = enter(request);
    if (user instanceof Error) return refusal(user);
    if (user === HUB_IDENTITY && inner.path === CAPACITY_PATH && inner.method === 'GET')
      return capacity(inner).catch(asAnswer);
    return (user === HUB_IDENTITY ? hub : as(user))(inner);
  };
}

/** The same for requests that ask for another protocol. */
export function hubDoorUpgrade(as: (user: SpokeIdentity) => Upgrader): Upgrader {
  return async (request) => {
    const { user, inner } = enter(request);
    return user instanceof Error ? refusal(user) : as(user)(inner);
  };
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
