import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { FRONT_PROXY_NAME, generateSigningKey } from '../apiserver/index.ts';
import {
  certificateIdentity,
  createCertificateAuthority,
  isSignedBy,
  issueCertificate,
  type KeyPair,
  renewCertificateAuthority,
} from '../kube/pki.ts';
import { formatTime, type Timer } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { writePrivate } from './fleet-directory.ts';

const DAY_MS = 86_400_000;
const LIFETIME_MS = 365 * DAY_MS;
const RENEW_BEFORE_MS = 60 * DAY_MS;
/** Whoever keeps a certificate of an authority has so long to come by the next one: nobody brings it to all of them. */
export const AUTHORITY_NOTICE_MS: number = 2 * LIFETIME_MS;
const LOOK_MS = DAY_MS / 2;

/** Keys and certificates of one embedded API server, in its own directory. Each server has its own authority. */
export interface ServerCertificates {
  /** PEM of the authority that clients verify, and that vouches for clients. */
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** A client certificate of the group `system:masters`. */
  readonly admin: KeyPair;
}

/** Reads them, makes what is missing, renews what ends soon. `host` is where the server listens, if not on loopback. */
export async function serverCertificates(
  runtime: Runtime,
  directory: string,
  name: string,
  host: string = '127.0.0.1',
): Promise<ServerCertificates> {
  const authority = await authorityIn(runtime, directory, 'ca', `atoll ${name}`);
  const known = ['127.0.0.1', '::1', 'localhost', name].includes(host);
  // A certificate for each host, so that one that was made for another is not taken for this one.
  const file = known ? 'server' : `server-${host.replace(/[^A-Za-z0-9.-]/g, '_')}`;
  // The authority may be a new one: what another has signed is of no more use.
  const isOurs = (certificate: string): boolean => isSignedBy(certificate, authority.certificate);
  const makeServer = (): Promise<KeyPair> =>
    issueCertificate(runtime, authority, {
      commonName: name,
      dnsNames: ['localhost', name, ...(known || isIP(host) !== 0 ? [] : [host])],
      ipAddresses: ['127.0.0.1', '::1', ...(known || isIP(host) === 0 ? [] : [host])],
      usage: 'server',
      lifetimeMs: LIFETIME_MS,
    });
  const server = await certificateIn(runtime, directory, file, makeServer, isOurs);
  const makeAdmin = (): Promise<KeyPair> =>
    issueCertificate(runtime, authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
      lifetimeMs: LIFETIME_MS,
    });
  const admin = await certificateIn(runtime, directory, 'admin', makeAdmin, isOurs);
  return { authority, server, admin };
}

/** What a hub shows to spokes, and what vouches for both. */
export interface LinkCertificates {
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** Host names and addresses that the certificate holds. */
  readonly names: readonly string[];
}

/**
 * The authority that vouches for spokes on the link, and for the hub towards them. It is not the API's: a link certificate is no
 * credential there. `hosts` are names and addresses that spokes dial besides loopback; `kept` gives the authority that the hub
 * has already, or keeps the one of this directory.
 */
export async function linkCertificates(
  runtime: Runtime,
  directory: string,
  name: string,
  hosts: readonly string[] = [],
  kept: (own: () => Promise<KeyPair>) => Promise<KeyPair> = (own) => own(),
): Promise<LinkCertificates> {
  const authority = await kept(() => authorityIn(runtime, directory, 'link-ca', `atoll link ${name}`));
  const names = [...new Set([name, 'localhost', '127.0.0.1', '::1', ...hosts])];
  const digest = createHash('sha256')
    .update([...hosts].sort().join('\n'))
    .digest('hex')
    .slice(0, 8);
  const file = hosts.length === 0 ? 'link-server' : `link-server-${digest}`;
  const make = (): Promise<KeyPair> =>
    issueCertificate(runtime, authority, {
      commonName: name,
      dnsNames: names.filter((item) => isIP(item) === 0),
      ipAddresses: names.filter((item) => isIP(item) !== 0),
      usage: 'server',
      lifetimeMs: LIFETIME_MS,
    });
  const server = await certificateIn(runtime, directory, file, make, (certificate) =>
    isSignedBy(certificate, authority.certificate),
  );
  return { authority, server, names };
}

/**
 * Servers run for longer than their certificates last: asks `read` again and again, and hands on all once one of them was renewed.
 * Returns what stops that.
 */
export function followCertificates<T extends { readonly [name in keyof T]: KeyPair }>(
  runtime: Runtime,
  first: T,
  read: () => Promise<T>,
  onRenewed: (renewed: T) => void,
): () => void {
  let current = first;
  let timer: Timer;
  let stopped = false;
  async function look(): Promise<void> {
    const now = await read();
    const renewed: string[] = [];
    for (const name in now)
      if (now[name].certificate !== current[name].certificate) renewed.push(now[name].certificate);
    if (stopped || renewed.length === 0) return;
    onRenewed(now);
    current = now;
    for (const certificate of renewed) {
      const { commonNames, notAfter } = certificateIdentity(certificate);
      runtime.log.info('a certificate was renewed', { names: commonNames, until: formatTime(notAfter) });
    }
  }
  const lookLater = (): void => {
    timer = runtime.clock.after(LOOK_MS, () => {
      lookLater();
      look().catch((error: unknown) =>
        runtime.log.error('a certificate could not be renewed', { why: errorText(error) }),
      );
    });
  };
  lookLater();
  return () => {
    stopped = true;
    timer.cancel();
  };
}

/** By what the server makes extension API servers believe what it says of users. Its authority vouches for nothing else. */
export async function frontProxyCertificates(
  runtime: Runtime,
  directory: string,
): Promise<{ readonly authority: KeyPair; readonly client: KeyPair }> {
  const authority = await authorityIn(runtime, directory, 'front-proxy-ca', 'atoll front proxy');
  const make = (): Promise<KeyPair> =>
    issueCertificate(runtime, authority, {
      commonName: FRONT_PROXY_NAME,
      usage: 'client',
      lifetimeMs: LIFETIME_MS,
    });
  const client = await certificateIn(runtime, directory, 'front-proxy-client', make, (certificate) =>
    isSignedBy(certificate, authority.certificate),
  );
  return { authority, client };
}

/** Whether an authority is to be renewed by now ({@link renewCertificateAuthority}). */
export function isAuthorityDue(runtime: Runtime, { certificate }: KeyPair): boolean {
  return certificateIdentity(certificate).notAfter - runtime.clock.now() <= AUTHORITY_NOTICE_MS;
}

async function authorityIn(
  runtime: Runtime,
  directory: string,
  file: string,
  commonName: string,
): Promise<KeyPair> {
  const kept = pairIn(directory, file);
  if (kept === undefined)
    return writePair(directory, file, await createCertificateAuthority(runtime, commonName));
  if (!isAuthorityDue(runtime, kept)) return kept;
  return writePair(directory, file, await renewCertificateAuthority(runtime, kept));
}

async function certificateIn(
  runtime: Runtime,
  directory: string,
  file: string,
  make: () => Promise<KeyPair>,
  isGood: (certificate: string) => boolean,
): Promise<KeyPair> {
  const kept = pairIn(directory, file);
  if (kept !== undefined) {
    const left = certificateIdentity(kept.certificate).notAfter - runtime.clock.now();
    if (left > RENEW_BEFORE_MS && isGood(kept.certificate)) return kept;
  }
  return writePair(directory, file, await make());
}

function pairIn(directory: string, file: string): KeyPair | undefined {
  const [certificate, key] = [join(directory, `${file}.crt`), join(directory, `${file}.key`)];
  if (!existsSync(certificate) || !existsSync(key)) return undefined;
  return { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
}

function writePair(directory: string, file: string, pair: KeyPair): KeyPair {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writePrivate(join(directory, `${file}.key`), pair.key);
  writePrivate(join(directory, `${file}.crt`), pair.certificate);
  return pair;
}

/** The key that signs service account tokens: kept, so that tokens outlive a restart. A new one is of `algorithm`. */
export function serviceAccountKey(directory: string, algorithm?: 'ES256' | 'RS256'): string {
  const path = join(directory, 'service-account.key');
  if (existsSync(path)) return readFileSync(path, 'utf8');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const key = generateSigningKey(algorithm);
  writePrivate(path, key);
  return key;
}
