import { createHash } from 'node:crypto';
import { canonicalJson } from '../schema/json.ts';

/** `sha256:<hex>` of a JSON value; equal for equal values, whatever their key order. */
export function digestOf(value: unknown): string {
  return digestOfText(canonicalJson(value));
}

/** The same for a value that is in its canonical form already. */
export function digestOfText(canonical: string): string {
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}

/** The first 12 hex digits of a digest, for names and for people. */
export function shortDigest(digest: string): string {
  return digest.slice(digest.indexOf(':') + 1, digest.indexOf(':') + 13);
}
