import type { ClientHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Handler, Request, Response, Upgraded, Upgrader } from '../kube/exchange.ts';
import type { CertificateIdentity } from '../kube/pki.ts';
import { failure } from '../kube/status-error.ts';
import { http2Handler, http2Upgrader, type StreamCounts } from '../kube/wire/index.ts';
import { errorText, type Runtime, type Timer } from '../runtime/index.ts';
import { type Link, LinkDown, type LinkStats, linkStatus } from './link.ts';
import type { LinkReason } from './reasons.ts';
import { LINK_PATHS } from './tunnel-protocol.ts';

/** One connection that a spoke dialled, from the accepted socket on. */
export interface Connection {
  readonly session: ClientHttp2Session;
  readonly socket: TLSSocket;
  readonly handler: Handler;
  readonly upgrade: Upgrader;
  readonly counts: StreamCounts;
  /** Where it comes from, for people. */
  readonly address: string;
  /** Set once it has proved to be a spoke's. */
  spoke: string | undefined;
  /** What it was let in with. */
  identity: CertificateIdentity | undefined;
  /** Set for a spoke that comes by now and then instead of staying. */
  pollIntervalMs: number | undefined;
  /** Why the hub ended it; set before it does. */
  end: { readonly reason: LinkReason; readonly message: string } | undefined;
}

/** What went wrong while a connection of a spoke was going down is that the link is down. */
export function connectionOf(session: ClientHttp2Session, socket: TLSSocket, address: string): Connection {
  const counts: StreamCounts = { opened: 0, open: 0 };
  const failed = (error: Error): Error => {
    const { spoke, end } = connection;
    if (spoke === undefined || !(session.destroyed || session.closed || socket.destroyed)) return error;
    return new LinkDown(spoke, end?.reason ?? 'ConnectionClosed', end?.message ?? errorText(error));
  };
  const options = { counts, failed };
  const peer = `spoke at ${address}`;
  const connection: Connection = {
    session,
    socket,
    address,
    counts,
    handler: http2Handler(session, peer, options),
    upgrade: http2Upgrader(session, peer, options),
    spoke: undefined,
    identity: undefined,
    pollIntervalMs: undefined,
    end: undefined,
  };
  return connection;
}

/** Another replica of the hub to which the spoke is connected. */
export interface Holder {
  readonly replica: string;
  readonly handler: (spoke: string) => Handler;
  readonly upgrade: (spoke: string) => Upgrader;
}

/** The link of a spoke that dials, whichever replica of the hub it dialled. */
export interface TunnelLink extends Link {
  readonly upgrade: Upgrader;
  readonly stats: () => LinkStats;
  /** The connection to this replica, if that is up. */
  readonly local: Connection | undefined;
  /** Replicas that say they have the spoke. */
  readonly holders: readonly Holder[];
  attach(connection: Connection): void;
  detach(connection: Connection, reason: LinkReason, message: string): void;
  addHolder(holder: Holder): void;
  removeHolder(holder: Holder, message: string): void;
  /** For good: the spoke is no longer of the fleet, or the hub stops. */
  retire(reason: LinkReason, message: string): void;
}

/** Requests that wait for a spoke that comes by now and then. */
const MAX_WAITING = 1000;
/** A spoke that stays away for that many of its intervals is no longer waited for. */
const MISSED_POLLS = 2;
const POLL_SLACK_MS = 2_000;

export function tunnelLink(runtime: Runtime, spoke: string): TunnelLink {
  const status = linkStatus(runtime, spoke);
  const holders: Holder[] = [];
  const waiting = new Set<() => void>();
  let polling: Timer | undefined;
  /** Of connections that are over. */
  const past = { bytesIn: 0, bytesOut: 0, streams: 0 };
  let connections = 0;

  /** Tells where the spoke is now; `reason` and `message` count when it is nowhere. */
  function refresh(reason: LinkReason, message: string): void {
    const [holder] = holders;
    if (link.local !== undefined) status.set(true, 'Connected', `connected from ${link.local.address}`);
    else if (holder !== undefined)
      status.set(true, 'ConnectedToPeer', `connected to the replica ${holder.replica} of the hub`);
    else if (polling !== undefined)
      status.set(true, 'Polling', 'comes by now and then; requests wait for it');
    else status.set(false, reason, message);
    if (link.local !== undefined || holder !== undefined || polling === undefined) wake();
  }

  function wake(): void {
    for (const each of [...waiting]) each();
  }

  function down(): LinkDown {
    return new LinkDown(spoke, status.state.reason, status.state.message);
  }

  /** Until the spoke is back, or is not expected any more. */
  function comesBy(signal: AbortSignal | undefined): Promise<void> {
    if (waiting.size >= MAX_WAITING) return Promise.reject(down());
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        waiting.delete(settle);
        signal?.removeEventListener('abort', settle);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      waiting.add(settle);
      signal?.addEventListener('abort', settle, { once: true });
      if (signal?.aborted) settle();
    });
  }

  function stopPolling(): void {
    polling?.cancel();
    polling = undefined;
  }

  async function upgrade(request: Request): Promise<Upgraded | Response> {
    refuseLinkPath(request);
    for (;;) {
      if (link.local !== undefined) return link.local.upgrade(request);
      const [holder] = holders;
      if (holder !== undefined) return holder.upgrade(spoke)(request);
      if (polling === undefined) throw down();
      await comesBy(request.signal);
    }
  }

  // Plain values: accessors that are made for each object make a slow one of it.
  const link: { -readonly [P in keyof TunnelLink]: TunnelLink[P] } = {
    spoke,
    async handler(request): Promise<Response> {
      refuseLinkPath(request);
      for (;;) {
        if (link.local !== undefined) return link.local.handler(request);
        const [holder] = holders;
        if (holder !== undefined) return holder.handler(spoke)(request);
        if (polling === undefined) throw down();
        await comesBy(request.signal);
      }
    },
    upgrade,
    up: status.state.up,
    state: status.state,
    local: undefined,
    holders,
    onChange: status.onChange,
    stats(): LinkStats {
      return {
        bytesIn: past.bytesIn + (link.local?.socket.bytesRead ?? 0),
        bytesOut: past.bytesOut + (link.local?.socket.bytesWritten ?? 0),
        streams: past.streams + (link.local?.counts.opened ?? 0),
        openStreams: link.local?.counts.open ?? 0,
        connections,
        reconnects: Math.max(0, connections - 1),
      };
    },
    attach(connection): void {
      stopPolling();
      link.local = connection;
      connections += 1;
      refresh('ConnectionClosed', '');
    },
    detach(connection, reason, message): void {
      if (link.local !== connection) return;
      link.local = undefined;
      past.bytesIn += connection.socket.bytesRead;
      past.bytesOut += connection.socket.bytesWritten;
      past.streams += connection.counts.opened;
      const { pollIntervalMs, end } = connection;
      if (pollIntervalMs !== undefined && end === undefined) {
        stopPolling();
        polling = runtime.clock.after(pollIntervalMs * MISSED_POLLS + POLL_SLACK_MS, () => {
          stopPolling();
          refresh('PollMissed', 'the spoke comes by now and then, and has missed its time');
        });
      }
      refresh(reason, message);
    },
    addHolder(holder): void {
      if (!holders.includes(holder)) holders.push(holder);
      stopPolling();
      refresh('ConnectionClosed', '');
    },
    removeHolder(holder, message): void {
      const index = holders.indexOf(holder);
      if (index < 0) return;
      holders.splice(index, 1);
      refresh('ConnectionClosed', message);
    },
    retire(reason, message): void {
      stopPolling();
      link.local = undefined;
      holders.length = 0;
      refresh(reason, message);
    },
  };
  // The first to hear of a change: all others look at the link.
  status.onChange((state) => {
    link.up = state.up;
    link.state = state;
  });
  return link;
}

/**
 * What hub and spoke say about the link itself goes over the connection, and never comes from whoever uses the link: they would ask
 * for a new key in the hub's place, or give the spoke a certificate that no hub believes.
 */
function refuseLinkPath({ path }: Request): void {
  if (path.startsWith(LINK_PATHS.prefix))
    throw failure(404, 'NotFound', `the API has no ${LINK_PATHS.prefix}`);
}
