import { isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import {
  type Destination,
  type DialLimits,
  dialTls,
  hostPort,
  type ProxySettings,
  proxyFor,
} from '../kube/wire/index.ts';
import { type Clock, errorText, type Runtime } from '../runtime/index.ts';
import { parseHubAddress } from './hub-address.ts';
import { TUNNEL_PROTOCOL } from './tunnel-protocol.ts';
import { askWebSocket } from './web-socket-stream.ts';

/** How a link is carried: TLS as it is, or the same TLS inside a WebSocket. */
export type Transport = 'tls' | 'websocket';

export interface RouteOptions {
  readonly hubAddress: string | readonly string[];
  readonly hubCaPem: string;
  readonly hubName?: string;
  readonly proxy?: ProxySettings;
  readonly transports?: readonly Transport[];
}

/** The addresses of a hub, and what is known of the ways to them. */
export interface HubRoutes {
  readonly addresses: readonly string[];
  /** The address whose turn it is, with the transports in the order in which to try them. */
  current(): Route;
  /** The address did not answer: the next one's turn. */
  next(): void;
  worked(transport: Transport): void;
  failed(transport: Transport): void;
}

export interface Route {
  readonly address: string;
  readonly transports: readonly Transport[];
}

export const DEFAULT_TRANSPORTS: readonly Transport[] = ['tls', 'websocket'];
/** The first choice is tried again that long after another was needed: networks get better. */
const REMEMBER_MS = 600_000;
/** Another way is preferred once it was needed that often in a row: a hub that starts again makes the best way fail once. */
const TIMES_TO_BELIEVE = 2;

/** What is known of one address. */
interface Known {
  /** Preferred since `at`. */
  first: Transport | undefined;
  at: number;
  /** How often in a row another way than the first was needed, or nothing came of one. */
  needed: number;
}

export function hubRoutes(clock: Clock, options: RouteOptions): HubRoutes {
  const addresses = typeof options.hubAddress === 'string' ? [options.hubAddress] : [...options.hubAddress];
  const transports = options.transports ?? DEFAULT_TRANSPORTS;
  if (addresses.length === 0 || transports.length === 0)
    throw new Error('a link needs an address of the hub and a transport');
  for (const address of addresses) parseHubAddress(address);
  const known = addresses.map((): Known => ({ first: undefined, at: 0, needed: 0 }));
  let index = 0;

  function prefer(transport: Transport | undefined): void {
    const here = known[index];
    if (here === undefined) return;
    here.needed += 1;
    if (here.needed < TIMES_TO_BELIEVE) return;
    here.needed = 0;
    here.first = transport;
    here.at = clock.monotonic();
  }

  return {
    addresses,
    current(): Route {
      const address = addresses[index] ?? '';
      const { first, at } = known[index] ?? { first: undefined, at: 0 };
      if (first === undefined || clock.monotonic() - at > REMEMBER_MS) return { address, transports };
      return { address, transports: [first, ...transports.filter((transport) => transport !== first)] };
    },
    next(): void {
      index = (index + 1) % addresses.length;
    },
    worked(transport): void {
      const here = known[index];
      if (here === undefined) return;
      if (transport === transports[0]) known[index] = { first: undefined, at: 0, needed: 0 };
      else if (here.first === transport && clock.monotonic() - here.at <= REMEMBER_MS) here.needed = 0;
      else prefer(transport);
    },
    failed(transport): void {
      prefer(transports[(transports.indexOf(transport) + 1) % transports.length]);
    },
  };
}

export interface DialledHub {
  readonly socket: TLSSocket;
  readonly transport: Transport;
}

/**
 * Connects to one address of the hub by the first transport that gets through. The hub's certificate is checked end to end
 * whatever carries the link, and the spoke's own is shown to nobody else.
 */
export async function dialAddress(
  runtime: Runtime,
  options: RouteOptions,
  route: Route,
  credentials: { readonly key: string; readonly certificate: string } | undefined,
  limits: DialLimits,
): Promise<DialledHub> {
  const address = parseHubAddress(route.address);
  const proxy = proxyFor(options.proxy, address);
  const destination: Destination = { ...address, ...(proxy === undefined ? {} : { proxy }) };
  const name = options.hubName ?? address.host;
  const tls: ConnectionOptions = {
    ca: options.hubCaPem,
    ALPNProtocols: [TUNNEL_PROTOCOL],
    minVersion: 'TLSv1.3',
    rejectUnauthorized: true,
    host: name,
    // Names only: the protocol knows no addresses here. What the certificate must hold is checked either way.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(credentials === undefined ? {} : { key: credentials.key, cert: credentials.certificate }),
  };
  const failures: string[] = [];
  for (const transport of route.transports) {
    try {
      const socket =
        transport === 'tls'
          ? await dialTls(destination, tls, limits)
          : await dialWebSocket(runtime, destination, tls, limits);
      if (socket.alpnProtocol !== TUNNEL_PROTOCOL) {
        socket.on('error', () => {}).destroy();
        throw new Error('the other end is not a link listener');
      }
      socket.setNoDelay(true);
      return { socket, transport };
    } catch (error) {
      if (limits.signal?.aborted) throw error;
      failures.push(transport === 'websocket' ? `in a WebSocket: ${errorText(error)}` : errorText(error));
    }
  }
  throw new Error(`the hub at ${route.address} cannot be reached: ${failures.join('; ')}`);
}

/**
 * The link's own TLS inside a WebSocket inside whatever TLS the network lets through. The outer certificate is not checked: it
 * may be that of a proxy which reads all that passes, and nothing that passes there is believed or secret.
 */
async function dialWebSocket(
  runtime: Runtime,
  destination: Destination,
  tls: ConnectionOptions,
  limits: DialLimits,
): Promise<TLSSocket> {
  const { host, port } = destination;
  const outer = await dialTls(
    destination,
    { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
    limits,
  );
  outer.on('error', () => {});
  const deadline = new AbortController();
  const onAbort = (): void => deadline.abort(limits.signal?.reason);
  limits.signal?.addEventListener('abort', onAbort, { once: true });
  const timer = limits.clock.after(limits.timeoutMs, () => deadline.abort(new Error('no answer in time')));
  try {
    const stream = await askWebSocket(outer, hostPort(host, port), runtime.random, deadline.signal);
    stream.on('error', () => {});
    const inner = connectTls({ ...tls, socket: stream });
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(deadline.signal.reason);
      deadline.signal.addEventListener('abort', stop, { once: true });
      inner.once('secureConnect', () => {
        deadline.signal.removeEventListener('abort', stop);
        resolve();
      });
      inner.once('error', reject).once('close', () => reject(new Error('the connection was closed')));
    });
    return inner;
  } catch (error) {
    outer.destroy();
    throw error;
  } finally {
    timer.cancel();
    limits.signal?.removeEventListener('abort', onAbort);
  }
}
