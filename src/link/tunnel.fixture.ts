import { type Handler, readBody } from '../kube/exchange.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../kube/pki.ts';
import { type Runtime, systemRuntime } from '../runtime/index.ts';
import {
  type DialerState,
  type KeyStore,
  type Link,
  type LinkCredentials,
  type LinkState,
  spokeSubject,
  startTunnelDialer,
  startTunnelListener,
  type TunnelDialer,
  type TunnelDialerOptions,
  type TunnelListener,
  type TunnelListenerOptions,
} from './index.ts';

/** Hubs and spokes over real sockets on loopback, for the tests of the link. */

export const HOUR = 3_600_000;
const runtime: Runtime = systemRuntime();
export const hubCa: KeyPair = await createCertificateAuthority(runtime, 'hub-ca');
export const linkCa: KeyPair = await createCertificateAuthority(runtime, 'link-ca');
export const otherCa: KeyPair = await createCertificateAuthority(runtime, 'other-ca');
export const serving: KeyPair = await issueCertificate(runtime, hubCa, {
  commonName: 'hub',
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
  lifetimeMs: HOUR,
});

const cleanups: (() => unknown)[] = [];

/** Has `act` done when the test is over, the newest first. */
export function afterwards(act: () => unknown): void {
  cleanups.push(act);
}

export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export interface Hub {
  listener: TunnelListener;
  port: number;
  /** Resolves with the link of a spoke once it is up. */
  up(spoke: string): Promise<Link>;
  tokens: Map<string, string>;
  revoked: Set<string>;
}

export async function startHub(
  options: Partial<TunnelListenerOptions> = {},
  on: Runtime = runtime,
): Promise<Hub> {
  const tokens = new Map<string, string>();
  const revoked = new Set<string>();
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of [...waiting]) check();
  };
  const listener = await startTunnelListener(on, {
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    linkCa,
    refusedTokenDelayMs: 5,
    verifySpoke: ({ spoke }) =>
      revoked.has(spoke) ? { allowed: false, message: `${spoke} was removed` } : { allowed: true },
    consumeJoinToken: async (spoke, token, keyDigest) => {
      const state = tokens.get(spoke);
      if (state !== token && state !== `${token} used by ${keyDigest}`) return false;
      tokens.set(spoke, `${token} used by ${keyDigest}`);
      return true;
    },
    onLink: (link) => {
      link.onChange(wake);
    },
    ...options,
  });
  cleanups.push(() => listener.close());
  const up = (spoke: string): Promise<Link> =>
    new Promise((resolve) => {
      const check = (): void => {
        const link = listener.links.get(spoke);
        if (!link?.up) return;
        waiting.delete(check);
        resolve(link);
      };
      waiting.add(check);
      check();
    });
  return { listener, port: listener.port, up, tokens, revoked };
}

export interface MemoryStore extends KeyStore {
  stored: LinkCredentials | undefined;
  saves: number;
}

export function memoryStore(stored?: LinkCredentials): MemoryStore {
  return {
    stored,
    saves: 0,
    load(): Promise<LinkCredentials | undefined> {
      return Promise.resolve(this.stored);
    },
    async save(credentials): Promise<void> {
      this.stored = credentials;
      this.saves += 1;
    },
  };
}

export async function enrolled(
  spoke: string,
  lifetimeMs: number = HOUR,
  authority: KeyPair = linkCa,
): Promise<MemoryStore> {
  return memoryStore(
    await issueCertificate(runtime, authority, { ...spokeSubject(spoke), usage: 'client', lifetimeMs }),
  );
}

export const echo: Handler = async (request) => ({
  status: 200,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from(
    `${request.method} ${request.path} ${request.body ? Buffer.from(request.body).toString() : ''}`,
  ),
});

export interface Spoke {
  dialer: TunnelDialer;
  states: DialerState[];
  until(check: (state: DialerState) => boolean): Promise<DialerState>;
}

export function startSpoke(
  port: number,
  options: Partial<TunnelDialerOptions> & { keyStore: KeyStore },
): Spoke {
  const states: DialerState[] = [];
  const waiting = new Set<() => void>();
  const dialer = startTunnelDialer(runtime, {
    hubAddress: `127.0.0.1:${port}`,
    hubCaPem: hubCa.certificate,
    spoke: 'one',
    serve: echo,
    baseDelayMs: 5,
    maxDelayMs: 50,
    onState: (state) => {
      states.push(state);
      for (const check of [...waiting]) check();
    },
    ...options,
  });
  cleanups.push(() => dialer.close());
  const until = (check: (state: DialerState) => boolean): Promise<DialerState> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = states.find(check);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { dialer, states, until };
}

export const refusedWith: (reason: string) => (state: DialerState) => boolean =
  (reason) =>
  (state): boolean =>
    state.phase === 'waiting' && state.reason === reason;

export async function ask(link: Link, path: string, body?: string): Promise<string> {
  const response = await link.handler({
    method: body === undefined ? 'GET' : 'POST',
    path,
    headers: {},
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  });
  return Buffer.from(await readBody(response)).toString();
}

export function changeOf(link: Link, check: (state: LinkState) => boolean): Promise<LinkState> {
  return new Promise((resolve) => {
    if (check(link.state)) resolve(link.state);
    const stop = link.onChange((state) => {
      if (!check(state)) return;
      stop();
      resolve(state);
    });
  });
}
