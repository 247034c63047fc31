import { createPublicKey, constants as crypto, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import type { JsonObject } from '../../schema/json.ts';

/** Algorithms of RFC 7518 with a public key. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** A public key of an issuer. */
export interface IssuerKey {
  readonly keyId: string | undefined;
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
};
const LEAST_RSA_BITS = 2048;

/** Reads a key of a key set (RFC 7517). `undefined` for keys that are not for signatures or not of a kind known here. */
export function issuerKey(jwk: JsonObject): IssuerKey | undefined {
  if ((jwk.use !== undefined && jwk.use !== 'sig') || (jwk.kty !== 'RSA' && jwk.kty !== 'EC'))
    return undefined;
  try {
    return {
      keyId: typeof jwk.kid === 'string' ? jwk.kid : undefined,
      algorithm: typeof jwk.alg === 'string' ? jwk.alg : undefined,
      key: createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }),
    };
  } catch {
    return undefined; // one bad key of a set does not make the others bad
  }
}

/** Whether `key` made the signature by `algorithm`. A key is good for algorithms of its own kind only. */
export function isSignedBy(
  { key, algorithm: declared }: IssuerKey,
  algorithm: Algorithm,
  input: string,
  signature: Uint8Array,
): boolean {
  if (declared !== undefined && declared !== algorithm) return false;
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith('ES')) {
    if (asymmetricKeyType !== 'ec' || asymmetricKeyDetails?.namedCurve !== CURVES[algorithm]) return false;
    return verify(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }, signature);
  }
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < LEAST_RSA_BITS)
    return false;
  const padding = algorithm.startsWith('PS')
    ? { padding: crypto.RSA_PKCS1_PSS_PADDING, saltLength: crypto.RSA_PSS_SALTLEN_DIGEST }
    : { padding: crypto.RSA_PKCS1_PADDING };
  return verify(hash, Buffer.from(input), { key, ...padding }, signature);
}
