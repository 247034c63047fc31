import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Client } from '../kube/client.ts';
import { type Handler, prefixedHandler } from '../kube/exchange.ts';
import { httpHandler } from '../kube/http-handler.ts';
import { endpointFromKubeconfig } from '../kube/kubeconfig-endpoint.ts';
import { createClient } from '../kube/rest-client.ts';
import type { Clock } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import { kubeconfigWith, listedKubeconfigs, readNamedKubeconfig } from './chosen-kubeconfig.ts';
import { DEFAULT_DIRECTORY } from './hub-options.ts';
import { wayToSpokes } from './way-to-spokes.ts';

export interface AccessOptions {
  readonly dir: string;
  /** Whether the user named the directory: then it comes before $KUBECONFIG. */
  readonly dirGiven: boolean;
  readonly kubeconfig?: string;
  readonly context: string;
}

/** A way into the hub with the user's own rights, and through it a view of its spokes. */
export interface HubAccess {
  readonly client: Client;
  /** Reads a spoke through the hub: what the hub may see there (dispatches, bundles, the Cluster object, nodes). */
  spokeClient(name: string): Client;
  /** URL of the hub's API server. */
  readonly server: string;
  readonly context: string;
  /** The namespace of the context, for commands without `-n`. */
  readonly namespace: string;
  close(): Promise<void>;
}

/** No answer was had from the hub. `next` is what the user can do about it. */
export class HubUnreachable extends Error {
  readonly next: string;
  constructor(message: string, next: string) {
    super(message);
    this.name = 'HubUnreachable';
    this.next = next;
  }
}

const HUB_TIMEOUT_MS = 15_000;
/** A spoke that is slow to answer is shown as away: the other spokes' answers are wanted, too. */
export const SPOKE_TIMEOUT_MS = 5_000;

/** Finds the kubeconfig and opens the hub; nothing is asked of it yet. Throws {@link HubUnreachable} where there is none. */
export function openHub(
  clock: Clock,
  options: AccessOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HubAccess {
  const found = findKubeconfig(options, env);
  const text = readFileSync(found.path, 'utf8');
  const { contexts } = readNamedKubeconfig(found.path);
  const context = contexts.find((item) => item.name === options.context);
  if (!context) {
    const names = contexts.map((item) => item.name).join(', ') || 'none';
    const own = fleetKubeconfig(options);
    const hint = found.own || !existsSync(own) ? '' : `, or take this fleet's with --kubeconfig ${own}`;
    throw new Error(
      `${found.path} has no context "${options.context}" (it has: ${names}); choose with --context${hint}`,
    );
  }
  const endpoint = endpointFromKubeconfig(text, {
    stored: false,
    context: options.context,
    readFile: (path) => readFileSync(resolve(dirname(found.path), path), 'utf8'),
  });
  const http = httpHandler(endpoint);
  const next = found.own
    ? `npx atoll start hub${dirOption(options.dir)}`
    : `check --kubeconfig (${found.path}) and --context (${options.context})`;
  const way = wayToSpokes(
    http,
    ({ server, ca }) => {
      const { serverName: _ofTheApiServer, insecureSkipTlsVerify: _verified, ...credential } = endpoint;
      return httpHandler({ ...credential, url: server, ca });
    },
    clock,
  );
  const handler = bounded(clock, way.handler, HUB_TIMEOUT_MS, (error) => {
    const why = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return Promise.reject(
      new HubUnreachable(`the hub at ${endpoint.url} cannot be reached: ${errorText(why)}`, next),
    );
  });
  return {
    client: createClient(handler, { userAgent: 'atoll-cli', clock }),
    spokeClient: (name) =>
      createClient(
        bounded(clock, prefixedHandler(handler, `/clusters/${encodeURIComponent(name)}`), SPOKE_TIMEOUT_MS),
        {
          userAgent: 'atoll-cli',
        },
      ),
    server: endpoint.url,
    context: options.context,
    namespace: context.context.namespace ?? 'default',
    async close(): Promise<void> {
      await way.close();
      await http.close();
    },
  };
}

/** ` --dir x` for commands that are printed, or nothing for the default. */
export function dirOption(dir: string): string {
  return dir === DEFAULT_DIRECTORY ? '' : ` --dir ${dir}`;
}

function fleetKubeconfig(options: AccessOptions): string {
  return join(options.dir, 'kubeconfig');
}

/** The user's choice, then the directory they named, then $KUBECONFIG, then the default directory. */
function findKubeconfig(
  options: AccessOptions,
  env: Readonly<Record<string, string | undefined>>,
): { path: string; own: boolean } {
  const own = fleetKubeconfig(options);
  if (options.kubeconfig !== undefined) {
    if (!existsSync(options.kubeconfig)) throw new Error(`${options.kubeconfig} does not exist`);
    return { path: options.kubeconfig, own: resolve(options.kubeconfig) === resolve(own) };
  }
  const listed = options.dirGiven ? [] : listedKubeconfigs(env['KUBECONFIG']);
  const path = kubeconfigWith(options.context, listed);
  if (path !== undefined) return { path, own: resolve(path) === resolve(own) };
  if (existsSync(own)) return { path: own, own: true };
  const missing =
    listed.length > 0
      ? `$KUBECONFIG names ${listed.join(', ')} and there is no ${own}`
      : `there is no ${own}`;
  throw new HubUnreachable(
    `no kubeconfig of a hub was found: ${missing}`,
    `npm run up (or npx atoll up${dirOption(options.dir)}), or name one with --kubeconfig`,
  );
}

/** Gives up when no answer begins within the time. `onFailure` tells a failed exchange in other words. */
function bounded(
  clock: Clock,
  handler: Handler,
  timeoutMs: number,
  onFailure?: (error: unknown) => Promise<never>,
): Handler {
  return async (request) => {
    const timeout = new AbortController();
    const timer = clock.after(timeoutMs, () =>
      timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const signal = request.signal ? AbortSignal.any([request.signal, timeout.signal]) : timeout.signal;
    try {
      return await handler({ ...request, signal });
    } catch (error) {
      if (request.signal?.aborted === true) throw error;
      const reason: unknown = timeout.signal.aborted ? timeout.signal.reason : error;
      if (onFailure === undefined) throw reason;
      return await onFailure(reason);
    } finally {
      timer.cancel();
    }
  };
}
