import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createApiServer, sqliteDriver } from '../src/apiserver/index.ts';
import { type Handler, readBody } from '../src/kube/exchange.ts';
import { httpHandler } from '../src/kube/http-handler.ts';
import { createCertificateAuthority, issueCertificate } from '../src/kube/pki.ts';
import { seededRandom, systemRuntime } from '../src/runtime/index.ts';
import { type Benchmark, type BenchmarkContext, type Measurement, rate } from './measure.ts';
import type { ServerSetup } from './server-worker.ts';

/** The rates of one server, by the name of the measurement. */
type Rates = Readonly<Record<string, number>>;

/** Requests a second of the embedded API server, in this process and over HTTPS, against a bare HTTP/2 server. */
export const apiServerBenchmark: Benchmark = {
  name: 'api-server',
  description: 'get, list 500, create and watch fan-out to 1,000, SQLite on disk, requests by 32 loops',
  run,
};

const LISTED = 500;
const WATCHERS = 1000;
const EVENTS = 100;
const CONCURRENCY = 32;
const COLLECTION = '/api/v1/namespaces/default/configmaps';
const LIST = `${COLLECTION}?labelSelector=bench%3Dlist`;
const ONE = `${COLLECTION}/listed-0`;
const WATCHED = '/api/v1/namespaces/kube-system/configmaps';

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'atoll-bench-'));
  try {
    context.progress('in this process');
    const inProcess = await measureInProcess(context, join(folder, 'in-process.db'));
    const pki = await certificates();
    const setup = { ...pki.server, recorded: {}, event: new Uint8Array() };
    context.progress('over HTTPS');
    const https = await overHttps(
      { ...setup, kind: 'atoll', database: join(folder, 'https.db') },
      pki.endpoint,
      async (handler) => {
        await fill(handler, context);
        const recorded = {
          [`GET ${ONE}`]: await bytesOf(handler, 'GET', ONE),
          [`GET ${LIST}`]: await bytesOf(handler, 'GET', LIST),
          POST: await bytesOf(handler, 'POST', COLLECTION, configMap('recorded', context)),
        };
        return { recorded, rates: await measure(handler, context) };
      },
    );
    const created = https.recorded['POST'] ?? new Uint8Array();
    const event = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), created, Buffer.from('}\n')]);
    context.progress('over HTTPS, the floor');
    const floor = await overHttps(
      { ...setup, kind: 'floor', database: '', recorded: https.recorded, event },
      pki.endpoint,
      (handler) => measure(handler, context),
    );
    return [...against('in process', inProcess, floor), ...against('HTTPS', https.rates, floor)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function against(way: string, rates: Rates, floor: Rates): Measurement[] {
  return Object.entries(rates).map(([name, value]) => ({
    name: `${name}, ${way}`,
    value,
    unit: name.startsWith('watch') ? 'deliveries/s' : 'requests/s',
    floor: { name: 'bare node:http2 with the same bytes', value: floor[name] ?? Number.NaN },
  }));
}

async function measure(handler: Handler, context: BenchmarkContext): Promise<Rates> {
  const duration = 3000 * context.scale;
  const get = await rate(CONCURRENCY, duration, () => expectOk(handler, 'GET', ONE));
  const list = await rate(4, duration, () => expectOk(handler, 'GET', LIST));
  const create = await rate(CONCURRENCY, duration, (index) =>
    expectOk(handler, 'POST', COLLECTION, configMap(`created-${index}`, context)),
  );
  const fanOut = await watchFanOut(handler, context);
  return { get, 'list 500': list, create, [`watch fan-out to ${WATCHERS}`]: fanOut };
}

async function measureInProcess(context: BenchmarkContext, database: string): Promise<Rates> {
  const server = await createApiServer({ runtime: systemRuntime(), storage: sqliteDriver(database) });
  try {
    const handler = server.as({ name: 'bench', groups: ['system:masters'] });
    await fill(handler, context);
    return await measure(handler, context);
  } finally {
    await server.close();
  }
}

/** Starts a server on its own thread, and gives a client of it. */
async function overHttps<T>(
  setup: ServerSetup,
  endpoint: (port: number) => Parameters<typeof httpHandler>[0],
  work: (handler: Handler) => Promise<T>,
): Promise<T> {
  const worker = new Worker(new URL('./server-worker.ts', import.meta.url), { workerData: setup });
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const handler = httpHandler(endpoint(port));
  try {
    return await work(handler);
  } finally {
    await handler.close();
    worker.postMessage('close');
    await exited;
  }
}

/** Events a second that arrive, over all watchers, when objects are created as fast as they can be. */
async function watchFanOut(handler: Handler, context: BenchmarkContext): Promise<number> {
  const events = Math.max(5, Math.round(EVENTS * context.scale));
  const abort = new AbortController();
  let opened = 0;
  const arrived = Array.from({ length: WATCHERS }, async () => {
    const response = await handler({
      method: 'GET',
      path: `${WATCHED}?watch=1&resourceVersion=0&labelSelector=bench%3Dwatched`,
      headers: {},
      signal: abort.signal,
    });
    if (response.status !== 200 || response.body instanceof Uint8Array) {
      throw new Error(`a watch was answered with ${response.status}`);
    }
    opened += 1;
    let seen = 0;
    for await (const chunk of response.body) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) seen += 1;
      if (seen >= events) return;
    }
    throw new Error(`a watch ended after ${seen} of ${events} events`);
  });
  const all = Promise.all(arrived);
  all.catch(() => {});
  while (opened < WATCHERS) await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 10))]);
  const began = performance.now();
  for (let index = 0; index < events; index++) {
    await expectOk(handler, 'POST', WATCHED, configMap(`watched-${index}`, context, 'watched'));
  }
  await all;
  const seconds = (performance.now() - began) / 1000;
  abort.abort();
  return (WATCHERS * events) / seconds;
}

async function fill(handler: Handler, context: BenchmarkContext): Promise<void> {
  for (let index = 0; index < LISTED; index++) {
    await expectOk(handler, 'POST', COLLECTION, configMap(`listed-${index}`, context, 'list'));
  }
}

/** About one KiB, the same for the same seed. */
function configMap(name: string, context: BenchmarkContext, label: string = 'created'): Uint8Array {
  const random = seededRandom(context.seed);
  const data = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`key-${index}`, Buffer.from(random.bytes(40)).toString('hex')]),
  );
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { bench: label } }, data };
  return Buffer.from(JSON.stringify(object));
}

async function expectOk(handler: Handler, method: string, path: string, body?: Uint8Array): Promise<void> {
  await bytesOf(handler, method, path, body);
}

async function bytesOf(
  handler: Handler,
  method: string,
  path: string,
  body?: Uint8Array,
): Promise<Uint8Array> {
  const headers: Record<string, string> = body ? { 'content-type': 'application/json' } : {};
  const response = await handler({ method, path, headers, ...(body ? { body } : {}) });
  const bytes = await readBody(response);
  if (response.status >= 300)
    throw new Error(`${method} ${path}: ${response.status} ${Buffer.from(bytes).toString()}`);
  return bytes;
}

async function certificates(): Promise<{
  server: Pick<ServerSetup, 'serving' | 'clientCa'>;
  endpoint: (port: number) => Parameters<typeof httpHandler>[0];
}> {
  const runtime = systemRuntime();
  const ca = await createCertificateAuthority(runtime, 'bench');
  const lifetimeMs = 3_600_000;
  const serving = await issueCertificate(runtime, ca, {
    commonName: 'bench-server',
    usage: 'server',
    ipAddresses: ['127.0.0.1'],
    lifetimeMs,
  });
  const client = await issueCertificate(runtime, ca, {
    commonName: 'bench',
    organizations: ['system:masters'],
    usage: 'client',
    lifetimeMs,
  });
  return {
    server: { serving, clientCa: ca.certificate },
    endpoint: (port) => ({
      url: `https://127.0.0.1:${port}`,
      ca: ca.certificate,
      clientCertificate: client.certificate,
      clientKey: client.key,
    }),
  };
}
