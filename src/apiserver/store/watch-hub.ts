import { errorText, type Logger } from '../../runtime/index.ts';
import type { StoreEvent, Watch } from './store.ts';

type Listener = (events: readonly StoreEvent[]) => void;

/**
 * Watchers indexed by their prefix: an event finds its watchers by looking up the few prefixes of its key, so that it
 * costs nothing to watchers of other keys. All watchers of one prefix are handed the same array.
 *
 * Nothing is queued here: a listener takes the events or drops itself.
 */
export interface WatchHub {
  /** Listens to what comes after `since`. `kept` is handed over at once. Several prefixes are one watch. */
  add(
    prefix: string | readonly string[],
    since: number,
    kept: readonly StoreEvent[],
    listener: Listener,
  ): Watch;
  /** `events` are in revision order. */
  publish(events: readonly StoreEvent[]): void;
  /** Drops all watchers. */
  clear(): void;
}

interface Watcher {
  /** Events up to here are not for this watcher: it has had them, or did not ask for them. */
  readonly since: number;
  readonly listener: Listener;
  /** For watchers of several prefixes: what the batch being published holds for them. */
  readonly gathered: StoreEvent[][] | undefined;
  stopped: boolean;
}

interface Node {
  readonly watchers: Set<Watcher>;
  /** The events of the batch being published. */
  batch: StoreEvent[];
}

export function watchHub(log: Logger): WatchHub {
  const nodes = new Map<string, Node>();

  function hand(watcher: Watcher, events: readonly StoreEvent[]): void {
    try {
      watcher.listener(events);
    } catch (error) {
      // One listener must not keep events from the others; it has lost this batch, so it is told loudly.
      log.error('a watcher failed on events', { error: errorText(error), events: events.length });
    }
  }

  function deliver(watcher: Watcher, batch: readonly StoreEvent[]): void {
    const first = batch[0];
    const last = batch[batch.length - 1];
    if (first === undefined || last === undefined || last.revision <= watcher.since) return;
    hand(
      watcher,
      first.revision > watcher.since ? batch : batch.filter((event) => event.revision > watcher.since),
    );
  }

  return {
    add(prefix, since, kept, listener) {
      const prefixes = typeof prefix === 'string' ? [prefix] : prefix;
      const watcher: Watcher = {
        since,
        listener,
        gathered: prefixes.length > 1 ? [] : undefined,
        stopped: false,
      };
      for (const one of prefixes) {
        const node = nodes.get(one) ?? { watchers: new Set(), batch: [] };
        nodes.set(one, node);
        node.watchers.add(watcher);
      }
      if (kept.length > 0) hand(watcher, kept);
      return {
        stop: () => {
          watcher.stopped = true;
          for (const one of prefixes) {
            const node = nodes.get(one);
            if (node?.watchers.delete(watcher) && node.watchers.size === 0) nodes.delete(one);
          }
        },
      };
    },
    publish(events) {
      if (nodes.size === 0) return;
      const touched: Node[] = [];
      for (const event of events) {
        const { key } = event.record;
        for (let end = key.indexOf('/'); ; end = key.indexOf('/', end + 1)) {
          const node = nodes.get(end < 0 ? key : key.slice(0, end + 1));
          if (node !== undefined) {
            if (node.batch.length === 0) touched.push(node);
            node.batch.push(event);
          }
          if (end < 0) break;
        }
      }
      const joining: Watcher[] = [];
      for (const node of touched) {
        const { batch } = node;
        node.batch = [];
        for (const watcher of node.watchers) {
          if (watcher.gathered === undefined) deliver(watcher, batch);
          else if (watcher.gathered.push(batch) === 1) joining.push(watcher);
        }
      }
      for (const watcher of joining) {
        const batches = watcher.gathered ?? [];
        const [first = []] = batches;
        const batch = batches.length === 1 ? first : batches.flat().sort((a, b) => a.revision - b.revision);
        batches.length = 0;
        if (!watcher.stopped) deliver(watcher, batch);
      }
    },
    clear() {
      for (const node of nodes.values()) node.watchers.clear();
      nodes.clear();
    },
  };
}
