// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ApiServerProcess, startApiServerProcess } from './harness/api-server.ts';
import { type CommandOptions, type Outcome, run } from './harness/command.ts';
import { type EngineProcess, startEngineProcess } from './harness/engine-process.ts';
import { until } from './harness/until.ts';

/** A hub, and two clusters where nothing but an API server runs. */
const servers: Record<string, ApiServerProcess> = {};
let hub: EngineProcess;
const kubectls = inject('kubectls');
const binary = kubectls.at(-1);

beforeAll(async () => {
  if (!binary) return;
  const [first, a, b] = await Promise.all([
    startApiServerProcess({ memory: true }),
    startApiServerProcess({ memory: true }),
    startApiServerProcess(),
  ]);
  Object.assign(servers, { hub: first, a, b });
  const flags = ['--name', 'hub', '--enable-multicluster', '--cluster-provider', 'kubeconfig'];
  hub = await startEngineProcess('hub', first.kubeconfig, [...flags, '--allow-loopback']);
}, 60_000);
afterAll(async () => {
  await hub?.stop();
  await Promise.all(Object.values(servers).map((server) => server.stop()));
});

function attempt(cluster: string, args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const server = servers[cluster];
  if (!binary || !server) throw new Error(`there is no cluster ${cluster}`);
  const home = join(server.directory, '..', 'home');
  mkdirSync(home, { recursive: true });
  return run(binary.path, args, { ...options, env: { KUBECONFIG: server.kubeconfig, HOME: home } });
}

async function kubectl(cluster: string, ...args: string[]): Promise<string> {
  const outcome = await attempt(cluster, args);
  if (outcome.code !== 0) throw new Error(`on ${cluster}: kubectl ${args.join(' ')}:\n${outcome.text}`);
  return outcome.stdout;
}

async function apply(cluster: string, ...objects: object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const outcome = await attempt(cluster, ['apply', '-f', '-'], { input });
  if (outcome.code !== 0) throw new Error(`on ${cluster}: ${outcome.text}`);
}

async function field(cluster: string, object: string, path: string): Promise<string> {
  return (await attempt(cluster, ['get', object, '-o', `jsonpath={${path}}`])).stdout;
}

const untilField = (cluster: string, object: string, path: string, value: string, withinMs = 20_000) =>
  until(
    `${path} of ${object} on ${cluster} to be ${value}`,
    async () => {
      const found = await field(cluster, object, path);
      if (found !== value) throw new Error(`it is ${JSON.stringify(found)}`);
      return true;
    },
    { withinMs, everyMs: 150 },
  );

const graph = (name: string, kind: string, node: object): object => ({
  apiVersion: 'kro.run/v1alpha1',
  kind: 'ResourceGraphDefinition',
  metadata: { name },
  spec: {
    schema: { apiVersion: 'v1alpha1', kind, spec: { colour: 'string | default=blue' } },
    resources: [
      {
        id: 'app',
        template: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '${schema.metadata.name}-app', namespace: 'default' },
          data: { colour: '${schema.spec.colour}' },
        },
        ...node,
      },
    ],
  },
});
const instance = (kind: string, name: string, colour: string): object => ({
  apiVersion: 'kro.run/v1alpha1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: { colour },
});
const colour = (cluster: string, name: string, value: string): Promise<unknown> =>
  untilField(cluster, `configmap/${name}-app`, '.data.colour', value);

describe.skipIf(!binary)('a hub that runs graphs on clusters without an engine', () => {
  it('engages two API servers, and serves a definition of the hub on both', async () => {
    await kubectl('hub', 'create', 'namespace', 'kro-system');
    for (const name of ['a', 'b']) {
      const { kubeconfig = '' } = servers[name] ?? {};
      const file = `--from-file=kubeconfig=${kubeconfig}`;
      await kubectl('hub', '-n', 'kro-system', 'create', 'secret', 'generic', name, file);
    }
    const label = 'multicluster.runtime/cluster=true';
    await kubectl('hub', '-n', 'kro-system', 'label', 'secret', 'a', 'b', label);
    await apply('hub', graph('shop', 'Shop', {}));
    for (const name of ['a', 'b']) {
      await untilField('hub', `engagedcluster/${name}`, '.status.graphs[0].state', 'Active');
      await apply(name, instance('Shop', 'one', name));
    }
    for (const name of ['a', 'b']) {
      await untilField(name, 'shop/one', '.status.state', 'ACTIVE');
      await colour(name, 'one', name);
      expect((await attempt(name, ['get', 'rgd'])).code).not.toBe(0);
    }
    expect(await kubectl('hub', 'get', 'engagedclusters')).toMatch(/a +a +Ready[\s\S]*b +b +Ready/);
    expect((await attempt('hub', ['get', 'configmap/one-app'])).code).not.toBe(0);
  });

  it('goes on with one of them while the other is killed, and with that when it is back', async () => {
    const { b } = servers;
    if (!b) throw new Error('b is not there');
    await b.kill();
    await apply('a', instance('Shop', 'two', 'red'));
    await colour('a', 'two', 'red');
    await kubectl('a', 'delete', 'configmap/two-app');
    await colour('a', 'two', 'red');
    await untilField('hub', 'engagedcluster/b', '.status.state', 'Unreachable');
    const port = new URL(b.url).port;
    servers['b'] = await startApiServerProcess({ directory: b.directory, flags: ['--port', port] });
    await apply('b', instance('Shop', 'one', 'green'));
    await colour('b', 'one', 'green');
    await untilField('hub', 'engagedcluster/b', '.status.state', 'Ready');
    await kubectl('b', 'delete', 'shop/one', '--timeout=20s');
    expect((await attempt('b', ['get', 'configmap/one-app'])).code).not.toBe(0);
  });

  it('reaches a cluster that a target names by its Secret, for whoever may use that', async () => {
    const target = { target: { cluster: { kubeconfigSecretName: 'a' } } };
    await apply('hub', graph('far', 'Far', target));
    const ready = '.status.conditions[?(@.type=="KubeconfigTargetsReady")].status';
    await untilField('hub', 'rgd/far', ready, 'True');
    await apply('hub', instance('Far', 'three', 'yellow'));
    await colour('a', 'three', 'yellow');
    await untilField('hub', 'far/three', '.status.state', 'ACTIVE');
    await kubectl('hub', 'delete', 'far/three', '--timeout=20s');
    expect((await attempt('a', ['get', 'configmap/three-app'])).code).not.toBe(0);
    const held = readFileSync(servers['a']?.kubeconfig ?? '', 'utf8');
    const key = /client-key-data: ?"?([\w+/=]{40})/.exec(held)?.[1] ?? 'no key';
    expect(hub.log()).not.toContain(key);
  });
});
