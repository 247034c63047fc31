import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE, KUBEFED_CLUSTER } from '../../src/dialects/kubefed/index.ts';
import { installKind } from '../../src/hub/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { applyAll, established, makeNamespace } from './federation.ts';
import {
  conditionOf,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, merge, openShop, propagation, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CA = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64');
const LABELS: Readonly<Record<string, Record<string, string>>> = {
  a: { region: 'eu', tier: 'gold' },
  b: { region: 'eu', tier: 'silver' },
  c: { region: 'us', tier: 'gold' },
  d: { region: 'us', tier: 'silver' },
};
const NAMES = Object.keys(LABELS);
const PLACEMENTS: Readonly<Record<string, object>> = {
  everywhere: { clusterSelector: {} },
  europe: { clusterSelector: { matchLabels: { region: 'eu' } } },
  'not-gold': {
    clusterSelector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['gold'] }] },
  },
  named: { clusterNames: ['b', 'd', 'nowhere'] },
  spread: {
    clusterSelector: {},
    numberOfClusters: 2,
    spread: [{ label: 'region', minGroups: 2, maxGroups: 2 }],
  },
};

const secret = (namespace: string, name: string, stringData: Record<string, string>): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }) as KubeObject;

/** Kinds of objects that clusters are registered with, and how. */
const INVENTORIES: Readonly<Record<string, () => Promise<void>>> = {
  async SpokeCluster() {
    for (const name of NAMES) {
      const kubeconfig = JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'main',
        contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
        clusters: [
          { name: 'main', cluster: { server: `https://${name}.test`, 'certificate-authority-data': CA } },
        ],
        users: [{ name: 'main', user: { token: 'sesame' } }],
      });
      const credential = { type: 'kubeconfig', kubeconfig: { secretRef: { name } } };
      await applyAll(fleet, fleet.hub, [
        secret('default', name, { kubeconfig }),
        {
          apiVersion: 'core.oam.dev/v1beta1',
          kind: 'SpokeCluster',
          metadata: { name, namespace: 'default', labels: LABELS[name] ?? {} },
          spec: { credential },
        },
      ]);
    }
  },
  async KubeFedCluster() {
    await makeNamespace(fleet, DEFAULT_NAMESPACE);
    await fleet.run(installKind(fleet.hub.client, KUBEFED_CLUSTER));
    await fleet.until(() => established(fleet.hub, 'kubefedclusters.core.kubefed.io'), 'KubeFedClusters');
    for (const name of NAMES)
      await applyAll(fleet, fleet.hub, [
        secret(DEFAULT_NAMESPACE, name, { token: 'sesame' }),
        {
          apiVersion: 'core.kubefed.io/v1beta1',
          kind: 'KubeFedCluster',
          metadata: { name, namespace: DEFAULT_NAMESPACE, labels: LABELS[name] ?? {} },
          spec: { apiEndpoint: `https://${name}.test`, caBundle: CA, secretRef: { name } },
        },
      ]);
  },
};

function inventoryObjects(): KubeObject[] {
  return ['core.oam.dev/spokeclusters', 'core.kubefed.io/kubefedclusters'].flatMap((kind) =>
    ['default', DEFAULT_NAMESPACE].flatMap((namespace) => storedBelow(fleet.hub, `${kind}/${namespace}`)),
  );
}

/** What placements must not touch of the inventory. */
function inventoryWishes(): unknown[] {
  return inventoryObjects().map(({ kind, metadata, ...rest }) => {
    const { name, uid, generation, labels, finalizers, annotations } = metadata;
    return { kind, name, uid, generation, labels, finalizers, annotations, spec: rest['spec'] };
  });
}

/** Where each placement goes, with the clusters registered as one kind of object. */
async function decisionsWith(kind: string): Promise<Record<string, unknown>> {
  const ok = async () => ({ status: 200, headers: {}, body: Buffer.from('ok') });
  fleet = await simulateFleet(97, [], { direct: Object.fromEntries(NAMES.map((name) => [name, ok])) });
  await fleet.rest(3_000);
  await INVENTORIES[kind]?.();
  const connected = (): number =>
    inventoryObjects().filter(
      (object) =>
        object.kind === 'SpokeCluster' &&
        (object['status'] as { connection?: string } | undefined)?.connection === 'Connected',
    ).length;
  await fleet.until(() => connected() === NAMES.length, 'all clusters', 180_000);
  const before = inventoryWishes();
  await openShop(fleet, undefined, null);
  for (const [name, placement] of Object.entries(PLACEMENTS))
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(name, { placement })));
  const decided = (name: string): unknown => shopStatus(fleet, name)['decision'];
  await fleet.until(() => Object.keys(PLACEMENTS).every((name) => decided(name) !== undefined), 'decisions');
  await fleet.rest(10_000);
  const out = Object.fromEntries(Object.keys(PLACEMENTS).map((name) => [name, decided(name)]));
  for (const name of Object.keys(PLACEMENTS))
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', name));
  await fleet.rest(10_000);
  expect(inventoryWishes()).toEqual(before);
  return out;
}

describe('the inventory', () => {
  it('[S13] is only read by placements, which go to the same clusters whatever kind those are registered with', async () => {
    const native = await decisionsWith('SpokeCluster');
    await fleet.stop();
    const federated = await decisionsWith('KubeFedCluster');
    expect(federated).toEqual(native);
    expect(
      Object.fromEntries(
        Object.entries(native).map(([name, it]) => [name, (it as { chosen: string[] }).chosen]),
      ),
    ).toEqual({
      everywhere: ['a', 'b', 'c', 'd'],
      europe: ['a', 'b'],
      'not-gold': ['b', 'd'],
      named: ['b', 'd'],
      spread: expect.any(Array),
    });
  });
});

describe('a set of clusters', () => {
  const SET = 'fleet.example/set';
  const policy = (name: string, namespaces: string[] | undefined, set: string): KubeObject =>
    ({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'PlacementPolicy',
      metadata: { name },
      spec: {
        ...(namespaces === undefined ? {} : { namespaces }),
        clusters: { clusterSelector: { matchLabels: { [SET]: set } } },
      },
    }) as KubeObject;
  const join = (name: string, set: string): Promise<unknown> =>
    merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { [SET]: set } } });

  it('[S22] is a label that a namespace is bound to: what leaves the set loses what was placed, and keeps its namespace', async () => {
    fleet = await simulateFleet(98, ['a', 'b', 'c']);
    for (const [name, set] of [
      ['a', 'gold'],
      ['b', 'gold'],
      ['c', 'silver'],
    ] as const)
      await join(name, set);
    await applyAll(fleet, fleet.hub, [
      policy('shop-on-gold', ['shop'], 'gold'),
      policy('vault-on-iron', ['vault'], 'iron'),
    ]);
    await openShop(fleet, [configMap('settings', 'red')], { placement: { clusterSelector: {} } });
    await ready(fleet, 2);
    expect(shopStatus(fleet)).toMatchObject({ decision: { chosen: ['a', 'b'] } });
    const namespaceOn = (name: string): string | undefined =>
      stored(fleet.spoke(name), 'core/namespaces/-/shop')?.metadata.uid;
    const uid = namespaceOn('b');
    expect(uid).toBeDefined();
    // A label has one value: whoever joins another set has left this one.
    await join('b', 'silver');
    await fleet.until(() => colour(fleet.spoke('b')) === '', 'gone from b');
    await ready(fleet, 1);
    await fleet.rest(120_000);
    expect(namespaceOn('b')).toBe(uid);
    expect(stored(fleet.spoke('b'), 'core/namespaces/-/shop')?.metadata.deletionTimestamp).toBeUndefined();
    expect(colour(fleet.spoke('c'))).toBe('');
    await join('b', 'gold');
    await ready(fleet, 2);
    expect(namespaceOn('b')).toBe(uid);
    expect(conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/b'), 'Connected')).toContain(
      'True/',
    );
  });

  it('binds only for whoever may write cluster-wide, whatever they may in their own namespace', async () => {
    fleet = await simulateFleet(99, ['a']);
    await openShop(fleet, undefined, null);
    const rbac = 'rbac.authorization.k8s.io';
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: `${rbac}/v1`,
        kind: 'Role',
        metadata: { name: 'all', namespace: 'shop' },
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      } as KubeObject,
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'all', namespace: 'shop' },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'all' },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'tenant' }],
      } as KubeObject,
    ]);
    const handler = fleet.hub.server.as({ name: 'tenant', groups: ['system:authenticated'] });
    const send = async (method: string, path: string, body: object): Promise<number> => {
      const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { 'content-type': contentType };
      const request = { method, path, headers, body: Buffer.from(JSON.stringify(body)) };
      return (await fleet.run(handler(request))).status;
    };
    const policies = '/apis/atoll.dev/v1alpha1/placementpolicies';
    const spoke = '/apis/core.oam.dev/v1beta1/namespaces/default/spokeclusters/a';
    expect(await send('POST', policies, policy('mine', ['shop'], 'gold'))).toBe(403);
    expect(await send('PATCH', spoke, { metadata: { labels: { [SET]: 'gold' } } })).toBe(403);
    const propagations = '/apis/atoll.dev/v1alpha1/namespaces/shop/propagations';
    expect(await send('POST', propagations, propagation('mine'))).toBe(201);
  });
});
