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
} from '../kube/pki.ts';
import { formatTime, type Timer } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { writePrivate } from './fleet-directory.ts';

const DAY_MS = 86_400_000;
const LIFETIME_MS = 365 * DAY_MS;
const RENEW_BEFORE_MS = 60 * DAY_MS;
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
 * Servers run for longer than their certificates last: asks `read` again and again, and hands on what it renewed. Returns what
 * stops that.
 */
export function followCertificate(
  runtime: Runtime,
  first: KeyPair,
  read: () => Promise<KeyPair>,
  onRenewed: (renewed: KeyPair) => void,
): () => void {
  let current = first;
  let timer: Timer;
  let stopped = false;
  async function look(): Promise<void> {
    const now = await read();
    if (stopped || now.certificate === current.certificate) return;
    onRenewed(now);
    current = now;
    runtime.log.info('a certificate was renewed', {
      names: certificateIdentity(now.certificate).commonNames,
      until: formatTime(certificateIdentity(now.certificate).notAfter),
    });
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
): Promise<{ authority: string; client: KeyPair }> {
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
  return { authority: authority.certificate, client };
}

function authorityIn(
  runtime: Runtime,
  directory: string,
  file: string,
  commonName: string,
): Promise<KeyPair> {
  return certificateIn(runtime, directory, file, () => createCertificateAuthority(runtime, commonName));
}

async function certificateIn(
  runtime: Runtime,
  directory: string,
  file: string,
  make: () => Promise<KeyPair>,
  isGood: (certificate: string) => boolean = () => true,
): Promise<KeyPair> {
  const certificatePath = join(directory, `${file}.crt`);
  const keyPath = join(directory, `${file}.key`);
  if (existsSync(certificatePath) && existsSync(keyPath)) {
    const certificate = readFileSync(certificatePath, 'utf8');
    const left = certificateIdentity(certificate).notAfter - runtime.clock.now();
    if (left > RENEW_BEFORE_MS && isGood(certificate))
      return { certificate, key: readFileSync(keyPath, 'utf8') };
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const made = await make();
  writePrivate(keyPath, made.key);
  writePrivate(certificatePath, made.certificate);
  return made;
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
