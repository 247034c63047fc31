import {
  compileRemoteObject,
  isDirect,
  isGivenUp,
  REMOTE_OBJECT_KIND,
  type RemoteObject,
  remoteObjectStatus,
} from '../../../dialects/kro/index.ts';
import { LABELS } from '../../../engine/graph/index.ts';
import type { Client } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { apiVersionOf, resourceIdOf } from '../../../kube/custom-resource.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { hasCode } from '../../../kube/status-error.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import { setFinalizers } from '../finalizers.ts';
import type { IntentSource } from '../intent-source.ts';
import type { IntentRecords, RecordedSource } from '../records.ts';
import type { GraphDefinitions } from './graph-definitions.ts';

/** Keeps a RemoteObject until the object is gone from its cluster. */
export const REMOTE_FINALIZER = 'atoll.dev/remote-object';

const REMOTES = resourceIdOf(REMOTE_OBJECT_KIND);
const { kind: KIND } = REMOTE_OBJECT_KIND;
/** Somebody wrote the object in between: its copy here follows. */
const CATCH_UP_MS = 40;

/** Objects that graphs of the hub put on other clusters, as intents. What their clusters tell of them is in their status. */
export function openRemoteSource(
  runtime: Runtime,
  client: Client,
  records: IntentRecords,
  graphs: GraphDefinitions,
  onChange: (key: string) => void,
): IntentSource<RemoteObject> {
  const remotes = startInformer<RemoteObject>(runtime, client, REMOTES);
  let stopped = false;

  /** Others are on clusters that the hub reaches by a Secret (`hub/engaged/targets`). */
  const isOnSpoke = (object: KubeObject): boolean => !isDirect(object);
  const ofFleet = (name: string): RemoteObject | undefined => {
    const found = remotes.get('', name);
    return found && isOnSpoke(found) ? found : undefined;
  };

  remotes.onChange(({ type, object, previous }) => {
    if (!isOnSpoke(object)) return;
    const { deletionTimestamp } = object.metadata;
    if (
      type !== 'updated' ||
      !previous ||
      !deepEqual(object.spec as unknown, previous.spec as unknown) ||
      deletionTimestamp !== previous.metadata.deletionTimestamp ||
      isGivenUp(object) !== isGivenUp(previous)
    )
      onChange(keyOf(object));
  });

  graphs.informer.onChange(({ type, object, previous }) => {
    if (type !== 'updated' || !previous || deepEqual(graphs.author(object), graphs.author(previous))) return;
    const id = object.metadata.uid;
    for (const remote of remotes.list())
      if (isOnSpoke(remote) && remote.metadata.labels?.[LABELS.graphId] === id) onChange(keyOf(remote));
  });

  async function begin(): Promise<void> {
    await Promise.all([remotes.whenSynced(), records.whenSynced(), graphs.whenReady()]);
    if (stopped) return;
    for (const object of remotes.list()) if (isOnSpoke(object)) onChange(keyOf(object));
    for (const source of records.sources()) {
      if (source.kind !== KIND || source.apiVersion !== apiVersionOf(REMOTE_OBJECT_KIND)) continue;
      if (remotes.get('', source.name)?.metadata.uid !== source.uid) await records.remove(source);
    }
  }

  begin().catch((error: unknown) => {
    if (!stopped) runtime.log.error('remote objects cannot be carried', { why: errorText(error) });
  });

  function isSynced(): boolean {
    return remotes.synced && records.synced && graphs.ready;
  }

  return {
    finalizer: REMOTE_FINALIZER,
    selfContained: true,
    get synced() {
      return isSynced();
    },
    owns: (key) => key.startsWith(`${KIND}/`),
    get: (key) => (isSynced() ? ofFleet(key.slice(KIND.length + 2)) : undefined),
    *entries(): Iterable<[string, RemoteObject]> {
      if (isSynced())
        for (const object of remotes.list()) if (isOnSpoke(object)) yield [keyOf(object), object];
    },
    compile: (object) => compileRemoteObject(object, graphs.authorBehind(object)),
    concernedBy: () => false,
    author: graphs.authorBehind,
    // What comes before it in the order of removal waits for it; what was only read is nobody's to remove.
    waitsForAway: (object) => object.spec.reads !== true && !isGivenUp(object),
    record: (object) => records.get(recordedSource(object)),
    writeRecord: async (object, record) => records.write(recordedSource(object), record),
    async report(object, findings): Promise<Result | undefined> {
      const { cluster } = object.spec;
      const status = remoteObjectStatus(object, {
        revision: findings.revision,
        observation: findings.observations.find((item) => item.cluster === cluster),
        problem: findings.selection.ok ? findings.placement.message : findings.selection.message,
      });
      if (deepEqual(status as unknown, object.status as unknown)) return undefined;
      const { name = '', uid = '', resourceVersion } = object.metadata;
      const patch = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion ?? '' },
        { op: 'add', path: '/status', value: status },
      ];
      try {
        await client.patch(REMOTES, '', name, 'json', patch, { subresource: 'status' });
      } catch (error) {
        // 422: a test failed.
        if (hasCode(error, 409) || hasCode(error, 422)) return { requeueAfterMs: CATCH_UP_MS };
        if (!hasCode(error, 404)) throw error;
      }
      return undefined;
    },
    async setFinalizers(object, finalizers): Promise<void> {
      await setFinalizers(client, REMOTES, object, finalizers);
      if (!finalizers.includes(REMOTE_FINALIZER) && object.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(object));
    },
    stop(): void {
      stopped = true;
      remotes.stop();
    },
  };
}

function keyOf({ metadata }: KubeObject): string {
  return `${KIND}//${metadata.name ?? ''}`;
}

function recordedSource({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): RecordedSource {
  return { apiVersion, kind, namespace: '', name, uid };
}
