import type { ClientHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { Handler } from '../kube/exchange.ts';
import {
  type CertificateIdentity,
  certificateIdentity,
  isSignedBy,
  type KeyPair,
  signRequest,
} from '../kube/pki.ts';
import { connectHttp2, http2Handler } from '../kube/wire/index.ts';
import { errorText, jitter, type Runtime, sleep, type Timer } from '../runtime/index.ts';
import { heartbeat, pingSession } from './heartbeat.ts';
import { type Link, LinkDown, type LinkState, type LinkStatus, linkStatus } from './link.ts';
import type { LinkReason, Refusal } from './reasons.ts';
import { isSpokeName, spokeOfCertificate, spokeSubject } from './spoke-identity.ts';
import { exchangeMessage, LINK_PATHS, TUNNEL_PROTOCOL } from './tunnel-protocol.ts';

/** Who a connection proved to be. */
export interface SpokeIdentity {
  readonly spoke: string;
  /** SHA-256 of the certificate, hex. */
  readonly fingerprint: string;
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

export type SpokeDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly message: string };

export interface TunnelListenerOptions {
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The hub's serving certificate and key, PEM. */
  readonly certificate: string;
  readonly key: string;
  /** The authority of link certificates. It must vouch for nothing else. */
  readonly linkCa: KeyPair;
  /** Asked for each connection and each renewal: is the spoke still one of ours? */
  readonly verifySpoke: (identity: SpokeIdentity) => SpokeDecision | Promise<SpokeDecision>;
  /**
   * Whether the token lets this spoke enrol; uses it up, bound to `keyDigest`. Answering true again for the same spoke,
   * token and key digest is right: that is one enrolment tried again. Must compare in constant time.
   */
  readonly consumeJoinToken: (spoke: string, token: string, keyDigest: string) => Promise<boolean>;
  /** Called once for each spoke, when it first connects; from then on the link tells its changes itself. */
  readonly onLink: (link: Link) => void;
  /** Of link certificates; never above 24 h, which is the default. */
  readonly certificateLifetimeMs?: number;
  /**
   * A certificate that ended no longer ago than this may be renewed (and used for nothing else), so that a spoke that was
   * off over the weekend needs no new token. 0 by default.
   */
  readonly renewExpiredForMs?: number;
  /** 5 s by default, both. */
  readonly pingIntervalMs?: number;
  readonly pingTimeoutMs?: number;
  /** How long a wrong join token waits for its answer, so that guessing is slow. 1 s by default. */
  readonly refusedTokenDelayMs?: number;
  /** Connections that have not been admitted yet; more are closed at once. 256 by default. */
  readonly maxPending?: number;
}

export interface TunnelListener {
  readonly port: number;
  /** Of every spoke that has connected and was not disconnected. */
  readonly links: ReadonlyMap<string, Link>;
  /** Cuts the live connection of a spoke and forgets its link. It may come back only if `verifySpoke` lets it. */
  disconnect(spoke: string, message: string): void;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** From the accepted socket to a link that is up. */
const ADMISSION_TIMEOUT_MS = 15_000;
const MESSAGE_TIMEOUT_MS = 10_000;
const RENEWAL_RETRY_MS = 60_000;
const CLOSE_GRACE_MS = 1_000;

/** One connection that has proved to be a spoke's. */
interface Connected {
  readonly session: ClientHttp2Session;
  readonly handler: Handler;
  /** Why the hub ended it; set before it does. */
  end: { reason: LinkReason; message: string } | undefined;
}

interface TunnelLink extends Link {
  readonly status: LinkStatus;
}

class Refused extends Error {
  readonly code: Refusal;
  constructor(code: Refusal, message: string) {
    super(message);
    this.name = 'Refused';
    this.code = code;
  }
}

/**
 * Takes the connections that spokes dial and makes {@link Link}s of them. On each connection the hub is the HTTP/2 client:
 * it asks, the spoke answers. Rejects when the port cannot be had.
 */
export function startTunnelListener(
  runtime: Runtime,
  options: TunnelListenerOptions,
): Promise<TunnelListener> {
  const { pingIntervalMs = 5_000, pingTimeoutMs = 5_000, maxPending = 256, renewExpiredForMs = 0 } = options;
  const lifetimeMs = Math.min(options.certificateLifetimeMs ?? DAY_MS, DAY_MS);
  const links = new Map<string, TunnelLink>();
  const live = new Map<string, Connected>();
  const sockets = new Set<TLSSocket>();
  const stopping = new AbortController();
  let pending = 0;
  /** Raised by each disconnect, so that an admission under way asks again whether the spoke is welcome. */
  let revocations = 0;

  const server = createServer({
    cert: options.certificate,
    key: options.key,
    ca: options.linkCa.certificate,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    ALPNProtocols: [TUNNEL_PROTOCOL],
    handshakeTimeout: ADMISSION_TIMEOUT_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  });
  server.on('tlsClientError', (error) =>
    runtime.log.debug('a TLS handshake failed', { error: errorText(error) }),
  );
  server.on('secureConnection', (socket) => {
    socket.on('error', (error) => runtime.log.debug('a link connection failed', { error: errorText(error) }));
    if (socket.alpnProtocol !== TUNNEL_PROTOCOL || pending >= maxPending || stopping.signal.aborted)
      socket.destroy();
    else void admit(socket);
  });

  async function admit(socket: TLSSocket): Promise<void> {
    const address = `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`;
    const session = connectHttp2(runtime, socket);
    const handler = http2Handler(session, `spoke at ${address}`);
    const deadline = new AbortController();
    const timer = runtime.clock.after(ADMISSION_TIMEOUT_MS, () =>
      deadline.abort(new Error('admission took too long')),
    );
    pending += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    session.once('close', () => socket.destroy());
    try {
      const raw: Buffer | undefined = socket.getPeerCertificate(false).raw;
      if (raw === undefined) {
        await enrol(session, handler, address, deadline.signal);
        session.close();
      } else if (!socket.authorized) await renewExpired(socket, raw, session, handler, deadline.signal);
      else await connectSpoke(certificateIdentity(raw), session, handler, address, deadline.signal);
    } catch (error) {
      const text = errorText(error);
      runtime.log.warn('a link was refused', { address, message: text });
      if (error instanceof Refused) await tellRefusal(session, handler, error);
      session.close();
    } finally {
      // A session that is closing waits for its peer, which may have vanished.
      if (session.closed) runtime.clock.after(CLOSE_GRACE_MS, () => socket.destroy());
      timer.cancel();
      pending -= 1;
    }
  }

  async function tellRefusal(session: ClientHttp2Session, handler: Handler, refusal: Refused): Promise<void> {
    if (refusal.code === 'TokenRefused') await pause(options.refusedTokenDelayMs ?? 1_000);
    if (session.destroyed) return;
    try {
      await withTimeout((signal) =>
        exchangeMessage(handler, 'POST', LINK_PATHS.refused, signal, {
          code: refusal.code,
          message: refusal.message,
        }),
      );
    } catch (error) {
      runtime.log.debug('a spoke could not be told why it is refused', { error: errorText(error) });
    }
  }

  async function enrol(
    session: ClientHttp2Session,
    handler: Handler,
    address: string,
    signal: AbortSignal,
  ): Promise<void> {
    const asked = await exchangeMessage(handler, 'GET', LINK_PATHS.enrolment, signal);
    const { spoke, joinToken, request } = asked;
    if (typeof spoke !== 'string' || typeof joinToken !== 'string' || typeof request !== 'string') {
      throw new Refused('BadEnrolment', 'an enrolment needs spoke, joinToken and request');
    }
    if (!isSpokeName(spoke)) {
      throw new Refused(
        'BadEnrolment',
        `${JSON.stringify(spoke.slice(0, 100))} cannot be the name of a spoke`,
      );
    }
    // Before the token is used up: whoever has the name keeps it.
    await yieldName(spoke, address);
    const certificate = await certify(spoke, request);
    const { keyDigest } = certificateIdentity(certificate);
    if (!(await options.consumeJoinToken(spoke, joinToken, keyDigest))) {
      throw new Refused(
        'TokenRefused',
        `the join token for ${JSON.stringify(spoke)} is wrong, used or expired`,
      );
    }
    await exchangeMessage(handler, 'POST', LINK_PATHS.certificate, signal, { certificate });
    runtime.log.info('a spoke has enrolled', { spoke, address, key: keyDigest });
    // The spoke dials again with its certificate; this connection has no rights.
    session.close();
  }

  async function certify(spoke: string, request: string): Promise<string> {
    try {
      return await signRequest(runtime, options.linkCa, request, {
        ...spokeSubject(spoke),
        usage: 'client',
        lifetimeMs,
      });
    } catch (error) {
      throw new Refused('BadEnrolment', errorText(error));
    }
  }

  /** Throws when another live connection has the name; ends one that is dead. */
  async function yieldName(spoke: string, address: string): Promise<void> {
    for (let other = live.get(spoke); other !== undefined; other = live.get(spoke)) {
      if (await pingSession(runtime, other.session, pingTimeoutMs)) {
        throw new Refused(
          'NameTaken',
          `the name ${JSON.stringify(spoke)} is taken: another spoke is connected with it (this one is at ${address})`,
        );
      }
      if (live.get(spoke) === other)
        endConnection(spoke, other, 'PingTimeout', 'the spoke left a ping unanswered');
    }
  }

  async function verify(identity: CertificateIdentity): Promise<string> {
    const spoke = spokeOfCertificate(identity);
    if (spoke === undefined) throw new Refused('BadCertificate', 'the certificate does not name a spoke');
    const { fingerprint, serial, notAfter } = identity;
    for (let seen = -1; seen !== revocations; ) {
      seen = revocations;
      const decision = await options.verifySpoke({ spoke, fingerprint, serial, notAfter });
      if (!decision.allowed) throw new Refused('NotAuthorized', decision.message);
    }
    return spoke;
  }

  async function connectSpoke(
    identity: CertificateIdentity,
    session: ClientHttp2Session,
    handler: Handler,
    address: string,
    signal: AbortSignal,
  ): Promise<void> {
    let spoke = await verify(identity);
    for (let seen = -1; seen !== revocations || live.has(spoke); ) {
      seen = revocations;
      await yieldName(spoke, address);
      spoke = await verify(identity);
    }
    signal.throwIfAborted();
    if (session.destroyed) throw new Error('the spoke closed the connection');
    // From here the name is held; nothing is awaited between the last check and this.
    const connected: Connected = { session, handler, end: undefined };
    live.set(spoke, connected);
    let stop = (): void => {};
    session.once('close', () => {
      stop();
      const end = connected.end ?? {
        reason: 'ConnectionClosed' as const,
        message: 'the connection was closed',
      };
      release(spoke, connected, end.reason, end.message);
    });
    await exchangeMessage(handler, 'POST', LINK_PATHS.accepted, signal);
    if (live.get(spoke) !== connected) return;
    const stopHeartbeat = heartbeat(runtime, session, pingIntervalMs, pingTimeoutMs, () =>
      endConnection(spoke, connected, 'PingTimeout', 'the spoke left a ping unanswered'),
    );
    const stopRenewal = keepCertified(spoke, connected, identity);
    stop = () => {
      stopHeartbeat();
      stopRenewal();
    };
    runtime.log.info('a link is up', { spoke, address });
    linkOf(spoke).status.set(true, 'Connected', `connected from ${address}`);
  }

  /** Renews the certificate when a third of its life is left, and ends the connection when it runs out all the same. */
  function keepCertified(spoke: string, connected: Connected, first: CertificateIdentity): () => void {
    let renewal: Timer | undefined;
    let expiry: Timer | undefined;
    const plan = (identity: CertificateIdentity): void => {
      const now = runtime.clock.now();
      const left = identity.notAfter - now;
      const third = (identity.notAfter - identity.notBefore) / 3;
      expiry?.cancel();
      expiry = runtime.clock.after(left, () =>
        endConnection(spoke, connected, 'CertificateExpired', 'the link certificate has ended'),
      );
      renewal = runtime.clock.after(
        Math.max(0, jitter(runtime.random, left - third, 0.02)),
        () => void attempt(identity),
      );
    };
    const attempt = async (identity: CertificateIdentity): Promise<void> => {
      try {
        const renewed = await renew(spoke, connected.handler, identity);
        if (live.get(spoke) === connected) plan(renewed);
      } catch (error) {
        if (live.get(spoke) !== connected) return;
        runtime.log.warn('a link certificate could not be renewed', { spoke, message: errorText(error) });
        if (error instanceof Refused) endConnection(spoke, connected, 'Disconnected', error.message);
        else
          renewal = runtime.clock.after(
            jitter(runtime.random, RENEWAL_RETRY_MS, 0.2),
            () => void attempt(identity),
          );
      }
    };
    plan(first);
    return () => {
      renewal?.cancel();
      expiry?.cancel();
    };
  }

  /** A new key and certificate over a connection that proved the old key. */
  async function renew(
    spoke: string,
    handler: Handler,
    identity: CertificateIdentity,
  ): Promise<CertificateIdentity> {
    if ((await verify(identity)) !== spoke)
      throw new Refused('BadCertificate', 'the certificate is of another spoke');
    const { request } = await withTimeout((signal) =>
      exchangeMessage(handler, 'GET', LINK_PATHS.renewal, signal),
    );
    if (typeof request !== 'string') throw new Error('the spoke sent no signing request');
    const certificate = await certify(spoke, request);
    await withTimeout((signal) =>
      exchangeMessage(handler, 'POST', LINK_PATHS.certificate, signal, { certificate }),
    );
    runtime.log.info('a link certificate was renewed', { spoke });
    return certificateIdentity(certificate);
  }

  /** A certificate that the handshake did not accept: renewed when its only fault is to have ended a short while ago. */
  async function renewExpired(
    socket: TLSSocket,
    raw: Buffer,
    session: ClientHttp2Session,
    handler: Handler,
    signal: AbortSignal,
  ): Promise<void> {
    const fault = String(socket.authorizationError);
    const identity = certificateIdentity(raw);
    const now = runtime.clock.now();
    const tolerated =
      fault === 'CERT_HAS_EXPIRED' &&
      isSignedBy(raw, options.linkCa.certificate) &&
      identity.notBefore <= now &&
      now < identity.notAfter + renewExpiredForMs;
    if (!tolerated) {
      throw new Refused(
        'BadCertificate',
        `the link certificate is not accepted (${fault}); enrol with a new join token`,
      );
    }
    const spoke = await verify(identity);
    signal.throwIfAborted();
    await renew(spoke, handler, identity);
    session.close();
  }

  function linkOf(spoke: string): TunnelLink {
    const known = links.get(spoke);
    if (known !== undefined) return known;
    const status = linkStatus(runtime, spoke);
    const link: TunnelLink = {
      spoke,
      status,
      handler: async (request) => {
        const connected = live.get(spoke);
        const { up, reason, message } = status.state;
        if (connected === undefined || !up) throw new LinkDown(spoke, reason, message);
        return connected.handler(request);
      },
      get up(): boolean {
        return status.state.up;
      },
      get state(): LinkState {
        return status.state;
      },
      onChange: (listener) => status.onChange(listener),
    };
    links.set(spoke, link);
    try {
      options.onLink(link);
    } catch (error) {
      runtime.log.error('a listener for links failed', { spoke, error: errorText(error) });
    }
    return link;
  }

  /** Ends a connection for a reason of the hub's own. The link is down at once, not when the socket is. */
  function endConnection(spoke: string, connected: Connected, reason: LinkReason, message: string): void {
    connected.end = { reason, message };
    release(spoke, connected, reason, message);
    connected.session.destroy();
  }

  function release(spoke: string, connected: Connected, reason: LinkReason, message: string): void {
    if (live.get(spoke) !== connected) return;
    live.delete(spoke);
    runtime.log.warn('a link is down', { spoke, reason, message });
    links.get(spoke)?.status.set(false, reason, message);
  }

  async function withTimeout<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const timer = runtime.clock.after(MESSAGE_TIMEOUT_MS, () =>
      abort.abort(new Error('the spoke did not answer in time')),
    );
    try {
      return await act(abort.signal);
    } finally {
      timer.cancel();
    }
  }

  async function pause(ms: number): Promise<void> {
    try {
      await sleep(runtime.clock, ms, stopping.signal);
    } catch {
      // The listener is closing: nothing to slow down any more.
    }
  }

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, host: options.host ?? '127.0.0.1' }, () => {
      server.off('error', reject);
      server.on('error', (error) =>
        runtime.log.error('the link listener failed', { error: errorText(error) }),
      );
      resolve({
        port: (server.address() as AddressInfo).port,
        links,
        disconnect(spoke, message): void {
          revocations += 1;
          const connected = live.get(spoke);
          if (connected !== undefined) endConnection(spoke, connected, 'Disconnected', message);
          else links.get(spoke)?.status.set(false, 'Disconnected', message);
          links.delete(spoke);
        },
        async close(): Promise<void> {
          stopping.abort(new Error('the link listener was closed'));
          const closed = new Promise<void>((done) => server.close(() => done()));
          for (const [spoke, connected] of [...live]) {
            endConnection(spoke, connected, 'Stopped', 'the hub stops serving links');
          }
          for (const socket of [...sockets]) socket.destroy();
          await closed;
        },
      });
    });
  });
}
