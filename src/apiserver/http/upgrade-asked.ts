import type { IncomingMessage } from 'node:http';

/** What an HTTP/1.1 connection can become; any other upgrade that is asked for is not heard, as HTTP allows. */
const PROTOCOLS: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

export function isUpgrade({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return !hasBody && PROTOCOLS.has((headers.upgrade ?? '').trim().toLowerCase());
}
