import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  type ApiServerProcess,
  type Kubectl,
  kubectlOf,
  startApiServerProcess,
} from './harness/api-server.ts';
import { type Outcome, run } from './harness/command.ts';
import { describeFleet } from './harness/fleet.ts';

let server: ApiServerProcess;
beforeAll(async () => {
  server = await startApiServerProcess({ memory: true });
});
afterAll(() => server?.stop());

const PODS = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {app.conf: "a=1\\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {sim.atoll.dev/log: "one\\ntwo", sim.atoll.dev/log-every: 200ms, sim.atoll.dev/log-line: "again {n}"}}
spec:
  volumes: [{name: conf, configMap: {name: settings}}]
  containers:
  - name: web
    image: example/web:1
    ports: [{containerPort: 8080}]
    resources: {requests: {cpu: 500m, memory: 100Mi}}
    volumeMounts: [{name: conf, mountPath: /etc/conf}]
---
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  containers: [{name: a, image: a}, {name: b, image: b}]
`;

/** util-linux's way to give a command a terminal. */
const SCRIPT = ['/usr/bin/script', '/bin/script'].find(existsSync);

/** Runs kubectl until it has said something, then ends it. */
async function untilSaid(kubectl: Kubectl, args: readonly string[], wanted: RegExp): Promise<string> {
  let child: ChildProcess | undefined;
  let said = '';
  await kubectl.attempt(args, {
    onStart: (started) => {
      child = started;
    },
    onOutput: (text) => {
      said = text;
      if (wanted.test(text)) child?.kill('SIGTERM');
    },
  });
  expect(said).toMatch(wanted);
  return said;
}

/** Forwards a free port to `target` of a pod as long as `use` takes; what kubectl said. */
async function forwarding(
  kubectl: Kubectl,
  pod: string,
  target: number,
  use: (port: number) => Promise<unknown>,
): Promise<string> {
  let child: ChildProcess | undefined;
  let using: Promise<unknown> | undefined;
  const outcome = await kubectl.attempt(['port-forward', `pod/${pod}`, `:${target}`], {
    onStart: (started) => {
      child = started;
    },
    onOutput: (text) => {
      const [, port] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text) ?? [];
      if (port !== undefined) using ??= use(Number(port)).finally(() => child?.kill('SIGTERM'));
    },
  });
  await using;
  return outcome.text;
}

for (const binary of inject('kubectls')) {
  describeFleet(`kubectl ${binary.version} and simulated pods`, () => {
    let kubectl: Kubectl;
    const exec = (...command: string[]): Promise<Outcome> =>
      kubectl.attempt(['exec', 'web', '--', ...command]);
    beforeAll(async () => {
      kubectl = kubectlOf(server, binary, 'streams');
      await kubectl.run('create', 'namespace', kubectl.namespace);
      await kubectl.feed(PODS, 'apply');
      await kubectl.run('wait', '--for=condition=Ready', 'pod/web', 'pod/two', '--timeout=20s');
    });

    it('runs commands, and hands on what they say and how they end', async () => {
      expect(await exec('cat', '/etc/conf/app.conf', '/etc/hostname')).toMatchObject({
        code: 0,
        stdout: 'a=1\nweb\n',
      });
      const failed = await exec('sh', '-c', 'echo out; echo err >&2; exit 3');
      expect(failed).toMatchObject({ code: 3, stdout: 'out\n' });
      expect(failed.stderr).toMatch(/^err\n.*exit code 3\n$/s);
      const missing = await exec('no-such-program');
      expect(missing.code).toBe(127);
      expect(missing.stderr).toContain('executable file not found in $PATH');
    });

    it('feeds commands until its input ends', async () => {
      const input = 'x'.repeat(300_000);
      const counted = await kubectl.attempt(['exec', '-i', 'web', '--', 'sh', '-c', 'cat | wc -c'], {
        input,
      });
      expect(counted).toMatchObject({ code: 0, stdout: '300000\n' });
      const echoed = await kubectl.attempt(['exec', '-i', 'web', '--', 'cat'], { input });
      expect(echoed.stdout === input).toBe(true);
    });

    it('says which containers there are, and that one does not run', async () => {
      expect((await kubectl.attempt(['exec', 'two', '-c', 'b', '--', 'hostname'])).stdout).toBe('two\n');
      const wrong = await kubectl.attempt(['exec', 'two', '-c', 'c', '--', 'ls']);
      expect(wrong.stderr).toMatch(
        /container (c is not valid for|not found in) pod two|container c not found/,
      );
      const absent = await kubectl.attempt(['exec', 'absent', '--', 'ls']);
      expect(absent.stderr).toContain('pods "absent" not found');
    });

    it.skipIf(SCRIPT === undefined)('gives a terminal', async () => {
      const command = `${binary.path} -n ${kubectl.namespace} exec -it web -- sh`;
      const outcome = await run(SCRIPT ?? '', ['-qec', command, '/dev/null'], {
        env: { KUBECONFIG: server.kubeconfig, HOME: join(server.directory, '..', 'home') },
        input: 'hostname | tee /tmp/x\rexit 5\r',
      });
      expect(outcome.text).toContain('/ # ');
      expect(outcome.text).toContain('web\r\n');
      expect(outcome.code).toBe(5);
    });

    it('copies files there and back', async () => {
      const directory = join(server.directory, '..', `cp-${binary.version}`);
      mkdirSync(join(directory, 'tree', 'deep'), { recursive: true });
      const content = Buffer.alloc(1_500_000, 'some bytes\x00');
      writeFileSync(join(directory, 'file'), content);
      writeFileSync(join(directory, 'tree', 'deep', 'leaf'), 'green\n');
      await kubectl.run('cp', join(directory, 'file'), 'web:/tmp/file');
      await kubectl.run('cp', join(directory, 'tree'), 'web:/tmp/tree');
      expect((await exec('wc', '-c', '/tmp/file')).stdout).toBe('1500000 /tmp/file\n');
      await kubectl.run('cp', 'web:/tmp/file', join(directory, 'back'));
      await kubectl.run('cp', 'web:/tmp/tree', join(directory, 'tree-back'));
      expect(readFileSync(join(directory, 'back')).equals(content)).toBe(true);
      expect(readFileSync(join(directory, 'tree-back', 'deep', 'leaf'), 'utf8')).toBe('green\n');
    });

    it('forwards ports that are declared, and is refused at others', async () => {
      const pages: string[] = [];
      await forwarding(kubectl, 'web', 8080, async (port) => {
        for (const path of ['/one', '/two'])
          pages.push(await (await fetch(`http://127.0.0.1:${port}${path}`)).text());
      });
      expect(pages[0]).toContain(`pod ${kubectl.namespace}/web on `);
      expect(pages.map((page) => page.trim().split(' ').at(-1))).toEqual(['/one', '/two']);
      const said = await forwarding(kubectl, 'web', 81, (port) =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => expect.fail('somebody answered'),
          () => undefined,
        ),
      );
      expect(said).toContain('connection refused');
    });

    it('[V87] shows logs, follows them, and attaches to what is said from now on', async () => {
      expect(await kubectl.run('logs', 'web', '--limit-bytes=8')).toBe('one\ntwo\n');
      expect(await kubectl.run('logs', 'web', '--tail=1', '--timestamps')).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z again \d+\n$/,
      );
      const prefixed = await kubectl.run('logs', 'two', '--all-containers', '--prefix');
      for (const name of ['a', 'b']) expect(prefixed).toContain(`[pod/two/${name}] starting ${name}\n`);
      const followed = await untilSaid(
        kubectl,
        ['logs', '-f', 'web', '--tail=0'],
        /again (\d+)\nagain \d+\n/,
      );
      expect(followed).not.toContain('two');
      expect(await untilSaid(kubectl, ['attach', 'web'], /again (\d+)\nagain \d+\n/)).not.toContain('two\n');
      const previous = await kubectl.attempt(['logs', 'web', '--previous']);
      expect(previous.stderr).toContain('previous terminated container "web" in pod "web" not found');
    });

    it('[V87] shows what nodes and pods use', async () => {
      expect(await kubectl.run('top', 'pod', 'web')).toMatch(
        /^NAME +CPU\(cores\) +MEMORY\(bytes\) *\nweb +[234]\d\dm +[4-8]\dMi *\n$/,
      );
      expect(await kubectl.run('top', 'pod', 'two', '--containers')).toMatch(/two +a .*two +b /s);
      expect(await kubectl.run('top', 'nodes')).toMatch(/MEMORY.*\natoll-node-1 +\d+m +\d+% +\d+Mi +\d+%/s);
    });
  });
}
