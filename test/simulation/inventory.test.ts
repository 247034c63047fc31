import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import { type Engine, startEngine } from '../../src/cli/engine.ts';
import type { SpokeClusterStatus } from '../../src/dialects/kubevela/types.ts';
import type { Handler, Response } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { nodes, secrets } from '../../src/kube/well-known.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import {
  conditionMessage,
  conditionOf,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');

interface KubeconfigParts {
  readonly cluster?: object;
  readonly user?: object;
  readonly server?: string;
}

function kubeconfig({ cluster, user, server = 'https://far.test' }: KubeconfigParts = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server, ...(cluster ?? { 'certificate-authority-data': CA }) } }],
    users: [{ name: 'main', user: user ?? { token: 'sesame' } }],
  });
}

const POLICY_BINDINGS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
  namespaced: false,
};
const DIRECT = { credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far' } } } };

function far(): KubeObject | undefined {
  return stored(fleet.hub, 'core.oam.dev/spokeclusters/default/far');
}

function farStatus(): SpokeClusterStatus {
  return (far()?.['status'] ?? {}) as SpokeClusterStatus;
}

async function store(text: string, key: string = 'kubeconfig'): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'far', namespace: 'default' },
    stringData: { [key]: text },
  };
  await fleet.run(fleet.hub.client.create(secrets, secret));
}

async function register(spec: object = DIRECT): Promise<void> {
  await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, { ...spokeCluster('far'), spec }));
}

/** Answers every request with one status. */
function always(status: number): Handler {
  return async (): Promise<Response> => ({ status, headers: {}, body: Buffer.from('ok') });
}

const node = (
  name: string,
  labels: Record<string, string>,
  cpu: string,
  memory: string,
  osImage = 'Linux',
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  status: { capacity: { cpu, memory }, nodeInfo: { osImage } },
});

async function addNode(name: string, object: KubeObject): Promise<void> {
  const { client } = fleet.spoke(name);
  const made = await fleet.run(client.create(nodes, object));
  await fleet.run(client.update(nodes, { ...made, status: object['status'] }, { subresource: 'status' }));
}

describe('probing', () => {
  it('[K12] refuses intervals and timeouts outside their limits', async () => {
    fleet = await simulateFleet(5, []);
    for (const spec of [
      { probeIntervalSeconds: 9 },
      { probeIntervalSeconds: 601 },
      { probeTimeoutSeconds: 0 },
      { probeTimeoutSeconds: 121 },
    ]) {
      const attempt = fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('x', {}, spec)));
      await expect(attempt).rejects.toThrow(/should be (greater|less) than or equal to/);
    }
    for (const [name, spec] of [
      ['low', { probeIntervalSeconds: 10, probeTimeoutSeconds: 1 }],
      ['high', { probeIntervalSeconds: 600, probeTimeoutSeconds: 120 }],
    ] as const)
      await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster(name, {}, spec)));
    expect(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/low')?.['spec']).toMatchObject({
      mode: 'connect',
      deletionPolicy: 'detach',
    });
  });

  it('[K13] tells a bad credential (Unknown) from a spoke that cannot be reached (Disconnected)', async () => {
    let answer: Handler = always(401);
    fleet = await simulateFleet(5, [], { direct: { far: (request) => answer(request) } });
    await store(kubeconfig());
    await register();
    await fleet.until(() => conditionOf(far(), 'Connected') === 'False/ProbeFailed', 'the failed probe');
    expect(farStatus().connection).toBe('Unknown');
    expect(conditionMessage(far(), 'Connected')).toContain('401');
    answer = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
    await fleet.until(() => farStatus().connection === 'Disconnected', 'Disconnected', 45_000);
    expect(conditionMessage(far(), 'Connected')).toContain('ECONNREFUSED');
    answer = always(401);
    await fleet.until(() => farStatus().connection === 'Unknown', 'Unknown again', 45_000);
  });

  it('[K14] sums capacity and names platform and region', async () => {
    fleet = await simulateFleet(5, ['a', 'b', 'c', 'd']);
    await addNode('a', node('fleet-control-plane-kind', {}, '4', '8Gi'));
    await addNode('a', node('fleet-worker', {}, '1500m', '2048Mi'));
    await addNode(
      'b',
      node(
        'n1',
        { 'node.kubernetes.io/instance-type': 'k3s', 'topology.kubernetes.io/region': 'eu-north-1' },
        '2',
        '4Gi',
      ),
    );
    await addNode(
      'c',
      node(
        'ip-10',
        { 'eks.amazonaws.com/nodegroup': 'ng', 'topology.kubernetes.io/region': 'us-east-1' },
        '8',
        '32Gi',
      ),
    );
    await addNode('d', node('x', {}, '1', '1Gi', 'K3s v1.30'));
    const info = (name: string): unknown =>
      (
        stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`)?.['status'] as
          | Record<string, unknown>
          | undefined
      )?.['clusterInfo'];
    await fleet.rest(62_000);
    expect(info('a')).toMatchObject({
      platform: 'kind',
      region: 'N/A',
      nodeCount: 2,
      totalCPU: '5500m',
      totalMemory: '10Gi',
      kubernetesVersion: expect.stringMatching(/^v1\./),
    });
    expect(info('b')).toMatchObject({ platform: 'k3s', region: 'eu-north-1', nodeCount: 1 });
    expect(info('c')).toMatchObject({ platform: 'eks', region: 'us-east-1', totalMemory: '32Gi' });
    expect(info('d')).toMatchObject({ platform: 'k3s' });
  });

  it('[K1] lists every spoke that joined with what its columns show', async () => {
    fleet = await simulateFleet(5, ['a', 'b']);
    await fleet.rest(31_000);
    for (const name of ['a', 'b']) {
      const object = stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`);
      expect(object?.['spec']).toMatchObject({ mode: 'connect' });
      expect(object?.['status']).toMatchObject({
        connection: 'Connected',
        clusterInfo: { kubernetesVersion: expect.any(String), nodeCount: 0, platform: 'unknown' },
      });
    }
  });
});

describe('credentials', () => {
  it('[K4] connect by a Secret that holds a kubeconfig under the default key', async () => {
    fleet = await simulateFleet(5, [], { direct: { far: always(200) } });
    await store(kubeconfig());
    await register();
    await fleet.until(() => farStatus().connection === 'Connected', 'Connected');
    expect(conditionOf(far(), 'CredentialValid')).toBe('True/Materialized');
    // A credential that is taken away is used no more.
    await fleet.run(fleet.hub.client.delete(secrets, 'default', 'far'));
    await fleet.until(() => farStatus().connection === 'Unknown', 'Unknown', 35_000);
    expect(conditionMessage(far(), 'CredentialValid')).toBe('secret default/far does not exist');
  });

  const refused: [string, KubeconfigParts, RegExp][] = [
    ['an exec plugin', { user: { exec: { command: 'sh', apiVersion: 'v1' } } }, /exec plugin/],
    [
      'a file as authority',
      { cluster: { 'certificate-authority': '/etc/ca.pem' } },
      /file as certificate authority/,
    ],
    ['no authority', { cluster: {} }, /no certificate authority/],
    [
      'insecure-skip-tls-verify',
      { cluster: { 'insecure-skip-tls-verify': true } },
      /insecure-skip-tls-verify/,
    ],
    ['a metadata service', { server: 'https://169.254.169.254' }, /link-local|metadata/],
  ];
  for (const [what, parts, message] of refused) {
    it(`[K4] are refused with ${what}, by a message of its own`, async () => {
      fleet = await simulateFleet(5, [], { direct: { far: always(200) } });
      await store(kubeconfig(parts));
      await register();
      await fleet.until(
        () => conditionOf(far(), 'CredentialValid') === 'False/MaterializeFailed',
        'the refusal',
      );
      expect(conditionMessage(far(), 'CredentialValid')).toMatch(message);
      expect(farStatus().connection).toBe('Unknown');
      // The pass stops there: nothing after it is claimed.
      expect([
        conditionOf(far(), 'Registered'),
        conditionOf(far(), 'Connected'),
        conditionOf(far(), 'InfoSynced'),
      ]).toEqual(['', '', '']);
    });
  }

  it('[K3] must be of the arm that their type names', async () => {
    fleet = await simulateFleet(5, []);
    await expect(register({ credential: { ...DIRECT.credential, tunnel: {} } })).rejects.toThrow(
      'spec.credential.tunnel: Forbidden: tunnel must not be set with type kubeconfig',
    );
    await expect(register({ credential: { type: 'aws', gcp: {} } })).rejects.toThrow('spec.credential.gcp');
  });

  it('[K10] must not come from another namespace', async () => {
    fleet = await simulateFleet(5, []);
    const foreign = {
      credential: {
        type: 'kubeconfig',
        kubeconfig: { secretRef: { name: 'far', namespace: 'kube-system' } },
      },
    };
    await expect(register(foreign)).rejects.toThrow('secretRef.namespace must be default');
    // Nor where nobody asks before it is written.
    await fleet.run(fleet.hub.client.delete(POLICY_BINDINGS, '', 'atoll.dev-credentials'));
    await register(foreign);
    await fleet.until(
      () => conditionOf(far(), 'CredentialValid') === 'False/MaterializeFailed',
      'the refusal',
    );
    expect(conditionMessage(far(), 'CredentialValid')).toContain('secretRef.namespace must be default');
  });

  it('[K5] of a type without a provider say so', async () => {
    fleet = await simulateFleet(5, []);
    await register({ credential: { type: 'gcp', gcp: { projectID: 'p' } } });
    await fleet.until(() => conditionOf(far(), 'CredentialValid') === 'False/NoProvider', 'NoProvider');
  });
});

/** An engine that comes to a server later, without links of its own. */
function engineOn(runtime: Runtime, server: ApiServer, name: string): Promise<Engine> {
  return startEngine(runtime, {
    name,
    client: createClient(server.as({ name: 'engine', groups: ['system:masters'] }), { clock: runtime.clock }),
    version: 'test',
    links: {
      tunnel: () => undefined,
      onTunnel: () => undefined,
      forget: () => undefined,
      direct: () => {
        throw new Error('no links');
      },
    },
    credentials: { resolve: async () => [], rules: {} },
    roles: { spoke: true },
  });
}

describe('a cluster that is only connected', () => {
  it('[K128] gets the engine and propagations later, without being registered again', async () => {
    const target: { handler: Handler } = { handler: always(503) };
    fleet = await simulateFleet(5, [], { direct: { far: (request) => target.handler(request) } });
    const { runtime } = fleet;
    const server = await fleet.run(createApiServer({ runtime, storage: memoryDriver() }));
    target.handler = server.as({ name: 'admin', groups: ['system:masters'] });
    await store(kubeconfig());
    await register({ ...DIRECT, blueprintRef: { name: 'base', revision: 'v3' } });
    await fleet.until(
      () => farStatus().connection === 'Connected' && farStatus().clusterInfo !== undefined,
      'Connected',
    );
    const uid = far()?.metadata.uid;
    expect(farStatus().engine).toBeUndefined();
    await openShop(fleet);
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'Unknown/Stale', 'no engine there');
    await fleet.rest(65_000);
    const before = server.store.revision;
    await fleet.rest(65_000);
    expect(server.store.revision).toBe(before);
    const engine = await fleet.run(engineOn(runtime, server, 'far'));
    await ready(fleet, 1);
    await fleet.until(() => farStatus().engine === 'test', 'the engine seen');
    expect(far()?.metadata.uid).toBe(uid);
    expect(far()?.['spec']).toMatchObject({ blueprintRef: { name: 'base', revision: 'v3' } });
    await fleet.run(Promise.all([engine.stop(), server.close()]));
  });
});

describe('a cluster whose engine goes by another name', () => {
  it('is told apart, and gets nothing until the names agree', async () => {
    const target: { handler: Handler } = { handler: always(503) };
    fleet = await simulateFleet(5, [], { direct: { far: (request) => target.handler(request) } });
    const { runtime } = fleet;
    const server = await fleet.run(createApiServer({ runtime, storage: memoryDriver() }));
    target.handler = server.as({ name: 'admin', groups: ['system:masters'] });
    const wrong = await fleet.run(engineOn(runtime, server, 'elsewhere'));
    await store(kubeconfig());
    await register(DIRECT);
    await openShop(fleet);
    await fleet.until(() => conditionOf(far(), 'Registered') === 'False/NameMismatch', 'the mismatch');
    expect(conditionMessage(far(), 'Registered')).toContain('name its SpokeCluster elsewhere');
    await fleet.until(() => conditionOf(shop(fleet), 'Ready').startsWith('False/'), 'not ready');
    expect(conditionMessage(shop(fleet), 'Ready')).toContain('--name far');
    await fleet.run(wrong.stop());
    const right = await fleet.run(engineOn(runtime, server, 'far'));
    await ready(fleet, 1);
    await fleet.until(() => conditionOf(far(), 'Registered') === 'True/Registered', 'registered');
    await fleet.run(Promise.all([right.stop(), server.close()]));
  });
});

describe('a spoke that goes away', () => {
  it('[S17] [A47] is tainted after 40 s, not for a hiccup, and free again when it stays', async () => {
    fleet = await simulateFleet(6, ['a']);
    const a = (): SpokeClusterStatus =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['status'] ?? {}) as SpokeClusterStatus;
    await fleet.until(() => a().connection === 'Connected', 'the spoke to connect');
    const spoke = fleet.spokes[0];
    spoke?.link.cut();
    await fleet.rest(30_000);
    expect(a()).toMatchObject({ connection: 'Disconnected' });
    spoke?.link.heal();
    await fleet.rest(60_000);
    expect(a()).toMatchObject({ connection: 'Connected' });
    expect(a().taints).toBeUndefined();
    spoke?.link.cut();
    await fleet.rest(45_000);
    expect(a().taints).toMatchObject([{ key: 'atoll.dev/unreachable', effect: 'NoSelectIfNew' }]);
    spoke?.link.heal();
    await fleet.rest(10_000);
    expect(a()).toMatchObject({ connection: 'Connected', taints: [{ key: 'atoll.dev/unreachable' }] });
    await fleet.rest(20_000);
    expect(a().taints).toBeUndefined();
  });
});

describe('a tree', () => {
  it('[K20] has a cluster that is spoke and hub at once, in one process', async () => {
    fleet = await simulateFleet(5, ['mid']);
    const mid = fleet.spoke('mid');
    const leaf = await fleet.add('leaf', mid);
    await openShop(fleet);
    await ready(fleet, 1);
    await fleet.run(mid.client.create(SPOKE_CLUSTERS, spokeCluster('leaf')));
    await fleet.run(mid.client.create(PROPAGATIONS, propagation('onward')));
    await fleet.until(() => colour(leaf) === 'red', 'on the leaf');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(mid) === 'blue' && colour(leaf) === 'blue', 'the change on the leaf');
    // The leaf needs its parent's parent for nothing.
    await fleet.kill(fleet.hub);
    await fleet.run(
      mid.client.create({ ...secrets, resource: 'configmaps', kind: 'ConfigMap' }, configMap('own', 'grey')),
    );
    await fleet.until(() => colour(leaf, 'own') === 'grey', 'what the parent alone dispatched');
    await paint(fleet, mid, 'green');
    await fleet.until(() => colour(mid) === 'blue' && colour(leaf) === 'blue', 'corrected down the tree');
    expect(stored(leaf, 'core/configmaps/shop/settings')?.metadata.labels?.['atoll.dev/dispatch']).toMatch(
      /^shop-onward-/,
    );
    await fleet.start(fleet.hub);
    await fleet.run(
      fleet.hub.client.delete({ ...secrets, resource: 'configmaps', kind: 'ConfigMap' }, 'shop', 'settings'),
    );
    await fleet.until(() => colour(mid) === '' && colour(leaf) === '', 'deleted down the tree');
    expect(colour(leaf, 'own')).toBe('grey');
    expect(shopStatus(fleet)).toBeDefined();
  });

  it('shows a name that two namespaces claim as taken', async () => {
    fleet = await simulateFleet(5, ['a']);
    await fleet.rest(2_000);
    const copy = spokeCluster('a');
    await fleet.run(
      fleet.hub.client.create(SPOKE_CLUSTERS, {
        ...copy,
        metadata: { ...copy.metadata, namespace: 'kube-public' },
      }),
    );
    await fleet.until(
      () =>
        conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/kube-public/a'), 'Registered') ===
        'False/NameTaken',
      'NameTaken',
    );
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { metadata: { labels: { seen: 'yes' } } });
    expect(conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a'), 'Connected')).toBe(
      'True/ProbeSucceeded',
    );
  });
});
