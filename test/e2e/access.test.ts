import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outcome } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
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
    const server = `--server=${await serverOf('hub')}/apis/cluster.core.oam.dev/v1alpha1/clustergateways/spoke-1/proxy`;
    expect(await fleet.kubectl('hub', server, 'get', 'pod', 'web', '-o', 'name')).toBe('pod/web\n');
    const gateway = untilSaid('hub', [server, 'get', 'pods', '-w', '-o', 'name'], /pod\/third/);
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
    expect((await fleet.tryKubectl(BY_HUB, ['exec', 'web', '--', 'sh', '-c', 'exit 7'])).code).toBe(7);
    expect(await fleet.kubectl(BY_HUB, 'exec', '-i', 'web', '--', 'cat')).toBe('');
    await fleet.kubectl(BY_HUB, 'exec', 'web', '--', 'sh', '-c', 'echo content > /tmp/file');
    expect(await fleet.kubectl(BY_HUB, 'exec', 'web', '--', 'cat', '/tmp/file')).toBe('content\n');

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

    const server = `--server=${await serverOf('hub')}/fleet`;
    expect(await fleet.kubectl('hub', server, 'get', 'pods', '-A')).toMatch(
      /NAMESPACE +NAME +CLUSTER +READY/,
    );
    expect(await fleet.kubectl('hub', server, 'logs', 'web')).toContain('two');

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
