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
    this.#bytes ??= bytesOf(jsonText(this.object));
    return this.#bytes;
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
