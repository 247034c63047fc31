// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createApiServer, memoryDriver } from '../src/apiserver/index.ts';
import { GRAPH_REVISION, GRAPH_ROLLOUT, RESOURCE_GRAPH_DEFINITION } from '../src/dialects/kro/index.ts';
import type { Client, ResourceId } from '../src/kube/client.ts';
import { installKinds } from '../src/kube/custom-resource.ts';
import type { KubeObject } from '../src/kube/object.ts';
import { createClient } from '../src/kube/rest-client.ts';
import { configMaps } from '../src/kube/well-known.ts';
import { systemRuntime } from '../src/runtime/index.ts';
import { type Graphs, startGraphs } from '../src/spoke/graphs/index.ts';
import { type Benchmark, type BenchmarkContext, type Measurement, pause, percentile } from './measure.ts';

/** Resource graphs on one cluster: API server and engine in one process, objects in memory, no network between them. */
export const graphsBenchmark: Benchmark = {
  name: 'graphs',
  description:
    'instances of graphs of 5 nodes, from nothing to ready; edits of one of them; memory of many; requests at rest',
  run,
};

const NODES = 5;
const INSTANCES = 500;
const EDITS = 200;
const DEFINITIONS = 100;
const INSTANCES_EACH = 1_000;
const REST_MS = 10_000;
const WRITERS = 16;

interface Bench {
  readonly client: Client;
  /** Requests of the engine so far. */
  asked(): number;
  graphs: Graphs | undefined;
  stop(): Promise<void>;
}

async function run(context: BenchmarkContext): Promise<readonly Measurement[]> {
  return [...(await speed(context)), ...(await memory(context))];
}

async function open(): Promise<Bench> {
  const runtime = systemRuntime();
  const server = await createApiServer({ runtime, storage: memoryDriver() });
  const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  await installKinds(runtime.clock, client, [RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION, GRAPH_ROLLOUT]);
  let asked = 0;
  const handler = server.as({ name: 'engine', groups: ['system:masters'] });
  const engine = createClient((request) => {
    asked += 1;
    return handler(request);
  });
  const bench: Bench = {
    client,
    asked: () => asked,
    graphs: startGraphs(runtime, { client: engine, version: 'bench' }),
    async stop() {
      await bench.graphs?.stop();
      await server.close();
    },
  };
  return bench;
}

/** Nodes in a row, each with a value of the one before. */
function definition(name: string, kind: string, nodes: number): KubeObject {
  const resources = Array.from({ length: nodes }, (_, index) => ({
    id: `node${index}`,
    template: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `\${schema.metadata.name}-${name}-${index}` },
      data: { value: index === 0 ? '${schema.spec.value}' : `\${node${index - 1}.data.value}` },
    },
  }));
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name },
    spec: { schema: { apiVersion: 'v1alpha1', kind, spec: { value: 'string | default=a' } }, resources },
  };
}

async function serve(client: Client, object: KubeObject, kind: string): Promise<ResourceId> {
  const definitions = await client.resourceFor('kro.run/v1alpha1', 'ResourceGraphDefinition');
  const { name = '' } = (await client.create(definitions, object)).metadata;
  for (;;) {
    const { status } = (await client.get(definitions, '', name)) as unknown as {
      status?: { state?: string };
    };
    if (status?.state === 'Active') return client.resourceFor('kro.run/v1alpha1', kind);
    await pause(5);
  }
}

function instanceOf(kind: string, name: string): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind,
    metadata: { name, namespace: 'default' },
    spec: { value: 'a' },
  };
}

/** Does something for each number, some at a time. */
async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: WRITERS }, loop));
}

function stateOf(object: KubeObject): string | undefined {
  return (object as unknown as { status?: { state?: string } }).status?.state;
}

/** Resolves when so many instances of a kind are ready. */
async function allReady(client: Client, resource: ResourceId, count: number): Promise<void> {
  const ending = new AbortController();
  const ready = new Set<string>();
  const { items, metadata } = await client.list(resource, 'default');
  for (const item of items) if (stateOf(item) === 'ACTIVE') ready.add(item.metadata.name ?? '');
  if (ready.size >= count) return;
  for await (const { type, object } of client.watch(resource, 'default', {
    resourceVersion: metadata.resourceVersion ?? '',
    signal: ending.signal,
  })) {
    if (type === 'ERROR') throw new Error('the watch of instances was broken off');
    if (stateOf(object) === 'ACTIVE') ready.add(object.metadata.name ?? '');
    if (ready.size >= count) break;
  }
  ending.abort();
}

async function speed(context: BenchmarkContext): Promise<Measurement[]> {
  const bench = await open();
  const { client } = bench;
  try {
    const instances = Math.max(20, Math.round(INSTANCES * context.scale));
    context.progress('write as many objects without a graph');
    const manager = { fieldManager: 'bench', force: true };
    const byHand = await timed(() =>
      each(instances, async (index) => {
        for (let node = 0; node < NODES; node++)
          await client.apply(
            configMaps,
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: { name: `floor-${index}-${node}`, namespace: 'default' },
              data: { value: 'a' },
            } as KubeObject,
            manager,
          );
      }),
    );
    context.progress(`${instances} instances of ${NODES} nodes`);
    const shops = await serve(client, definition('shop', 'Shop', NODES), 'Shop');
    const took = await timed(async () => {
      const ready = allReady(client, shops, instances);
      await each(instances, (index) => client.create(shops, instanceOf('Shop', `i${index}`)));
      await ready;
    });
    context.progress('edits, one at a time');
    const edits = Math.max(20, Math.round(EDITS * context.scale));
    const latencies: number[] = [];
    const arrived = arrivals(client, `i0-shop-${NODES - 1}`);
    for (let edit = 0; edit < edits; edit++) {
      const value = `edit-${edit}`;
      const seen = arrived.next(value);
      const began = performance.now();
      await client.patch(shops, 'default', 'i0', 'merge', { spec: { value } });
      await seen;
      latencies.push(performance.now() - began);
    }
    arrived.stop();
    context.progress('at rest');
    await pause(1_000);
    const before = bench.asked();
    await pause(REST_MS);
    return [
      {
        name: `instances of ${NODES} nodes, nothing → ready`,
        value: (instances / took) * 1_000,
        unit: 'requests/s',
        floor: { name: 'the objects alone', value: (instances / byHand) * 1_000 },
      },
      { name: 'edit → last node applied, median', value: percentile(latencies, 0.5), unit: 'ms' },
      { name: 'edit → last node applied, p99', value: percentile(latencies, 0.99), unit: 'ms', aim: 100 },
      {
        name: `requests in ${REST_MS / 1_000} s at rest`,
        value: bench.asked() - before,
        unit: 'writes',
        aim: 0,
      },
    ];
  } finally {
    await bench.stop();
  }
}

/** Tells when a ConfigMap holds a value. */
function arrivals(client: Client, name: string): { next(value: string): Promise<void>; stop(): void } {
  const ending = new AbortController();
  const waiting = new Map<string, () => void>();
  const watch = async (): Promise<void> => {
    const options = { fieldSelector: `metadata.name=${name}`, signal: ending.signal };
    for await (const { object } of client.watch(configMaps, 'default', options))
      waiting.get((object as unknown as { data?: { value?: string } }).data?.value ?? '')?.();
  };
  watch().catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return {
    next: (value) => new Promise((resolve) => waiting.set(value, resolve)),
    stop: () => ending.abort(),
  };
}

async function memory(context: BenchmarkContext): Promise<Measurement[]> {
  const bench = await open();
  const { client } = bench;
  try {
    const definitions = Math.max(5, Math.round(DEFINITIONS * context.scale));
    const each1 = Math.max(20, Math.round(INSTANCES_EACH * context.scale));
    for (let number = 0; number < definitions; number++) {
      const kind = `Kind${number}`;
      const resource = await serve(client, definition(`graph-${number}`, kind, 1), kind);
      const ready = allReady(client, resource, each1);
      await each(each1, (index) => client.create(resource, instanceOf(kind, `i${index}`)));
      await ready;
      if (number % 10 === 9) context.progress(`${number + 1} definitions with ${each1} instances`);
    }
    // What was written just now is forgotten when the watches have told of it.
    await pause(12_000);
    const full = heapMiB();
    await bench.graphs?.stop();
    bench.graphs = undefined;
    await pause(100);
    const empty = heapMiB();
    return [
      {
        name: `engine with ${definitions} × ${each1} instances`,
        value: full - empty,
        unit: 'MiB',
        floor: { name: 'the API server with their objects', value: empty },
      },
    ];
  } finally {
    await bench.stop();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** What is in use after everything that can go has gone. */
function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
