import { type CertificateIdentity, issueCertificate, type KeyPair, type Subject } from '../kube/pki.ts';
import type { Runtime } from '../runtime/index.ts';

/** What replicas of a hub say to each other, on the port of the link. */
export const PEER_PROTOCOL = 'atoll-peer/1';
/** The name that replicas ask for and show; no host can have it. */
export const PEER_NAME = 'hub-peer.invalid';

const ORGANIZATION = 'atoll:hub-peers';
const COMMON_NAME_PREFIX = 'hub-peer:';
const LIFETIME_MS = 86_400_000;

function peerSubject(replica: string): Subject {
  return { commonName: `${COMMON_NAME_PREFIX}${replica}`, organizations: [ORGANIZATION] };
}

/** The replica that a certificate names. The subject must be exactly that of a replica, with nothing beside it. */
export function replicaOfCertificate(identity: CertificateIdentity): string | undefined {
  const [commonName = '', ...moreNames] = identity.commonNames;
  const [organization, ...moreOrganizations] = identity.organizations;
  if (moreNames.length > 0 || moreOrganizations.length > 0 || identity.otherAttributes.length > 0)
    return undefined;
  if (organization !== ORGANIZATION || !commonName.startsWith(COMMON_NAME_PREFIX)) return undefined;
  return commonName.slice(COMMON_NAME_PREFIX.length) || undefined;
}

/** A replica's certificate, for both ends of its connections to others. It is made by whoever holds the link's authority. */
export function peerCertificate(runtime: Runtime, linkCa: KeyPair, replica: string): Promise<KeyPair> {
  return issueCertificate(runtime, linkCa, {
    ...peerSubject(replica),
    dnsNames: [PEER_NAME],
    usage: 'client-and-server',
    lifetimeMs: LIFETIME_MS,
  });
}
