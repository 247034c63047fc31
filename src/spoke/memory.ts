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
import { type ObjectRef, refKey } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { configMaps } from '../kube/well-known.ts';
import { stringAt } from '../schema/json.ts';

/** What a spoke remembers of its hub, in its own API server: it survives restarts and needs no hub. */
export interface SpokeMemory {
  /** Reads everything. Call once, before the rest. */
  load(): Promise<void>;
  trust(): HubTrust | undefined;
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
  let trust: HubTrust | undefined;

  return {
    async load(): Promise<void> {
      const list = await client.list<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE);
      for (const record of list.items) records.set(record.metadata.name ?? '', record);
      try {
        const map = await client.get(configMaps, SYSTEM_NAMESPACE, TRUST_NAME);
        const lineage = stringAt(map, 'data', 'lineage');
        const publicKey = stringAt(map, 'data', 'publicKey');
        if (lineage !== undefined && publicKey !== undefined) trust = { lineage, publicKey };
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
      }
    },
    trust: () => trust,
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
      trust = next;
    },
    names: () => [...records.keys()],
    record: (name) => records.get(name)?.spec,
    async save(name: string, spec: OwnershipRecord['spec']): Promise<void> {
      const present = records.get(name);
      if (present) {
        records.set(name, await client.update(RECORDS, { ...present, spec }));
        return;
      }
      const metadata = { name, namespace: SYSTEM_NAMESPACE };
      records.set(
        name,
        await client.create<OwnershipRecord>(RECORDS, {
          apiVersion: ATOLL_API_VERSION,
          kind: OWNERSHIP_RECORD.kind,
          metadata,
          spec,
        }),
      );
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
export function claim(owned: readonly OwnedObject[], accepted: DispatchSpec): OwnedObject[] {
  const byKey = new Map(owned.map((object) => [refKey(object.ref), object]));
  for (const ref of accepted.objects) if (!byKey.has(refKey(ref))) byKey.set(refKey(ref), { ref, uid: '' });
  return [...byKey.values()];
}

/** Objects that are ordered away, in the order of removal given by the caller's list. */
export function isListed(refs: readonly ObjectRef[], ref: ObjectRef): boolean {
  const key = refKey(ref);
  return refs.some((item) => refKey(item) === key);
}
