/**
 * X.509 for clusters: a certificate authority, certificates for servers and clients, and signing requests.
 *
 * Keys are ECDSA P-256 and always come from the system's secure source, also under a seeded runtime. Serial numbers and
 * validity come from the runtime. The library that writes certificates is large, so it is loaded by the first call that
 * needs it: a process that only verifies (`certificateIdentity`) never holds it in memory.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  KeyObject,
  webcrypto,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
// Reading a certificate's subject loads parts of node:tls; unless all of it is loaded before, node:tls stays incomplete.
import 'node:tls';
import type { Runtime } from '../runtime/index.ts';
import { type SigningRequest, signingRequest } from './signing-request.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface CertificateOptions extends Subject {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: 'client' | 'server' | 'client-and-server';
  readonly lifetimeMs: number;
  /** It does not begin before this, milliseconds since the epoch; by default a little before now. */
  readonly notBefore?: number;
}

/** What a certificate says of its holder. Attributes are exact values, not text that would have to be split again. */
export interface CertificateIdentity {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** Names of further attributes of the subject (`OU`, `L` …). */
  readonly otherAttributes: readonly string[];
  readonly serial: string;
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
  /** SHA-256 of the public key (SPKI), lower-case hex: the same for every certificate of one key. */
  readonly keyDigest: string;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A certificate, key or request that cannot be used. */
export class PkiError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'PkiError';
  }
}

/** Certificates count from a little before now, so that a verifier whose clock is behind accepts a new one. */
export const BACKDATE_MS: number = 5 * 60_000;
const AUTHORITY_LIFETIME_MS = 10 * 365 * 86_400_000;
const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' } as const;
/** A request of ours is below 1 KiB; RSA 8192 with many names stays below this. */
const MAX_REQUEST_CHARACTERS = 16 * 1024;

type X509Module = typeof import('@peculiar/x509');
let loading: Promise<X509Module> | undefined;

/**
 * The library's container reads decorator metadata at load time and refuses to load without such a polyfill. It needs
 * none of the values (its classes have no constructor parameters), so empty answers do, for as long as it loads.
 */
async function loadX509(): Promise<X509Module> {
  const reflect = Reflect as unknown as Record<string, unknown>;
  const names = ['getMetadata', 'getOwnMetadata', 'defineMetadata'].filter((name) => !(name in reflect));
  for (const name of names) reflect[name] = (): undefined => undefined;
  try {
    return await import('@peculiar/x509');
  } finally {
    for (const name of names) delete reflect[name];
  }
}

function x509Module(): Promise<X509Module> {
  loading ??= loadX509().catch((error: unknown) => {
    loading = undefined;
    throw new PkiError('the X.509 library cannot be loaded', error);
  });
  return loading;
}

/** A self-signed authority, valid for ten years, that may sign certificates of holders but no further authorities. */
export async function createCertificateAuthority(runtime: Runtime, commonName: string): Promise<KeyPair> {
  const x509 = await x509Module();
  const keys = await generateKeys();
  const certificate = await selfSigned(runtime, new x509.Name(nameOf({ commonName })), keys);
  return { certificate, key: privateKeyPem(keys.privateKey) };
}

/**
 * The same authority for ten more years: name and key stay, so that whoever believes either certificate believes what was signed
 * under the other.
 */
export async function renewCertificateAuthority(runtime: Runtime, authority: KeyPair): Promise<KeyPair> {
  const x509 = await x509Module();
  const { subjectName } = new x509.X509Certificate(authority.certificate);
  const keys = {
    privateKey: signingKey(authority.key),
    publicKey: createPublicKey(authority.key).toCryptoKey(KEY_ALGORITHM, true, ['verify']),
  };
  return { certificate: await selfSigned(runtime, subjectName, keys), key: authority.key };
}

async function selfSigned(
  runtime: Runtime,
  name: InstanceType<X509Module['Name']>,
  keys: webcrypto.CryptoKeyPair,
): Promise<string> {
  const x509 = await x509Module();
  const now = runtime.clock.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(runtime),
    name,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + AUTHORITY_LIFETIME_MS),
    signingAlgorithm: SIGNATURE_ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(certificate);
}

/** A certificate with a new key. Its end is never behind the authority's. */
export async function issueCertificate(
  runtime: Runtime,
  authority: KeyPair,
  options: CertificateOptions,
): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await sign(runtime, authority, keys.publicKey, options);
  return { certificate, key: privateKeyPem(keys.privateKey) };
}

/** A request to be signed by {@link signRequest}; see {@link signingRequest}. Rejects with {@link PkiError} for a bad key. */
export async function createSigningRequest(
  _runtime: Runtime,
  subject: Subject,
  key?: string,
): Promise<SigningRequest> {
  try {
    return signingRequest(subject, key);
  } catch (error) {
    throw new PkiError('the key for the signing request cannot be used', error);
  }
}

/**
 * Signs the public key of a request. Everything but the key is taken from `options`, nothing from the request, so a
 * request cannot ask for a name. Throws {@link PkiError} for one that is malformed, has a weak key or a wrong signature.
 */
export async function signRequest(
  runtime: Runtime,
  authority: KeyPair,
  request: string,
  options: CertificateOptions,
): Promise<string> {
  const publicKey = await provenKey(request);
  return sign(runtime, authority, publicKey, options);
}

/** SHA-256 of the public key that a request proves to hold, as {@link CertificateIdentity} has it. Throws {@link PkiError} as {@link signRequest} does. */
export async function requestKeyDigest(request: string): Promise<string> {
  const key = KeyObject.from(await provenKey(request));
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

async function provenKey(request: string): Promise<webcrypto.CryptoKey> {
  if (request.length > MAX_REQUEST_CHARACTERS) {
    throw new PkiError(`the signing request exceeds ${MAX_REQUEST_CHARACTERS} characters`);
  }
  const x509 = await x509Module();
  let publicKey: webcrypto.CryptoKey;
  let proven: boolean;
  try {
    const parsed = new x509.Pkcs10CertificateRequest(request);
    publicKey = acceptableKey(Buffer.from(parsed.publicKey.rawData));
    proven = await parsed.verify();
  } catch (error) {
    if (error instanceof PkiError) throw error;
    throw new PkiError('the signing request is malformed', error);
  }
  if (!proven) throw new PkiError('the signing request is not signed with the key that it names');
  return publicKey;
}

/** Reads a certificate (PEM or DER) without the writing library. Throws {@link PkiError} when it is not one. */
export function certificateIdentity(certificate: string | Uint8Array): CertificateIdentity {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch (error) {
    throw new PkiError('the certificate is malformed', error);
  }
  const subject = parsed.toLegacyObject().subject as unknown as Record<string, string | string[]> | undefined;
  const attributes = subject ?? {};
  return {
    commonNames: values(attributes.CN),
    organizations: values(attributes.O),
    otherAttributes: Object.keys(attributes).filter((name) => name !== 'CN' && name !== 'O'),
    serial: parsed.serialNumber.toLowerCase(),
    fingerprint: parsed.fingerprint256.replaceAll(':', '').toLowerCase(),
    keyDigest: createHash('sha256')
      .update(parsed.publicKey.export({ type: 'spki', format: 'der' }))
      .digest('hex'),
    notBefore: parsed.validFromDate.getTime(),
    notAfter: parsed.validToDate.getTime(),
  };
}

/** Whether `certificate` was signed by `authority`, whatever the time is. For the rules of renewal after expiry. */
export function isSignedBy(certificate: string | Uint8Array, authority: string): boolean {
  try {
    const parsed = new X509Certificate(certificate);
    const issuer = new X509Certificate(authority);
    return parsed.checkIssued(issuer) && parsed.verify(issuer.publicKey);
  } catch (error) {
    throw new PkiError('the certificate is malformed', error);
  }
}

/** Whether a private key belongs to a certificate (both PEM). False also when either is unreadable. */
export function keyMatchesCertificate(key: string, certificate: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    // Unreadable input cannot match; the caller treats both alike.
    return false;
  }
}

async function sign(
  runtime: Runtime,
  authority: KeyPair,
  publicKey: webcrypto.CryptoKey,
  options: CertificateOptions,
): Promise<string> {
  const x509 = await x509Module();
  const issuer = new x509.X509Certificate(authority.certificate);
  const now = runtime.clock.now();
  const notAfter = Math.min(now + options.lifetimeMs, issuer.notAfter.getTime());
  if (!(notAfter > now)) {
    throw new PkiError(
      options.lifetimeMs > 0
        ? 'the certificate authority has expired'
        : 'the lifetime of a certificate is above 0',
    );
  }
  const names = [
    ...(options.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(options.ipAddresses ?? []).map((value) => {
      if (isIP(value) === 0) throw new PkiError(`${JSON.stringify(value)} is not an IP address`);
      return { type: 'ip' as const, value };
    }),
  ];
  const purposes: string[] = [];
  if (options.usage !== 'client') purposes.push(x509.ExtendedKeyUsage.serverAuth);
  if (options.usage !== 'server') purposes.push(x509.ExtendedKeyUsage.clientAuth);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(runtime),
    subject: new x509.Name(nameOf(options)),
    issuer: issuer.subjectName,
    notBefore: new Date(Math.max(now - BACKDATE_MS, issuer.notBefore.getTime(), options.notBefore ?? 0)),
    notAfter: new Date(notAfter),
    signingAlgorithm: SIGNATURE_ALGORITHM,
    publicKey,
    signingKey: signingKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(purposes),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return pem(certificate);
}

/** One relative name per attribute. UTF-8 is asked for by name: plain text would give `#` a meaning of its own. */
function nameOf(subject: Subject): Record<string, { utf8String: string }[]>[] {
  return [
    ...(subject.organizations ?? []).map((value) => ({ O: [{ utf8String: value }] })),
    { CN: [{ utf8String: subject.commonName }] },
  ];
}

/** 126 random bits with the first set, so that the number is positive, has a fixed length and no leading zeros. */
function serialNumber(runtime: Runtime): string {
  const bytes = Buffer.from(runtime.random.bytes(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
}

function signingKey(keyPem: string): webcrypto.CryptoKey {
  try {
    return createPrivateKey(keyPem).toCryptoKey(KEY_ALGORITHM, false, ['sign']);
  } catch (error) {
    throw new PkiError('the key of the certificate authority is not an ECDSA P-256 key', error);
  }
}

/** Keys of our own agents are P-256; other clients (kubeadm, cert-manager) bring RSA. Weaker ones are refused. */
function acceptableKey(spki: Buffer): webcrypto.CryptoKey {
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
    return key.toCryptoKey(KEY_ALGORITHM, true, ['verify']);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType === 'rsa' && bits >= 2048 && bits <= 8192) {
    return key.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['verify']);
  }
  throw new PkiError('the key of the signing request is neither ECDSA P-256 nor RSA of 2048 to 8192 bits');
}

function privateKeyPem(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pem(item: { toString(format: 'pem'): string }): string {
  return `${item.toString('pem')}\n`;
}

function values(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : [...value];
}
