import { errorText, formatTime, type Runtime, uuid } from '../runtime/index.ts';
import type { Writer } from './client.ts';
import { type KubeObject, refKey, refOf } from './object.ts';
import { hasCode } from './status-error.ts';
import { events } from './well-known.ts';

/** Made once: an abort without a reason makes an error, and its stack, each time. */
const STOPPED = new Error('it was stopped');

export interface EventRecorder {
  /** Records that something happened to `object`. Returns at once; what cannot be written is dropped and logged. */
  record(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Number of happenings dropped since the start. */
  readonly dropped: number;
  stop(): void;
}

export interface EventRecorderOptions {
  /** `source.component` and `reportingComponent`. */
  component: string;
  /** Events remembered for aggregation, 512 by default. */
  remember?: number;
  /** Events waiting to be written, 256 by default; further ones are dropped. */
  pending?: number;
}

interface Aggregate {
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly firstTimestamp: string;
  lastTimestamp: string;
  count: number;
  /** Of the Event on the server; empty until it is created. */
  name: string;
}

const MESSAGE_LIMIT = 1024;

/**
 * Writes `v1` Events one after the other in the background. The same happening again raises the count of the Event that
 * is there; counts that pile up while a write is under way are written together.
 */
export function startEventRecorder(
  runtime: Runtime,
  client: Writer,
  options: EventRecorderOptions,
): EventRecorder {
  const log = runtime.log.with({ recorder: options.component });
  const remember = options.remember ?? 512;
  const limit = options.pending ?? 256;
  /** In order of last use. */
  const aggregates = new Map<string, Aggregate>();
  const pending = new Set<Aggregate>();
  const stopping = new AbortController();
  let writing = false;
  let dropped = 0;

  async function create(aggregate: Aggregate): Promise<void> {
    const { object } = aggregate;
    const ref = refOf(object);
    const namespace = ref.namespace === '' ? 'default' : ref.namespace;
    const name = `${ref.name.slice(0, 200)}.${uuid(runtime.random).replaceAll('-', '').slice(0, 16)}`;
    const event: KubeObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: ref.apiVersion,
        kind: ref.kind,
        name: ref.name,
        ...(ref.namespace === '' ? {} : { namespace: ref.namespace }),
        ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
        ...(object.metadata.resourceVersion === undefined
          ? {}
          : { resourceVersion: object.metadata.resourceVersion }),
      },
      type: aggregate.type,
      reason: aggregate.reason,
      message: aggregate.message,
      source: { component: options.component },
      reportingComponent: options.component,
      reportingInstance: '',
      firstTimestamp: aggregate.firstTimestamp,
      lastTimestamp: aggregate.lastTimestamp,
      count: aggregate.count,
    };
    await client.create(events, event, { signal: stopping.signal });
    aggregate.name = name;
  }

  async function write(aggregate: Aggregate): Promise<void> {
    if (aggregate.name === '') return create(aggregate);
    const namespace = aggregate.object.metadata.namespace ?? 'default';
    const patch = { count: aggregate.count, lastTimestamp: aggregate.lastTimestamp };
    try {
      await client.patch(events, namespace, aggregate.name, 'merge', patch, { signal: stopping.signal });
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      return create(aggregate); // expired meanwhile
    }
  }

  async function drain(): Promise<void> {
    for (const aggregate of pending) {
      if (stopping.signal.aborted) break;
      pending.delete(aggregate);
      try {
        await write(aggregate);
      } catch (error) {
        if (stopping.signal.aborted) break;
        dropped += 1;
        log.debug('an event could not be written', { reason: aggregate.reason, error: errorText(error) });
      }
    }
    writing = false;
    if (pending.size > 0 && !stopping.signal.aborted) schedule();
  }

  function schedule(): void {
    if (writing) return;
    writing = true;
    runtime.clock.defer(() => {
      drain().catch((error: unknown) => {
        log.error('the event recorder failed by a defect', { error: errorText(error) });
      });
    });
  }

  return {
    record(object, type, reason, message) {
      if (stopping.signal.aborted) return;
      const text = message.slice(0, MESSAGE_LIMIT);
      const key = `${refKey(refOf(object))}/${object.metadata.uid ?? ''}/${type}/${reason}/${text}`;
      const now = formatTime(runtime.clock.now());
      let aggregate = aggregates.get(key);
      if (aggregate) {
        aggregate.count += 1;
        aggregate.lastTimestamp = now;
        aggregates.delete(key);
      } else {
        aggregate = {
          object,
          type,
          reason,
          message: text,
          firstTimestamp: now,
          lastTimestamp: now,
          count: 1,
          name: '',
        };
      }
      aggregates.set(key, aggregate);
      for (const oldest of aggregates.keys()) {
        if (aggregates.size <= remember) break;
        aggregates.delete(oldest);
      }
      if (!pending.has(aggregate) && pending.size >= limit) {
        dropped += 1;
        return;
      }
      pending.add(aggregate);
      schedule();
    },
    get dropped() {
      return dropped;
    },
    stop() {
      stopping.abort(STOPPED);
      pending.clear();
    },
  };
}
