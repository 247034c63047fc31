import {
  type CertificateIdentity,
  certificateIdentity,
  isSignedBy,
  type KeyPair,
  signRequest,
} from '../kube/pki.ts';
import { errorText, jitter, type Runtime, sleep, type Timer } from '../runtime/index.ts';
import type { Pulse } from './pulse.ts';
import type { Refusal } from './reasons.ts';
import type { SpokeConnections } from './spoke-connections.ts';
import { isSpokeName, spokeOfCertificate, spokeSubject } from './spoke-identity.ts';
import type { Connection } from './tunnel-link.ts';
import { exchangeMessage, LINK_PATHS } from './tunnel-protocol.ts';

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

export interface AdmissionOptions {
  /** The authority of link certificates. It must vouch for nothing else but the replicas of the hub. */
  readonly linkCa: KeyPair;
  /** Asked for each connection and each renewal: is the spoke still one of ours? */
  readonly verifySpoke: (identity: SpokeIdentity) => SpokeDecision | Promise<SpokeDecision>;
  /**
   * Whether the token lets this spoke enrol; uses it up, bound to `keyDigest`. Answering true again for the same spoke,
   * token and key digest is right: that is one enrolment tried again. Must compare in constant time. False is a token that is
   * no good; a decision says why a good one does not let the spoke in (yet): it comes again with the same key. `request` is
   * what the spoke asks to have signed, PEM.
   */
  readonly consumeJoinToken: (
    spoke: string,
    token: string,
    keyDigest: string,
    request: string,
  ) => Promise<boolean | SpokeDecision>;
  /**
   * When certificates of a spoke begin at the earliest, milliseconds since the epoch: those that begin before are void, and none is
   * made that does. Asked when `verifySpoke` is. By default all are good.
   */
  readonly certificatesFrom?: (spoke: string) => number | undefined | Promise<number | undefined>;
  /** Of link certificates; never above 24 h, which is the default. */
  readonly certificateLifetimeMs?: number;
  /**
   * A certificate that ended no longer ago than this may be renewed (and used for nothing else), so that a spoke that was
   * off over the weekend needs no new token. 0 by default.
   */
  readonly renewExpiredForMs?: number;
  /** How long a wrong join token waits for its answer, so that guessing is slow. 1 s by default. */
  readonly refusedTokenDelayMs?: number;
}

/** Decides on connections: `admit` enrols, renews, lets in or refuses, and never rejects. */
export interface Admission {
  admit(connection: Connection, signal: AbortSignal, events: AdmissionEvents): Promise<void>;
  /** See `TunnelListener.review`. */
  review(spoke: string): Promise<boolean>;
}

export interface AdmissionEvents {
  /** The other end has a certificate of ours. */
  readonly onProven: () => void;
  /** It is decided; what is still to be said takes its time. */
  readonly onDecided: () => void;
}

const DAY_MS = 86_400_000;
const MESSAGE_TIMEOUT_MS = 10_000;
const RENEWAL_RETRY_MS = 60_000;
/** A spoke that comes by says how often; no less than this is believed, no more waited for. */
const POLL_LIMITS_MS = { least: 1_000, most: 3_600_000 };

class Refused extends Error {
  readonly code: Refusal;
  constructor(code: Refusal, message: string) {
    super(message);
    this.name = 'Refused';
    this.code = code;
  }
}

export function spokeAdmission(
  runtime: Runtime,
  options: AdmissionOptions,
  shared: {
    readonly connections: SpokeConnections;
    readonly pulse: Pulse;
    /** Whether another replica of the hub has the spoke, alive. */
    readonly isHeldElsewhere: (spoke: string) => Promise<boolean>;
    readonly stopping: AbortSignal;
  },
): Admission {
  const { connections, pulse } = shared;
  const { renewExpiredForMs = 0 } = options;
  const lifetimeMs = Math.min(options.certificateLifetimeMs ?? DAY_MS, DAY_MS);

  async function admit(connection: Connection, signal: AbortSignal, events: AdmissionEvents): Promise<void> {
    const { session, socket, address } = connection;
    try {
      const raw: Buffer | undefined = socket.getPeerCertificate(false).raw;
      if (raw === undefined) {
        await enrol(connection, signal);
        session.close();
      } else if (!socket.authorized) await renewExpired(connection, raw, signal);
      else {
        events.onProven();
        await letIn(connection, certificateIdentity(raw), signal);
      }
    } catch (error) {
      runtime.log.warn('a link was refused', { address, message: errorText(error) });
      events.onDecided();
      if (error instanceof Refused) await tellRefusal(connection, error);
      session.close();
    }
  }

  async function tellRefusal({ session, handler }: Connection, refusal: Refused): Promise<void> {
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

  async function enrol(connection: Connection, signal: AbortSignal): Promise<void> {
    const { handler, session, address } = connection;
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
    const decision = await options.consumeJoinToken(spoke, joinToken, keyDigest, request);
    if (decision === false) {
      throw new Refused(
        'TokenRefused',
        `the join token for ${JSON.stringify(spoke)} is wrong, used or expired`,
      );
    }
    if (decision !== true && !decision.allowed) throw new Refused('NotAuthorized', decision.message);
    await exchangeMessage(handler, 'POST', LINK_PATHS.certificate, signal, { certificate });
    runtime.log.info('a spoke has enrolled', { spoke, address, key: keyDigest });
    // The spoke dials again with its certificate; this connection has no rights.
    session.close();
  }

  async function certify(spoke: string, request: string): Promise<string> {
    const notBefore = await options.certificatesFrom?.(spoke);
    try {
      return await signRequest(runtime, options.linkCa, request, {
        ...spokeSubject(spoke),
        usage: 'client',
        lifetimeMs,
        ...(notBefore === undefined ? {} : { notBefore }),
      });
    } catch (error) {
      throw new Refused('BadEnrolment', errorText(error));
    }
  }

  /** Throws when another live connection has the name, here or at another replica; ends one that is dead. */
  async function yieldName(spoke: string, address: string): Promise<void> {
    if ((await connections.alive(spoke)) || (await shared.isHeldElsewhere(spoke))) {
      throw new Refused(
        'NameTaken',
        `the name ${JSON.stringify(spoke)} is taken: another spoke is connected with it (this one is at ${address})`,
      );
    }
  }

  async function verify(identity: CertificateIdentity): Promise<string> {
    const spoke = spokeOfCertificate(identity);
    if (spoke === undefined) throw new Refused('BadCertificate', 'the certificate does not name a spoke');
    const { fingerprint, serial, notAfter } = identity;
    for (let seen = -1; seen !== connections.revocations; ) {
      seen = connections.revocations;
      const [decision, from = 0] = await Promise.all([
        options.verifySpoke({ spoke, fingerprint, serial, notAfter }),
        options.certificatesFrom?.(spoke),
      ]);
      if (!decision.allowed) throw new Refused('NotAuthorized', decision.message);
      if (identity.notBefore < from)
        throw new Refused(
          'NotAuthorized',
          `the link certificate is void: the hub let a spoke named ${spoke} go since it was made; join anew, with a new token`,
        );
    }
    return spoke;
  }

  async function letIn(
    connection: Connection,
    identity: CertificateIdentity,
    signal: AbortSignal,
  ): Promise<void> {
    const { session, handler, address } = connection;
    let spoke = await verify(identity);
    for (let seen = -1; seen !== connections.revocations || connections.holderOf(spoke) !== undefined; ) {
      seen = connections.revocations;
      await yieldName(spoke, address);
      spoke = await verify(identity);
    }
    signal.throwIfAborted();
    if (session.destroyed) throw new Error('the spoke closed the connection');
    // From here the name is held; nothing is awaited between the last check and this.
    connection.identity = identity;
    connections.hold(spoke, connection);
    const { pollIntervalMs } = await exchangeMessage(handler, 'POST', LINK_PATHS.accepted, signal);
    if (connections.holderOf(spoke) !== connection) return;
    if (typeof pollIntervalMs === 'number') {
      const { least, most } = POLL_LIMITS_MS;
      connection.pollIntervalMs = Math.min(most, Math.max(least, pollIntervalMs));
    }
    pulse.watch(session, () =>
      connections.end(connection, 'PingTimeout', 'the spoke left a ping unanswered'),
    );
    session.on('close', keepCertified(spoke, connection, identity));
    runtime.log.info('a link is up', { spoke, address });
    connections.attach(spoke, connection);
  }

  /** Renews the certificate when 20 to 25 % of its life is left, and ends the connection when it runs out all the same. */
  function keepCertified(spoke: string, connection: Connection, first: CertificateIdentity): () => void {
    let timer: Timer | undefined;
    const isLive = (): boolean => connections.holderOf(spoke) === connection;
    const schedule = (identity: CertificateIdentity, delayMs: number): void => {
      const left = identity.notAfter - runtime.clock.now();
      timer =
        delayMs < left
          ? runtime.clock.after(Math.max(0, delayMs), () => void attempt(identity))
          : runtime.clock.after(Math.max(0, left), () =>
              connections.end(connection, 'CertificateExpired', 'the link certificate has ended'),
            );
    };
    const plan = (identity: CertificateIdentity): void => {
      const life = identity.notAfter - identity.notBefore;
      const left = identity.notAfter - runtime.clock.now();
      // Spokes that came at once do not all come again at once.
      schedule(identity, Math.max(0, left - life * (0.2 + 0.05 * runtime.random.next())));
    };
    const attempt = async (identity: CertificateIdentity): Promise<void> => {
      try {
        const renewed = await renew(spoke, connection, identity);
        if (isLive()) plan(renewed);
      } catch (error) {
        if (!isLive()) return;
        runtime.log.warn('a link certificate could not be renewed', { spoke, message: errorText(error) });
        if (error instanceof Refused) connections.end(connection, 'Disconnected', error.message);
        else schedule(identity, jitter(runtime.random, RENEWAL_RETRY_MS, 0.2));
      }
    };
    plan(first);
    return () => timer?.cancel();
  }

  /** A new key and certificate over a connection that proved the old key. */
  async function renew(
    spoke: string,
    { handler }: Connection,
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
  async function renewExpired(connection: Connection, raw: Buffer, signal: AbortSignal): Promise<void> {
    const fault = String(connection.socket.authorizationError);
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
    await renew(spoke, connection, identity);
    connection.session.close();
  }

  async function review(spoke: string): Promise<boolean> {
    connections.askAgain();
    const connection = connections.holderOf(spoke);
    if (connection?.identity === undefined) return false;
    try {
      await verify(connection.identity);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (connections.holderOf(spoke) === connection)
        connections.end(connection, 'Disconnected', error.message);
    }
    return connections.holderOf(spoke) !== undefined;
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
      await sleep(runtime.clock, ms, shared.stopping);
    } catch {
      // The listener is closing: nothing to slow down any more.
    }
  }

  return { admit, review };
}
