import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { formatKubeconfig, parseKubeconfig } from '../../src/kube/kubeconfig.ts';
import { must } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

/** The hub's fleet, and a fleet of someone else, one cluster of which the hub is given a kubeconfig of. */
const FAR = 'spoke-1';
let fleet: Fleet;
let elsewhere: Fleet;
beforeAll(async () => {
  [fleet, elsewhere] = await Promise.all([startFleet(0), startFleet(1)]);
});
afterAll(() => Promise.all([fleet?.stop(), elsewhere?.stop()]));

type Kubeconfig = ReturnType<typeof parseKubeconfig>;

function farKubeconfig(): Kubeconfig {
  return parseKubeconfig(readFileSync(join(elsewhere.directory, 'spoke-1', 'kubeconfig'), 'utf8'));
}

async function join_(name: string, kubeconfig: string): Promise<void> {
  await fleet.create('hub', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default' },
    stringData: { kubeconfig },
  });
  await fleet.apply(
    'hub',
    `apiVersion: core.oam.dev/v1beta1
kind: SpokeCluster
metadata: {name: ${name}, namespace: default}
spec:
  mode: connect
  probeIntervalSeconds: 10
  probeTimeoutSeconds: 5
  credential: {type: kubeconfig, kubeconfig: {secretRef: {name: ${name}}}}
`,
  );
}

interface Status {
  connection?: string;
  clusterInfo?: { nodeCount?: number; lastSyncedTime?: string };
  conditions?: {
    type: string;
    status: string;
    reason: string;
    message: string;
    lastTransitionTime: string;
  }[];
}

async function status(name: string): Promise<Status> {
  return JSON.parse(await fleet.kubectl('hub', 'get', 'spokecluster', name, '-o', 'json')).status ?? {};
}

/** The spoke joined the other hub: its owner makes it this one's. */
async function takeOver(): Promise<void> {
  const data = join(elsewhere.directory, 'taken-over.json');
  const { stdout } = await fleet.atoll(['join', '--bootstrap', '-o', 'file']);
  writeFileSync(data, stdout);
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const spoke = ['--kubeconfig', elsewhere.kubeconfig, '--context', FAR];
  await must(process.execPath, [main, 'takeover', ...spoke, '--join', data]);
}

describeFleet('a spoke that the hub reaches by kubeconfig', () => {
  it('[K4] a Secret with nothing but `kubeconfig` connects, and a propagation reaches it', async () => {
    await join_(FAR, formatKubeconfig(farKubeconfig()));
    await fleet.kubectl('hub', 'wait', `spokecluster/${FAR}`, '--for=condition=Connected', '--timeout=20s');
    expect((await status(FAR)).clusterInfo).toMatchObject({ nodeCount: 2 });
    await takeOver();
    await fleet.kubectl('hub', 'create', 'configmap', 'note', '--from-literal=a=b');
    await fleet.apply(
      'hub',
      'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: note, namespace: default}\nspec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: note}], placement: {clusterNames: [spoke-1]}}\n',
    );
    await waitReady(fleet, 'default', 'note');
    expect(await elsewhere.kubectl('spoke-1', 'get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('b');
  });

  it.each([
    [
      'an exec plugin',
      (config: Kubeconfig) =>
        edit(config, { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/true' } }, {}),
      /exec/,
    ],
    [
      'a CA in a file',
      (config: Kubeconfig) =>
        edit(config, undefined, {
          'certificate-authority': '/etc/ssl/ca.crt',
          'certificate-authority-data': undefined,
        }),
      /file/,
    ],
    [
      'no CA',
      (config: Kubeconfig) => edit(config, undefined, { 'certificate-authority-data': undefined }),
      /certificate-authority-data/,
    ],
    [
      'insecure-skip-tls-verify',
      (config: Kubeconfig) => edit(config, undefined, { 'insecure-skip-tls-verify': true }),
      /insecure-skip-tls-verify/,
    ],
  ])('[K4] refuses %s, and says which', async (what, change, message) => {
    const name = what.toLowerCase().replaceAll(/[^a-z]+/g, '-');
    await join_(name, formatKubeconfig(change(farKubeconfig())));
    const found = await until('the condition', async () =>
      (await status(name)).conditions?.find(
        (condition) => condition.type === 'CredentialValid' && condition.status === 'False',
      ),
    );
    expect(found.reason).toBe('MaterializeFailed');
    expect(found.message).toMatch(message);
    expect((await status(name)).connection).toBe('Unknown');
    await fleet.kubectl('hub', 'delete', 'spokecluster', name, '--timeout=10s');
  });

  it('[K13] a credential that the spoke does not believe is Unknown, not Disconnected', async () => {
    await join_(
      'stranger',
      formatKubeconfig({
        ...farKubeconfig(),
        users: farKubeconfig().users.map((user) => ({ ...user, user: { token: 'nonsense' } })),
      }),
    );
    const found = await until('the condition', async () =>
      (await status('stranger')).conditions?.find((condition) => condition.type === 'Connected'),
    );
    expect(found).toMatchObject({ status: 'False' });
    expect((await status('stranger')).connection).toBe('Unknown');
    await fleet.kubectl('hub', 'delete', 'spokecluster', 'stranger', '--timeout=10s');
  });

  it('[K12] [K13] [K15] one that refuses connections is Disconnected within interval and timeout, and its last known inventory stays', async () => {
    await elsewhere.kill('spoke-1');
    await until('spoke-1 is Disconnected', async () => (await status(FAR)).connection === 'Disconnected', {
      withinMs: 15_000,
    });
    const { clusterInfo, conditions } = await status(FAR);
    const down = conditions?.find((condition) => condition.type === 'Connected');
    expect(clusterInfo).toMatchObject({ nodeCount: 2 });
    // Both are RFC 3339 in UTC: text order is time order.
    expect(clusterInfo?.lastSyncedTime?.localeCompare(down?.lastTransitionTime ?? '')).toBeLessThanOrEqual(0);
  });
});

/** A kubeconfig with its user replaced (where one is given) and its cluster changed. */
function edit(config: Kubeconfig, user: object | undefined, cluster: Record<string, unknown>): Kubeconfig {
  return {
    ...config,
    ...(user === undefined ? {} : { users: config.users.map((item) => ({ ...item, user })) }),
    clusters: config.clusters.map((item) => ({
      ...item,
      cluster: JSON.parse(JSON.stringify({ ...item.cluster, ...cluster })),
    })),
  } as Kubeconfig;
}
