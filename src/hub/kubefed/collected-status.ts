import type { FederatedObject } from '../../dialects/kubefed/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import type { AnyCustomKind } from '../../kube/custom-resource.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { canonicalJson, deepEqual } from '../../schema/json.ts';
import { anything, list, record, text } from '../../schema/schema-of.ts';
import type { IntentRecords } from '../intents/records.ts';
import { type Federation, federatedKey, type TypeEntry } from './federation.ts';
import { installKind } from './kinds.ts';
import { startCountedController } from './metrics.ts';
import type { Remote } from './remote.ts';

const FIELD_MANAGER = 'atoll-kubefed';
const GATHER_MS = 100;
const SOON_MS = 2_000;
const LATER_MS = 60_000;

export interface CollectedStatusOptions {
  /** The engine's own: definitions of kinds are its business. */
  readonly definer: Client;
  readonly client: Client;
  readonly federation: Federation;
  readonly records: IntentRecords;
  readonly remote: Remote;
}

/**
 * The older way to collect status: types whose config names a `statusType` have an object of that kind beside each federated
 * one, with the status that it has on each cluster (`FederatedServiceStatus`).
 */
export function startCollectedStatus(
  runtime: Runtime,
  { definer, client, federation, records, remote }: CollectedStatusOptions,
): { stop(): Promise<void> } {
  const loop = startCountedController(runtime, { name: 'kubefed-status', concurrency: 2, reconcile });
  const served = new Set<string>();
  /** What was written last, by key. */
  const written = new Map<string, string>();
  const unsubscribe = federation.onWish((key) => {
    const entry = federation.entry(key.slice(0, key.indexOf('/')));
    if (entry && statusKind(entry)) loop.enqueue(key, GATHER_MS);
  });

  async function reconcile(key: string): Promise<Result | undefined> {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    const entry = federation.entry(kind);
    const wanted = entry && statusKind(entry);
    const object = entry?.watch.get(namespace, name);
    if (!entry?.type || !wanted || !object || object.metadata.deletionTimestamp !== undefined) {
      written.delete(key);
      return undefined;
    }
    const id = `${wanted.plural}.${wanted.group}`;
    if (!served.has(id)) {
      await installKind(definer, wanted);
      served.add(id);
    }
    const clusters = placedOn(object);
    const found = remote.statuses(federatedKey(entry, object), entry.type, object, clusters);
    const clusterStatus = [...found]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([clusterName, status]) => ({ clusterName, status }));
    const digest = `${object.metadata.uid ?? ''} ${canonicalJson(clusterStatus)}`;
    if (written.get(key) !== digest) await write(wanted, object, clusterStatus);
    written.set(key, digest);
    // Nothing tells of clusters that are only now being given it.
    return { requeueAfterMs: found.size < clusters.length || clusters.length === 0 ? SOON_MS : LATER_MS };
  }

  /** The clusters that may have it. */
  function placedOn({ apiVersion, kind, metadata }: FederatedObject): readonly string[] {
    const { namespace = '', name = '', uid = '' } = metadata;
    return records.get({ apiVersion, kind, namespace, name, uid })?.dispatchedTo ?? [];
  }

  async function write(kind: AnyCustomKind, owner: KubeObject, clusterStatus: object[]): Promise<void> {
    const resource: ResourceId = {
      group: kind.group,
      version: kind.version,
      kind: kind.kind,
      resource: kind.plural,
      namespaced: kind.scope === 'Namespaced',
    };
    const { namespace = '', name = '', uid = '' } = owner.metadata;
    const present = await ignoring(404, client.get(resource, namespace, name));
    if (present && deepEqual(present['clusterStatus'], clusterStatus)) return;
    await client.apply(
      resource,
      {
        apiVersion: formatApiVersion(kind.group, kind.version),
        kind: kind.kind,
        metadata: {
          name,
          ...(namespace === '' ? {} : { namespace }),
          ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true }],
        },
        clusterStatus,
      },
      { fieldManager: FIELD_MANAGER, force: true },
    );
  }

  return {
    async stop(): Promise<void> {
      unsubscribe();
      await loop.stop();
    },
  };
}

function statusKind({ type, config }: TypeEntry): AnyCustomKind | undefined {
  const { group, version, kind, pluralName, scope } = config?.spec.statusType ?? {};
  if (!type?.collectsStatus || !type.propagates || !group || !version || !kind || !pluralName)
    return undefined;
  return {
    group,
    version,
    kind,
    plural: pluralName,
    scope: scope ?? 'Namespaced',
    description: `What ${type.target.kind} objects are like on each cluster.`,
    fields: {
      clusterStatus: list(
        record({ clusterName: text(), status: { ...anything(), type: 'object' as const } }),
      ),
    },
  };
}
