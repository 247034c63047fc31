import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { KubeObject } from '../../kube/object.ts';
import { jsonText, parseJson } from '../../schema/json-text.ts';
import { type StoreRecord, TooLarge } from './store.ts';

/**
 * One version of one object: bytes for good, the parsed form as long as memory allows.
 *
 * A class, because there are as many of these as objects and events: accessors on the prototype cost nothing a record.
 */
class ObjectRecord implements StoreRecord {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  #bytes: Uint8Array | undefined;
  /** In the place of the bytes. */
  #squeezed: Squeezed | undefined;
  /** How many states before it are told by it, one by the other. */
  #told = 0;
  #parsed: WeakRef<KubeObject> | undefined;
  /** For the last state of a deleted object: the record that it repeats under another revision. */
  readonly #source: StoreRecord | undefined;

  constructor(
    key: string,
    revision: number,
    createRevision: number,
    bytes: Uint8Array | undefined,
    parsed: KubeObject | undefined,
    source: StoreRecord | undefined,
  ) {
    this.key = key;
    this.revision = revision;
    this.createRevision = createRevision;
    this.#bytes = bytes;
    this.#parsed = parsed === undefined ? undefined : new WeakRef(parsed);
    this.#source = source;
  }

  get bytes(): Uint8Array {
    if (this.#squeezed !== undefined) return unsqueezed(this.#squeezed);
    this.#bytes ??= bytesOf(jsonText(this.object));
    return this.#bytes;
  }

  /** Keeps only what tells the bytes from those of `next`, the state that came after. */
  squeeze(next: ObjectRecord): void {
    const bytes = this.#bytes;
    if (bytes === undefined || bytes.byteLength < SQUEEZED_FROM || bytes.byteLength > SQUEEZED_TO) return;
    const isLast = this.#told >= MAX_TOLD;
    const like =
      isLast || next.#bytes === undefined || next.#bytes.byteLength > SQUEEZED_TO ? undefined : next;
    if (like !== undefined) like.#told = this.#told + 1;
    this.#squeezed = squeezed(bytes, like);
    this.#bytes = undefined;
    if (this.#parsed?.deref() === undefined) this.#parsed = undefined;
  }

  get object(): KubeObject {
    const cached = this.#parsed?.deref();
    if (cached !== undefined) return cached;
    const object =
      this.#source === undefined
        ? parseObject(this.key, this.bytes)
        : stamped(this.#source.object, this.revision);
    this.#parsed = new WeakRef(object);
    return object;
  }
}

interface Squeezed {
  /** Compressed, a byte a character: a short text takes a third of what a buffer takes. */
  readonly text: string;
  readonly size: number;
  readonly like: ObjectRecord | undefined;
}

/** Smaller ones are not worth it. What is above the window of the compression could not be told from another. */
const SQUEEZED_FROM = 512;
const SQUEEZED_TO = 32_768;
/** As many states follow from each other, so that no read has to go through more. */
const MAX_TOLD = 16;
/** The smallest window that holds a state and the one that it is told by. */
const windowBits = (bytes: number): number => Math.max(10, Math.min(15, Math.ceil(Math.log2(bytes + 512))));

function squeezed(bytes: Uint8Array, like: ObjectRecord | undefined): Squeezed {
  const dictionary = like?.bytes;
  const size = bytes.byteLength;
  const packed = deflateRawSync(bytes, {
    level: 1,
    memLevel: 5,
    windowBits: windowBits(size + (dictionary?.byteLength ?? 0)),
    chunkSize: Math.max(64, size >>> 1),
    ...(dictionary === undefined ? {} : { dictionary }),
  });
  return { text: packed.toString('latin1'), size, like };
}

function unsqueezed({ text, size, like }: Squeezed): Uint8Array {
  const dictionary = like?.bytes;
  return inflateRawSync(Buffer.from(text, 'latin1'), {
    // One byte more, so that the buffer is never full.
    chunkSize: Math.max(64, size + 1),
    ...(dictionary === undefined ? {} : { dictionary }),
  });
}

/**
 * Makes a state small that is kept for history's sake only: it is told from the one after it, of which it is mostly a copy. Reading
 * it takes as long as inflating it, every time.
 */
export function squeezeRecord(previous: StoreRecord, next: StoreRecord): void {
  if (previous instanceof ObjectRecord && next instanceof ObjectRecord) previous.squeeze(next);
}

/** Serialises `object` under `revision`, once. Throws {@link TooLarge}. */
export function writtenRecord(
  key: string,
  object: KubeObject,
  revision: number,
  createRevision: number,
  maxBytes: number,
): StoreRecord {
  const whole = stamped(object, revision);
  const bytes = bytesOf(jsonText(whole));
  if (bytes.byteLength > maxBytes) throw new TooLarge(bytes.byteLength, maxBytes);
  return new ObjectRecord(key, revision, createRevision, bytes, whole, undefined);
}

/** A record as it was read from the storage, which may have it parsed. */
export function storedRecord(
  key: string,
  bytes: Uint8Array,
  revision: number,
  createRevision: number,
  object?: KubeObject,
): StoreRecord {
  return new ObjectRecord(key, revision, createRevision, bytes, object, undefined);
}

/** A record from the storage whose revision is known to its `metadata.resourceVersion` only. */
export function previousRecord(key: string, bytes: Uint8Array, createRevision: number): StoreRecord {
  const object = parseObject(key, bytes);
  const revision = Number(object.metadata.resourceVersion ?? 0);
  return new ObjectRecord(key, revision, createRevision, bytes, object, undefined);
}

/** The last state of a deleted object, under the revision of the deletion. Serialised only when someone asks. */
export function deletedRecord(last: StoreRecord, revision: number): StoreRecord {
  return new ObjectRecord(last.key, revision, last.createRevision, undefined, undefined, last);
}

/** In memory of their own: a record that is kept for long would keep the whole pool that `Buffer.from` takes from. */
function bytesOf(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Copies the way to `resourceVersion` only; the rest is shared. */
function stamped(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function parseObject(key: string, bytes: Uint8Array): KubeObject {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  try {
    return parseJson(text) as unknown as KubeObject;
  } catch (error) {
    throw new Error(`the stored value of ${key} is not JSON; the storage is damaged`, { cause: error });
  }
}
