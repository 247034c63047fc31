import {
  ATOLL_API_VERSION,
  type DispatchSpec,
  type HubTrust,
  OWNERSHIP_RECORD,
  type OwnedObject,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
} from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { refKey } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { configMaps } from '../kube/well-known.ts';
import { stringAt } from '../schema/json.ts';

/** What a spoke remembers of its hub, in its own API server: it survives restarts and needs no hub. */
export interface SpokeMemory {
  /** Reads everything. Call once, before the rest. */
  load(): Promise<void>;
  /** The hub that this spoke belongs to. Read anew each time: the owner hands the spoke over by deleting it. */
  trust(): Promise<HubTrust | undefined>;
  pin(trust: HubTrust): Promise<void>;
  names(): string[];
  record(name: string): OwnershipRecord['spec'] | undefined;
  /** Durable when resolved. */
  save(name: string, spec: OwnershipRecord['spec']): Promise<void>;
  forget(name: string): Promise<void>;
}

const RECORDS = resourceIdOf(OWNERSHIP_RECORD);
const TRUST_NAME = 'hub-trust';

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
    try {
      return await client.get<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE, name);
    } catch (error) {
      if (hasCode(error, 404)) return undefined;
      throw error;
    }
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

  return {
    async load(): Promise<void> {
      const list = await client.list<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE);
      for (const record of list.items) records.set(record.metadata.name ?? '', record);
    },
    async trust(): Promise<HubTrust | undefined> {
      try {
        const map = await client.get(configMaps, SYSTEM_NAMESPACE, TRUST_NAME);
        const lineage = stringAt(map, 'data', 'lineage');
        const publicKey = stringAt(map, 'data', 'publicKey');
        return lineage === undefined || publicKey === undefined ? undefined : { lineage, publicKey };
      } catch (error) {
        if (hasCode(error, 404)) return undefined;
        throw error;
      }
    },
    async pin(next: HubTrust): Promise<void> {
      await client.apply(
        configMaps,
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: TRUST_NAME, namespace: SYSTEM_NAMESPACE },
          data: { lineage: next.lineage, publicKey: next.publicKey },
        },
        { fieldManager: 'atoll-spoke', force: true },
      );
    },
    names: () => [...records.keys()],
    record: (name) => records.get(name)?.spec,
    save(name: string, spec: OwnershipRecord['spec']): Promise<void> {
      const written = (saving.get(name) ?? Promise.resolve()).then(() => write(name, spec));
      saving.set(
        name,
        written.catch(() => undefined),
      );
      return written;
    },
    async forget(name: string): Promise<void> {
      try {
        await client.delete(RECORDS, SYSTEM_NAMESPACE, name);
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
      }
      records.delete(name);
    },
  };
}

/** Ownership after accepting a dispatch: what was owned stays until it is removed, what is new is claimed before it is made. */
export function claim(owned: Iterable<OwnedObject>, accepted: DispatchSpec): OwnedObject[] {
  const byKey = new Map([...owned].map((object) => [refKey(object.ref), object]));
  for (const ref of accepted.objects) if (!byKey.has(refKey(ref))) byKey.set(refKey(ref), { ref, uid: '' });
  return [...byKey.values()];
}
