import { type HubTrust, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { startInformer } from '../kube/informer-cache.ts';
import type { KubeObject } from '../kube/object.ts';
import { hasCode, ignoring } from '../kube/status-error.ts';
import { configMaps, namespaces } from '../kube/well-known.ts';
import { formatTime } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual, stringAt } from '../schema/json.ts';

/** Where a spoke notes whose orders it takes: a ConfigMap of its own, which no hub has a right to. */
export const HUB_TRUST_NAME = 'hub-trust';

const MANAGER = 'atoll-spoke';
/** Handovers that are remembered. */
const HISTORY_LENGTH = 20;

/** The hub that this spoke belongs to, and how that came. */
export interface PinnedTrust extends HubTrust {
  /** Earlier hubs, newest first: `time by whom from lineage`. */
  readonly history: readonly string[];
}

export async function readTrust(client: Client): Promise<PinnedTrust | undefined> {
  const map = await readMap(client);
  const lineage = stringAt(map ?? {}, 'data', 'lineage');
  const publicKey = stringAt(map ?? {}, 'data', 'publicKey');
  if (lineage === undefined || publicKey === undefined) return undefined;
  const history = (stringAt(map ?? {}, 'data', 'history') ?? '').split('\n').filter((line) => line !== '');
  return { lineage, publicKey, history };
}

/** Pins a hub where none is pinned. Resolves with the one that is: of two that come at once the first stays. */
export async function pinTrust(client: Client, trust: HubTrust): Promise<HubTrust> {
  const present = await readTrust(client);
  if (present) return present;
  await ensureSpokeNamespace(client);
  const made = client.create(configMaps, trustMap(trust, []), { fieldManager: MANAGER });
  if (await ignoring(409, made)) return trust;
  const there = await readTrust(client);
  if (there) return there;
  // Somebody emptied it: an empty one pins nobody.
  await writeTrust(client, trust, []);
  return trust;
}

/**
 * Makes the spoke another hub's, by the word of its owner (`atoll takeover`). What the hub before ordered stays, until the new
 * one orders the same. Resolves with the hub before.
 */
export async function takeOver(
  runtime: Pick<Runtime, 'clock'>,
  client: Client,
  trust: HubTrust,
  by: string,
): Promise<HubTrust | undefined> {
  const before = await readTrust(client);
  if (before && before.lineage === trust.lineage && before.publicKey === trust.publicKey) return before;
  await ensureSpokeNamespace(client);
  const note = `${formatTime(runtime.clock.now())} ${by} from ${before?.lineage ?? 'none'}`;
  await writeTrust(client, trust, [note, ...(before?.history ?? [])].slice(0, HISTORY_LENGTH));
  return before;
}

/** Calls back when the spoke was handed over, or given up. Returns what stops that. */
export function watchTrust(runtime: Runtime, client: Client, onChange: () => void): () => void {
  const copy = startInformer(runtime, client, configMaps, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${HUB_TRUST_NAME}`,
  });
  copy.onChange(({ type, object, previous }) => {
    if (type !== 'updated' || !deepEqual(object['data'], previous?.['data'])) onChange();
  });
  return () => copy.stop();
}

/** The spoke belongs to nobody from now on. */
export async function dropTrust(client: Client): Promise<boolean> {
  try {
    await client.delete(configMaps, SYSTEM_NAMESPACE, HUB_TRUST_NAME);
    return true;
  } catch (error) {
    if (hasCode(error, 404)) return false;
    throw error;
  }
}

async function readMap(client: Client): Promise<KubeObject | undefined> {
  return ignoring(404, client.get(configMaps, SYSTEM_NAMESPACE, HUB_TRUST_NAME));
}

async function writeTrust(client: Client, trust: HubTrust, history: readonly string[]): Promise<void> {
  await client.apply(configMaps, trustMap(trust, history), { fieldManager: MANAGER, force: true });
}

function trustMap({ lineage, publicKey }: HubTrust, history: readonly string[]): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: HUB_TRUST_NAME, namespace: SYSTEM_NAMESPACE },
    data: { lineage, publicKey, ...(history.length === 0 ? {} : { history: history.join('\n') }) },
  };
}

/** Makes the namespace in which a spoke keeps all that is its own. */
export async function ensureSpokeNamespace(client: Client): Promise<void> {
  // It is there nearly always, and whether it is costs less to ask than to be refused.
  if (await isThere(client)) return;
  // Who may not make namespaces may be given this one.
  await ignoring(
    [409, 403],
    client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SYSTEM_NAMESPACE },
    }),
  );
}

async function isThere(client: Client): Promise<boolean> {
  try {
    await client.get(namespaces, '', SYSTEM_NAMESPACE);
    return true;
  } catch (error) {
    if (hasCode(error, 404) || hasCode(error, 403)) return false;
    throw error;
  }
}
