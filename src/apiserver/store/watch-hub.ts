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
  /** Whether it watches several prefixes: then what is published for each of them is handed over as one batch. */
  readonly joins: boolean;
  /** What is being published for the first of its prefixes, and for the others: of a thousand watchers, nearly none has both. */
  gathered: StoreEvent[] | undefined;
  others: StoreEvent[][] | undefined;
  stopped: boolean;
}

interface Node {
  readonly watchers: Set<Watcher>;
  /** The events of the batch being published. */
  batch: StoreEvent[];
}

export function watchHub(log: Logger): WatchHub {
  const nodes = new Map<string, Node>();
  /** Those of the publication under way that join batches. Kept, since it is as long each time. */
  const joining: (Watcher | undefined)[] = [];

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
        joins: prefixes.length > 1,
        gathered: undefined,
        others: undefined,
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
      let joined = 0;
      for (const node of touched) {
        const { batch } = node;
        node.batch = [];
        for (const watcher of node.watchers) {
          if (!watcher.joins) deliver(watcher, batch);
          else if (watcher.gathered === undefined) {
            watcher.gathered = batch;
            joining[joined++] = watcher;
          } else {
            watcher.others ??= [];
            watcher.others.push(batch);
          }
        }
      }
      for (let index = 0; index < joined; index++) {
        const watcher = joining[index];
        joining[index] = undefined;
        if (watcher?.gathered === undefined) continue;
        const { gathered, others } = watcher;
        watcher.gathered = undefined;
        watcher.others = undefined;
        const batch =
          others === undefined
            ? gathered
            : gathered.concat(...others).sort((a, b) => a.revision - b.revision);
        if (!watcher.stopped) deliver(watcher, batch);
      }
    },
    clear() {
      for (const node of nodes.values()) node.watchers.clear();
      nodes.clear();
    },
  };
}
