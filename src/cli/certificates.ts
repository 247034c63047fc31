import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { generateSigningKey } from '../apiserver/index.ts';
import {
  certificateIdentity,
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
} from '../kube/pki.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { writePrivate } from './fleet-directory.ts';

const DAY_MS = 86_400_000;
const LIFETIME_MS = 365 * DAY_MS;
const RENEW_BEFORE_MS = 60 * DAY_MS;

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
  const server = await certificateIn(runtime, directory, file, () =>
    issueCertificate(runtime, authority, {
      commonName: name,
      dnsNames: ['localhost', name, ...(known || isIP(host) !== 0 ? [] : [host])],
      ipAddresses: ['127.0.0.1', '::1', ...(known || isIP(host) === 0 ? [] : [host])],
      usage: 'server',
      lifetimeMs: LIFETIME_MS,
    }),
  );
  const admin = await certificateIn(runtime, directory, 'admin', () =>
    issueCertificate(runtime, authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
      lifetimeMs: LIFETIME_MS,
    }),
  );
  return { authority, server, admin };
}

/** The authority that vouches for spokes on the link, and for the hub towards them. It is not the API's: a link certificate is no credential there. */
export async function linkCertificates(
  runtime: Runtime,
  directory: string,
  name: string,
): Promise<{ authority: KeyPair; server: KeyPair }> {
  const authority = await authorityIn(runtime, directory, 'link-ca', `atoll link ${name}`);
  const server = await certificateIn(runtime, directory, 'link-server', () =>
    issueCertificate(runtime, authority, {
      commonName: name,
      dnsNames: ['localhost', name],
      ipAddresses: ['127.0.0.1', '::1'],
      usage: 'server',
      lifetimeMs: LIFETIME_MS,
    }),
  );
  return { authority, server };
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
): Promise<KeyPair> {
  const certificatePath = join(directory, `${file}.crt`);
  const keyPath = join(directory, `${file}.key`);
  if (existsSync(certificatePath) && existsSync(keyPath)) {
    const certificate = readFileSync(certificatePath, 'utf8');
    if (certificateIdentity(certificate).notAfter - runtime.clock.now() > RENEW_BEFORE_MS)
      return { certificate, key: readFileSync(keyPath, 'utf8') };
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const made = await make();
  writePrivate(keyPath, made.key);
  writePrivate(certificatePath, made.certificate);
  return made;
}

/** The key that signs service account tokens: kept, so that tokens outlive a restart. */
export function serviceAccountKey(directory: string): string {
  const path = join(directory, 'service-account.key');
  if (existsSync(path)) return readFileSync(path, 'utf8');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const key = generateSigningKey();
  writePrivate(path, key);
  return key;
}
