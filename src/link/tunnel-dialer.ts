import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Handler, Request, Response } from '../kube/exchange.ts';
import { certificateIdentity, createSigningRequest, keyMatchesCertificate } from '../kube/pki.ts';
import { failure } from '../kube/status-error.ts';
import { serveHttp2Session } from '../kube/wire/index.ts';
import { errorText, type Runtime, sleep } from '../runtime/index.ts';
import { heartbeat } from './heartbeat.ts';
import { spokeOfCertificate, spokeSubject } from './spoke-identity.ts';
import { LINK_PATHS, messageResponse, parseMessage, TUNNEL_PROTOCOL } from './tunnel-protocol.ts';

/** The spoke's link identity, both PEM. A key without a certificate is one whose enrolment has begun. */
export interface LinkCredentials {
  readonly key: string;
  readonly certificate?: string;
}

export interface KeyStore {
  load(): Promise<LinkCredentials | undefined>;
  /** Resolves once it is durable; must replace the old credentials as a whole or not at all. */
  save(credentials: LinkCredentials): Promise<void>;
}

export type DialerState =
  | { readonly phase: 'dialing' | 'enrolling' | 'up' | 'stopped'; readonly message: string }
  /** `reason` is a refusal of the hub, or what went wrong on this side. The next attempt is in `retryInMs`. */
  | {
      readonly phase: 'waiting';
      readonly message: string;
      readonly reason: string;
      readonly retryInMs: number;
    };

export interface TunnelDialerOptions {
  /** `host:port`; IPv6 in brackets. */
  readonly hubAddress: string;
  /** PEM of the authority that the hub's certificate must come from. */
  readonly hubCaPem: string;
  /** The name that the hub's certificate must hold; the host of the address by default. */
  readonly hubName?: string;
  readonly spoke: string;
  readonly keyStore: KeyStore;
  /** Read at each enrolment: a token may be given later. */
  readonly joinToken?: () => string | undefined;
  /** Answers the hub's requests to the spoke's API, with the hub's identity. */
  readonly serve: Handler;
  readonly onState?: (state: DialerState) => void;
  /** Largest body that the hub may send; 64 MiB by default, since bundles come this way. */
  readonly bodyBytes?: number;
  /** First delay before another attempt, doubled up to the largest. 250 ms and 5 s by default. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  /** 5 s by default, both. */
  readonly pingIntervalMs?: number;
  readonly pingTimeoutMs?: number;
}

export interface TunnelDialer {
  readonly state: DialerState;
  /** Ends the link and stops dialing. */
  close(): Promise<void>;
}

/** How long the hub may take from the dial to its decision. */
const ADMISSION_TIMEOUT_MS = 20_000;

interface Outcome {
  readonly wasUp: boolean;
  /** Dial again at once: there is a new certificate. */
  readonly redial: boolean;
  readonly reason: string;
  readonly message: string;
}

/**
 * Keeps a spoke connected to its hub. The spoke dials and then only answers; it holds a certificate that the hub's link
 * listener believes and no other door of the hub does. Never gives up: every failure leads to another attempt.
 */
export function startTunnelDialer(runtime: Runtime, options: TunnelDialerOptions): TunnelDialer {
  const { baseDelayMs = 250, maxDelayMs = 5_000, pingIntervalMs = 5_000, pingTimeoutMs = 5_000 } = options;
  const { spoke, keyStore } = options;
  const log = runtime.log.with({ spoke, hub: options.hubAddress });
  const stopping = new AbortController();
  let state: DialerState = { phase: 'dialing', message: 'not dialed yet' };
  /** Set when the hub did not take our certificate: then a join token, where there is one, is tried. */
  let certificateRefused = false;

  function enter(next: DialerState): void {
    state = next;
    try {
      options.onState?.(next);
    } catch (error) {
      log.error('a listener of the link failed', { error: errorText(error) });
    }
  }

  async function run(): Promise<void> {
    let attempt = 0;
    while (!stopping.signal.aborted) {
      let outcome: Outcome;
      try {
        outcome = await connectOnce();
      } catch (error) {
        outcome = { wasUp: false, redial: false, reason: 'ConnectionFailed', message: errorText(error) };
      }
      if (stopping.signal.aborted) break;
      if (outcome.wasUp) attempt = 0;
      if (outcome.redial) continue;
      const limit = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempt, 20));
      attempt += 1;
      // Spread downward only, so that the largest delay bounds how long a restarted hub waits for its spokes.
      const retryInMs = Math.round(limit * (0.5 + 0.4 * runtime.random.next()));
      log.warn('the link is down', { reason: outcome.reason, message: outcome.message, retryInMs });
      enter({ phase: 'waiting', reason: outcome.reason, message: outcome.message, retryInMs });
      try {
        await sleep(runtime.clock, retryInMs, stopping.signal);
      } catch {
        // Only an abort ends a sleep early: the loop's condition sees it.
      }
    }
    enter({ phase: 'stopped', message: 'the link was closed' });
  }

  async function connectOnce(): Promise<Outcome> {
    const stored = await keyStore.load();
    const token = options.joinToken?.();
    const certificate = usableCertificate(stored, token !== undefined);
    if (certificate === undefined && token === undefined) {
      const message = stored?.certificate
        ? 'the hub does not accept the link certificate and there is no join token'
        : 'there is neither a link certificate nor a join token';
      return { wasUp: false, redial: false, reason: 'NoCredentials', message };
    }
    enter(
      certificate === undefined
        ? { phase: 'enrolling', message: 'dialing the hub to enrol' }
        : { phase: 'dialing', message: 'dialing the hub' },
    );
    const socket = await dial(
      options,
      certificate === undefined || stored === undefined ? undefined : { key: stored.key, certificate },
      stopping.signal,
      runtime,
    );
    return serveConnection(socket, stored, certificate === undefined ? token : undefined);
  }

  /** An expired certificate is still offered when there is nothing else: the hub may renew it. */
  function usableCertificate(stored: LinkCredentials | undefined, hasToken: boolean): string | undefined {
    const certificate = stored?.certificate;
    if (certificate === undefined || !hasToken) return certificate;
    if (certificateRefused) return undefined;
    return certificateIdentity(certificate).notAfter > runtime.clock.now() ? certificate : undefined;
  }

  /** Answers the hub until the connection ends. `token` is there when this connection is to enrol. */
  function serveConnection(
    socket: TLSSocket,
    stored: LinkCredentials | undefined,
    token: string | undefined,
  ): Promise<Outcome> {
    return new Promise((resolve) => {
      let accepted = false;
      let redial = false;
      let reason = 'ConnectionClosed';
      let message = 'the hub closed the connection';
      let pending: string | undefined;

      const deadline = runtime.clock.after(ADMISSION_TIMEOUT_MS, () => {
        if (!accepted && !redial) {
          reason = 'AdmissionTimeout';
          message = `the hub did not decide within ${ADMISSION_TIMEOUT_MS} ms`;
        }
        if (!accepted) session.destroy();
      });

      async function answer(request: Request): Promise<Response> {
        if (request.path.startsWith(LINK_PATHS.prefix)) return answerLink(request);
        if (!accepted) throw failure(403, 'Forbidden', 'the link has not been accepted yet');
        return options.serve(request);
      }

      async function answerLink(request: Request): Promise<Response> {
        switch (`${request.method} ${request.path}`) {
          case `GET ${LINK_PATHS.enrolment}`: {
            if (token === undefined) throw failure(409, 'Conflict', 'this spoke has a link certificate');
            // The key is kept before the token is shown, so that the same enrolment can be tried again after a crash.
            const made = await createSigningRequest(runtime, spokeSubject(spoke), enrolmentKey(stored));
            if (stored?.key !== made.key) await keyStore.save({ key: made.key });
            pending = made.key;
            return messageResponse(200, { spoke, joinToken: token, request: made.request });
          }
          case `GET ${LINK_PATHS.renewal}`: {
            if (token !== undefined) throw failure(409, 'Conflict', 'this spoke is not enrolled');
            const made = await createSigningRequest(runtime, spokeSubject(spoke));
            pending = made.key;
            return messageResponse(200, { request: made.request });
          }
          case `POST ${LINK_PATHS.certificate}`: {
            const certificate = parseMessage(request.body)?.certificate;
            if (typeof certificate !== 'string' || pending === undefined || !fits(pending, certificate)) {
              throw failure(400, 'BadRequest', 'the certificate is not for the key that was asked for');
            }
            await keyStore.save({ key: pending, certificate });
            pending = undefined;
            certificateRefused = false;
            if (!accepted) redial = true;
            log.info('the link certificate was renewed', {
              until: certificateIdentity(certificate).notAfter,
            });
            return messageResponse(204);
          }
          case `POST ${LINK_PATHS.accepted}`: {
            if (token !== undefined) throw failure(409, 'Conflict', 'this spoke is not enrolled');
            accepted = true;
            certificateRefused = false;
            deadline.cancel();
            log.info('the link is up');
            enter({ phase: 'up', message: 'connected to the hub' });
            return messageResponse(204);
          }
          case `POST ${LINK_PATHS.refused}`: {
            const told = parseMessage(request.body);
            reason = typeof told?.code === 'string' ? told.code : 'Refused';
            message =
              typeof told?.message === 'string' ? told.message.slice(0, 1000) : 'the hub refused the link';
            if (token === undefined && (reason === 'NotAuthorized' || reason === 'BadCertificate')) {
              certificateRefused = true;
            }
            return messageResponse(204);
          }
          default:
            throw failure(404, 'NotFound', `the link has no ${request.method} ${request.path}`);
        }
      }

      const served = serveHttp2Session(runtime, socket, answer, {
        bodyBytes: options.bodyBytes ?? 64 * 1024 * 1024,
      });
      const { session } = served;
      const stopHeartbeat = heartbeat(runtime, session, pingIntervalMs, pingTimeoutMs, () => {
        reason = 'PingTimeout';
        message = 'the hub left a ping unanswered';
        session.destroy();
      });
      const stop = (): void => void served.close(1_000);
      stopping.signal.addEventListener('abort', stop, { once: true });
      if (stopping.signal.aborted) stop();
      session.once('close', () => {
        deadline.cancel();
        stopHeartbeat();
        stopping.signal.removeEventListener('abort', stop);
        socket.destroy();
        resolve({ wasUp: accepted, redial, reason, message });
      });
    });
  }

  function fits(key: string, certificate: string): boolean {
    return (
      keyMatchesCertificate(key, certificate) &&
      spokeOfCertificate(certificateIdentity(certificate)) === spoke
    );
  }

  const running = run();
  return {
    get state(): DialerState {
      return state;
    },
    async close(): Promise<void> {
      stopping.abort(new Error('the link was closed'));
      await running;
    },
  };
}

/** The key of an enrolment that began and did not end. One that had a certificate is not used again. */
function enrolmentKey(stored: LinkCredentials | undefined): string | undefined {
  return stored !== undefined && stored.certificate === undefined ? stored.key : undefined;
}

function dial(
  options: TunnelDialerOptions,
  credentials: { key: string; certificate: string } | undefined,
  signal: AbortSignal,
  runtime: Runtime,
): Promise<TLSSocket> {
  const { host, port } = parseAddress(options.hubAddress);
  const name = options.hubName ?? host;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      ca: options.hubCaPem,
      ALPNProtocols: [TUNNEL_PROTOCOL],
      minVersion: 'TLSv1.3',
      rejectUnauthorized: true,
      // Names only: the protocol knows no addresses here. What the certificate must hold is checked either way.
      ...(isIP(name) === 0 ? { servername: name } : {}),
      ...(credentials === undefined ? {} : { key: credentials.key, cert: credentials.certificate }),
    });
    const timer = runtime.clock.after(ADMISSION_TIMEOUT_MS, () =>
      fail(new Error('the hub did not answer in time')),
    );
    const settle = (act: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', stop);
      socket.off('error', fail).off('close', closed);
      act();
    };
    const fail = (error: Error): void =>
      settle(() => {
        socket.on('error', () => {}).destroy();
        reject(new Error(`the hub at ${options.hubAddress} cannot be reached`, { cause: error }));
      });
    const stop = (): void => fail(signal.reason as Error);
    const closed = (): void => fail(new Error('the connection was closed'));
    socket.on('error', fail).on('close', closed);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol !== TUNNEL_PROTOCOL) fail(new Error('the other end is not a link listener'));
      else {
        socket.setNoDelay(true);
        settle(() => resolve(socket));
      }
    });
  });
}

function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  if (!host) throw new Error(`${JSON.stringify(address)} is not an address of the form host:port`);
  return { host, port: Number(match?.[3]) };
}
