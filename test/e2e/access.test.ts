import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { formatTime, systemClock } from '../../src/runtime/index.ts';
import { type Kubectl, kubectlOf } from './harness/api-server.ts';
import type { Outcome } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { type PlainServer, startPlainServer } from './harness/plain-server.ts';
import { until } from './harness/until.ts';

/** Everything here goes by way of the hub: no context of a spoke itself is used but to prepare it. */
const BY_HUB = 'spoke-1@hub';
let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
  await fleet.apply('spoke-1', POD);
  await fleet.kubectl('spoke-1', 'wait', 'pod/web', '--for=condition=Ready', '--timeout=30s');
});
afterAll(() => fleet?.stop());

const POD = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {sim.atoll.dev/log: "one\\ntwo", sim.atoll.dev/log-every: 200ms, sim.atoll.dev/log-line: "again {n}"}}
spec:
  containers:
  - name: web
    image: example/web:1
    ports: [{containerPort: 8080}]
`;

function map(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: "1"}\n`;
}

/** Runs kubectl until it has said something, then does `then`; what it said in the end. */
async function untilSaid(
  context: string,
  args: readonly string[],
  wanted: RegExp,
  then: (child: ChildProcess | undefined, text: string) => Promise<void> | void = (child) =>
    void child?.kill('SIGTERM'),
): Promise<Outcome> {
  let child: ChildProcess | undefined;
  let done = false;
  const outcome = await fleet.tryKubectl(context, args, {
    onStart: (started) => {
      child = started;
    },
    onOutput: (text) => {
      if (done || !wanted.test(text)) return;
      done = true;
      void then(child, text);
    },
  });
  expect(outcome.text).toMatch(wanted);
  return outcome;
}

async function granted(name: string, ...what: string[]): Promise<void> {
  const made = await fleet.mustAtoll(
    'grant',
    'create',
    ...what,
    '--name',
    name,
    '--clusters',
    'spoke-1',
    '-n',
    'default',
    '--reason',
    'incident 12',
    '--approve',
  );
  expect(made).toContain(`Grant ${name} is live`);
  await until(
    'the grant counts',
    async () =>
      (await fleet.kubectl('hub', 'get', 'accessgrant', name, '-o', 'jsonpath={.status.state}')) === 'Live',
  );
}

describeFleet('a spoke through the hub', () => {
  it('[K24] [S103] kubectl reads, watches and follows logs', async () => {
    expect(await fleet.kubectl(BY_HUB, 'get', 'pods', '-o', 'name')).toBe('pod/web\n');
    await untilSaid(BY_HUB, ['logs', '-f', 'web'], /again 2/);
    const watching = untilSaid(BY_HUB, ['get', 'pods', '-w', '-o', 'name'], /pod\/second/);
    await fleet.apply('spoke-1', POD.replace('name: web,', 'name: second,'));
    await watching;
    const server = `--server=${await serverOf(fleet.door)}/apis/cluster.core.oam.dev/v1alpha1/clustergateways/spoke-1/proxy`;
    expect(await fleet.kubectl(fleet.door, server, 'get', 'pod', 'web', '-o', 'name')).toBe('pod/web\n');
    const gateway = untilSaid(fleet.door, [server, 'get', 'pods', '-w', '-o', 'name'], /pod\/third/);
    await fleet.apply('spoke-1', POD.replace('name: web,', 'name: third,'));
    await gateway;
  });

  it('refuses to write, exec and forward without a grant, and says how to get one', async () => {
    const written = await fleet.tryKubectl(BY_HUB, ['apply', '-f', '-'], { input: map('x') });
    expect(written.code).toBe(1);
    expect(written.text).toContain('needs an AccessGrant');
    expect(written.text).toContain('Next: atoll grant create write');
    const exec = await fleet.tryKubectl(BY_HUB, ['exec', 'web', '--', 'true']);
    expect(exec.code).toBe(1);
    expect(exec.text).toContain('needs an AccessGrant');
    // What the spoke itself refuses is said in its words.
    expect((await fleet.tryKubectl(BY_HUB, ['get', 'secrets'])).text).toContain('User "hub:');
  });

  it('[A68] writes, runs commands with their exit codes, copies and forwards with one; revoking cuts what is open', async () => {
    await granted('incident', 'exec', 'write', 'port-forward');
    await fleet.apply(BY_HUB, map('x'));
    expect(await fleet.kubectl('spoke-1', 'get', 'cm', 'x', '-o', 'jsonpath={.data.a}')).toBe('1');
    expect(await fleet.kubectl(BY_HUB, 'exec', 'web', '--', 'echo', 'hello')).toBe('hello\n');
    // The newest asks for a WebSocket, the oldest for SPDY.
    for (const { path: binary } of inject('kubectls')) {
      const failed = await fleet.tryKubectl(BY_HUB, ['exec', 'web', '--', 'sh', '-c', 'exit 7'], { binary });
      expect(failed.code, binary).toBe(7);
    }
    expect(await fleet.kubectl(BY_HUB, 'exec', '-i', 'web', '--', 'cat')).toBe('');
    await fleet.kubectl(BY_HUB, 'exec', 'web', '--', 'sh', '-c', 'echo content > /tmp/file');
    expect(await fleet.kubectl(BY_HUB, 'exec', 'web', '--', 'cat', '/tmp/file')).toBe('content\n');

    const file = join(`${fleet.directory}.home`, 'copied');
    mkdirSync(dirname(file), { recursive: true });
    await fleet.kubectl(BY_HUB, 'cp', 'default/web:/tmp/file', file);
    expect(readFileSync(file, 'utf8')).toBe('content\n');

    let answer = '';
    await untilSaid(
      BY_HUB,
      ['port-forward', 'pod/web', ':8080'],
      /Forwarding from 127\.0\.0\.1:(\d+)/,
      async (child, text) => {
        const port = /127\.0\.0\.1:(\d+)/.exec(text)?.[1] ?? '';
        answer = await (await fetch(`http://127.0.0.1:${port}/`)).text();
        child?.kill('SIGTERM');
      },
    );
    expect(answer).not.toBe('');

    const cut = await untilSaid(
      BY_HUB,
      ['exec', 'web', '--', 'sh', '-c', 'echo ready; sleep 1000'],
      /ready/,
      () => fleet.mustAtoll('grant', 'revoke', 'incident').then(() => undefined),
    );
    expect(cut.code).not.toBe(0);
    expect((await fleet.tryKubectl(BY_HUB, ['exec', 'web', '--', 'true'])).text).toContain(
      'needs an AccessGrant',
    );
  });

  it('[A69] atoll get shows the whole fleet, and says what is missing', async () => {
    const all = await fleet.atoll(['get', 'pods', '-A']);
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(/^CLUSTER +NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE/);
    expect(all.stdout).toMatch(/spoke-1 +default +web +1\/1 +Running/);
    const scoped = await fleet.mustAtoll('get', 'configmaps', '-A', '--operation-scope', 'all');
    expect(scoped.split('\n')[0]).toMatch(/CLUSTER .*ADOPTION/);
    expect(scoped).toMatch(/\(hub\) +kube-system +\S+ .* -\n/);
    expect(scoped).toMatch(/spoke-2 +default +kube-root-ca\.crt .* N\n/);
    const one = await fleet.mustAtoll('get', 'cm', '--clusters', 'atoll.dev/cluster=spoke-2', '-o', 'name');
    expect(one).toBe('spoke-2/default/configmap/kube-root-ca.crt\n');

    const server = `--server=${await serverOf(fleet.door)}/fleet`;
    expect(await fleet.kubectl(fleet.door, server, 'get', 'pods', '-A')).toMatch(
      /NAMESPACE +NAME +CLUSTER +READY/,
    );
    expect(await fleet.kubectl(fleet.door, server, 'logs', 'web')).toContain('two');
    const watching = untilSaid(fleet.door, [server, 'get', 'pods', '-w'], /elsewhere +spoke-2/);
    await fleet.apply('spoke-2', POD.replace('name: web,', 'name: elsewhere,'));
    await watching;

    await fleet.kill('spoke-2');
    const part = await until('spoke-2 is missing', async () => {
      const outcome = await fleet.atoll(['get', 'pods', '-A']);
      return outcome.code === 2 ? outcome : undefined;
    });
    expect(part.stdout).toContain('spoke-1');
    expect(part.stderr).toMatch(/missing: spoke-2, last seen /);
    const away = await fleet.tryKubectl('spoke-2@hub', ['get', 'pods']);
    expect(away.code).toBe(1);
    expect(away.text).toContain('the cluster spoke-2 ');
    expect(away.text).toContain('atoll cluster show spoke-2');
  });
});

async function serverOf(context: string): Promise<string> {
  return fleet.kubectl(
    context,
    'config',
    'view',
    '-o',
    `jsonpath={.clusters[?(@.name=="${context}")].cluster.server}`,
  );
}

describeFleet('a hub on an API server of someone else', () => {
  let api: PlainServer;
  let kubectl: Kubectl;
  let hub: ChildProcess | undefined;
  let said = '';
  beforeAll(async () => {
    api = await startPlainServer();
    const newest = inject('kubectls').at(-1);
    if (newest === undefined) throw new Error('no kubectl');
    kubectl = kubectlOf(api, newest, 'default');
    const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
    const flags = ['--data', join(api.home, 'hub'), '--access-port', '0', '--allow-loopback'];
    hub = spawn(process.execPath, [main, 'hub', '--kubeconfig', api.kubeconfig, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [hub.stdout, hub.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
      });
    await until('the hub is ready', () => said.includes('"ready"'), { withinMs: 30_000 });
  });
  afterAll(async () => {
    hub?.kill('SIGKILL');
    await api?.stop();
  });

  it('[A68] leads to its spokes on a port of its own, for whom the API server knows', async () => {
    const far = readFileSync(join(fleet.directory, 'spoke-1', 'kubeconfig'), 'utf8');
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'far', namespace: 'default' },
      stringData: { kubeconfig: far },
    };
    const cluster = {
      apiVersion: 'core.oam.dev/v1beta1',
      kind: 'SpokeCluster',
      metadata: { name: 'far', namespace: 'default' },
      spec: {
        mode: 'connect',
        credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far' } } },
      },
    };
    await kubectl.feed(JSON.stringify(secret), 'apply', '-n', 'default');
    await kubectl.feed(JSON.stringify(cluster), 'apply', '-n', 'default');
    await kubectl.run(
      '-n',
      'default',
      'wait',
      'spokecluster/far',
      '--for=condition=Connected',
      '--timeout=20s',
    );
    const { server, certificateAuthority } = JSON.parse(
      said.split('\n').find((line) => line.includes('people get to the spokes here')) ?? '{}',
    ) as { server: string; certificateAuthority: string };
    const there = [
      `--server=${server.replace('<name>', 'far')}`,
      `--certificate-authority=${certificateAuthority}`,
    ];
    // The administrator, by certificate: a user like others on the spoke.
    expect(
      (await kubectl.attempt(['-n', 'default', ...there, 'get', 'pod', 'web', '-o', 'name'])).stdout,
    ).toBe('pod/web\n');
    expect((await kubectl.attempt(['-n', 'default', ...there, 'get', 'secrets'])).stderr).toContain(
      'User "hub:',
    );

    await kubectl.run('-n', 'default', 'create', 'serviceaccount', 'ci');
    const token = (await kubectl.run('-n', 'default', 'create', 'token', 'ci')).trim();
    const kubeconfig = join(api.home, 'ci.kubeconfig');
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'far',
            cluster: { server: there[0]?.slice(9), 'certificate-authority': certificateAuthority },
          },
        ],
        users: [{ name: 'ci', user: { token } }],
        contexts: [{ name: 'far', context: { cluster: 'far', user: 'ci' } }],
        'current-context': 'far',
      }),
    );
    const ci = (...args: string[]): Promise<Outcome> =>
      kubectl.attempt(['-n', 'default', '--kubeconfig', kubeconfig, ...args]);
    expect((await ci('get', 'pods')).stderr).toContain('spokeclusters/proxy');
    await kubectl.run(
      'create',
      'clusterrolebinding',
      'ci',
      '--clusterrole=atoll:spoke-user',
      '--serviceaccount=default:ci',
    );
    await until(
      'the role counts',
      async () => (await ci('get', 'pod', 'web', '-o', 'name')).stdout === 'pod/web\n',
    );
    expect((await ci('exec', 'web', '--', 'true')).stderr).toContain('needs an AccessGrant');
    const grant = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'AccessGrant',
      metadata: { name: 'ci' },
      spec: {
        user: 'system:serviceaccount:default:ci',
        clusters: { names: ['far'] },
        namespaces: ['default'],
        allow: ['exec'],
        reason: 'a test',
        expiresAt: formatTime(systemClock().now() + 3_600_000),
        requestedBy: 'admin',
        approvedBy: 'admin',
      },
    };
    await kubectl.feed(JSON.stringify(grant), 'create');
    const ran = await until('the grant counts', async () => {
      const outcome = await ci('exec', 'web', '--', 'sh', '-c', 'echo there; exit 5');
      return outcome.code === 5 ? outcome : undefined;
    });
    expect(ran.stdout).toBe('there\n');
  });
});
