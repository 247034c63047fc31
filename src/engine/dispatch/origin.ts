import { gunzipSync, gzipSync } from 'node:zlib';
import type { KubeObject } from '../../kube/object.ts';
import { canonicalJson, isObject } from '../../schema/json.ts';

/** Larger than any propagation that a server takes. */
const MAX_ORIGIN_BYTES = 4 * 1024 * 1024;

/** Objects of the hub that a dispatch comes from, kept on the spoke: with them a lost hub is rebuilt. */
export function packOrigin(objects: readonly KubeObject[]): string {
  return gzipSync(canonicalJson(objects), { level: 9 }).toString('base64');
}

/** Throws an Error where it holds no list of objects. */
export function unpackOrigin(packed: string): KubeObject[] {
  const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_ORIGIN_BYTES });
  const content: unknown = JSON.parse(text.toString('utf8'));
  if (!Array.isArray(content) || !content.every((item) => isObject(item) && isObject(item['metadata'])))
    throw new Error('the origin of a dispatch does not hold a list of objects');
  return content as KubeObject[];
}
