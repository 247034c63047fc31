import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientHttp2Session } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, createServer, type SecureContext, type TLSSocket } from 'node:tls';
import { certificateIdentity, type KeyPair } from '../kube/pki.ts';
import { connectHttp2 } from '../kube/wire/index.ts';
import { errorText, nameSuffix, type Runtime, type Timer } from '../runtime/index.ts';
import { type AdmissionOptions, spokeAdmission } from './admission.ts';
import { admissionGate, connectionKey } from './admission-gate.ts';
import type { Link } from './link.ts';
import { PEER_NAME, PEER_PROTOCOL, peerCertificate, replicaOfCertificate } from './peer-identity.ts';
import { servePeer } from './peer-server.ts';
import { type PeerOptions, type Peers, startPeers } from './peers.ts';
import { pulse } from './pulse.ts';
import { type NamedCertificate, namedContexts } from './server-names.ts';
import { spokeConnections } from './spoke-connections.ts';
import { connectionOf } from './tunnel-link.ts';
import { TUNNEL_PROTOCOL } from './tunnel-protocol.ts';
import { answerWebSocket } from './web-socket-stream.ts';

export interface TunnelListenerOptions extends AdmissionOptions {
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The hub's serving certificate and key, PEM. */
  readonly certificate: string;
  readonly key: string;
  /** For hubs that are reached by several names, where one certificate does not hold them all. */
  readonly certificates?: readonly NamedCertificate[];
  /** Other replicas of this hub, through which spokes that dialled them are reached. None by default. */
  readonly peers?: PeerOptions;
  /** Called once for each spoke, when it first connects; from then on the link tells its changes itself. */
  readonly onLink: (link: Link) => void;
  /** 5 s by default, both. */
  readonly pingIntervalMs?: number;
  readonly pingTimeoutMs?: number;
  /** Connections that are let in at a time; more wait for their turn. 64 by default. */
  readonly maxAdmissions?: number;
  /** How long a connection may take to prove that it is a spoke's while others wait for its place. 3 s by default. */
  readonly unprovenMs?: number;
  /** Connections that wait for their turn; more are closed at once. 8192 by default. */
  readonly maxPending?: number;
}

export interface TunnelListener {
  readonly port: number;
  /** What this replica calls itself towards the others. */
  readonly replica: string;
  /** Of every spoke that has connected, to this replica or another one, and was not disconnected. */
  readonly links: ReadonlyMap<string, Link>;
  /**
   * Cuts the live connection of a spoke, its streams with it, and forgets its link; other replicas do the same. It may come
   * back only if `verifySpoke` lets it.
   */
  disconnect(spoke: string, message: string): void;
  /**
   * Asks again whether the spoke that is connected here under a name may be, as its next connection would be asked, and cuts it
   * where not. Resolves with whether one is connected; rejects where that cannot be found out.
   */
  review(spoke: string): Promise<boolean>;
  /** Lets the other replicas reach a spoke by a link of this one that is no tunnel. Returns what ends that. */
  share(link: Link): () => void;
  /** For a renewed certificate; connections that exist keep theirs. */
  setCertificate(certificate: string, key: string): void;
  close(): Promise<void>;
}

/** From the accepted socket to a link that is up. */
const ADMISSION_TIMEOUT_MS = 15_000;
const CLOSE_GRACE_MS = 1_000;
const PEER_CERTIFICATE_RENEWAL_MS = 12 * 3_600_000;

/**
 * Takes the connections that spokes dial and makes {@link Link}s of them. On each connection the hub is the HTTP/2 client:
 * it asks, the spoke answers. Rejects when the port cannot be had.
 */
export async function startTunnelListener(
  runtime: Runtime,
  options: TunnelListenerOptions,
): Promise<TunnelListener> {
  const { pingIntervalMs = 5_000, pingTimeoutMs = 5_000 } = options;
  const replica = nameSuffix(runtime.random, 10);
  const sockets = new Set<Socket>();
  const stopping = new AbortController();
  const beat = pulse(runtime, pingIntervalMs, pingTimeoutMs);
  const connections = spokeConnections(runtime, { pingTimeoutMs, onLink: options.onLink });
  let peers: Peers | undefined;
  let own: { readonly pair: KeyPair; readonly context: SecureContext } | undefined;
  let renewal: Timer | undefined;

  const admission = spokeAdmission(runtime, options, {
    connections,
    pulse: beat,
    isHeldElsewhere: (spoke) => peers?.isHeldElsewhere(spoke) ?? Promise.resolve(false),
    stopping: stopping.signal,
  });
  const contextFor = namedContexts(options.certificates ?? [], options.linkCa.certificate);

  const protocols = [
    TUNNEL_PROTOCOL,
    ...(options.peers === undefined ? [] : [PEER_PROTOCOL]),
    // For spokes behind a network that knows nothing newer: the link comes in a WebSocket.
    'http/1.1',
  ];
  const secure = createServer({
    cert: options.certificate,
    key: options.key,
    ca: options.linkCa.certificate,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    // Of a list each connection would keep a copy, and with those few bytes the whole 64 KiB that buffers are cut from.
    ALPNCallback: ({ protocols: offered }) => protocols.find((protocol) => offered.includes(protocol)),
    SNICallback: (name, answer) =>
      answer(null, name === PEER_NAME && own !== undefined ? own.context : contextFor(name)),
    handshakeTimeout: ADMISSION_TIMEOUT_MS,
  });
  const gate = admissionGate(
    runtime,
    {
      concurrency: options.maxAdmissions ?? 64,
      queue: options.maxPending ?? 8192,
      timeoutMs: ADMISSION_TIMEOUT_MS,
      unprovenMs: options.unprovenMs ?? 3_000,
    },
    (socket) => void secure.emit('connection', socket),
  );
  // Sockets wait unread and without TLS until it is their turn.
  const server = createTcpServer(
    { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 },
    (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', ignoreError);
      if (stopping.signal.aborted) socket.destroy();
      else gate.enter(socket);
    },
  );

  function ignoreError(error: Error): void {
    runtime.log.debug('a link connection failed', { error: errorText(error) });
  }

  secure.on('tlsClientError', (error) =>
    runtime.log.debug('a TLS handshake failed', { error: errorText(error) }),
  );
  /** The place at the gate of the connection that a WebSocket came by: what is inside it has no address of its own. */
  const outside = new AsyncLocalStorage<string>();
  secure.on('secureConnection', (socket) => {
    socket.on('error', ignoreError);
    const inside = outside.getStore();
    const key = inside ?? connectionKey(socket);
    const leave = (): void => {
      if (key !== undefined) gate.leave(key);
    };
    if (stopping.signal.aborted) socket.destroy();
    else if (socket.alpnProtocol === TUNNEL_PROTOCOL)
      void admit(socket, key, inside !== undefined).finally(leave);
    else if (socket.alpnProtocol === PEER_PROTOCOL) {
      serveReplica(socket);
      leave();
    } else if (key === undefined || inside !== undefined)
      // What came in a WebSocket is a link, and not another WebSocket.
      socket.destroy();
    else void unwrap(socket, key);
  });

  async function admit(socket: TLSSocket, key: string | undefined, isInside: boolean): Promise<void> {
    const address = isInside
      ? 'a WebSocket'
      : `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`;
    const session = connectHttp2(runtime, socket);
    const deadline = new AbortController();
    const timer = runtime.clock.after(ADMISSION_TIMEOUT_MS, () =>
      deadline.abort(new Error('admission took too long')),
    );
    endWith(socket, session);
    try {
      await admission.admit(connectionOf(session, socket, address), deadline.signal, {
        onProven: () => {
          if (key !== undefined) gate.proven(key);
        },
        onDecided: () => {
          if (key !== undefined) gate.leave(key);
        },
      });
    } finally {
      // A session that is closing waits for its peer, which may have vanished.
      if (session.closed) runtime.clock.after(CLOSE_GRACE_MS, () => socket.destroy());
      timer.cancel();
    }
  }

  /**
   * The outer TLS may be a stranger's; what is inside is a connection as any other, with TLS of its own. The place at the gate is
   * kept for it, and given up at the latest when the outer socket is closed.
   */
  async function unwrap(outer: TLSSocket, key: string): Promise<void> {
    const deadline = new AbortController();
    const timer = runtime.clock.after(ADMISSION_TIMEOUT_MS, () =>
      deadline.abort(new Error('admission took too long')),
    );
    try {
      const inner: Duplex = await answerWebSocket(outer, deadline.signal);
      inner.on('error', ignoreError);
      outside.run(key, () => secure.emit('connection', inner));
    } catch (error) {
      runtime.log.debug('a connection that is no link was closed', { error: errorText(error) });
      outer.destroy();
      gate.leave(key);
    } finally {
      timer.cancel();
    }
  }

  function serveReplica(socket: TLSSocket): void {
    const raw: Buffer | undefined = socket.getPeerCertificate(false).raw;
    const name =
      socket.authorized && raw !== undefined ? replicaOfCertificate(certificateIdentity(raw)) : undefined;
    if (name === undefined) {
      runtime.log.warn('a connection that is no replica of this hub was refused', {
        address: socket.remoteAddress,
      });
      socket.destroy();
      return;
    }
    const served = servePeer(runtime, socket, {
      replica,
      connection: connections.here,
      spokes: connections.attached,
      onSpoke: connections.onAttached,
      alive: connections.alive,
      disconnect: connections.disconnect,
    });
    const cut = (): void => void served.session.destroy();
    beat.watch(served.session, cut);
    stopping.signal.addEventListener('abort', cut, { once: true });
    served.session.on('close', () => {
      stopping.signal.removeEventListener('abort', cut);
      socket.destroy();
    });
  }

  async function renewOwn(): Promise<void> {
    const pair = await peerCertificate(runtime, options.linkCa, replica);
    const { certificate } = options.linkCa;
    own = {
      pair,
      context: createSecureContext({
        cert: pair.certificate,
        key: pair.key,
        ca: certificate,
        minVersion: 'TLSv1.3',
      }),
    };
  }

  function renewOwnLater(): void {
    renewal = runtime.clock.after(PEER_CERTIFICATE_RENEWAL_MS, () => {
      renewOwnLater();
      renewOwn().catch((error: unknown) =>
        runtime.log.error('the certificate for other replicas could not be renewed', {
          error: errorText(error),
        }),
      );
    });
  }

  if (options.peers !== undefined) {
    await renewOwn();
    renewOwnLater();
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, host: options.host ?? '127.0.0.1' }, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((error: unknown) => {
    renewal?.cancel();
    throw error;
  });
  server.on('error', (error) => runtime.log.error('the link listener failed', { error: errorText(error) }));
  if (options.peers !== undefined && own !== undefined) {
    const first = own.pair;
    peers = startPeers(
      runtime,
      options.peers,
      { replica, linkCa: options.linkCa.certificate, certificate: () => own?.pair ?? first },
      beat,
      { onHeld: connections.heldElsewhere, onReleased: connections.releasedElsewhere },
    );
  }

  return {
    port: (server.address() as AddressInfo).port,
    replica,
    links: connections.links,
    disconnect(spoke, message): void {
      connections.disconnect(spoke, message);
      peers?.disconnect(spoke, message);
    },
    review: admission.review,
    share: connections.share,
    setCertificate: (certificate, key) =>
      secure.setSecureContext({
        cert: certificate,
        key,
        ca: options.linkCa.certificate,
        minVersion: 'TLSv1.3',
      }),
    async close(): Promise<void> {
      stopping.abort(new Error('the link listener was closed'));
      renewal?.cancel();
      const closed = new Promise<void>((done) => server.close(() => done()));
      connections.close('Stopped', 'the hub stops serving links');
      gate.close();
      await peers?.close();
      for (const socket of [...sockets]) socket.destroy();
      await closed;
    },
  };
}

/** A function of its own, since what a connection keeps for hours keeps all that was made beside it. */
function endWith(socket: TLSSocket, session: ClientHttp2Session): void {
  session.on('close', () => socket.destroy());
}
