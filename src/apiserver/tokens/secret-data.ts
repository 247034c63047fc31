import { createHash, timingSafeEqual } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import type { StoreRecord } from '../store/store.ts';

/** One value of a Secret as text; `undefined` when it is absent. */
export function secretText(secret: KubeObject, key: string): string | undefined {
  const encoded = stringAt(secret, 'data', key);
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}

/** Compares without telling by its time how much of two secrets is equal. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** Whether the stored text holds `words` anywhere: spares parsing the many Secrets that are of another type. */
export function mentions(record: StoreRecord, words: string): boolean {
  const { buffer, byteOffset, byteLength } = record.bytes;
  return Buffer.from(buffer, byteOffset, byteLength).includes(words);
}
