import type { KubeObject } from '../../kube/object.ts';
import { errorText, parseTime, type Runtime } from '../../runtime/index.ts';
import { resourcePrefix } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { deadlines } from './deadlines.ts';

/** As long as Kubernetes keeps Events after they were last written. */
const LIFETIME_MS = 3_600_000;
const TOLERANCE_MS = 30_000;
/** Of both Event APIs: the second is where earlier versions stored those of events.k8s.io. */
const EVENTS = [resourcePrefix('', 'events'), resourcePrefix('events.k8s.io', 'events')];

/** Removes Events an hour after they were last written. Below the pipeline, as finalizers do not hold them either. */
export function startEventExpiry(runtime: Runtime, store: Store): { stop(): void } {
  const { clock, log } = runtime;
  let stopped = false;

  const expiring = deadlines(clock, TOLERANCE_MS, (keys) => {
    for (const key of keys) expire(key);
  });

  function expire(key: string): void {
    const record = store.get(key);
    if (record === undefined || stopped) return;
    const { revision } = record;
    store
      .write(key, (current) => (current?.revision === revision ? null : undefined))
      .catch((error: unknown) => {
        if (stopped || store.get(key) === undefined) return; // somebody else was faster
        log.warn('removing an old event failed, trying again', { key, error: errorText(error) });
        expiring.set(key, clock.now() + TOLERANCE_MS);
      });
  }

  const watches = EVENTS.map((prefix) =>
    store.watch(prefix, store.revision, (events) => {
      const at = clock.now() + LIFETIME_MS;
      for (const { type, record } of events) {
        if (type === 'deleted') expiring.clear(record.key);
        else expiring.set(record.key, at);
      }
    }),
  );
  for (const prefix of EVENTS)
    for (const { key, object } of store.list(prefix).records)
      expiring.set(key, lastWrite(object) + LIFETIME_MS);

  return {
    stop() {
      stopped = true;
      for (const watch of watches) watch.stop();
      expiring.stop();
    },
  };
}

/** After a restart only the Event itself tells when it was last written. */
function lastWrite(event: KubeObject): number {
  const { creationTimestamp, managedFields = [] } = event.metadata;
  const times = [creationTimestamp, ...managedFields.map((entry) => entry.time)];
  return Math.max(0, ...times.map((time) => parseTime(time) ?? 0));
}
