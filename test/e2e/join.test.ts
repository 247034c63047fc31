import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { endpointFromKubeconfig } from '../../src/kube/kubeconfig-endpoint.ts';
import { authored } from './harness/authors.ts';
import { must, type Outcome, run } from './harness/command.ts';
import { type EngineProcess, startEngineProcess } from './harness/engine-process.ts';
import { describeFleet, describeOwnFleet, startFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { PLAIN_CONTEXT, type PlainServer, startPlainServer } from './harness/plain-server.ts';
import { until } from './harness/until.ts';

/** Hubs and spokes on API servers that were there before, joined by hand as their owners would. */
const kubectlPath = inject('kubectls').at(-1)?.path ?? 'kubectl';
const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
const servers: PlainServer[] = [];
const engines: EngineProcess[] = [];
let hub: PlainServer;

async function server(): Promise<PlainServer> {
  const started = await startPlainServer();
  servers.push(started);
  return started;
}

/** Resolves when it is ready; what it says is its log. */
async function engine(role: 'hub' | 'spoke', kubeconfig: string, ...args: string[]): Promise<EngineProcess> {
  const made = await startEngineProcess(role, kubeconfig, args);
  engines.push(made);
  return made;
}

function startHub(on: PlainServer): Promise<EngineProcess> {
  const data = join(on.home, 'hub-data');
  return engine('hub', on.kubeconfig, '--data', data, '--link-port', '0', '--allow-loopback');
}

function kubectl(on: PlainServer, ...args: string[]): Promise<string> {
  return must(kubectlPath, ['--kubeconfig', on.kubeconfig, ...args]);
}

function apply(on: PlainServer, text: string): Promise<string> {
  return must(kubectlPath, ['--kubeconfig', on.kubeconfig, 'apply', '-f', '-'], { input: authored(text) });
}

/** A command at a hub; it must succeed. */
async function atHub(on: PlainServer, ...args: string[]): Promise<Outcome> {
  const outcome = await run(
    process.execPath,
    [main, ...args, '--kubeconfig', on.kubeconfig, '--context', PLAIN_CONTEXT],
    { cwd: inject('temporaryRoot'), timeoutMs: 90_000 },
  );
  if (outcome.code !== 0)
    throw new Error(`atoll ${args.join(' ')} ended with ${outcome.code}:\n${outcome.text}`);
  return outcome;
}

async function joinWord(on: PlainServer, name: string, ...args: string[]): Promise<string> {
  const { stdout } = await atHub(on, 'join', name, ...args);
  return /^npx atoll spoke --join (\S+)$/m.exec(stdout)?.[1] ?? '';
}

const connected = (on: PlainServer, name: string): Promise<string> =>
  kubectl(on, 'wait', `spokecluster/${name}`, '--for=condition=Connected', '--timeout=30s');

async function propagate(on: PlainServer, name: string, clusters: string[], kind: string): Promise<void> {
  const placement = JSON.stringify({ clusterNames: clusters });
  await apply(
    on,
    `apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: ${name}, namespace: default}\nspec: {resourceSelectors: [${kind}], placement: ${placement}}\n`,
  );
}

const ready = (on: PlainServer, name: string): Promise<string> =>
  kubectl(on, 'wait', `propagation/${name}`, '--for=condition=Ready', '--timeout=30s');

beforeAll(async () => {
  hub = await server();
  await startHub(hub);
});
afterAll(async () => {
  await Promise.all(engines.map((item) => item.stop()));
  await Promise.all(servers.map((item) => item.stop()));
});

describeFleet('a cluster that joins', () => {
  it('[K23] is Connected after one command there, and gets what is propagated', async () => {
    const spoke = await server();
    const word = await joinWord(hub, 'edge', '--labels', 'env=prod');
    await engine('spoke', spoke.kubeconfig, '--join', word);
    await connected(hub, 'edge');
    expect(await kubectl(hub, 'get', 'spokecluster', 'edge', '-o', 'jsonpath={.metadata.labels.env}')).toBe(
      'prod',
    );
    await kubectl(hub, 'create', 'configmap', 'note', '--from-literal=a=b');
    await propagate(hub, 'note', ['edge'], '{apiVersion: v1, kind: ConfigMap, name: note}');
    await ready(hub, 'note');
    expect(await kubectl(spoke, 'get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('b');
    const lineage = '-o=jsonpath={.data.lineage}';
    const pinned = await kubectl(spoke, '-n', 'atoll-system', 'get', 'cm', 'hub-trust', lineage);
    expect(pinned).toBe(await kubectl(hub, '-n', 'atoll-system', 'get', 'cm', 'hub-link', lineage));
  });

  it('[A72] has a certificate that opens the link and nothing of the hub, another spoke’s Secrets included', async () => {
    const spoke = servers[1];
    if (!spoke) throw new Error('no spoke');
    const [secret] = JSON.parse(
      await kubectl(
        spoke,
        '-n',
        'atoll-system',
        'get',
        'secrets',
        '--field-selector=type=atoll.dev/link',
        '-o',
        'json',
      ),
    ).items;
    const text = (key: string): string => Buffer.from(secret.data[key], 'base64').toString('utf8');
    const { url, ca } = endpointFromKubeconfig(readFileSync(hub.kubeconfig, 'utf8'), { stored: false });
    const status = await new Promise<number | string>((resolve) => {
      const path = `${url}/api/v1/namespaces/atoll-system/secrets`;
      const call = request(path, { ca, key: text('key'), cert: text('certificate') }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.on('error', (error) => resolve(error.message));
      call.end();
    });
    expect([401, 403]).toContain(status);
  });

  it('[S126] [S61] is one YAML, and its engine has the rights that are listed and those that the owner adds', async () => {
    const spoke = await server();
    const { stdout } = await atHub(hub, 'join', 'real', '-o', 'yaml', '--image', 'registry.example/atoll:1');
    await apply(spoke, stdout);
    // What its Deployment's pod would run, with the same account.
    const token = await kubectl(spoke, '-n', 'atoll-system', 'create', 'token', 'atoll-spoke');
    const own = join(spoke.home, 'engine.kubeconfig');
    const config = ['config', `--kubeconfig=${own}`];
    const { url, ca = '' } = endpointFromKubeconfig(readFileSync(spoke.kubeconfig, 'utf8'), {
      stored: false,
    });
    writeFileSync(`${own}.ca`, ca);
    await must(kubectlPath, [
      ...config,
      'set-cluster',
      'c',
      `--server=${url}`,
      `--certificate-authority=${own}.ca`,
    ]);
    await must(kubectlPath, [...config, 'set-credentials', 'u', `--token=${token.trim()}`]);
    await must(kubectlPath, [...config, 'set-context', 'c', '--cluster=c', '--user=u']);
    await must(kubectlPath, [...config, 'use-context', 'c']);
    const running = await engine('spoke', own, '--name', 'real');
    await connected(hub, 'real');

    await kubectl(hub, 'create', 'deployment', 'web', '--image=nginx');
    await propagate(hub, 'web', ['real'], '{apiVersion: apps/v1, kind: Deployment, name: web}');
    await ready(hub, 'web');

    const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`;
    for (const target of [hub, spoke]) {
      await apply(target, widgets);
      await kubectl(target, 'wait', 'crd/widgets.example.org', '--for=condition=Established');
    }
    await apply(hub, 'apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\n');
    await propagate(hub, 'widgets', ['real'], '{apiVersion: example.org/v1, kind: Widget}');
    await until('the missing right to be told', async () =>
      /cannot (get|list|watch|patch|create)|is forbidden/.test(
        await kubectl(spoke, '-n', 'atoll-system', 'get', 'dispatches', '-o', 'yaml'),
      ),
    );
    await apply(
      spoke,
      `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widgets, labels: {rbac.atoll.dev/aggregate-to-spoke: "true"}}
rules: [{apiGroups: [example.org], resources: [widgets], verbs: [get, list, watch, create, update, patch, delete]}]
`,
    );
    await ready(hub, 'widgets');
    const may = (...what: string[]): Promise<Outcome> =>
      run(kubectlPath, ['--kubeconfig', own, 'auth', 'can-i', ...what]);
    for (const denied of [
      ['create', 'clusterrolebindings'],
      ['delete', 'nodes'],
      ['get', 'secrets', '-n', 'kube-system', '--as=system:admin'],
      ['impersonate', 'groups/system:masters'],
      ['delete', 'customresourcedefinitions'],
    ])
      expect((await may(...denied)).code, denied.join(' ')).not.toBe(0);
    await running.stop();
  });

  it('[S14] waits until it is accepted where it comes with a token for many', async () => {
    const spoke = await server();
    const { stdout } = await atHub(hub, 'join', '--bootstrap', '-o', 'file');
    const file = join(spoke.home, 'join.json');
    writeFileSync(file, stdout);
    const running = await engine('spoke', spoke.kubeconfig, '--name', 'stranger', '--join', file);
    await until('the refusal', () => running.log().includes('waits for approval'));
    expect((await atHub(hub, 'accept')).stdout).toMatch(/stranger\s+default\s+link-stranger-/);
    await atHub(hub, 'accept', 'stranger');
    await connected(hub, 'stranger');
    await atHub(hub, 'accept', 'stranger', '--deny');
    await until('the cut', () => running.log().includes('does not accept spoke stranger'));
    await atHub(hub, 'accept', 'stranger');
    await connected(hub, 'stranger');
  });

  it('[F7] by kubeconfig gives the hub an account of few rights; joining twice changes nothing, detaching leaves nothing', async () => {
    const spoke = await server();
    await kubectl(spoke, 'create', 'namespace', 'atoll-system');
    await kubectl(spoke, '-n', 'atoll-system', 'create', 'configmap', 'foreign');
    const joined = ['join', 'direct', '--spoke-kubeconfig', spoke.kubeconfig];
    await atHub(hub, ...joined);
    const { stdout } = await atHub(hub, ...joined);
    expect(stdout).toContain('its credential was renewed');
    await engine('spoke', spoke.kubeconfig, '--name', 'direct');
    await connected(hub, 'direct');
    const kept = Buffer.from(
      await kubectl(hub, 'get', 'secret', 'direct-kubeconfig', '-o', 'jsonpath={.data.kubeconfig}'),
      'base64',
    ).toString('utf8');
    const own = join(spoke.home, 'kept.kubeconfig');
    writeFileSync(own, kept);
    const may = (...what: string[]): Promise<Outcome> =>
      run(kubectlPath, ['--kubeconfig', own, 'auth', 'can-i', ...what]);
    expect((await may('create', 'dispatches.atoll.dev', '-n', 'atoll-system')).code).toBe(0);
    expect((await may('get', 'secrets', '-n', 'atoll-system')).code).not.toBe(0);
    await atHub(hub, 'detach', 'direct');
    await until('the end of the credential', async () =>
      (await kubectl(hub, 'get', 'secrets', '-o', 'name')).includes('direct') ? undefined : true,
    );
    const left = await run(process.execPath, [main, 'leave', '--kubeconfig', spoke.kubeconfig], {});
    expect(left.text).toContain('atoll:hub');
    expect(left.code).toBe(0);
    expect(await kubectl(spoke, '-n', 'atoll-system', 'get', 'cm', '-o', 'name')).toContain(
      'configmap/foreign',
    );
    const rights = await kubectl(spoke, 'get', 'clusterroles,clusterrolebindings', '-o', 'name');
    expect(rights.split('\n').filter((name) => name.includes('atoll:'))).toEqual([]);
  });

  it('[K18] has a credential that goes with its SpokeCluster, also where that is deleted by force, but for policy orphan', async () => {
    const spoke = await server();
    const credential = async (name: string): Promise<boolean> =>
      (await kubectl(hub, 'get', 'secrets', '-o', 'name')).includes(`secret/${name}-kubeconfig`);
    for (const name of ['forced', 'kept'])
      await atHub(hub, 'join', name, '--spoke-kubeconfig', spoke.kubeconfig);
    await kubectl(
      hub,
      'patch',
      'spokecluster',
      'kept',
      '--type=merge',
      '-p',
      '{"spec":{"deletionPolicy":"orphan"}}',
    );
    const owners = async (name: string): Promise<string> =>
      kubectl(
        hub,
        'get',
        'secret',
        `${name}-kubeconfig`,
        '-o',
        'jsonpath={.metadata.ownerReferences[*].name}',
      );
    await until(
      'the owners',
      async () => (await owners('forced')) === 'forced' && (await owners('kept')) === '',
    );
    await kubectl(hub, 'delete', 'spokecluster', 'forced', 'kept', '--wait=false');
    await kubectl(
      hub,
      'patch',
      'spokecluster',
      'forced',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ).catch((error: unknown) => {
      // The hub was faster.
      if (!String(error).includes('NotFound')) throw error;
    });
    await until('the end of the credential', async () => !(await credential('forced')), { withinMs: 30_000 });
    await until('the end of the other', async () =>
      (await kubectl(hub, 'get', 'spokeclusters', '-o', 'name')).includes('/kept') ? undefined : true,
    );
    expect(await credential('kept')).toBe(true);
  });

  it('[K37] takes no orders of a second hub until its owner hands it over, and restarts nothing then', async () => {
    const spoke = await server();
    const second = await server();
    await startHub(second);
    const running = await engine('spoke', spoke.kubeconfig, '--join', await joinWord(hub, 'both'));
    await connected(hub, 'both');
    await kubectl(hub, 'create', 'deployment', 'shop', '--image=nginx', '--replicas=2');
    await propagate(hub, 'shop', ['both'], '{apiVersion: apps/v1, kind: Deployment, name: shop}');
    await ready(hub, 'shop');
    const pods = (): Promise<string> =>
      kubectl(spoke, 'get', 'pods', '-l', 'app=shop', '-o', 'jsonpath={.items[*].metadata.uid}');
    const before = await pods();
    expect(before.split(' ')).toHaveLength(2);

    const word = await joinWord(second, 'both');
    const owner = (...args: string[]): Promise<string> =>
      must(process.execPath, [main, 'takeover', '--kubeconfig', spoke.kubeconfig, ...args]);
    await kubectl(second, 'create', 'deployment', 'shop', '--image=nginx', '--replicas=2');
    await propagate(second, 'shop', ['both'], '{apiVersion: apps/v1, kind: Deployment, name: shop}');
    expect(await owner('--join', word)).toContain('The spoke is');
    await connected(second, 'both');
    await ready(second, 'shop');
    expect(await pods()).toBe(before);
    expect(await owner()).toContain('The spoke is');
    await until('one order', async () => {
      const orders = await kubectl(spoke, '-n', 'atoll-system', 'get', 'dispatches', '-o', 'name');
      return orders.trim().split('\n').length === 1;
    });
    await running.stop();
  });
});

describeFleet('a spoke whose owner lets it switch to another hub', () => {
  it('[S18] is the second one’s when the first is dead for so long, and gives up what that had said is to go then', async () => {
    const [first, second, spoke] = [await server(), await server(), await server()];
    const [firstHub] = [await startHub(first), await startHub(second)];
    const words = [await joinWord(first, 'both'), await joinWord(second, 'both')];
    const running = await engine('spoke', spoke.kubeconfig, '--join', ...words, '--switch-after', '5s');
    await connected(first, 'both');
    for (const name of ['going', 'staying', 'shared'])
      await kubectl(first, 'create', 'configmap', name, '--from-literal=from=first');
    await kubectl(second, 'create', 'configmap', 'shared', '--from-literal=from=second');
    await propagate(first, 'going', ['both'], '{apiVersion: v1, kind: ConfigMap, name: going}');
    await propagate(first, 'shared', ['both'], '{apiVersion: v1, kind: ConfigMap, name: shared}');
    await propagate(first, 'staying', ['both'], '{apiVersion: v1, kind: ConfigMap, name: staying}');
    const optIn = JSON.stringify({ spec: { removeWhenLostSeconds: 5 } });
    for (const name of ['going', 'shared'])
      await kubectl(first, 'patch', 'propagation', name, '--type=merge', '-p', optIn);
    await until('the order that says so', async () => {
      const orders = await kubectl(spoke, '-n', 'atoll-system', 'get', 'dispatches', '-o', 'json');
      return (orders.match(/"removeWhenLostSeconds": 5/g) ?? []).length === 2;
    });
    for (const name of ['going', 'staying', 'shared']) await ready(first, name);
    const shared = (): Promise<string> =>
      kubectl(spoke, 'get', 'configmap', 'shared', '-o', 'jsonpath={.metadata.uid} {.data.from}');
    const [uid] = (await shared()).split(' ');
    await propagate(second, 'shared', ['both'], '{apiVersion: v1, kind: ConfigMap, name: shared}');

    process.kill(firstHub.pid, 'SIGKILL');
    const isReady = ['wait', 'propagation/shared', '--for=condition=Ready', '--timeout=20s'];
    await until('its word at the spoke', () => kubectl(second, ...isReady), { withinMs: 60_000 });
    expect(await shared()).toBe(`${uid} second`);
    await until('the end of what was to go', async () => {
      const left = await kubectl(spoke, 'get', 'configmaps', '-o', 'name');
      return !left.includes('/going');
    });
    expect(await kubectl(spoke, 'get', 'configmap', 'staying', '-o', 'jsonpath={.data.from}')).toBe('first');
    const whose = await must(process.execPath, [main, 'takeover', '--kubeconfig', spoke.kubeconfig]);
    expect(whose).toContain('which did not reach its hub for 5 s (--switch-after)');

    // The first one comes back: the spoke is not its any more.
    await startHub(first);
    await kubectl(first, 'patch', 'configmap', 'staying', '--type=merge', '-p', '{"data":{"from":"again"}}');
    await kubectl(second, 'patch', 'configmap', 'shared', '--type=merge', '-p', '{"data":{"from":"newer"}}');
    await until('the word of the second', async () => (await shared()) === `${uid} newer`);
    expect(await kubectl(spoke, 'get', 'configmap', 'staying', '-o', 'jsonpath={.data.from}')).toBe('first');
    await running.stop();
  }, 150_000);
});

describeOwnFleet('a fleet whose hub is lost for good', () => {
  it('[S19] goes on under a new hub: recovered from its spokes, taken over, with the same pods', async () => {
    const fleet = await startFleet(2);
    try {
      const spokes = ['spoke-1', 'spoke-2'];
      await fleet.kubectl('hub', 'create', 'deployment', 'shop', '--image=nginx', '--replicas=2');
      await fleet.apply(
        'hub',
        'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: shop, namespace: default}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: shop}], placement: {clusterSelector: {}}}\n',
      );
      await waitReady(fleet, 'default', 'shop');
      const pods = (spoke: string): Promise<string> =>
        fleet.kubectl(spoke, 'get', 'pods', '-l', 'app=shop', '-o', 'jsonpath={.items[*].metadata.uid}');
      const before = await Promise.all(spokes.map(pods));
      await fleet.kill('hub');
      rmSync(join(fleet.directory, 'hub'), { recursive: true });
      await fleet.mustAtoll('up');
      await fleet.mustAtoll('hub', 'recover', '--from-spokes', '--yes');
      for (const spoke of spokes) {
        const data = join(fleet.directory, spoke, 'join.json');
        const own = ['--kubeconfig', fleet.kubeconfig, '--context', spoke];
        await must(process.execPath, [main, 'takeover', ...own, '--join', data]);
      }
      await waitReady(fleet, 'default', 'shop');
      expect(await Promise.all(spokes.map(pods))).toEqual(before);
    } finally {
      await fleet.stop();
    }
  }, 120_000);
});
