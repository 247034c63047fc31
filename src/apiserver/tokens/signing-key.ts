import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

/** The key that signs service account tokens, with what others need to verify them. */
export interface SigningKey {
  readonly algorithm: 'ES256' | 'RS256';
  /** Digest of the public key, so that it is the same wherever the key is loaded. */
  readonly keyId: string;
  sign(input: string): Buffer;
  verify(input: string, signature: Uint8Array): boolean;
  /** The public half, as published in the key set. */
  readonly jwk: JsonWebKey;
}

const LEAST_RSA_BITS = 2048;

/**
 * A new private key, PKCS#8 PEM. P-256 is made and signs in no time; RS256 is what every verifier of OpenID Connect has to
 * know, and takes some 50 ms to make.
 */
export function generateSigningKey(algorithm: SigningKey['algorithm'] = 'ES256'): string {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: LEAST_RSA_BITS });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Reads a private key (PEM): P-256, or RSA of 2048 bits and more. Throws an Error that never repeats the key. */
export function signingKey(pem: string): SigningKey {
  const privateKey = readPrivateKey(pem);
  const algorithm = algorithmOf(privateKey);
  const publicKey = createPublicKey(privateKey);
  const keyId = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  // JWS wants the two numbers of an ECDSA signature side by side, not in DER (RFC 7518, 3.4).
  const encoding = algorithm === 'ES256' ? ({ dsaEncoding: 'ieee-p1363' } as const) : {};
  return {
    algorithm,
    keyId,
    sign: (input) => sign('sha256', Buffer.from(input), { key: privateKey, ...encoding }),
    verify: (input, signature) =>
      verify('sha256', Buffer.from(input), { key: publicKey, ...encoding }, signature),
    jwk: { use: 'sig', kid: keyId, alg: algorithm, ...publicKey.export({ format: 'jwk' }) },
  };
}

function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new Error('the service account key is not a private key in PEM form', { cause: error });
  }
}

function algorithmOf(key: KeyObject): SigningKey['algorithm'] {
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_RSA_BITS)
    return 'RS256';
  throw new Error(
    `the service account key must be ECDSA P-256 or RSA of at least ${LEAST_RSA_BITS} bits, not ${asymmetricKeyType ?? 'this'}`,
  );
}
