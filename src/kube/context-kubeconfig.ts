import { emptyKubeconfig, type Kubeconfig } from './kubeconfig.ts';
import type { KeyPair } from './pki.ts';

/** A context of a kubeconfig whose user shows a client certificate. The cluster has the context's name. */
export interface CertificateContext {
  readonly name: string;
  readonly server: string;
  /** PEM of the authority that the server's certificate comes from. */
  readonly authority: string;
  /** Contexts of one user name share its credentials. */
  readonly user: string;
  readonly credentials: KeyPair;
}

/** A kubeconfig that needs no file beside it; its current context is the first. */
export function contextKubeconfig(contexts: readonly CertificateContext[]): Kubeconfig {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const users = new Map(contexts.map(({ user, credentials }) => [user, credentials]));
  return {
    ...emptyKubeconfig(),
    clusters: contexts.map(({ name, server, authority }) => ({
      name,
      cluster: { server, 'certificate-authority-data': base64(authority) },
    })),
    users: [...users].map(([name, { certificate, key }]) => ({
      name,
      user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) },
    })),
    contexts: contexts.map(({ name, user }) => ({ name, context: { cluster: name, user } })),
    'current-context': contexts[0]?.name ?? '',
  };
}
