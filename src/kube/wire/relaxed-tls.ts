import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type ConnectionOptions, rootCertificates, type TLSSocket } from 'node:tls';
import type { ClusterEndpoint } from '../cluster-endpoint.ts';

/** How to connect where some of the check of a certificate is left out. */
export interface RelaxedTls {
  readonly options: ConnectionOptions;
  /** Why a connection that was made must not be used; nothing may have been sent on it before. `host` is the name that was dialled. */
  problemOf(socket: TLSSocket, host: string): string | undefined;
}

const PERIOD_ERRORS = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';
const LONGEST_CHAIN = 10;

/** What an endpoint's relaxations come to; `undefined` where there is none, or where nothing is checked at all. */
export function relaxedTls({
  ca,
  tlsRelaxations = [],
  insecureSkipTlsVerify,
}: ClusterEndpoint): RelaxedTls | undefined {
  if (tlsRelaxations.length === 0 || insecureSkipTlsVerify === true) return undefined;
  const anyName = tlsRelaxations.includes('SubjectName');
  const anyTime = tlsRelaxations.includes('ValidityPeriod');
  let anchors: readonly X509Certificate[] | undefined;
  return {
    options: {
      ...(anyName ? { checkServerIdentity: () => undefined } : {}),
      // OpenSSL tells one mistake of a chain only, so that of the time may hide another: the chain is looked at here.
      ...(anyTime ? { rejectUnauthorized: false } : {}),
    },
    problemOf(socket, host): string | undefined {
      if (!anyTime || socket.authorized) return undefined;
      const why = String(socket.authorizationError);
      const leaf = socket.getPeerX509Certificate();
      if (!PERIOD_ERRORS.has(why) || !leaf) return `the certificate of ${host} is refused: ${why}`;
      anchors ??= anchorsOf(ca);
      if (!isTrusted(leaf, anchors))
        return `the certificate of ${host} is refused: no authority of it is known`;
      if (!servesTls(leaf)) return `the certificate of ${host} is refused: it is not one of a server`;
      if (anyName) return undefined;
      const isNamed = (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
      return isNamed ? undefined : `the certificate of ${host} is refused: it does not hold that name`;
    },
  };
}

function anchorsOf(ca: string | undefined): readonly X509Certificate[] {
  const pems =
    ca === undefined
      ? rootCertificates
      : (ca.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []);
  return pems.map((pem) => new X509Certificate(pem));
}

/** Whether signatures lead from a certificate to one that is trusted, by certificates that may sign others, whatever time it is. */
function isTrusted(leaf: X509Certificate, anchors: readonly X509Certificate[]): boolean {
  let current = leaf;
  for (let depth = 0; depth < LONGEST_CHAIN; depth += 1) {
    if (anchors.some((anchor) => anchor.fingerprint256 === current.fingerprint256)) return true;
    if (anchors.some((anchor) => isIssuedBy(current, anchor))) return true;
    const next: X509Certificate | undefined = current.issuerCertificate;
    if (!next || next.fingerprint256 === current.fingerprint256 || !isIssuedBy(current, next)) return false;
    current = next;
  }
  return false;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** Certificates that name no purpose are good for all. */
function servesTls(leaf: X509Certificate): boolean {
  const purposes: readonly string[] | undefined = leaf.keyUsage;
  return purposes === undefined || purposes.includes(SERVER_AUTHENTICATION);
}
