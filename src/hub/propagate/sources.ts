import type { Client } from '../../kube/client.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { gvkOf, type KubeObject, type ObjectRef } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** Live copies of the kinds that intents select from, on the hub's own API server. One watch a kind, however many intents. */
export interface Sources {
  /**
   * Objects of a kind, or why they cannot be had now. Starts to watch the kind when it is asked for first. `reader` is told of
   * its changes from then on.
   */
  objects(
    apiVersion: string,
    kind: string,
    reader: string,
  ):
    | { readonly objects: readonly KubeObject[] }
    | { readonly waiting: string }
    | { readonly unknown: string };
  /** An object of a watched kind that is at the hub and stays. */
  present(ref: ObjectRef): KubeObject | undefined;
  /** Whether all objects of a kind are known here, or that there is no such kind. */
  isRead(ref: ObjectRef): boolean;
  /** Whether an object is at the hub still. One that is being deleted is not: its deletion was asked for. */
  exists(ref: ObjectRef): Promise<boolean>;
  /** Forgets kinds that were not served, so that they are looked up again: their definition may have come. */
  retryUnknown(): void;
  /** Tells a reader nothing any more. */
  forget(reader: string): void;
  stop(): void;
}

interface Source {
  readonly readers: Set<string>;
  informer?: Informer;
  unknown?: string;
  /** Why it could not be found or listed at first. */
  failure?: string;
  /** How often it could not be found out where it is. */
  failures: number;
}

const LOOK_AGAIN_MS = [5_000, 30_000, 120_000];
/** Where the hub does not say where a kind is. */
const RETRY_MS = { first: 1_000, longest: 30_000 };

/**
 * `onChange` hears of every change of a watched kind, with who reads it; `onReady` who reads a kind that can be had and could not
 * before, or of which it is known why not.
 */
export function createSources(
  runtime: Runtime,
  client: Client,
  onChange: (change: Change, readers: ReadonlySet<string>) => void,
  onReady: (readers: ReadonlySet<string>) => void,
): Sources {
  const sources = new Map<string, Source>();
  /** How often kinds that discovery does not show were looked up again: it lags behind definitions. */
  const looked = new Map<string, number>();
  const timers = new Set<Timer>();

  function lookAgain(key: string, source: Source): void {
    const times = looked.get(key) ?? 0;
    const delayMs = LOOK_AGAIN_MS[times];
    if (delayMs === undefined || sources.get(key) !== source) return;
    looked.set(key, times + 1);
    later(key, source, delayMs, () => {
      sources.delete(key);
      onReady(source.readers);
    });
  }

  function later(key: string, source: Source, delayMs: number, act: () => void): void {
    const timer = runtime.clock.after(delayMs, () => {
      timers.delete(timer);
      if (sources.get(key) === source) act();
    });
    timers.add(timer);
  }

  async function open(key: string, apiVersion: string, kind: string, source: Source): Promise<void> {
    try {
      const resource = await client.resourceFor(apiVersion, kind);
      const informer = startInformer(runtime, client, resource, {
        onFailure(error) {
          source.failure = errorText(error);
          if (!informer.synced) onReady(source.readers);
        },
      });
      source.informer = informer;
      informer.onChange((change) => {
        if (informer.synced) onChange(change, source.readers);
      });
      await informer.whenSynced();
    } catch (error) {
      // It was stopped.
      if (sources.get(key) !== source) return;
      if (hasCode(error, 404)) {
        source.unknown = `the hub serves no kind ${kind} in ${apiVersion}: check apiVersion and kind, or apply its CustomResourceDefinition`;
        lookAgain(key, source);
      } else {
        const why = errorText(error);
        const isNew = source.failure !== why;
        source.failure = why;
        const delayMs = Math.min(RETRY_MS.longest, RETRY_MS.first * 2 ** Math.min(source.failures, 10));
        source.failures += 1;
        runtime.log.warn('could not watch a selected kind', { kind, why });
        later(key, source, delayMs, () => void open(key, apiVersion, kind, source));
        if (!isNew) return;
      }
    }
    onReady(source.readers);
  }

  return {
    objects(apiVersion: string, kind: string, reader: string) {
      const key = `${gvkOf({ apiVersion, kind }).group}/${kind}`;
      let source = sources.get(key);
      if (!source) {
        source = { readers: new Set(), failures: 0 };
        sources.set(key, source);
        void open(key, apiVersion, kind, source);
      }
      source.readers.add(reader);
      if (source.unknown !== undefined) return { unknown: source.unknown };
      if (source.informer?.synced) return { objects: source.informer.list() };
      return {
        waiting:
          source.failure === undefined
            ? `objects of kind ${kind} are being read`
            : `objects of kind ${kind} cannot be read by the hub: ${source.failure}`,
      };
    },
    present(ref: ObjectRef): KubeObject | undefined {
      const informer = sources.get(`${gvkOf(ref).group}/${ref.kind}`)?.informer;
      const object = informer?.synced ? informer.get(ref.namespace, ref.name) : undefined;
      return isStaying(object) ? object : undefined;
    },
    isRead(ref: ObjectRef): boolean {
      const source = sources.get(`${gvkOf(ref).group}/${ref.kind}`);
      return source?.unknown !== undefined || source?.informer?.synced === true;
    },
    async exists(ref: ObjectRef): Promise<boolean> {
      const informer = sources.get(`${gvkOf(ref).group}/${ref.kind}`)?.informer;
      if (informer?.synced) return isStaying(informer.get(ref.namespace, ref.name));
      try {
        const resource = await client.resourceFor(ref.apiVersion, ref.kind);
        return isStaying(await client.get(resource, ref.namespace, ref.name));
      } catch (error) {
        if (hasCode(error, 404)) return false;
        throw error;
      }
    },
    retryUnknown(): void {
      looked.clear();
      for (const [key, source] of sources) if (source.unknown !== undefined) sources.delete(key);
    },
    forget(reader: string): void {
      for (const [key, source] of sources) {
        source.readers.delete(reader);
        // Anybody may name kinds that nobody serves.
        if (source.unknown === undefined || source.readers.size > 0) continue;
        sources.delete(key);
        looked.delete(key);
      }
    },
    stop(): void {
      for (const source of sources.values()) source.informer?.stop();
      for (const timer of timers) timer.cancel();
      sources.clear();
    },
  };
}

function isStaying(object: KubeObject | undefined): boolean {
  return object !== undefined && object.metadata.deletionTimestamp === undefined;
}
