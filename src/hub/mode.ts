import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { hasCode, ignoring } from '../kube/status-error.ts';
import { configMaps } from '../kube/well-known.ts';
import { formatTime, type Timer } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { stringAt } from '../schema/json.ts';
import { currentEpoch, ensureSystemNamespace, raiseEpoch } from './dispatch/identity.ts';

/**
 * Whether the hub acts or only watches. A hub that finds a spoke ahead of it was restored from an old state: it sends nothing
 * to anyone until a person has looked and confirmed (`atoll hub confirm`), also after a restart.
 */
export interface HubMode {
  /** Why the hub only watches; undefined while it acts. */
  readonly observing: string | undefined;
  /** Of everything that the hub says. It is the one that was confirmed before the hub acts again. */
  readonly epoch: number;
  /** Stops all sending, at once. Durable when resolved, and recorded later where it rejects; a no-op where the hub watches already. */
  observe(reason: string): Promise<void>;
  /** Calls back when the mode changed. */
  onChange(listener: () => void): void;
  whenKnown(): Promise<void>;
  stop(): void;
}

/** Where the mode is kept at the hub: data `mode` (`observe` or `active`), `reason`, `since`. */
export const HUB_MODE_NAME = 'hub-mode';

const RETRY_MS = 1_000;

/** `epoch` is that of the hub's identity as it was read at the start. */
export function openHubMode(runtime: Runtime, client: Client, epoch: number): HubMode {
  const listeners: (() => void)[] = [];
  const now: { observing: string | undefined; epoch: number } = { observing: undefined, epoch };
  /** Words about the mode: only the last one counts. */
  let heard = 0;
  let retry: Timer | undefined;
  const copy = startInformer(runtime, client, configMaps, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${HUB_MODE_NAME}`,
  });
  copy.onChange(({ type, object }) => {
    heard += 1;
    retry?.cancel();
    const watching = type !== 'deleted' && stringAt(object, 'data', 'mode') === 'observe';
    if (watching) observeNow(stringAt(object, 'data', 'reason') ?? 'the hub was told to observe');
    else act(heard);
  });

  function observeNow(reason: string): void {
    if (reason === now.observing) return;
    now.observing = reason;
    runtime.log.warn('the hub only observes from now on', { why: reason });
    for (const listener of listeners) listener();
  }

  /** With its old epoch the hub would find itself behind its spokes once more. */
  function act(word: number): void {
    currentEpoch(client).then(
      (confirmed) => {
        if (word !== heard || (now.observing === undefined && now.epoch === confirmed)) return;
        if (now.observing !== undefined) runtime.log.info('the hub acts again', { epoch: confirmed });
        now.observing = undefined;
        now.epoch = confirmed;
        for (const listener of listeners) listener();
      },
      (error: unknown) => {
        if (word !== heard) return;
        runtime.log.error('the epoch could not be read', { why: errorText(error) });
        retry = runtime.clock.after(RETRY_MS, () => act(word));
      },
    );
  }

  /** Nobody can confirm what is not recorded: it is tried until it is, or another word is heard. */
  async function record(word: number, reason: string, since: string): Promise<void> {
    try {
      await writeHubMode(client, { mode: 'observe', reason, since });
    } catch (error) {
      if (word === heard) retry = runtime.clock.after(RETRY_MS, () => recordAgain(word, reason, since));
      throw error;
    }
  }

  function recordAgain(word: number, reason: string, since: string): void {
    record(word, reason, since).catch((error: unknown) =>
      runtime.log.error('that the hub observes could not be recorded', { why: errorText(error) }),
    );
  }

  return {
    get observing() {
      return now.observing;
    },
    get epoch() {
      return now.epoch;
    },
    async observe(reason: string): Promise<void> {
      if (now.observing !== undefined) return;
      // At once in memory: what is under way must not outrun the write, nor an older word about to be carried out undo it.
      heard += 1;
      retry?.cancel();
      observeNow(reason);
      await record(heard, reason, formatTime(runtime.clock.now()));
    },
    onChange: (listener) => void listeners.push(listener),
    whenKnown: () => copy.whenSynced(),
    stop(): void {
      heard += 1;
      retry?.cancel();
      copy.stop();
    },
  };
}

/** The mode as it is recorded now. */
export async function readHubMode(client: Client): Promise<{ observing?: string; since?: string }> {
  const map = await ignoring(404, client.get(configMaps, SYSTEM_NAMESPACE, HUB_MODE_NAME));
  if (stringAt(map, 'data', 'mode') !== 'observe') return {};
  return {
    observing: stringAt(map, 'data', 'reason') ?? '',
    since: stringAt(map, 'data', 'since') ?? '',
  };
}

/** A person has looked: the hub acts again, and its word counts more than all that was said before. Returns its epoch. */
export async function confirmHub(client: Client): Promise<number> {
  const epoch = await raiseEpoch(client);
  await writeHubMode(client, { mode: 'active', reason: '', since: '' });
  return epoch;
}

/** Writes the mode, whoever wrote it before. */
async function writeHubMode(client: Client, data: Record<string, string>): Promise<void> {
  await ensureSystemNamespace(client);
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: HUB_MODE_NAME, namespace: SYSTEM_NAMESPACE },
    data,
  };
  try {
    await client.create(configMaps, map);
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
    await client.patch(configMaps, SYSTEM_NAMESPACE, HUB_MODE_NAME, 'merge', { data });
  }
}
