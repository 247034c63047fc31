import { afterEach, describe, expect, it } from 'vitest';
import { SPOKE_CONTRACT } from '../../src/engine/contract/index.ts';
import type { DispatchStatus } from '../../src/engine/dispatch/index.ts';
import type { Client } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  namespaces,
  roleBindings,
  roles,
  secrets,
} from '../../src/kube/well-known.ts';
import type { Logger } from '../../src/runtime/log.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  type SimulatedSpoke,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';

const CONTRACTS = resourceIdOf(SPOKE_CONTRACT);
const RBAC = 'rbac.authorization.k8s.io/v1';
const ann = { username: 'ann', groups: ['team-shop'] };

function recordingLog(tell: (line: string) => void): Logger {
  const line = (message: string, fields: object = {}): void => tell(`${message} ${JSON.stringify(fields)}`);
  return { debug: line, info: line, warn: line, error: line, with: () => recordingLog(tell) };
}

let fleet: SimulatedFleet;
let orders: Orders;
afterEach(async () => fleet.stop());

async function open(): Promise<void> {
  fleet = await simulateFleet(21, ['a']);
  orders = ordersFor(fleet, 'a');
}

const a = (): SimulatedSpoke => fleet.spoke('a');
const status = (name = 'shop'): DispatchStatus => orders.dispatch(name)?.status ?? {};
const condition = (type: string, name = 'shop'): string => conditionOf(orders.dispatch(name), type);
const message = (type: string): string => conditionMessage(orders.dispatch('shop'), type);
const map = (name: string, namespace = 'shop'): KubeObject | undefined =>
  stored(a(), `core/configmaps/${namespace}/${name}`);

function configMap(name: string, namespace = 'shop', colour = 'red'): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { colour } };
}

async function contract(spec: object, name = 'platform'): Promise<void> {
  await fleet.run(
    a().client.apply(
      CONTRACTS,
      { apiVersion: 'atoll.dev/v1alpha1', kind: 'SpokeContract', metadata: { name }, spec },
      { fieldManager: 'owner', force: true },
    ),
  );
  await fleet.until(
    () => conditionOf(stored(a(), `atoll.dev/spokecontracts/-/${name}`), 'Valid') !== '',
    'the contract read',
  );
}

const refusedOn = (ref: string): string =>
  (status().objects ?? [])
    .filter(({ word, ref: one }) => word === 'ContractRefused' && `${one.kind} ${one.name}` === ref)
    .map(({ reason }) => reason)
    .join();

describe('a contract', () => {
  it('[K22] keeps objects outside of its scope off the cluster, and holds up nothing else', async () => {
    await open();
    await contract({ allow: [{ namespaces: ['shop*'] }], deny: [{ namespaces: ['shop-secret'] }] });
    await orders.give('shop', [configMap('in'), configMap('x', 'other'), configMap('y', 'shop-secret')], {
      author: ann,
    });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    await fleet.until(() => map('in') !== undefined, 'what is allowed');
    await fleet.rest(60_000);
    expect(storedBelow(a(), 'core/configmaps/other')).toEqual([]);
    expect(storedBelow(a(), 'core/configmaps/shop-secret')).toEqual([]);
    expect([refusedOn('ConfigMap x'), refusedOn('ConfigMap y')]).toEqual(['NotAllowed', 'Denied']);
    expect(condition('Applied')).toBe('False/ContractRefused');
    expect(message('Permitted')).toContain('ann may not apply ConfigMap');
    expect(status().summary).toEqual({ total: 3, applied: 1, healthy: 1 });
    await contract({ allow: [{ namespaces: ['*'] }] });
    await fleet.until(() => condition('Applied') === 'True/Applied', 'applied once it is allowed');
    expect(condition('Permitted')).toBe('True/Permitted');
    expect(map('x', 'other')).toBeDefined();
  });

  it('[K124] accepts some kinds only', async () => {
    await open();
    await contract({ allow: [{ kinds: [{ kind: 'ConfigMap' }] }] });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'shop' } };
    await orders.give('shop', [configMap('in'), secret], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(refusedOn('Secret key')).toBe('NotAllowed');
    expect(stored(a(), 'core/secrets/shop/key')).toBeUndefined();
    expect(map('in')).toBeDefined();
  });

  it("[F15] that is not there keeps the cluster's own namespaces from every order", async () => {
    await open();
    await orders.give('shop', [configMap('mine', 'kube-system'), configMap('in')]);
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(refusedOn('ConfigMap mine')).toBe('SystemNamespace');
    expect(map('mine', 'kube-system')).toBeUndefined();
    expect(map('in')).toBeDefined();
  });

  it('writes nothing and asks nothing while it refuses', async () => {
    await open();
    await contract({ deny: [{ namespaces: ['other'] }] });
    await orders.give('shop', [configMap('in'), configMap('x', 'other')], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    await fleet.rest(5_000);
    const before = everything(a());
    const asked = a().audit.length;
    await fleet.rest(600_000);
    expect(everything(a())).toEqual(before);
    const own = a()
      .audit.slice(asked)
      .filter(({ user, verb }) => user.username === 'atoll:engine' && verb !== 'watch');
    expect(own.map(({ requestURI }) => requestURI)).toEqual([]);
  });

  it('keeps what must not be deleted; the order stays open and is carried out when the contract changes', async () => {
    await open();
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await contract({ mustNotDelete: [{ kind: 'ConfigMap', name: 'data-*' }] });
    await orders.fulfil('shop', [namespace, configMap('data-1'), configMap('other')], { author: ann });
    const uid = map('data-1')?.metadata.uid;
    await orders.give('shop', [], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    await fleet.until(() => map('other') === undefined, 'what may go');
    await fleet.rest(120_000);
    expect(map('data-1')?.metadata.uid).toBe(uid);
    expect(stored(a(), 'core/namespaces/-/shop')?.metadata.deletionTimestamp).toBeUndefined();
    expect(refusedOn('ConfigMap data-1')).toBe('MustNotDelete');
    expect(message('Permitted')).toMatch(/data-1.*must not be deleted/);
    await contract({});
    await fleet.until(
      () => map('data-1') === undefined && stored(a(), 'core/namespaces/-/shop') === undefined,
      'the order carried out',
    );
    expect(condition('Permitted')).toBe('True/Permitted');
  });

  it('[A71] keeps what bears a label of the owner until the label is taken off', async () => {
    await open();
    await contract({ mustNotDelete: [{ labelSelector: { matchLabels: { keep: 'yes' } } }] });
    await orders.fulfil('shop', [configMap('data')], { author: ann });
    const label = (keep: string | null): Promise<KubeObject> =>
      fleet.run(a().client.patch(configMaps, 'shop', 'data', 'merge', { metadata: { labels: { keep } } }));
    await label('yes');
    const taken = {
      ...configMap('data'),
      metadata: { ...configMap('data').metadata, labels: { keep: 'no' } },
    };
    await orders.give('shop', [taken], { author: ann });
    await fleet.until(() => refusedOn('ConfigMap data') === 'MustNotDelete', 'the label defended');
    await orders.give('shop', [], { author: ann });
    await fleet.until(() => message('Permitted').includes('must not be deleted'), 'the refusal');
    await fleet.rest(120_000);
    expect(map('data')?.metadata.labels).toMatchObject({ keep: 'yes' });
    await label(null);
    await fleet.until(() => map('data') === undefined, 'the order carried out');
  });

  it('keeps a namespace in which something must not be deleted, whoever made that', async () => {
    await open();
    await contract({ mustNotDelete: [{ labelSelector: { matchLabels: { keep: 'yes' } } }] });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await orders.fulfil('shop', [namespace], { author: ann });
    await orders.fulfil('goods', [configMap('data')], { author: ann });
    await fleet.run(
      a().client.patch(configMaps, 'shop', 'data', 'merge', { metadata: { labels: { keep: 'yes' } } }),
    );
    await orders.give('shop', [], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(message('Permitted')).toContain('it would take ConfigMap shop/data along');
    expect(stored(a(), 'core/namespaces/-/shop')?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('lets things be adopted by those only who may', async () => {
    await open();
    await fleet.run(
      a().client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await fleet.run(a().client.create(configMaps, configMap('settings', 'shop', 'green')));
    await contract({
      allow: [{ verbs: ['apply', 'delete'] }, { verbs: ['adopt'], authors: { groups: ['admins'] } }],
    });
    await orders.give('shop', [configMap('settings')], { author: ann, apply: { adopt: 'Always' } });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(map('settings')?.['data']).toEqual({ colour: 'green' });
    const admin = { username: 'bob', groups: ['admins'] };
    await orders.fulfil('shop', [configMap('settings')], { author: admin, apply: { adopt: 'Always' } });
    expect(map('settings')?.['data']).toEqual({ colour: 'red' });
  });

  it('opens windows: what is new waits for the next, what was carried out is kept up meanwhile', async () => {
    await open();
    await orders.fulfil('shop', [configMap('in')], { author: ann });
    const now = fleet.runtime.clock.now();
    const at = (ms: number): string => {
      const date = new Date(Math.floor((now + ms) / 60_000) * 60_000);
      return date.toISOString().slice(11, 16);
    };
    await contract({ windows: [{ start: at(3_600_000), end: at(7_200_000) }] });
    await fleet.run(a().client.delete(configMaps, 'shop', 'in'));
    await fleet.until(() => map('in') !== undefined, 'drift undone outside of a window');
    await orders.give('shop', [configMap('in', 'shop', 'blue')], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(refusedOn('ConfigMap in')).toBe('OutsideWindow');
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(60_000);
    expect(map('in')?.['data']).toEqual({ colour: 'red' });
    await fleet.rest(3_600_000);
    expect(map('in')?.['data']).toEqual({ colour: 'blue' });
    expect(condition('Applied')).toBe('True/Applied');
  });

  it('pauses everything, and goes on', async () => {
    await open();
    await orders.fulfil('shop', [configMap('in')], { author: ann });
    await contract({ paused: true });
    await fleet.run(a().client.patch(configMaps, 'shop', 'in', 'merge', { data: { colour: 'green' } }));
    await orders.give('shop', [configMap('in', 'shop', 'blue'), configMap('more')], { author: ann });
    await fleet.rest(120_000);
    expect(map('in')?.['data']).toEqual({ colour: 'green' });
    expect(map('more')).toBeUndefined();
    expect(refusedOn('ConfigMap in')).toBe('Paused');
    await contract({ paused: false });
    await fleet.until(() => condition('Applied') === 'True/Applied', 'all carried out');
    expect(map('in')?.['data']).toEqual({ colour: 'blue' });
  });

  it('bounds how many objects are changed in a minute', async () => {
    await open();
    await contract({ rate: { objectsPerMinute: 3 } });
    const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    await orders.give(
      'shop',
      names.map((name) => configMap(name)),
      { author: ann },
    );
    const made = (): number =>
      storedBelow(a(), 'core/configmaps/shop').filter(({ metadata }) => names.includes(metadata.name ?? ''))
        .length;
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    await fleet.rest(30_000);
    expect(made()).toBe(3);
    await fleet.rest(60_000);
    expect(made()).toBe(6);
    await fleet.until(() => condition('Applied') === 'True/Applied', 'all in the end', 180_000);
  });

  it('that is not understood allows nothing and says so', async () => {
    await open();
    await contract({ rules: [{ expression: 'object.spec.' }] });
    expect(conditionOf(stored(a(), 'atoll.dev/spokecontracts/-/platform'), 'Valid')).toBe('False/Invalid');
    await orders.give('shop', [configMap('in')], { author: ann });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(refusedOn('ConfigMap in')).toBe('InvalidContract');
  });

  it('is written by no order, whatever hub gives it', async () => {
    await open();
    await contract({ deny: [{ namespaces: ['other'] }] });
    const wide = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'SpokeContract',
      metadata: { name: 'platform' },
      spec: {},
    };
    await orders.give('shop', [wide], { author: ann, apply: { adopt: 'Always' } });
    await fleet.until(() => condition('Applied') === 'False/ApplyFailed', 'the refusal');
    expect(message('Applied')).toContain('only the owner of the cluster writes a SpokeContract');
    expect(stored(a(), 'atoll.dev/spokecontracts/-/platform')?.['spec']).toEqual({
      deny: [{ namespaces: ['other'] }],
    });
  });
});

describe('an executor', () => {
  const account = 'system:serviceaccount:teams:shop';
  const executors = [
    { authors: { groups: ['team-shop'] }, serviceAccount: { namespace: 'teams', name: 'shop' } },
  ];

  async function grant(): Promise<void> {
    await fleet.run(
      a().client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    const metadata = { name: 'shop-maps', namespace: 'shop' };
    const rules = [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] },
    ];
    await fleet.run(a().client.create(roles, { apiVersion: RBAC, kind: 'Role', metadata, rules }));
    await fleet.run(
      a().client.create(roleBindings, {
        apiVersion: RBAC,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'shop-maps' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'teams', name: 'shop' }],
      }),
    );
  }

  it('[S60] applies and deletes with its own rights; what it may not is told in the words of the API server', async () => {
    await open();
    await contract({ executors });
    await grant();
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'shop' } };
    await orders.give('shop', [configMap('in'), secret], { author: ann });
    await fleet.until(() => condition('Applied') === 'False/ApplyFailed', 'the refusal of the API server');
    await fleet.until(() => map('in') !== undefined, 'what it may');
    expect(message('Applied')).toContain(`User "${account}" cannot`);
    expect(stored(a(), 'core/secrets/shop/key')).toBeUndefined();
    const byItself = a().audit.filter(
      ({ user, verb, objectRef, impersonatedUser }) =>
        user.username === 'atoll:engine' &&
        impersonatedUser === undefined &&
        objectRef?.namespace === 'shop' &&
        !['get', 'list', 'watch'].includes(verb),
    );
    expect(byItself).toEqual([]);
    const impersonated = a().audit.filter(({ impersonatedUser }) => impersonatedUser?.username === account);
    expect(impersonated.map(({ verb }) => verb)).toContain('patch');
    await orders.give('shop', [secret], { author: ann });
    await fleet.until(() => map('in') === undefined, 'deleted with its rights');
    expect(
      a().audit.some(
        ({ verb, impersonatedUser }) => verb === 'delete' && impersonatedUser?.username === account,
      ),
    ).toBe(true);
  });

  it('[S60] is there for authors that are mapped; all others may do nothing', async () => {
    await open();
    await contract({ executors });
    await grant();
    await orders.give('shop', [configMap('in')], { author: { username: 'eve', groups: ['system:masters'] } });
    await fleet.until(() => condition('Permitted') === 'False/ContractRefused', 'the refusal');
    expect(refusedOn('ConfigMap in')).toBe('NoExecutor');
    expect(map('in')).toBeUndefined();
  });

  it('[S61] may handle a further kind as soon as a ClusterRole with the right label says so', async () => {
    await open();
    await contract({ executors });
    await grant();
    const label = { 'example.com/aggregate-to-executor': 'true' };
    await fleet.run(
      a().client.create(clusterRoles, {
        apiVersion: RBAC,
        kind: 'ClusterRole',
        metadata: { name: 'executor' },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
        rules: [],
      }),
    );
    await fleet.run(
      a().client.create(clusterRoleBindings, {
        apiVersion: RBAC,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'executor' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'executor' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'teams', name: 'shop' }],
      }),
    );
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q', namespace: 'shop' },
      spec: {},
    };
    await orders.give('shop', [quota], { author: ann });
    await fleet.until(() => condition('Applied') === 'False/ApplyFailed', 'refused at first');
    await fleet.run(
      a().client.create(clusterRoles, {
        apiVersion: RBAC,
        kind: 'ClusterRole',
        metadata: { name: 'quotas', labels: label },
        rules: [
          { apiGroups: [''], resources: ['resourcequotas'], verbs: ['get', 'create', 'patch', 'delete'] },
        ],
      }),
    );
    await fleet.until(() => condition('Applied') === 'True/Applied', 'applied with the label alone');
  });
});

describe('the author of an intent', () => {
  const hub = (name: string, ...groups: string[]): Client =>
    createClient(fleet.hub.server.as({ name, groups: ['system:authenticated', ...groups] }));
  const wish = (spec: object = {}, name = 'shop'): KubeObject => ({
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    metadata: { name, namespace: 'shop' },
    spec: {
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'v1', kind: 'Secret' },
      ],
      placement: { clusterSelector: {} },
      ...spec,
    },
  });
  const propagation = (): KubeObject | undefined => stored(fleet.hub, 'atoll.dev/propagations/shop/shop');
  const author = (): object => (propagation()?.['spec'] as { author?: object } | undefined)?.author ?? {};
  const dispatched = (): KubeObject[] => storedBelow(a(), 'atoll.dev/dispatches/atoll-system');

  async function allow(name: string, user: string, ...rules: object[]): Promise<void> {
    const metadata = { name, namespace: 'shop' };
    await fleet.run(fleet.hub.client.create(roles, { apiVersion: RBAC, kind: 'Role', metadata, rules }));
    await fleet.run(
      fleet.hub.client.create(roleBindings, {
        apiVersion: RBAC,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
      }),
    );
  }
  const writes = { apiGroups: ['atoll.dev'], resources: ['propagations'], verbs: ['*'] };
  const reads = (...resources: string[]): object => ({ apiGroups: [''], resources, verbs: ['get', 'list'] });

  async function openHub(): Promise<void> {
    await open();
    const { client } = fleet.hub;
    await fleet.run(
      client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await fleet.run(client.create(configMaps, configMap('settings')));
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key', namespace: 'shop' },
      stringData: { k: 'v' },
    };
    await fleet.run(client.create(await fleet.run(client.resourceFor('v1', 'Secret')), secret as KubeObject));
  }

  it('is who wrote the spec last, and nobody can write somebody else', async () => {
    await openHub();
    for (const user of ['ann', 'bob']) await allow(`write-${user}`, user, writes);
    await fleet.run(
      hub('ann', 'team').create(
        PROPAGATIONS,
        wish({ author: { username: 'admin', groups: ['system:masters'] } }),
      ),
    );
    expect(author()).toEqual({ username: 'ann', groups: ['system:authenticated', 'team'] });
    await fleet.rest(1_000);
    expect(propagation()?.metadata.finalizers).toEqual(['atoll.dev/propagation']);
    expect(author()).toMatchObject({ username: 'ann' });
    const edit = (spec: object): Promise<KubeObject> =>
      fleet.run(hub('bob').patch(PROPAGATIONS, 'shop', 'shop', 'merge', { spec }));
    await fleet.run(
      hub('bob').patch(PROPAGATIONS, 'shop', 'shop', 'merge', { metadata: { labels: { a: 'b' } } }),
    );
    expect(author()).toMatchObject({ username: 'ann' });
    await edit({ suspend: true });
    expect(author()).toEqual({ username: 'bob', groups: ['system:authenticated'] });
    await edit({ author: { username: 'admin' } });
    expect(author()).toMatchObject({ username: 'bob' });
  });

  it('stays who it is when somebody else applies the same again', async () => {
    await openHub();
    for (const user of ['ann', 'bob']) await allow(`write-${user}`, user, writes);
    const apply = (user: string, spec: object = {}): Promise<KubeObject> =>
      fleet.run(hub(user).apply(PROPAGATIONS, wish(spec), { fieldManager: 'kubectl', force: true }));
    await apply('ann');
    const revision = propagation()?.metadata.generation;
    await apply('bob');
    expect(author()).toMatchObject({ username: 'ann' });
    expect(propagation()?.metadata.generation).toBe(revision);
    await apply('bob', { deletionBudget: 1 });
    expect(author()).toMatchObject({ username: 'bob' });
    await expect(apply('bob', { author: { username: 'ann' } })).resolves.toBeDefined();
    expect(author()).toMatchObject({ username: 'bob' });
  });

  it('brings along what they may read at the hub, and no Secret besides', async () => {
    await openHub();
    await allow('ann', 'ann', writes, reads('configmaps'));
    await fleet.run(hub('ann').create(PROPAGATIONS, wish()));
    await fleet.until(() => map('settings') !== undefined, 'what ann may read');
    await fleet.until(
      () => conditionOf(propagation(), 'Selected') === 'False/AuthorNotAllowed',
      'the reason',
    );
    expect(conditionMessage(propagation(), 'Selected')).toContain(
      'ann, who wrote this, may not get Secret shop/key',
    );
    expect(stored(a(), 'core/secrets/shop/key')).toBeUndefined();
    expect(dispatched()[0]?.['spec']).toMatchObject({ author: { username: 'ann' } });
    await allow('ann-more', 'ann', reads('secrets'));
    await fleet.until(
      () => stored(a(), 'core/secrets/shop/key') !== undefined,
      'sent once ann may read it',
      120_000,
    );
    await fleet.until(() => conditionOf(propagation(), 'Selected') === 'True/Selected', 'all is sent');
  });

  it('who loses a right changes nothing on the spokes by that', async () => {
    await openHub();
    await allow('ann', 'ann', writes, reads('configmaps'));
    await allow('ann-more', 'ann', reads('secrets'));
    await fleet.run(hub('ann').create(PROPAGATIONS, wish()));
    await fleet.until(() => stored(a(), 'core/secrets/shop/key') !== undefined, 'sent');
    const uid = stored(a(), 'core/secrets/shop/key')?.metadata.uid;
    await fleet.run(fleet.hub.client.delete(roleBindings, 'shop', 'ann-more'));
    await fleet.rest(90_000);
    await fleet.run(
      fleet.hub.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'blue' } }),
    );
    await fleet.until(() => conditionOf(propagation(), 'Selected') === 'False/AuthorNotAllowed', 'held');
    await fleet.rest(90_000);
    expect(stored(a(), 'core/secrets/shop/key')?.metadata.uid).toBe(uid);
    expect(map('settings')?.['data']).toEqual({ colour: 'red' });
  });

  it("is judged by the cluster's contract, which the hub tells before anything is sent", async () => {
    await openHub();
    await allow('ann', 'ann', writes, reads('configmaps', 'secrets'));
    await contract({ allow: [{ authors: { users: ['bob'] } }] });
    await fleet.rest(1_000);
    await fleet.run(hub('ann').create(PROPAGATIONS, wish({ suspend: true })));
    await fleet.until(() => conditionOf(propagation(), 'Permitted') === 'False/ContractRefuses', 'foreseen');
    expect(conditionMessage(propagation(), 'Permitted')).toContain('2 objects will be refused on a; a: ');
    expect(dispatched()).toEqual([]);
    await fleet.run(hub('ann').patch(PROPAGATIONS, 'shop', 'shop', 'merge', { spec: { suspend: false } }));
    await fleet.until(() => conditionOf(dispatched()[0], 'Permitted') === 'False/ContractRefused', 'refused');
    expect(map('settings')).toBeUndefined();
    await contract({ allow: [{ authors: { users: ['ann'] } }] });
    await fleet.until(() => map('settings') !== undefined, 'allowed');
    await fleet.until(() => conditionOf(propagation(), 'Permitted') === 'True/Permitted', 'told');
  });

  it('also of what is taken away when the wish is gone', async () => {
    await openHub();
    await allow('ann', 'ann', writes, reads('configmaps', 'secrets'));
    await contract({ allow: [{ verbs: ['apply', 'delete'], authors: { users: ['ann'] } }] });
    await fleet.run(hub('ann').create(PROPAGATIONS, wish()));
    await fleet.until(() => map('settings') !== undefined, 'sent');
    await fleet.run(hub('ann').delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => map('settings') === undefined && propagation() === undefined, 'taken away');
    expect(dispatched()).toEqual([]);
  });
});

describe('a tenant', () => {
  const hub = (name: string): Client =>
    createClient(fleet.hub.server.as({ name, groups: ['system:authenticated'] }));
  const everywhere = { clusterSelector: {} };

  function wish(namespace: string, name: string, spec: object = {}): KubeObject {
    return {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name, namespace },
      spec: {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }],
        placement: everywhere,
        ...spec,
      },
    };
  }

  /** Two tenants, each with all rights in a namespace of their own. */
  async function openHub(log?: (line: string) => void): Promise<void> {
    fleet = await simulateFleet(23, ['a'], log ? { log: recordingLog(log) } : {});
    const { client } = fleet.hub;
    for (const [user, namespace] of [
      ['ann', 'shop'],
      ['eve', 'lab'],
    ] as const) {
      const metadata = { name: user, namespace };
      await fleet.run(
        client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
      );
      const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
      await fleet.run(client.create(roles, { apiVersion: RBAC, kind: 'Role', metadata, rules }));
      await fleet.run(
        client.create(roleBindings, {
          apiVersion: RBAC,
          kind: 'RoleBinding',
          metadata,
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
          subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
        }),
      );
    }
    await fleet.run(hub('ann').create(configMaps, configMap('settings')));
    await fleet.run(hub('ann').create(PROPAGATIONS, wish('shop', 'shop')));
    await fleet.until(() => map('settings') !== undefined, "ann's on the spoke");
  }

  it('asks as somebody else in vain', async () => {
    await openHub();
    const asAdmin = createClient((request) =>
      fleet.hub.server.as({ name: 'eve', groups: ['system:authenticated'] })({
        ...request,
        headers: { ...request.headers, 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
      }),
    );
    await expect(fleet.run(asAdmin.create(PROPAGATIONS, wish('lab', 'mine')))).rejects.toThrow(
      'cannot impersonate',
    );
    await expect(
      fleet.run(
        hub('eve').create(
          { ...PROPAGATIONS, resource: 'clusterpropagations', kind: 'ClusterPropagation', namespaced: false },
          { ...wish('', 'mine'), kind: 'ClusterPropagation' },
        ),
      ),
    ).rejects.toThrow('forbidden');
  });

  it('reaches no object of another namespace, by selector, label or override', async () => {
    await openHub();
    const theirs = storedBelow(a(), 'atoll.dev/dispatches/atoll-system')[0]?.metadata.name ?? '';
    const uid = map('settings')?.metadata.uid;
    const marked = configMap('bait', 'lab');
    marked.metadata.labels = { 'atoll.dev/dispatch': theirs };
    marked.metadata.annotations = { 'atoll.dev/managed-by': 'hub', 'atoll.dev/adopt': 'true' };
    await fleet.run(hub('eve').create(configMaps, marked));
    const override = (path: string, value: string): object => ({ patch: [{ op: 'add', path, value }] });
    await fleet.run(
      hub('eve').create(
        PROPAGATIONS,
        wish('lab', 'mine', {
          resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' }],
          overrides: [override('/metadata/labels', theirs)],
        }),
      ),
    );
    await fleet.rest(5_000);
    expect(map('bait', 'lab')).toBeUndefined();
    await fleet.run(
      hub('eve').patch(PROPAGATIONS, 'lab', 'mine', 'merge', {
        spec: { overrides: [override('/metadata/namespace', 'shop')] },
      }),
    );
    await fleet.rest(5_000);
    expect(storedBelow(a(), 'core/configmaps/shop').map(({ metadata }) => metadata.name)).not.toContain(
      'bait',
    );
    await fleet.run(
      hub('eve').patch(PROPAGATIONS, 'lab', 'mine', 'merge', {
        spec: {
          overrides: [
            { patch: [{ op: 'add', path: '/metadata/labels', value: { 'atoll.dev/dispatch': theirs } }] },
          ],
        },
      }),
    );
    await fleet.rest(5_000);
    expect(map('bait', 'lab')).toBeUndefined();
    await fleet.run(hub('eve').patch(PROPAGATIONS, 'lab', 'mine', 'merge', { spec: { overrides: [] } }));
    await fleet.until(() => map('bait', 'lab') !== undefined, "eve's own");
    expect(map('bait', 'lab')?.metadata.labels?.['atoll.dev/dispatch']).not.toBe(theirs);
    await fleet.run(hub('eve').delete(PROPAGATIONS, 'lab', 'mine'));
    await fleet.until(() => map('bait', 'lab') === undefined, "eve's gone");
    expect(map('settings')?.metadata.uid).toBe(uid);
  });

  it('reads no value of a Secret in a condition, an event, a plan or a log', async () => {
    const lines: string[] = [];
    await openHub((line) => void lines.push(line));
    const value = 'correct-horse-battery';
    const encoded = Buffer.from(value).toString('base64');
    await contract({
      rules: [{ expression: "object.kind != 'Secret' || int(string(base64.decode(object.data.key))) > 0" }],
    });
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key', namespace: 'shop' },
      data: { key: encoded },
    };
    await fleet.run(hub('ann').create(secrets, secret));
    await fleet.run(
      hub('ann').patch(PROPAGATIONS, 'shop', 'shop', 'merge', {
        spec: {
          resourceSelectors: [
            { apiVersion: 'v1', kind: 'Secret' },
            { apiVersion: 'v1', kind: 'ConfigMap' },
          ],
        },
      }),
    );
    const refused = (): boolean =>
      storedBelow(a(), 'atoll.dev/dispatches/atoll-system').some(
        (dispatch) => conditionOf(dispatch, 'Permitted') === 'False/ContractRefused',
      );
    await fleet.until(refused, 'the refusal');
    await fleet.rest(5_000);
    const told = [fleet.hub, a()].flatMap((target) =>
      target.server.store
        .list('')
        .records.filter(({ key }) => !/\/secrets\/|\/bundles\//.test(key))
        .map(({ object }) => JSON.stringify(object)),
    );
    expect(told.length).toBeGreaterThan(50);
    expect(lines.length).toBeGreaterThan(0);
    for (const text of [...told, ...lines]) {
      expect(text).not.toContain(value);
      expect(text).not.toContain(encoded);
    }
  });
});
