import { type Clock, errorText, jitter, type Runtime, sleep } from '../runtime/index.ts';
import type { ListOptions, Reader, ResourceId, WatchEvent } from './client.ts';
import type { Change, Informer } from './informer.ts';
import type { KubeObject } from './object.ts';
import { createObjectCache, type ObjectCache } from './object-cache.ts';
import { failure, hasCode, isStatus, StatusError } from './status-error.ts';

/** Made once: an abort without a reason makes an error, and its stack, each time. */
const STOPPED = new Error('it was stopped');

export interface InformerOptions {
  /** '' or absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /**
   * Whether a broken watch goes on from the last revision; true by default. False lists anew: for a server that may have been
   * restored from a backup meanwhile, so that the same revision means another state.
   */
  resume?: boolean;
  /** Hears why the server cannot be listed or watched, once for each reason. It is tried again in any case. */
  onFailure?: (error: unknown) => void;
}

export interface KeepingOptions<T extends KubeObject> extends InformerOptions {
  /**
   * What is kept of an object, which is this informer's own: less than all of it, or parts that others share. Its metadata must
   * stay.
   */
  keep?: (object: T) => T;
}

type Mutable<T> = { -readonly [P in keyof T]: T[P] };

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;
/** A stream that lasts this long is no failure when it ends: servers end them now and then. */
const SOUND_STREAM_MS = 1_000;
const PAGE = 500;

/**
 * Starts a local copy of a resource, kept by list and watch, and never gives up: a broken stream is resumed from the
 * last revision seen (bookmarks included); when the server has forgotten that revision the resource is listed again and
 * the difference is told as changes. Failures are retried after 0.2 s, doubling to 5 s, with jitter.
 *
 * `managedFields` are left out of the cached objects: they are often half of an object, and no cache reader needs them.
 */
export function startInformer<T extends KubeObject = KubeObject>(
  runtime: Runtime,
  client: Reader,
  resource: ResourceId,
  options: KeepingOptions<T> = {},
): Informer<T> {
  const log = runtime.log.with({ informer: resource.resource });
  const cache: ObjectCache<T> = createObjectCache<T>();
  const stopping = new AbortController();
  const changeListeners = new Set<(change: Change<T>) => void>();
  const liveListeners = new Set<(live: boolean, error?: unknown) => void>();
  const firstSync = Promise.withResolvers<void>();
  firstSync.promise.catch(() => {}); // whoever waits hears of it; nobody has to wait
  const namespace = options.namespace ?? '';
  const selectors: Pick<ListOptions, 'labelSelector' | 'fieldSelector'> = {
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
  };

  /** Where to resume; undefined when everything must be listed. */
  let resourceVersion: string | undefined;
  let failures = 0;
  let lastMessage = '';

  /** The object is this informer's alone: it was parsed from the stream for it. What a property is deleted of takes thrice the memory. */
  function lean(object: T): T {
    if (object.metadata.managedFields !== undefined) {
      const { managedFields: _managedFields, ...metadata } = object.metadata;
      object.metadata = metadata;
    }
    return options.keep?.(object) ?? object;
  }

  function tell(change: Change<T>): void {
    for (const listener of changeListeners) {
      try {
        listener(change);
      } catch (error) {
        log.error('a listener of changes failed', { error: errorText(error) });
      }
    }
  }

  function setLive(now: boolean, error?: unknown): void {
    if (informer.live === now) return;
    informer.live = now;
    for (const listener of liveListeners) {
      try {
        listener(now, error);
      } catch (thrown) {
        log.error('a listener of liveness failed', { error: errorText(thrown) });
      }
    }
  }

  async function relist(): Promise<void> {
    const present: T[] = [];
    let token: string | undefined;
    let version: string | undefined;
    do {
      const page = await client.list<T>(resource, namespace, {
        ...selectors,
        limit: PAGE,
        signal: stopping.signal,
        ...(token === undefined ? {} : { continue: token }),
      });
      for (const item of page.items) present.push(lean(item));
      token = page.metadata.continue;
      version = page.metadata.resourceVersion;
    } while (token !== undefined && token !== '');
    if (stopping.signal.aborted) return;
    resourceVersion = version;
    cache.replace(present, tell);
    if (!informer.synced) {
      informer.synced = true;
      firstSync.resolve();
    }
  }

  /** Applies one event. Throws when it is an error of the stream. */
  function take(event: WatchEvent<T>): void {
    if (event.type === 'ERROR') throw streamError(event.object);
    const version = event.object.metadata.resourceVersion;
    if (event.type === 'DELETED') cache.remove(lean(event.object), tell);
    else if (event.type !== 'BOOKMARK') cache.put(lean(event.object), tell);
    if (version !== undefined) resourceVersion = version;
  }

  /** One watch, until it ends. Says whether it proved the server sound. */
  async function follow(from: string): Promise<boolean> {
    const openedAt = runtime.clock.monotonic();
    let events = 0;
    const stream = client.watch<T>(resource, namespace, {
      ...selectors,
      resourceVersion: from,
      signal: stopping.signal,
      onOpen: () => setLive(true),
    });
    for await (const event of stream) {
      if (stopping.signal.aborted) break;
      if (event.type !== 'ERROR') setLive(true);
      take(event);
      failures = 0;
      lastMessage = '';
      events += 1;
    }
    return events > 0 || runtime.clock.monotonic() - openedAt >= SOUND_STREAM_MS;
  }

  function note(error: unknown): void {
    const message = errorText(error);
    const line = { error: message, failures };
    const isNew = message !== lastMessage;
    lastMessage = message;
    if (!isNew) {
      log.debug('list or watch failed again', line);
      return;
    }
    log.warn('list or watch failed', line);
    options.onFailure?.(error);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let failed = false;
      try {
        if (resourceVersion === undefined) await relist();
        else {
          failed = !(await follow(resourceVersion));
          setLive(false);
          if (options.resume === false) resourceVersion = undefined;
        }
      } catch (error) {
        if (stopping.signal.aborted) break;
        setLive(false, error);
        failed = true;
        if (options.resume === false) resourceVersion = undefined;
        if (isForgotten(error)) {
          // The first time list at once: nothing is wrong with the server.
          failed = resourceVersion === undefined || failures > 0;
          resourceVersion = undefined;
          log.info('listing again: the server has forgotten the last revision', { error: errorText(error) });
        } else note(error);
      }
      if (!failed) continue;
      failures += 1;
      await pause(runtime.clock, backOff(runtime, failures), stopping.signal);
    }
  }

  // Plain values: accessors that are made for each object make a slow one of it, and a hub has two for each spoke.
  const informer: Mutable<Informer<T>> = {
    synced: false,
    live: false,
    get: cache.get,
    list: cache.list,
    onChange(listener) {
      changeListeners.add(listener);
      return () => changeListeners.delete(listener);
    },
    onLive(listener) {
      liveListeners.add(listener);
      return () => liveListeners.delete(listener);
    },
    whenSynced: () => firstSync.promise,
    stop() {
      if (stopping.signal.aborted) return;
      stopping.abort(STOPPED);
      setLive(false);
      firstSync.reject(new Error(`the informer of ${resource.resource} was stopped`));
    },
  };

  run().then(
    () => setLive(false),
    (error: unknown) => log.error('the informer ended by a defect', { error: errorText(error) }),
  );

  return informer;
}

function backOff(runtime: Runtime, failures: number): number {
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 10));
  return Math.min(LONGEST_DELAY_MS, jitter(runtime.random, delay, 0.3));
}

/** A sleep whose abort is a normal end. */
async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(clock, delayMs, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function streamError(object: { code?: number; reason?: string; message?: string }): StatusError {
  if (isStatus(object)) return new StatusError(object);
  return failure(object.code ?? 500, object.reason ?? 'InternalError', object.message ?? 'the watch failed');
}

/** Whether the revision to resume from is of no use: forgotten, or never reached (a server restored from a backup). */
function isForgotten(error: unknown): boolean {
  if (hasCode(error, 410)) return true;
  return (
    error instanceof StatusError &&
    (error.status.details?.causes ?? []).some((cause) => cause.reason === 'ResourceVersionTooLarge')
  );
}
