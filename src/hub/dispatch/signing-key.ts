import { generateKeyPairSync } from 'node:crypto';

/** Keys of a hub: PKCS#8 PEM and base64 of the SPKI. Every dispatch is signed for one spoke: a copy on another spoke does not verify. */
export interface SigningKey {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** A new key, from the system's secure source. */
export function createSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  };
}
