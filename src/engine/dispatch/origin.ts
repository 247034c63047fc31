import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '../../kube/object.ts';
import { canonicalJson, isObject } from '../../schema/json.ts';
import { portable } from '../render/portable.ts';
import { gzipped } from './gzipped.ts';

/** Larger than any propagation that a server takes. */
const MAX_ORIGIN_BYTES = 4 * 1024 * 1024;

const packedOf = new WeakMap<KubeObject, Buffer>();

/**
 * Objects of the hub that a dispatch comes from, kept on the spoke: with them a lost hub is rebuilt. Each is a line in a gzip member
 * of its own, packed once for all the dispatches that it stands in. '' where there is none.
 */
export function packOrigin(objects: readonly KubeObject[]): string {
  return Buffer.concat(objects.map(packed)).toString('base64');
}

function packed(object: KubeObject): Buffer {
  const known = packedOf.get(object);
  if (known) return known;
  const made = gzipped(`${canonicalJson(portable(object))}\n`, 9);
  packedOf.set(object, made);
  return made;
}

/** Throws an Error where it holds anything but objects. A list on one line counts as its objects. */
export function unpackOrigin(packed: string): KubeObject[] {
  const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_ORIGIN_BYTES }).toString(
    'utf8',
  );
  const content = text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line): unknown => JSON.parse(line) as unknown);
  if (!content.every((item) => isObject(item) && isObject(item['metadata'])))
    throw new Error('the origin of a dispatch does not hold objects');
  return content as KubeObject[];
}
