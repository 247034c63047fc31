import { gunzipSync, gzipSync } from 'node:zlib';
import type { KubeObject } from '../../kube/object.ts';
import { canonicalJson, isObject } from '../../schema/json.ts';
import { digestOf, shortDigest } from '../digest.ts';
import { ATOLL_API_VERSION, type Bundle, SYSTEM_NAMESPACE } from './dispatch.ts';

/** Real API servers refuse objects over 1.5 MiB; a part with its base64 and metadata stays well below. */
const PART_BYTES = 700 * 1024;
/** Largest content that is unpacked: a bound against blobs that grow without end. */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** Content-addressed: equal objects give equal bundles with equal names, so one is sent once and shared by intents. */
export function packBundles(objects: readonly KubeObject[]): { digest: string; bundles: Bundle[] } {
  const digest = digestOf(objects);
  const packed = gzipSync(canonicalJson(objects), { level: 6 });
  const parts = Math.max(1, Math.ceil(packed.byteLength / PART_BYTES));
  const bundles: Bundle[] = [];
  for (let part = 0; part < parts; part++) {
    bundles.push({
      apiVersion: ATOLL_API_VERSION,
      kind: 'Bundle',
      metadata: { name: bundleName(digest, part), namespace: SYSTEM_NAMESPACE },
      spec: {
        digest,
        encoding: 'json+gzip',
        data: packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES).toString('base64'),
        part,
        parts,
      },
    });
  }
  return { digest, bundles };
}

export function bundleName(digest: string, part: number): string {
  return `bundle-${shortDigest(digest)}-${part}`;
}

/** The objects in the bundles of one digest. Throws an Error that says what is wrong: missing parts, a content that is not its digest. */
export function unpackBundles(bundles: readonly Bundle[], digest: string): KubeObject[] {
  const parts = [...bundles].sort((a, b) => a.spec.part - b.spec.part);
  const expected = parts[0]?.spec.parts ?? 0;
  if (
    parts.length === 0 ||
    parts.length !== expected ||
    parts.some((bundle, index) => bundle.spec.part !== index)
  ) {
    throw new Error(
      `bundle ${shortDigest(digest)} is incomplete: ${parts.length} of ${expected || '?'} parts are here`,
    );
  }
  const packed = Buffer.concat(parts.map((bundle) => Buffer.from(bundle.spec.data, 'base64')));
  const content: unknown = JSON.parse(
    gunzipSync(packed, { maxOutputLength: MAX_CONTENT_BYTES }).toString('utf8'),
  );
  if (!Array.isArray(content) || !content.every((item) => isObject(item) && isObject(item['metadata']))) {
    throw new Error(`bundle ${shortDigest(digest)} does not hold a list of objects`);
  }
  if (digestOf(content) !== digest)
    throw new Error(`bundle ${shortDigest(digest)} does not have the content that its digest names`);
  return content as KubeObject[];
}
