/** Headers that speak of one HTTP/1.1 connection; HTTP/2 forbids them. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Request headers as handlers know them: lower case, one text each, no pseudo-headers; `:authority` is `host`. */
export function plainHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    if (name.startsWith(':')) continue;
    const value = headers[name];
    if (value !== undefined) out[name] = text(value);
  }
  const authority = headers[':authority'];
  if (authority !== undefined && out.host === undefined) out.host = text(authority);
  return out;
}

export function text(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NAME = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;

/**
 * Throws for a header that cannot be sent, as those of `node:http` do. Importing that module loads Node's own HTTP client of the
 * web along with it, which is megabytes of memory for whoever only speaks HTTP/2.
 */
export function validateHeaderValue(name: string, value: string): void {
  if (INVALID_VALUE.test(value)) throw new TypeError(`Invalid character in header content ["${name}"]`);
}

export function validateHeaderName(name: string): void {
  if (!NAME.test(name)) throw new TypeError(`Header name must be a valid HTTP token ["${name}"]`);
}
