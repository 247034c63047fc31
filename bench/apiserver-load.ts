import { seededRandom } from '../src/runtime/index.ts';
import type { Subject } from './apiserver-subject.ts';
import { type BenchmarkContext, percentile, rate } from './measure.ts';

/** What one server did, by the name of the measurement. */
export type Figures = Readonly<Record<string, number>>;

const LISTED = 500;
const PATCHED = 100;
const CONCURRENCY = 32;
const WRITERS = 4;
const WARM_UP = 20;
const PACED = 150;
const PAUSE_MS = 20;
const COLLECTION = '/api/v1/namespaces/default/configmaps';
const WATCHED = '/api/v1/namespaces/kube-system/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

/** Requests a second of each kind, one kind after the other. */
export async function measureRequests(subject: Subject, context: BenchmarkContext): Promise<Figures> {
  const duration = 3_000 * context.scale;
  for (let index = 0; index < LISTED; index++)
    await subject.call('POST', COLLECTION, configMap(`listed-${index}`, context, 'list'));
  for (let index = 0; index < PATCHED; index++)
    await subject.call('PATCH', applyPath(index), deployment(index, 0), APPLY);
  const ignore = (): undefined => undefined;
  const measured = (concurrency: number, work: (index: number) => Promise<unknown>): Promise<number> =>
    rate(concurrency, duration, (index) => work(index).then(ignore));
  const get = await measured(CONCURRENCY, () => subject.call('GET', `${COLLECTION}/listed-0`));
  const list = await measured(WRITERS, () => subject.call('GET', `${COLLECTION}?labelSelector=bench%3Dlist`));
  const merge = await measured(CONCURRENCY, (index) =>
    subject.call(
      'PATCH',
      `${COLLECTION}/listed-${index % PATCHED}`,
      Buffer.from(JSON.stringify({ data: { changed: String(index) } })),
      MERGE,
    ),
  );
  const apply = await measured(CONCURRENCY, (index) =>
    subject.call('PATCH', applyPath(index % PATCHED), deployment(index % PATCHED, index), APPLY),
  );
  const create = await measured(CONCURRENCY, (index) =>
    subject.call('POST', COLLECTION, configMap(`created-${index}`, context, 'created')),
  );
  return { create, get, [`list ${LISTED}`]: list, apply, 'merge patch': merge };
}

/**
 * Watchers of one collection while its only object changes: deliveries a second when four writers change it as fast as they
 * can, and the time from the beginning of a write to its arrival at a watcher when changes come one at a time.
 */
export async function measureWatches(
  subject: Subject,
  watchers: number,
  context: BenchmarkContext,
): Promise<{ deliveries: number; p50: number; p99: number }> {
  const name = `watched-${watchers}`;
  await subject.call('POST', WATCHED, configMap(name, context, name));
  const began = new Map<number, number>();
  let latencies: number[] = [];
  let arrived = 0;
  const waiting = new Set<() => void>();
  const arrive = (text: Buffer, now: number): void => {
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) {
      const start = began.get(Number(text.toString('latin1', at + MARK.length, at + MARK.length + DIGITS)));
      if (start === undefined) continue;
      latencies.push(now - start);
      arrived += 1;
    }
    for (const look of waiting) look();
  };
  /** Events may share a chunk, and one may lie in two. */
  const follower = (): ((chunk: Uint8Array) => void) => {
    let rest: Buffer | undefined;
    return (chunk) => {
      const now = performance.now();
      const text = rest === undefined ? (chunk as Buffer) : Buffer.concat([rest, chunk]);
      const end = text.lastIndexOf(NEWLINE) + 1;
      rest = end === text.length ? undefined : text.subarray(end);
      if (end > 0) arrive(end === text.length ? text : text.subarray(0, end), now);
    };
  };
  const path = `${WATCHED}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3D${name}`;
  const open: { stop(): void }[] = [];
  for (let index = 0; index < watchers; index++) open.push(await subject.watch(path, follower()));
  let number = 0;
  const write = async (): Promise<void> => {
    const mine = ++number;
    began.set(mine, performance.now());
    const patch = { data: { mark: String(mine).padStart(DIGITS, '0') } };
    await subject.call('PATCH', `${WATCHED}/${name}`, Buffer.from(JSON.stringify(patch)), MERGE);
  };
  const allOf = (expected: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`${arrived} of ${expected} deliveries to ${watchers} watchers in 60 s`)),
        60_000,
      );
      const look = (): void => {
        if (arrived < expected) return;
        waiting.delete(look);
        clearTimeout(late);
        resolve();
      };
      waiting.add(look);
      look();
    });

  const paced = Math.max(20, Math.round(PACED * context.scale));
  for (let change = 0; change < WARM_UP + paced; change++) {
    if (change === WARM_UP) latencies = [];
    await write();
    await allOf((change + 1) * watchers);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];

  const burst = async (durationMs: number): Promise<number> => {
    arrived = 0;
    const first = number;
    const start = performance.now();
    const loop = async (): Promise<void> => {
      while (performance.now() - start < durationMs) {
        await write();
        // No further ahead of the watchers than a server may buffer for them.
        if ((number - first) * watchers - arrived > 50 * watchers)
          await allOf((number - first - 25) * watchers);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, loop));
    await allOf((number - first) * watchers);
    return (arrived / (performance.now() - start)) * 1_000;
  };
  await burst(500 * context.scale);
  const deliveries = await burst(3_000 * context.scale);
  for (const { stop } of open) stop();
  return { deliveries, p50, p99 };
}

const MARK = Buffer.from('"mark":"');
const DIGITS = 8;
const NEWLINE = 10;

/** About one KiB, the same for the same seed. */
function configMap(name: string, context: BenchmarkContext, label: string): Uint8Array {
  const random = seededRandom(context.seed);
  const data = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`key-${index}`, Buffer.from(random.bytes(40)).toString('hex')]),
  );
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { bench: label } }, data };
  return Buffer.from(JSON.stringify(object));
}

function applyPath(index: number): string {
  return `${DEPLOYMENTS}/applied-${index}?fieldManager=bench&force=true`;
}

/** About sixty fields, as a chart would have them. */
function deployment(index: number, change: number): Uint8Array {
  const labels = { app: `applied-${index}`, tier: 'web', release: 'bench' };
  const probe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 10, timeoutSeconds: 2 };
  const container = (name: string): object => ({
    name,
    image: `registry.example/${name}:${change}`,
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/serve'],
    args: ['--port=8080', '--log=info'],
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: [
      { name: 'MODE', value: 'production' },
      { name: 'REGION', value: 'north' },
      { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
    livenessProbe: probe,
    readinessProbe: probe,
    volumeMounts: [{ name: 'config', mountPath: '/etc/config', readOnly: true }],
  });
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name: `applied-${index}`,
        namespace: 'default',
        labels,
        annotations: { change: String(change) },
      },
      spec: {
        replicas: 3,
        revisionHistoryLimit: 5,
        selector: { matchLabels: { app: `applied-${index}` } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: 'default',
            terminationGracePeriodSeconds: 20,
            securityContext: { runAsNonRoot: true, runAsUser: 1000 },
            containers: [container('web'), container('proxy')],
            volumes: [{ name: 'config', configMap: { name: 'settings' } }],
          },
        },
      },
    }),
  );
}
