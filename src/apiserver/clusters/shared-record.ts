import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';
import type { StoreRecord } from '../store/store.ts';
import type { Template } from './template.ts';

/** A shared object as one logical cluster has it. Made when it is asked for. */
class SharedRecord implements StoreRecord {
  readonly key: string;
  readonly shared = true;
  readonly #template: Template;
  readonly #cluster: StoreRecord;
  #object: KubeObject | undefined;
  #bytes: Uint8Array | undefined;

  constructor(key: string, template: Template, cluster: StoreRecord) {
    this.key = key;
    this.#template = template;
    this.#cluster = cluster;
  }

  isOf(template: Template, cluster: StoreRecord): boolean {
    return this.#template === template && this.#cluster === cluster;
  }

  get revision(): number {
    return this.#cluster.revision;
  }

  get createRevision(): number {
    return this.#cluster.createRevision;
  }

  get object(): KubeObject {
    this.#object ??= objectOf(this.key, this.#template, this.#cluster);
    return this.#object;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= Buffer.from(JSON.stringify(this.object));
    return this.#bytes;
  }
}

/** `cluster` is the record of the logical cluster: it lends its revision and its time of creation. */
export type SharedRecords = (key: string, template: Template, cluster: StoreRecord) => StoreRecord;

/** Some are asked for with nearly every request, such as the namespace `default`: the last ones are kept. */
const KEPT = 256;

export function sharedRecords(): SharedRecords {
  const kept = new Map<string, SharedRecord>();
  return (key, template, cluster) => {
    const known = kept.get(key);
    if (known?.isOf(template, cluster)) return known;
    const record = new SharedRecord(key, template, cluster);
    kept.delete(key);
    kept.set(key, record);
    if (kept.size > KEPT) {
      const [oldest] = kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
    }
    return record;
  };
}

function objectOf(key: string, template: Template, cluster: StoreRecord): KubeObject {
  const { uid = '', creationTimestamp } = cluster.object.metadata;
  const { metadata, ...object } = filledIn(template, nameUuid(uid, key), creationTimestamp ?? '');
  return { ...object, metadata: { ...metadata, resourceVersion: String(cluster.revision) } };
}

/** The object of a template, made at the given time. */
export function filledIn({ object }: Template, uid: string, time: string): KubeObject {
  const { metadata, status } = object;
  const { managedFields } = metadata;
  return {
    ...object,
    ...(isObject(status) ? { status: since(status, time) } : {}),
    metadata: {
      ...metadata,
      uid,
      creationTimestamp: time,
      ...(managedFields ? { managedFields: managedFields.map((entry) => ({ ...entry, time })) } : {}),
    },
  };
}

/** Conditions that hold from the beginning have an empty time in the template. */
function since(status: JsonObject, time: string): JsonObject {
  const { conditions } = status;
  if (!Array.isArray(conditions)) return status;
  return {
    ...status,
    conditions: conditions.map((condition) =>
      isObject(condition) && condition.lastTransitionTime === ''
        ? { ...condition, lastTransitionTime: time }
        : condition,
    ),
  };
}

/** RFC 9562 version 5: the same uuid for the same name below the same namespace, which is a uuid. */
export function nameUuid(namespace: string, name: string): string {
  const hash = createHash('sha1');
  hash.update(Buffer.from(namespace.replaceAll('-', ''), 'hex')).update(name);
  const bytes = hash.digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
