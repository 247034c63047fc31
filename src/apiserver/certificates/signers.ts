import { MASTERS_GROUP } from '../auth/index.ts';
import type { RequestContents } from './request-contents.ts';

/** The signers that this server can be. */
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
export const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';

const NODES_GROUP = 'system:nodes';
const NODE_PREFIX = 'system:node:';

/** A request as its signer judges it. */
export interface Asked {
  readonly contents: RequestContents;
  readonly usages: readonly string[];
}

/** Why a signer does not sign; `undefined` when it does. */
type Rule = (asked: Asked) => string | undefined;

const RULES: Readonly<Record<string, Rule>> = {
  [CLIENT_SIGNER]: ({ usages }) =>
    usages.includes('client auth') &&
    usages.every((usage) => ['digital signature', 'key encipherment', 'client auth'].includes(usage))
      ? undefined
      : 'usages must include "client auth" and may hold "digital signature" and "key encipherment" besides',
  [KUBELET_CLIENT_SIGNER]: (asked) =>
    nodeProblem(asked) ??
    usageProblem(asked, 'client auth') ??
    (hasNames(asked.contents) ? 'a client certificate of a kubelet has no alternative names' : undefined),
  [KUBELET_SERVING_SIGNER]: (asked) => {
    const { dnsNames, ipAddresses } = asked.contents;
    return (
      nodeProblem(asked) ??
      usageProblem(asked, 'server auth') ??
      (dnsNames.length + ipAddresses.length === 0
        ? 'a serving certificate needs a DNS name or an IP address'
        : undefined)
    );
  },
  // Once for everything. What it asks for is for the approver to judge.
  [LEGACY_SIGNER]: () => undefined,
};

/** Whether this server signs for a signer at all. */
export function isOwnSigner(signer: string): boolean {
  return Object.hasOwn(RULES, signer);
}

/** Why a request cannot be signed, for people; `undefined` when it can. */
export function signerProblem(signer: string, asked: Asked): string | undefined {
  const rule = isOwnSigner(signer) ? RULES[signer] : undefined;
  if (rule === undefined) return `${JSON.stringify(signer)} is not a signer of this server`;
  const { contents } = asked;
  if (contents.commonName === '') return 'the subject has no common name';
  if (contents.ambiguous) return 'the subject has several common names';
  if (contents.organizations.includes(MASTERS_GROUP)) return `no certificate is signed for ${MASTERS_GROUP}`;
  if (contents.emailAddresses.length + contents.uris.length > 0)
    return 'alternative names other than DNS names and IP addresses are not signed';
  return rule(asked);
}

/** Whether a request is for the client certificate of a kubelet, in every respect. */
export function isKubeletClient(asked: Asked): boolean {
  return signerProblem(KUBELET_CLIENT_SIGNER, asked) === undefined;
}

function nodeProblem({ contents }: Asked): string | undefined {
  const { organizations, commonName } = contents;
  if (organizations.length !== 1 || organizations[0] !== NODES_GROUP)
    return `the organization of a node is ${NODES_GROUP}`;
  if (!commonName.startsWith(NODE_PREFIX) || commonName === NODE_PREFIX)
    return `the common name of a node begins with ${NODE_PREFIX}`;
  return undefined;
}

function usageProblem({ usages }: Asked, purpose: string): string | undefined {
  const allowed = ['digital signature', 'key encipherment', purpose];
  const needed = ['digital signature', purpose];
  return needed.every((usage) => usages.includes(usage)) && usages.every((usage) => allowed.includes(usage))
    ? undefined
    : `usages must be "digital signature" and ${JSON.stringify(purpose)}, with or without "key encipherment"`;
}

function hasNames({ dnsNames, ipAddresses, emailAddresses, uris }: RequestContents): boolean {
  return dnsNames.length + ipAddresses.length + emailAddresses.length + uris.length > 0;
}
