import type { ClientHttp2Session } from 'node:http2';
import type { Handler, Request, Response, Upgrader } from '../kube/exchange.ts';
import { certificateIdentity, type KeyPair } from '../kube/pki.ts';
import { connectHttp2, dialTls, http2Handler, http2Upgrader } from '../kube/wire/index.ts';
import { errorText, jitter, type Runtime, sleep } from '../runtime/index.ts';
import { isObject } from '../schema/json.ts';
import { parseHubAddress } from './hub-address.ts';
import { LinkDown } from './link.ts';
import { PEER_NAME, PEER_PROTOCOL, replicaOfCertificate } from './peer-identity.ts';
import { PEER_PATHS, SPOKE_HEADER, UNREACHABLE_HEADER } from './peer-server.ts';
import type { Pulse } from './pulse.ts';
import type { Holder } from './tunnel-link.ts';
import { exchangeMessage } from './tunnel-protocol.ts';

export interface PeerOptions {
  /**
   * `host:port` of the link listeners of all replicas of the hub; this one's own may be among them. Asked anew again and again,
   * so that it may change (the addresses of a headless Service, for example). Replicas share the link's authority.
   */
  readonly addresses: () => readonly string[] | Promise<readonly string[]>;
  /** How often `addresses` is asked; 10 s by default. */
  readonly refreshMs?: number;
}

/** The connections of this replica to the others. Nothing about who holds which spoke is ever written down: peers are asked. */
export interface Peers {
  /** Whether a replica that says it has the spoke finds it alive. */
  isHeldElsewhere(spoke: string): Promise<boolean>;
  /** Has the others cut a spoke's connections. */
  disconnect(spoke: string, message: string): void;
  close(): Promise<void>;
}

export interface PeerEvents {
  readonly onHeld: (spoke: string, holder: Holder) => void;
  readonly onReleased: (spoke: string, holder: Holder, message: string) => void;
}

const DIAL_TIMEOUT_MS = 10_000;
const ASK_TIMEOUT_MS = 10_000;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
const MAX_LINE_BYTES = 64 * 1024;

interface Peer extends Holder {
  readonly ask: Handler;
  readonly spokes: Set<string>;
}

export function startPeers(
  runtime: Runtime,
  options: PeerOptions,
  own: { readonly replica: string; readonly linkCa: string; readonly certificate: () => KeyPair },
  pulse: Pulse,
  events: PeerEvents,
): Peers {
  const stopping = new AbortController();
  const connected = new Set<Peer>();
  /** One loop for each address. */
  const loops = new Map<string, { readonly stop: AbortController; readonly over: Promise<void> }>();

  async function refresh(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const addresses = new Set(await options.addresses());
        if (stopping.signal.aborted) return;
        for (const [address, loop] of loops) if (!addresses.has(address)) end(address, loop.stop);
        for (const address of addresses) {
          if (loops.has(address)) continue;
          const stop = new AbortController();
          loops.set(address, { stop, over: keepConnected(address, stop.signal) });
        }
      } catch (error) {
        runtime.log.warn('the replicas of the hub cannot be found', { error: errorText(error) });
      }
      await pause(jitter(runtime.random, options.refreshMs ?? 10_000, 0.1), stopping.signal);
    }
  }

  function end(address: string, stop: AbortController): void {
    loops.delete(address);
    stop.abort(new Error('the replica is no longer needed'));
  }

  async function keepConnected(address: string, signal: AbortSignal): Promise<void> {
    let attempt = 0;
    while (!signal.aborted) {
      try {
        const outcome = await follow(address, signal);
        if (outcome === 'own') return;
        attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
        runtime.log.debug('a replica of the hub is not connected', { address, error: errorText(error) });
      }
      const limit = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** Math.min(attempt, 10));
      attempt += 1;
      await pause(limit * runtime.random.next(), signal);
    }
  }

  /** Dials one replica and hears from it where spokes are, until the connection ends. `own`: it is this one. */
  async function follow(address: string, signal: AbortSignal): Promise<'own' | 'ended'> {
    const { certificate, key } = own.certificate();
    const socket = await dialTls(
      parseHubAddress(address),
      {
        ca: own.linkCa,
        cert: certificate,
        key,
        servername: PEER_NAME,
        host: PEER_NAME,
        ALPNProtocols: [PEER_PROTOCOL],
        minVersion: 'TLSv1.3',
      },
      { clock: runtime.clock, timeoutMs: DIAL_TIMEOUT_MS, signal },
    );
    const session = connectHttp2(runtime, socket);
    const close = (): void => session.destroy();
    signal.addEventListener('abort', close, { once: true });
    session.once('close', () => socket.destroy());
    const stopPulse = pulse.watch(session, close);
    try {
      const raw: Buffer | undefined = socket.getPeerCertificate(false).raw;
      const replica = raw === undefined ? undefined : replicaOfCertificate(certificateIdentity(raw));
      if (replica === undefined || socket.alpnProtocol !== PEER_PROTOCOL)
        throw new Error('the other end is not a replica of this hub');
      if (replica === own.replica) return 'own';
      const peer = peerOver(session, replica);
      connected.add(peer);
      try {
        await hear(peer, signal);
      } finally {
        connected.delete(peer);
        for (const spoke of peer.spokes)
          events.onReleased(spoke, peer, `the replica ${replica} of the hub, which had it, is gone`);
      }
      return 'ended';
    } finally {
      stopPulse();
      signal.removeEventListener('abort', close);
      session.destroy();
    }
  }

  async function hear(peer: Peer, signal: AbortSignal): Promise<void> {
    const { body, status } = await peer.ask({ method: 'GET', path: PEER_PATHS.spokes, headers: {}, signal });
    if (status !== 200 || body instanceof Uint8Array) throw new Error(`the replica answered with ${status}`);
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + Buffer.from(chunk).toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_BYTES) throw new Error('the replica sends lines that are too long');
      for (const line of lines) take(peer, JSON.parse(line));
    }
  }

  function take(peer: Peer, value: unknown): void {
    if (!isObject(value)) return;
    const { spoke, here } = value;
    if (typeof spoke !== 'string') return;
    if (here === true) {
      // Also of one that it had before: it may have been gone in between, and been cut here since.
      peer.spokes.add(spoke);
      events.onHeld(spoke, peer);
    } else if (peer.spokes.delete(spoke))
      events.onReleased(spoke, peer, `the replica ${peer.replica} of the hub lost its connection`);
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(runtime.clock, ms, signal);
    } catch {
      // Only an abort ends it early, and each loop looks at its signal.
    }
  }

  async function tell(peer: Peer, path: string, value: unknown): Promise<Record<string, unknown>> {
    const abort = new AbortController();
    const timer = runtime.clock.after(ASK_TIMEOUT_MS, () => abort.abort(new Error('no answer in time')));
    try {
      return await exchangeMessage(peer.ask, 'POST', path, abort.signal, value);
    } finally {
      timer.cancel();
    }
  }

  const refreshing = refresh();
  return {
    async isHeldElsewhere(spoke): Promise<boolean> {
      const holders = [...connected].filter((peer) => peer.spokes.has(spoke));
      const answers = await Promise.all(
        holders.map(async (peer) => {
          try {
            return (await tell(peer, PEER_PATHS.check, { spoke })).alive === true;
          } catch (error) {
            // A replica that does not answer has nothing that it could keep.
            runtime.log.warn('a replica does not say whether it has a spoke', {
              spoke,
              replica: peer.replica,
              error: errorText(error),
            });
            return false;
          }
        }),
      );
      return answers.includes(true);
    },
    disconnect(spoke, message): void {
      for (const peer of connected) {
        tell(peer, PEER_PATHS.disconnect, { spoke, message }).catch((error: unknown) =>
          runtime.log.warn('a replica could not be told to cut a spoke', {
            spoke,
            replica: peer.replica,
            error: errorText(error),
          }),
        );
      }
    },
    async close(): Promise<void> {
      stopping.abort(new Error('the link listener was closed'));
      const over = [...loops.values()].map((loop) => loop.over);
      for (const [address, loop] of [...loops]) end(address, loop.stop);
      await Promise.all([refreshing, ...over]);
    },
  };
}

function peerOver(session: ClientHttp2Session, replica: string): Peer {
  const name = `replica ${replica}`;
  const ask = http2Handler(session, name);
  const askUpgrade = http2Upgrader(session, name);
  const to = (spoke: string, request: Request): Request => ({
    ...request,
    headers: { ...request.headers, [SPOKE_HEADER]: spoke },
  });
  return {
    replica,
    ask,
    spokes: new Set(),
    handler:
      (spoke): Handler =>
      async (request) =>
        reached(spoke, await orDown(spoke, session, ask(to(spoke, request)))),
    upgrade:
      (spoke): Upgrader =>
      async (request) => {
        const answer = await orDown(spoke, session, askUpgrade(to(spoke, request)));
        return 'socket' in answer ? answer : reached(spoke, answer);
      },
  };
}

async function orDown<T>(spoke: string, session: ClientHttp2Session, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!session.destroyed && !session.closed) throw error;
    throw new LinkDown(spoke, 'ConnectionClosed', `the replica that has it is gone: ${errorText(error)}`);
  }
}

function reached(spoke: string, response: Response): Response {
  const why = response.headers[UNREACHABLE_HEADER];
  if (why !== undefined) throw new LinkDown(spoke, 'ConnectionClosed', why);
  return response;
}
