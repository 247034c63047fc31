import type { TLSSocket } from 'node:tls';
import type { Handler, Request, Response, Upgrader } from '../kube/exchange.ts';
import { certificateIdentity, createSigningRequest, keyMatchesCertificate } from '../kube/pki.ts';
import { failure } from '../kube/status-error.ts';
import { type ProxySettings, serveHttp2Session } from '../kube/wire/index.ts';
import { errorText, jitter, type Runtime, sleep, type Timer } from '../runtime/index.ts';
import { dialAddress, hubRoutes, type Transport } from './hub-routes.ts';
import { pulse } from './pulse.ts';
import { spokeOfCertificate, spokeSubject } from './spoke-identity.ts';
import { LINK_PATHS, messageResponse, parseMessage } from './tunnel-protocol.ts';

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
  /** `host:port`; IPv6 in brackets. Several are tried in order: replicas of one hub, or names of it. */
  readonly hubAddress: string | readonly string[];
  /** PEM of the authority that the hub's certificate must come from. */
  readonly hubCaPem: string;
  /** The name that the hub's certificate must hold; the host of the address by default. */
  readonly hubName?: string;
  /** The way out of the spoke's network. */
  readonly proxy?: ProxySettings;
  /**
   * Ways to carry the link, in the order in which they are tried; what worked is remembered for each address. By default
   * `tls`, then `websocket` for networks that let nothing but HTTP/1.1 out.
   */
  readonly transports?: readonly Transport[];
  /**
   * Comes by that often instead of staying connected (1 s at least), for networks where no connection may last. The hub's requests wait
   * meanwhile. By default the link stays.
   */
  readonly pollIntervalMs?: number;
  readonly spoke: string;
  readonly keyStore: KeyStore;
  /** Read at each enrolment: a token may be given later. */
  readonly joinToken?: () => string | undefined;
  /** Answers the hub's requests to the spoke's API, with the hub's identity. */
  readonly serve: Handler;
  /** Answers the hub's requests to switch protocols (`exec`, `port-forward` …). They are refused when absent. */
  readonly serveUpgrade?: Upgrader;
  readonly onState?: (state: DialerState) => void;
  /** Largest body that the hub may send; 64 MiB by default, since bundles come this way. */
  readonly bodyBytes?: number;
  /**
   * Bound of the first delay before another attempt, doubled up to the largest; the delay is drawn from all that is below
   * (full jitter), so that the spokes of a hub that comes back do not come at once. 250 ms and 5 s by default.
   */
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

/** A link that lasted that long was a good one: the next attempt begins with the smallest delay. */
const STEADY_MS = 1_000;
/** A spoke that comes by stays until the hub has asked nothing for that long. */
const POLL_QUIET_MS = 500;
const MIN_POLL_MS = 1_000;

interface Outcome {
  readonly wasUp: boolean;
  /** The hub said anything at all. */
  readonly heard: boolean;
  /** Dial again at once: there is a new certificate. */
  readonly redial: boolean;
  /** It ended as it was meant to: the next visit is in an interval. */
  readonly polled: boolean;
  readonly reason: string;
  readonly message: string;
}

const FAILED: Omit<Outcome, 'reason' | 'message'> = {
  wasUp: false,
  heard: false,
  redial: false,
  polled: false,
};

/**
 * Keeps a spoke connected to its hub. The spoke dials and then only answers; it holds a certificate that the hub's link
 * listener believes and no other door of the hub does. Never gives up: every failure leads to another attempt.
 */
export function startTunnelDialer(runtime: Runtime, options: TunnelDialerOptions): TunnelDialer {
  const { baseDelayMs = 250, maxDelayMs = 5_000, pingIntervalMs = 5_000, pingTimeoutMs = 5_000 } = options;
  const { spoke, keyStore } = options;
  const pollMs =
    options.pollIntervalMs === undefined ? undefined : Math.max(MIN_POLL_MS, options.pollIntervalMs);
  const routes = hubRoutes(runtime.clock, options);
  const beat = pulse(runtime, pingIntervalMs, pingTimeoutMs);
  const log = runtime.log.with({ spoke, hub: routes.addresses.join(', ') });
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
    /** Addresses that were tried since the last that answered. */
    let missed = 0;
    while (!stopping.signal.aborted) {
      let outcome: Outcome;
      const began = runtime.clock.monotonic();
      try {
        outcome = await connectOnce();
      } catch (error) {
        outcome = { ...FAILED, reason: 'ConnectionFailed', message: errorText(error) };
      }
      if (stopping.signal.aborted) break;
      if (outcome.redial) continue;
      if (outcome.polled && pollMs !== undefined) {
        attempt = 0;
        await rest(jitter(runtime.random, pollMs, 0.1));
        continue;
      }
      if (outcome.heard) missed = 0;
      else {
        missed += 1;
        routes.next();
        // The next address may be of a replica that lives: only who has tried them all waits.
        if (missed % routes.addresses.length !== 0 && outcome.reason !== 'NoCredentials') {
          log.warn('a hub cannot be reached', { reason: outcome.reason, message: outcome.message });
          continue;
        }
      }
      if (outcome.wasUp && runtime.clock.monotonic() - began >= STEADY_MS) attempt = 0;
      const limit = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempt, 20));
      attempt += 1;
      const retryInMs = Math.round(limit * runtime.random.next());
      log.warn('the link is down', { reason: outcome.reason, message: outcome.message, retryInMs });
      enter({ phase: 'waiting', reason: outcome.reason, message: outcome.message, retryInMs });
      await rest(retryInMs);
    }
    enter({ phase: 'stopped', message: 'the link was closed' });
  }

  async function rest(ms: number): Promise<void> {
    try {
      await sleep(runtime.clock, ms, stopping.signal);
    } catch {
      // Only an abort ends a sleep early: the loop's condition sees it.
    }
  }

  async function connectOnce(): Promise<Outcome> {
    const stored = await keyStore.load();
    const token = options.joinToken?.();
    const certificate = usableCertificate(stored, token !== undefined);
    if (certificate === undefined && token === undefined) {
      const message = stored?.certificate
        ? 'the hub does not accept the link certificate and there is no join token'
        : 'there is neither a link certificate nor a join token';
      return { ...FAILED, reason: 'NoCredentials', message };
    }
    enter(
      certificate === undefined
        ? { phase: 'enrolling', message: 'dialing the hub to enrol' }
        : { phase: 'dialing', message: 'dialing the hub' },
    );
    const credentials =
      certificate === undefined || stored === undefined ? undefined : { key: stored.key, certificate };
    const { socket, transport } = await dialAddress(runtime, options, routes.current(), credentials, {
      clock: runtime.clock,
      timeoutMs: ADMISSION_TIMEOUT_MS,
      signal: stopping.signal,
    });
    const outcome = await serveConnection(socket, stored, certificate === undefined ? token : undefined);
    // A way that carries TLS but nothing within it is of no use.
    if (outcome.heard) routes.worked(transport);
    else routes.failed(transport);
    return outcome;
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
      let heard = false;
      let redial = false;
      let polled = false;
      /** What is under way, streams that have begun left out. */
      let busy = 0;
      let quiet: Timer | undefined;
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
        heard = true;
        busy += 1;
        quiet?.cancel();
        try {
          return await decide(request);
        } finally {
          busy -= 1;
          leaveSoon();
        }
      }

      /** Who comes by leaves when nothing is left to do; streams that are open begin anew at the next visit. */
      function leaveSoon(): void {
        if (pollMs === undefined || !accepted || busy > 0) return;
        quiet?.cancel();
        quiet = runtime.clock.after(POLL_QUIET_MS, () => {
          polled = true;
          reason = 'Polled';
          message = 'the visit is over';
          void served.close(1_000);
        });
      }

      async function decide(request: Request): Promise<Response> {
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
            return pollMs === undefined
              ? messageResponse(204)
              : messageResponse(200, { pollIntervalMs: pollMs });
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

      const { serveUpgrade } = options;
      const upgradeEnded = (): void => {
        busy -= 1;
        leaveSoon();
      };
      const served = serveHttp2Session(runtime, socket, answer, {
        bodyBytes: options.bodyBytes ?? 64 * 1024 * 1024,
        ...(serveUpgrade === undefined
          ? {}
          : {
              upgrade: (request) => {
                if (!accepted) throw failure(403, 'Forbidden', 'the link has not been accepted yet');
                busy += 1;
                quiet?.cancel();
                return serveUpgrade(request).then(
                  (upgraded) => {
                    if ('socket' in upgraded) upgraded.socket.once('close', upgradeEnded);
                    else upgradeEnded();
                    return upgraded;
                  },
                  (error: unknown) => {
                    upgradeEnded();
                    throw error;
                  },
                );
              },
            }),
      });
      const { session } = served;
      beat.watch(session, () => {
        reason = 'PingTimeout';
        message = 'the hub left a ping unanswered';
        session.destroy();
      });
      const stop = (): void => void served.close(1_000);
      stopping.signal.addEventListener('abort', stop, { once: true });
      if (stopping.signal.aborted) stop();
      session.once('close', () => {
        deadline.cancel();
        quiet?.cancel();
        stopping.signal.removeEventListener('abort', stop);
        socket.destroy();
        resolve({ wasUp: accepted, heard, redial, polled, reason, message });
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
