import type { Request, Response } from '../kube/exchange.ts';
import type { RequestAttributes, UserInfo } from './auth/index.ts';

/** What somebody would do, in the cluster `root` of this server. */
export type AskedRight = Omit<RequestAttributes, 'user' | 'cluster'>;

/** Who asks something of a space, as this server knows them. */
export interface SpaceCaller {
  readonly user: UserInfo;
  /** Whether this server's own authorization lets them. */
  may(right: AskedRight): boolean | Promise<boolean>;
}

/** Part of the paths of this server that someone else serves, to whoever was authenticated here. */
export interface Space {
  /**
   * What a request means for authorization on this server, which is decided before it goes there. A space without judges
   * each request by itself, with `may`.
   */
  readonly attributes?: (request: Request) => AskedRight;
  /**
   * Answers. `request` holds the headers of the client, credentials included, but those by which it impersonates, which were
   * heard already. Throws the `StatusError` of a refusal; a response that switches protocols takes over.
   */
  readonly serve: (request: Request, caller: SpaceCaller) => Promise<Response>;
}

/** A space and the path within. */
export interface PlacedSpace {
  readonly space: Space;
  /** With the query. */
  readonly path: string;
}

/** Finds the space that a path (with the query) leads into. Asked at each request. */
export type Spaces = (path: string) => PlacedSpace | undefined;

/** Headers that end at this server: credentials, and what describes this connection only. */
const STRIPPED: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const STRIPPED_PREFIXES = ['impersonate-', 'x-forwarded-', 'x-remote-', ':'];

/** Headers that may go on to another server. */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (STRIPPED.has(lower) || named.has(lower)) continue;
    if (STRIPPED_PREFIXES.some((prefix) => lower.startsWith(prefix))) continue;
    out[lower] = value;
  }
  return out;
}
