import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Wire } from './exchange-server.ts';
import { text } from './header-texts.ts';
import { withWarningLines } from './warning-lines.ts';

/** The exchange of an HTTP/1.1 request. */
export function http1Wire(request: IncomingMessage, response: ServerResponse): Wire {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  const headers: Record<string, string> = {};
  for (const name in request.headers) headers[name] = text(request.headers[name]);
  if (!hasBody) request.resume();
  return {
    method: request.method ?? 'GET',
    path: originForm(request.url ?? '/'),
    headers,
    ...(hasBody ? { source: request } : {}),
    sink: response,
    respond(status, responseHeaders, withBody): void {
      // A body that was not read to its end would be taken for the next request.
      const unread = hasBody && !request.readableEnded;
      const lines = withWarningLines(responseHeaders);
      response.writeHead(status, unread ? { ...lines, connection: 'close' } : lines);
      if (!withBody) response.end();
      // A stream's head goes out before its first chunk; a body at hand takes the head along in one write.
      else if (responseHeaders['content-length'] === undefined) response.flushHeaders();
    },
    reset(): void {
      response.destroy();
    },
  };
}

/** Proxies may ask with the absolute form of a URL; the API knows paths. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  if (!URL.canParse(url)) return '/';
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
