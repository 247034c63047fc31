import type { Client, DeleteOptions } from '../../kube/client.ts';
import { type Change, type InformerOptions, startInformer } from '../../kube/index.ts';
import { asJson, type KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/index.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { createMergePatch } from '../../schema/merge-patch.ts';
import type { Typed } from './kinds.ts';
import { controllerOf, keyOf } from './owner.ts';

/**
 * A resource as a controller sees it: the informer's copy, and writes after which the copy can be awaited. So a
 * controller always reads its own writes, and never creates a pod twice because it has not seen the first.
 */
export interface Mirror<T extends KubeObject> {
  get(namespace: string, name: string): T | undefined;
  list(namespace?: string): T[];
  /** Objects managed by the owner of this uid; those managed by nobody for ''. */
  ownedBy(uid: string): T[];
  /** Whether the server has the object now, and it is not being deleted: the copy may be behind. */
  stands(object: T): Promise<boolean>;
  onChange(listener: (change: Change<T>) => void): void;
  create(object: T): Promise<T>;
  /** Merge patch, refused by the server when the object is no longer as it is given here. */
  patch(object: T, patch: JsonObject): Promise<T>;
  /** Writes the status when it differs from the one that `object` has, and nothing else. */
  setStatus(object: T, status: object): Promise<void>;
  /** No error when it is gone already, or another has its name. */
  remove(object: T, options?: DeleteOptions): Promise<void>;
  /** Resolves when the copy holds what was written up to now. */
  caughtUp(): Promise<void>;
  whenSynced(): Promise<void>;
  stop(): void;
}

/** Longest time that a controller waits to see its own write; then it goes on with what it has. */
const CATCH_UP_MS = 2_000;

export function startMirror<T extends KubeObject>(
  runtime: Runtime,
  client: Client,
  resource: Typed<T>,
  options: InformerOptions = {},
): Mirror<T> {
  const informer = startInformer<T>(runtime, client, resource, options);
  const owned = new Map<string, Map<string, T>>();
  let written = 0;
  let seen = 0;
  let waiting: { version: number; resolve: () => void }[] = [];

  informer.onChange((change) => {
    const { object, previous } = change;
    if (previous) place(previous, undefined);
    if (change.type !== 'deleted') place(object, object);
    else place(object, undefined);
    seen = Math.max(seen, versionOf(object));
    if (waiting.length === 0) return;
    const due = waiting.filter((each) => each.version <= seen);
    if (due.length === 0) return;
    waiting = waiting.filter((each) => each.version > seen);
    for (const each of due) each.resolve();
  });

  function place(at: T, object: T | undefined): void {
    const uid = controllerOf(at)?.uid ?? '';
    let group = owned.get(uid);
    if (object) {
      if (!group) {
        group = new Map();
        owned.set(uid, group);
      }
      group.set(keyOf(at), object);
    } else if (group) {
      group.delete(keyOf(at));
      if (group.size === 0) owned.delete(uid);
    }
  }

  function note(object: KubeObject): void {
    written = Math.max(written, versionOf(object));
  }

  async function write(object: T, body: JsonObject, subresource?: string): Promise<T> {
    const { namespace = '', name = '', resourceVersion } = object.metadata;
    const metadata = isObject(body.metadata) ? body.metadata : {};
    const patch = { ...body, metadata: { ...metadata, resourceVersion } };
    const result = await client.patch<T>(resource, namespace, name, 'merge', patch, {
      ...(subresource === undefined ? {} : { subresource }),
    });
    note(result);
    return result;
  }

  return {
    get: informer.get,
    list: informer.list,
    ownedBy: (uid) => [...(owned.get(uid)?.values() ?? [])],
    async stands({ metadata: { namespace = '', name = '', uid } }) {
      try {
        const { metadata } = await client.get(resource, namespace, name);
        return metadata.uid === uid && metadata.deletionTimestamp === undefined;
      } catch (error) {
        if (hasCode(error, 404)) return false;
        throw error;
      }
    },
    onChange: (listener) => {
      informer.onChange(listener);
    },
    async create(object) {
      const result = await client.create<T>(resource, object);
      note(result);
      return result;
    },
    patch: (object, patch) => write(object, patch),
    async setStatus(object, status) {
      const before = asJson(object).status ?? {};
      const patch = createMergePatch(before, status as JsonValue);
      if (isObject(patch) && Object.keys(patch).length === 0) return;
      await write(object, { status: patch }, 'status');
    },
    async remove(object, remove = {}) {
      const { namespace = '', name = '', uid } = object.metadata;
      try {
        const result = await client.delete(resource, namespace, name, {
          ...remove,
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        });
        if (result.kind === resource.kind) note(result);
      } catch (error) {
        if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
      }
    },
    caughtUp() {
      const version = written;
      if (seen >= version) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = runtime.clock.after(CATCH_UP_MS, resolve);
        waiting.push({
          version,
          resolve: () => {
            timer.cancel();
            resolve();
          },
        });
      });
    },
    whenSynced: informer.whenSynced,
    stop() {
      informer.stop();
      for (const each of waiting.splice(0)) each.resolve();
      written = 0; // nothing more will be seen, so nobody may wait for it
    },
  };
}

/** Revisions of the embedded server are numbers that only grow; so those of other servers are in fact. */
function versionOf(object: KubeObject): number {
  const version = Number(object.metadata.resourceVersion ?? 0);
  return Number.isSafeInteger(version) ? version : 0;
}
