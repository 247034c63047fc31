import { gunzipSync } from 'node:zlib';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { canonicalJson, isObject } from '../../schema/json.ts';
import { digestOf, digestOfText, shortDigest } from '../digest.ts';
import { ATOLL_API_VERSION, type Bundle, BYTES_ANNOTATION, SYSTEM_NAMESPACE } from './dispatch.ts';
import { gzipped } from './gzipped.ts';

/** Real API servers refuse objects over 1.5 MiB; a part with its base64 and metadata stays well below. */
const PART_BYTES = 700 * 1024;
/** Largest content that is unpacked: a bound against blobs that grow without end. */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;
/** Content below this many characters is one chunk: most intents are. */
const CHUNK_SIZE = 96 * 1024;
/** One object in so many may end a chunk once it is large enough. */
const BOUNDARY_ODDS = 8;

/**
 * Content-addressed: equal objects give equal bundles with equal names, so one is sent once and shared by intents. Large
 * content is cut into chunks where the names of its objects say so: a change sends the chunk that it is in, and no other.
 */
export function packBundles(objects: readonly KubeObject[]): { digest: string; bundles: Bundle[] } {
  const texts = objects.map(canonicalJson);
  const bundles = chunksOf(objects, texts).flatMap(packChunk);
  return { digest: digestOfText(listText(texts)), bundles };
}

function listText(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

function packChunk(texts: readonly string[]): Bundle[] {
  const content = listText(texts);
  const digest = digestOfText(content);
  const packed = gzipped(content, 6);
  const parts = Math.max(1, Math.ceil(packed.byteLength / PART_BYTES));
  return Array.from({ length: parts }, (_, part) => {
    const data = packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES).toString('base64');
    return {
      apiVersion: ATOLL_API_VERSION,
      kind: 'Bundle',
      metadata: {
        name: bundleName(digest, part),
        namespace: SYSTEM_NAMESPACE,
        annotations: { [BYTES_ANNOTATION]: String(data.length) },
      },
      spec: { digest, encoding: 'json+gzip', data, part, parts },
    };
  });
}

/** Runs of objects, as texts. Where one ends depends on the object there, not on how many came before it. */
function chunksOf(objects: readonly KubeObject[], texts: readonly string[]): string[][] {
  const chunks: string[][] = [];
  let chunk: string[] = [];
  let size = 0;
  objects.forEach((object, index) => {
    const text = texts[index] ?? '';
    chunk.push(text);
    size += text.length;
    if (size < CHUNK_SIZE || !mayEnd(object, size)) return;
    chunks.push(chunk);
    chunk = [];
    size = 0;
  });
  if (chunk.length > 0 || chunks.length === 0) chunks.push(chunk);
  return chunks;
}

function mayEnd(object: KubeObject, size: number): boolean {
  if (size > CHUNK_SIZE * BOUNDARY_ODDS) return true;
  const key = refKey(refOf(object));
  let hash = 0;
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) >>> 0;
  return hash % BOUNDARY_ODDS === 0;
}

export function bundleName(digest: string, part: number): string {
  return `bundle-${shortDigest(digest)}-${part}`;
}

/**
 * The objects in bundles, given in their order. Throws an Error that says what is wrong: missing parts, a content that is not
 * its digest.
 */
export function unpackBundles(bundles: readonly Bundle[], digest: string): KubeObject[] {
  const chunks = new Map<string, Bundle[]>();
  for (const bundle of bundles) {
    const parts = chunks.get(bundle.spec.digest);
    if (parts) parts.push(bundle);
    else chunks.set(bundle.spec.digest, [bundle]);
  }
  if (chunks.size === 0)
    throw new Error(`bundle ${shortDigest(digest)} is incomplete: 0 of ? parts are here`);
  const objects: KubeObject[] = [];
  let bytes = 0;
  for (const [name, parts] of chunks) {
    const content = unpackChunk(parts, name, MAX_CONTENT_BYTES - bytes);
    bytes += content.bytes;
    for (const object of content.objects) objects.push(object);
  }
  if (digestOf(objects) !== digest)
    throw new Error(`the bundles do not have the content that digest ${shortDigest(digest)} names`);
  return objects;
}

function unpackChunk(
  bundles: readonly Bundle[],
  digest: string,
  limit: number,
): { objects: KubeObject[]; bytes: number } {
  const parts = [...bundles].sort((a, b) => a.spec.part - b.spec.part);
  const expected = parts[0]?.spec.parts ?? 0;
  if (parts.length !== expected || parts.some((bundle, index) => bundle.spec.part !== index))
    throw new Error(
      `bundle ${shortDigest(digest)} is incomplete: ${parts.length} of ${expected || '?'} parts are here`,
    );
  const packed = Buffer.concat(parts.map((bundle) => Buffer.from(bundle.spec.data, 'base64')));
  const text = gunzipSync(packed, { maxOutputLength: Math.max(1, limit) });
  const content: unknown = JSON.parse(text.toString('utf8'));
  if (!Array.isArray(content) || !content.every((item) => isObject(item) && isObject(item['metadata'])))
    throw new Error(`bundle ${shortDigest(digest)} does not hold a list of objects`);
  return { objects: content as KubeObject[], bytes: text.byteLength };
}
