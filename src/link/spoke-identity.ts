import type { CertificateIdentity, Subject } from '../kube/pki.ts';

const COMMON_NAME_PREFIX = 'spoke:';
const ORGANIZATION = 'atoll:spokes';
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a text can be the name of a spoke: that of a Kubernetes object. */
export function isSpokeName(name: string): boolean {
  return DNS_SUBDOMAIN.test(name);
}

/** The subject of a spoke's link certificate. */
export function spokeSubject(spoke: string): Subject {
  return { commonName: `${COMMON_NAME_PREFIX}${spoke}`, organizations: [ORGANIZATION] };
}

/** The spoke that a link certificate names. The subject must be exactly that of a spoke, with nothing beside it. */
export function spokeOfCertificate(identity: CertificateIdentity): string | undefined {
  const [commonName = '', ...moreNames] = identity.commonNames;
  const [organization, ...moreOrganizations] = identity.organizations;
  if (moreNames.length > 0 || moreOrganizations.length > 0 || identity.otherAttributes.length > 0)
    return undefined;
  if (organization !== ORGANIZATION || !commonName.startsWith(COMMON_NAME_PREFIX)) return undefined;
  const spoke = commonName.slice(COMMON_NAME_PREFIX.length);
  return isSpokeName(spoke) ? spoke : undefined;
}
