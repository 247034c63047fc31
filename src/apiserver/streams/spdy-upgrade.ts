import type { Request, Response } from '../../kube/exchange.ts';
import { badRequest, failure } from '../../kube/status-error.ts';

const UPGRADE = 'SPDY/3.1';
const VERSION_HEADER = 'x-stream-protocol-version';

export function isSpdyRequest({ headers }: Pick<Request, 'headers'>): boolean {
  return (headers.upgrade ?? '').trim().toLowerCase() === UPGRADE.toLowerCase();
}

/** The first of `protocols` that the client offers. Throws 400 where nothing was asked for, 403 where nothing is in common. */
export function agreedProtocol(request: Request, protocols: readonly string[]): string {
  if (!isSpdyRequest(request)) throw badRequest('Upgrade request required');
  const offered = (request.headers[VERSION_HEADER] ?? '').split(',').map((name) => name.trim());
  const agreed = protocols.find((name) => offered.includes(name));
  if (agreed === undefined)
    throw failure(
      403,
      'Forbidden',
      `unable to upgrade: no stream protocol in common: the server speaks ${protocols.join(', ')}`,
    );
  return agreed;
}

/** The response that agrees to SPDY. */
export function spdyResponse(protocol: string, takeOver: NonNullable<Response['takeOver']>): Response {
  return {
    status: 101,
    headers: { connection: 'Upgrade', upgrade: UPGRADE, [VERSION_HEADER]: protocol },
    body: new Uint8Array(),
    takeOver,
  };
}
