import { stringAt } from '../schema/json.ts';
import type { KubeObject } from './object.ts';

/** A text in a Secret; '' where there is none. */
export function secretValue(secret: KubeObject, key: string): string {
  return Buffer.from(stringAt(secret, 'data', key) ?? '', 'base64').toString('utf8');
}
