import { afterEach, describe, expect, it } from 'vitest';
import { endpointOfGatewaySecret } from '../../src/dialects/kubevela/gateway-secret.ts';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { secrets } from '../../src/kube/well-known.ts';
import { CA, type InventoryRig, inventoryRig, kubeconfigOf } from './inventory-rig.ts';

const SPOKES = resourceIdOf(SPOKE_CLUSTER);
const VELA = 'vela-system';
const TYPE = 'cluster.core.oam.dev/cluster-credential-type';
const OWNER = 'spokecluster.core.oam.dev/owner';

let rig: InventoryRig;
afterEach(async () => rig.stop());

/** A hub that registers with a cluster gateway, and a cluster `far` that can be reached. */
async function open(spec?: object): Promise<void> {
  rig = await inventoryRig(11, { gateway: { namespace: VELA } });
  await rig.cluster('far');
  await rig.store('default', 'far-kubeconfig', { kubeconfig: kubeconfigOf('far') });
  await rig.store(VELA, 'other', {});
  if (spec !== undefined) await rig.register({ name: 'far', spec });
}

const KUBECONFIG = {
  credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far-kubeconfig' } } },
};

function isConnected(name = 'far', namespace?: string): Promise<boolean> {
  return rig.spoke(name, namespace).then((spoke) => spoke?.status?.connection === 'Connected');
}

/** What a list of joined clusters is made of: every Secret of the gateway's namespace that says how its cluster is let in. */
async function joined(): Promise<Record<string, Record<string, string>>> {
  const { items } = await rig.run(rig.client.list(secrets, VELA, { labelSelector: TYPE }));
  return Object.fromEntries(items.map((item) => [item.metadata.name ?? '', dataOf(item)]));
}

function dataOf(secret: KubeObject | undefined): Record<string, string> {
  const data = (secret?.['data'] ?? {}) as Record<string, string>;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
}

async function replaceKubeconfig(text: string): Promise<void> {
  const secret = await rig.secret('default', 'far-kubeconfig');
  if (!secret) throw new Error('the Secret is gone');
  await rig.run(
    rig.client.update(secrets, { ...secret, data: { kubeconfig: Buffer.from(text).toString('base64') } }),
  );
}

describe('a cluster that the hub registers with the cluster gateway of KubeVela', () => {
  it('[K8] has the Secret that a join would have made, and no token in it once it is reached by a certificate', async () => {
    await open(KUBECONFIG);
    await rig.until(() => isConnected(), 'the cluster connected');
    expect(await rig.condition('far', 'Registered')).toBe('True/SecretMaterialized');
    expect(await joined()).toEqual({
      far: { endpoint: 'https://far.test', 'ca.crt': CA, token: 'sesame' },
    });
    const first = await rig.secret(VELA, 'far');
    expect(first?.metadata.labels).toMatchObject({ [TYPE]: 'ServiceAccountToken' });
    expect(first?.metadata.ownerReferences).toBeUndefined();
    expect(first && endpointOfGatewaySecret(first)).toEqual({
      endpoint: { url: 'https://far.test', ca: CA, token: 'sesame' },
    });
    const version = first?.metadata.resourceVersion;
    await rig.rest(65_000);
    expect((await rig.secret(VELA, 'far'))?.metadata.resourceVersion).toBe(version);

    const user = {
      'client-certificate-data': Buffer.from('certificate').toString('base64'),
      'client-key-data': Buffer.from('key').toString('base64'),
    };
    await replaceKubeconfig(kubeconfigOf('far', user));
    await rig.until(async () => 'tls.crt' in ((await joined()).far ?? {}), 'the certificate', 40_000);
    expect(await joined()).toEqual({
      far: { endpoint: 'https://far.test', 'ca.crt': CA, 'tls.crt': 'certificate', 'tls.key': 'key' },
    });
    expect((await rig.secret(VELA, 'far'))?.metadata.labels).toMatchObject({ [TYPE]: 'X509Certificate' });
  });

  it('[K9] is refused under the name of one that was joined by hand, and that one is left as it is', async () => {
    await open();
    await rig.store(
      VELA,
      'far',
      { endpoint: 'https://hand.test', token: 'mine' },
      { labels: { [TYPE]: 'ServiceAccountToken' } },
    );
    const before = await rig.secret(VELA, 'far');
    await rig.register({ name: 'far', spec: KUBECONFIG });
    await rig.until(
      async () => (await rig.condition('far', 'Registered')) === 'False/RegisterFailed',
      'the refusal',
    );
    const spoke = await rig.spoke('far');
    expect(spoke?.status?.connection).toBe('Unknown');
    expect(await rig.condition('far', 'Connected')).toBe('');
    expect(rig.fleet.session('far')).toBeUndefined();
    await rig.rest(65_000);
    await rig.run(rig.client.delete(SPOKES, 'default', 'far'));
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'the SpokeCluster gone');
    expect(await rig.secret(VELA, 'far')).toEqual(before);
  });

  it('is refused where the gateway would check less than the hub does', async () => {
    await open();
    const cluster = {
      'certificate-authority-data': Buffer.from(CA).toString('base64'),
      'tls-server-name': 'elsewhere.test',
    };
    await replaceKubeconfig(kubeconfigOf('far', { token: 'sesame' }, cluster));
    await rig.register({ name: 'far', spec: KUBECONFIG });
    await rig.until(
      async () => (await rig.condition('far', 'Registered')) === 'False/RegisterFailed',
      'the refusal',
    );
    expect(await joined()).toEqual({});
  });

  it('takes its Secret along when it leaves, and leaves it where it was told to', async () => {
    await open(KUBECONFIG);
    await rig.until(() => isConnected(), 'the cluster connected');
    await rig.run(rig.client.delete(SPOKES, 'default', 'far'));
    await rig.until(async () => (await rig.secret(VELA, 'far')) === undefined, 'the Secret gone');
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'the SpokeCluster gone');
    await rig.register({ name: 'far', spec: { ...KUBECONFIG, deletionPolicy: 'orphan' } });
    await rig.until(() => isConnected(), 'the cluster connected again');
    await rig.run(rig.client.delete(SPOKES, 'default', 'far'));
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'the SpokeCluster gone again');
    await rig.rest(40_000);
    expect((await rig.secret(VELA, 'far'))?.metadata.annotations).toMatchObject({ [OWNER]: 'default/far' });
  });

  it('[K18] leaves no Secret behind where its SpokeCluster was deleted by force', async () => {
    await open({ ...KUBECONFIG });
    await rig.until(() => isConnected(), 'the cluster connected');
    await rig.run(rig.inventory.stop());
    await rig.change('far', { metadata: { finalizers: null } });
    await rig.run(rig.client.delete(SPOKES, 'default', 'far'));
    expect(await rig.secret(VELA, 'far')).toBeDefined();
    const again = rig.again();
    await rig.until(async () => (await rig.secret(VELA, 'far')) === undefined, 'the Secret gone', 31_000);
    await rig.run(again.stop());
  });
});

describe('a cluster that was joined by hand before', () => {
  it('[K25] is reached by the Secret that is there, which stays as it is', async () => {
    await open();
    await rig.store(
      VELA,
      'old',
      { endpoint: 'https://far.test', 'ca.crt': CA, token: 'from the join' },
      { labels: { [TYPE]: 'ServiceAccountToken', 'cluster.core.oam.dev/cluster-endpoint-type': 'Const' } },
    );
    const before = await rig.secret(VELA, 'old');
    await rig.register({
      name: 'old',
      namespace: VELA,
      spec: { clusterGatewayRef: { name: 'old', namespace: VELA } },
    });
    await rig.until(() => isConnected('old', VELA), 'the cluster connected');
    expect(rig.endpoints.get('old')).toEqual({ url: 'https://far.test', ca: CA });
    expect(await rig.condition('old', 'CredentialValid', VELA)).toBe('True/Materialized');
    await rig.run(rig.client.delete(SPOKES, VELA, 'old'));
    await rig.until(async () => (await rig.spoke('old', VELA)) === undefined, 'the SpokeCluster gone');
    expect(await rig.secret(VELA, 'old')).toEqual(before);
  });

  it.each([
    ['runs a program', { [TYPE]: 'Dynamic' }, { endpoint: 'https://far.test', 'ca.crt': CA, exec: '{}' }],
    ['has no authority', { [TYPE]: 'ServiceAccountToken' }, { endpoint: 'https://far.test', token: 't' }],
    ['it joins no cluster', {}, { endpoint: 'https://far.test', 'ca.crt': CA, token: 't' }],
    [
      'ClusterProxy',
      { [TYPE]: 'ServiceAccountToken', 'cluster.core.oam.dev/cluster-endpoint-type': 'ClusterProxy' },
      { endpoint: 'https://far.test', 'ca.crt': CA, token: 't' },
    ],
    [
      'link-local',
      { [TYPE]: 'ServiceAccountToken' },
      { endpoint: 'https://169.254.169.254', 'ca.crt': CA, token: 't' },
    ],
    [
      'the proxy may not be used',
      { [TYPE]: 'ServiceAccountToken' },
      { endpoint: 'https://far.test', 'ca.crt': CA, token: 't', 'proxy-url': 'http://127.0.0.1:3128' },
    ],
  ])('is not reached where the Secret says otherwise: %s', async (why, labels, data) => {
    await open();
    await rig.store(VELA, 'old', data as unknown as Record<string, string>, { labels });
    await rig.register({ name: 'old', namespace: VELA, spec: { clusterGatewayRef: { name: 'old' } } });
    await rig.until(
      async () => (await rig.condition('old', 'CredentialValid', VELA)) === 'False/MaterializeFailed',
      'the refusal',
    );
    const found = (await rig.spoke('old', VELA))?.status?.conditions?.[0];
    expect(found?.message).toContain(why);
    expect(found?.message).not.toContain(CA);
  });

  it('[K10] lends its Secret to no other namespace', async () => {
    await open();
    await rig.store(
      VELA,
      'old',
      { endpoint: 'https://far.test', 'ca.crt': CA, token: 't' },
      { labels: { [TYPE]: 'ServiceAccountToken' } },
    );
    await rig.register({ name: 'old', spec: { clusterGatewayRef: { name: 'old', namespace: VELA } } });
    await rig.until(
      async () => (await rig.condition('old', 'CredentialValid')) === 'False/MaterializeFailed',
      'the refusal',
    );
  });

  it('is named, or there is a credential', async () => {
    await open();
    await expect(rig.register({ name: 'x', spec: {} })).rejects.toThrow(/credential is required/);
    await expect(
      rig.register({ name: 'x', spec: { ...KUBECONFIG, clusterGatewayRef: { name: 'old' } } }),
    ).rejects.toThrow(/clusterGatewayRef must not be set with type kubeconfig/);
  });
});
