import {
  ATOLL_API_VERSION,
  type DispatchSpec,
  type HubTrust,
  OWNERSHIP_RECORD,
  type OwnedObject,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
} from '../engine/dispatch/index.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import type { Client } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { refKey } from '../kube/object.ts';
import { hasCode, ignoring } from '../kube/status-error.ts';
import { pinTrust, readTrust } from './trust.ts';

/** What a spoke remembers of its hub, in its own API server: it survives restarts and needs no hub. */
export interface SpokeMemory {
  /** Reads everything. Call once, before the rest. */
  load(): Promise<void>;
  /** The hub that this spoke belongs to. Read anew each time: the owner may hand the spoke over. */
  trust(): Promise<HubTrust | undefined>;
  /** Makes a hub the spoke's where none is yet. Resolves with the one that is. */
  pin(trust: HubTrust): Promise<HubTrust>;
  names(): string[];
  record(name: string): OwnershipRecord['spec'] | undefined;
  /** Notes since when an order is lost, or that it is not. Durable when resolved. */
  setLost(name: string, since: string | undefined): Promise<void>;
  /** What is accepted and owned from now on. Durable when resolved. */
  save(name: string, spec: Omit<OwnershipRecord['spec'], 'lostSince'>): Promise<void>;
  forget(name: string): Promise<void>;
}

const RECORDS = resourceIdOf(OWNERSHIP_RECORD);

export function spokeMemory(client: Client): SpokeMemory {
  const records = new Map<string, OwnershipRecord>();
  /** The last write of each record: of two writes the later call wins. */
  const saving = new Map<string, Promise<void>>();

  function make(name: string, spec: OwnershipRecord['spec']): Promise<OwnershipRecord> {
    const metadata = { name, namespace: SYSTEM_NAMESPACE };
    const { kind } = OWNERSHIP_RECORD;
    return client.create<OwnershipRecord>(RECORDS, { apiVersion: ATOLL_API_VERSION, kind, metadata, spec });
  }

  async function read(name: string): Promise<OwnershipRecord | undefined> {
    return ignoring(404, client.get<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE, name));
  }

  async function write(name: string, spec: OwnershipRecord['spec']): Promise<void> {
    const present = records.get(name);
    try {
      records.set(
        name,
        present ? await client.update(RECORDS, { ...present, spec }) : await make(name, spec),
      );
    } catch (error) {
      // Someone else wrote, made or deleted it. It is the spoke's own word: it is written again over what is there.
      if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
      const there = await read(name);
      records.set(name, there ? await client.update(RECORDS, { ...there, spec }) : await make(name, spec));
    }
  }

  function inOrder(name: string, act: () => Promise<void>): Promise<void> {
    const written = (saving.get(name) ?? Promise.resolve()).then(act);
    saving.set(
      name,
      written.catch(() => undefined),
    );
    return written;
  }

  return {
    async load(): Promise<void> {
      const list = await client.list<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE);
      for (const record of list.items) records.set(record.metadata.name ?? '', record);
    },
    trust: () => readTrust(client),
    pin: (trust) => pinTrust(client, trust),
    names: () => [...records.keys()],
    record: (name) => records.get(name)?.spec,
    save: (name, spec) =>
      inOrder(name, () => {
        const { lostSince } = records.get(name)?.spec ?? {};
        return write(name, lostSince === undefined ? spec : { ...spec, lostSince });
      }),
    setLost: (name, since) =>
      inOrder(name, async () => {
        const present = records.get(name)?.spec;
        if (!present || present.lostSince === since) return;
        const { lostSince: _, ...spec } = present;
        await write(name, since === undefined ? spec : { ...spec, lostSince: since });
      }),
    async forget(name: string): Promise<void> {
      await ignoring(404, client.delete(RECORDS, SYSTEM_NAMESPACE, name));
      records.delete(name);
    },
  };
}

/** API servers refuse objects of 1.5 MiB; beside what is counted there are metadata, and notes of what has finished. */
const MAX_RECORD_BYTES = 1_500_000;
const UID_BYTES = 36;
/** What a tombstone has besides the reference, where it gives the usual reasons. */
const TOMBSTONE_BYTES = 64;
/** What is left of 1.5 MiB when metadata are taken off. */
const ROOM_TO_REMOVE = 60_000;

/**
 * Why what is to be remembered of an order cannot be: all of it is one object, which grows by the UIDs of what is made, and once more
 * when it is ordered away, which must not fail for that.
 */
export function tooMuchToRemember(accepted: DispatchSpec, owned: readonly OwnedObject[]): string | undefined {
  const unmade = owned.filter(({ uid }) => uid === '').length;
  const toCome = unmade * UID_BYTES + accepted.objects.length * TOMBSTONE_BYTES;
  const bytes = Buffer.byteLength(JSON.stringify({ accepted, owned })) + toCome;
  // What was taken before this was counted must go all the same: there is some room yet.
  const limit = accepted.objects.length === 0 ? MAX_RECORD_BYTES + ROOM_TO_REMOVE : MAX_RECORD_BYTES;
  if (bytes <= limit) return undefined;
  return `what a spoke has to remember of its ${owned.length} objects is ${bytes} bytes, and one object of the API holds ${MAX_RECORD_BYTES} of it; select them by several intents`;
}

/**
 * Ownership after accepting a dispatch: what was owned stays until it is removed, what is new is claimed before it is made.
 * What becomes of an object in the end is noted now: the order to remove it may not say so any more.
 */
export function claim(
  owned: Iterable<OwnedObject>,
  accepted: DispatchSpec,
  strategies: ReadonlyMap<string, ApplyStrategy>,
): OwnedObject[] {
  const byKey = new Map([...owned].map((object) => [refKey(object.ref), object]));
  for (const ref of accepted.objects) {
    const key = refKey(ref);
    const { preserveOnDeletion, deletion, onFinish } = strategies.get(key) ?? accepted.apply ?? {};
    const finished = onFinish ? byKey.get(key)?.finished : undefined;
    byKey.set(key, {
      ref,
      uid: byKey.get(key)?.uid ?? '',
      ...(preserveOnDeletion === true ? { preserve: true } : {}),
      ...(deletion === undefined ? {} : { deletion }),
      ...(finished === undefined ? {} : { finished }),
    });
  }
  return [...byKey.values()];
}
