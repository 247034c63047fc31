import { createSecureContext, type SecureContext } from 'node:tls';
import type { KeyPair } from '../kube/pki.ts';

/** A certificate for some of the names under which a hub is reached. */
export interface NamedCertificate extends KeyPair {
  /** Host names; `*.example.org` stands for one label. */
  readonly names: readonly string[];
}

/** Finds the certificate for the name that a client asks for (SNI); `undefined` leaves it to the listener's own. */
export function namedContexts(
  certificates: readonly NamedCertificate[],
  clientCa: string,
): (name: string) => SecureContext | undefined {
  const contexts = new Map<string, SecureContext>();
  for (const { names, certificate, key } of certificates) {
    const context = createSecureContext({ cert: certificate, key, ca: clientCa, minVersion: 'TLSv1.3' });
    for (const name of names) contexts.set(name.toLowerCase(), context);
  }
  return (asked) => {
    const name = asked.toLowerCase().replace(/\.$/, '');
    return contexts.get(name) ?? contexts.get(name.replace(/^[^.]+/, '*'));
  };
}
