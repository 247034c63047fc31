import type { Client, ResourceId } from '../../../src/kube/client.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { systemClock } from '../../../src/runtime/index.ts';
import { within } from './until.ts';

export interface Seen {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  /** Monotonic milliseconds of the arrival. */
  readonly at: number;
}

/** Everything that happens to the objects of one kind in one namespace, as a watch of the API tells it. */
export interface Recording {
  readonly seen: readonly Seen[];
  /** The first event at or after position `from` that fits; waits for it. */
  next(what: string, fits: (event: Seen) => boolean, from?: number, withinMs?: number): Promise<Seen>;
  stop(): Promise<void>;
}

/** Starts to record; resolves when the present state is in. */
export async function record(client: Client, resource: ResourceId, namespace: string): Promise<Recording> {
  const clock = systemClock();
  const seen: Seen[] = [];
  const stopping = new AbortController();
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const wake of waiting) wake();
  };

  // Listed and watched from there on: not every API server sends the present state on a watch.
  const { items, metadata } = await client.list(resource, namespace);
  for (const object of items) seen.push({ type: 'ADDED', object, at: clock.monotonic() });

  async function follow(): Promise<void> {
    try {
      const resourceVersion = metadata.resourceVersion ?? '';
      const watch = client.watch(resource, namespace, { resourceVersion, signal: stopping.signal });
      for await (const event of watch) {
        if (event.type === 'ERROR') throw new Error(`the watch failed: ${event.object.message ?? ''}`);
        if (event.type !== 'BOOKMARK')
          seen.push({ type: event.type, object: event.object, at: clock.monotonic() });
        tell();
      }
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  }
  const following = follow();
  // Whoever waits for an event hears of it.
  following.catch(() => undefined);

  return {
    seen,
    async next(what, fits, from = 0, withinMs = 10_000): Promise<Seen> {
      const find = (): Seen | undefined => seen.slice(from).find(fits);
      let wake = (): void => undefined;
      const found = new Promise<Seen>((resolve) => {
        wake = () => {
          const event = find();
          if (event) resolve(event);
        };
      });
      waiting.add(wake);
      wake();
      const ended = following.then(() => {
        throw new Error(`the watch ended while waiting for ${what}`);
      });
      // Whoever loses the race may still fail later; that is nobody's concern then.
      ended.catch(() => undefined);
      try {
        return await within(what, withinMs, Promise.race([found, ended]));
      } finally {
        waiting.delete(wake);
      }
    },
    async stop(): Promise<void> {
      stopping.abort();
      await following;
    },
  };
}
