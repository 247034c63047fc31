import { isObject, type JsonObject } from '../../schema/json.ts';
import type { SigningKey } from './signing-key.ts';

/** A token of ours is below 2 KiB. What is longer is not read. */
const MAX_CHARACTERS = 16 * 1024;
const PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Whether a bearer token has the form of a signed JWT; nothing is verified. */
export function looksLikeJwt(token: string): boolean {
  return token.length <= MAX_CHARACTERS && PARTS.test(token);
}

/** Signs claims: JWS compact serialisation (RFC 7515). */
export function signJwt(key: SigningKey, claims: JsonObject): string {
  const input = `${encode({ alg: key.algorithm, kid: key.keyId })}.${encode(claims)}`;
  return `${input}.${key.sign(input).toString('base64url')}`;
}

/** The claims of a token, unverified: only to find out whose it is. `undefined` when it cannot be read. */
export function readClaims(token: string): JsonObject | undefined {
  return looksLikeJwt(token) ? decode(token.split('.')[1] ?? '') : undefined;
}

/** The header of a token, unverified. `undefined` when it cannot be read. */
export function readHeader(token: string): JsonObject | undefined {
  return looksLikeJwt(token) ? decode(token.split('.')[0] ?? '') : undefined;
}

/** The claims of a token that `key` has signed; `undefined` for any other. The algorithm is the key's, not the token's choice. */
export function verifyJwt(key: SigningKey, token: string): JsonObject | undefined {
  if (!looksLikeJwt(token)) return undefined;
  const [head = '', body = '', signature = ''] = token.split('.');
  const header = decode(head);
  if (header?.alg !== key.algorithm || (header.kid !== undefined && header.kid !== key.keyId))
    return undefined;
  // A header that must be understood says something that is not understood here (RFC 7515, 4.1.11).
  if (header.crit !== undefined) return undefined;
  return key.verify(`${head}.${body}`, Buffer.from(signature, 'base64url')) ? decode(body) : undefined;
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
