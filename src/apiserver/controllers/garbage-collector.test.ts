import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject, OwnerReference } from '../../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/index.ts';
import { memoryDriver } from '../storage/memory-driver.ts';
import { objectKey, parseKey } from '../store/key.ts';
import { openStore } from '../store/mvcc-store.ts';
import type { Store } from '../store/store.ts';
import type { NamespaceActions, Propagation } from './actions.ts';
import { type ServedKind, startGarbageCollector } from './garbage-collector.ts';
import { storeActions } from './testing/fixtures/store-actions.ts';

const SERVED: ServedKind[] = [
  { group: '', resource: 'nodes', kind: 'Node', namespaced: false },
  { group: '', resource: 'configmaps', kind: 'ConfigMap', namespaced: true },
  { group: 'apps', resource: 'replicasets', kind: 'ReplicaSet', namespaced: true },
];
const WIDGETS: ServedKind = { group: 'example.io', resource: 'widgets', kind: 'Widget', namespaced: true };

let runtime: VirtualRuntime;
let store: Store;
let log: string[];
let served: ServedKind[];
let actions: NamespaceActions;
let collector: ReturnType<typeof startGarbageCollector> | undefined;

beforeEach(async () => {
  runtime = virtualRuntime(3);
  store = await openStore(runtime, memoryDriver());
  log = [];
  served = [...SERVED];
  actions = storeActions(runtime, store, log);
  collector = undefined;
});
afterEach(() => collector?.stop());

function start(): void {
  collector = startGarbageCollector(runtime, { store, resources: () => served, actions });
}

/** `rs a` is a ReplicaSet in namespace ns, `cm`, `widget` and `node` likewise; `cm other/a` and `cm a@d` are elsewhere. */
function keyOf(name: string): string {
  const [short = '', place = ''] = name.split(' ');
  const [path = '', cluster = 'c'] = place.split('@');
  const [base = '', namespace = 'ns'] = path.split('/').reverse();
  const kind = { rs: 'ReplicaSet', cm: 'ConfigMap', node: 'Node', widget: 'Widget' }[short];
  const { group, resource, namespaced } = [...SERVED, WIDGETS].find((it) => it.kind === kind)!;
  return objectKey(group, resource, cluster, namespaced ? namespace : '', base);
}

function kindOf(key: string): ServedKind {
  const { resource } = parseKey(key);
  return [...SERVED, WIDGETS].find((it) => it.resource === resource)!;
}

function ownedBy(name: string, overrides: Partial<OwnerReference> = {}): OwnerReference {
  const key = keyOf(name);
  const { group, kind } = kindOf(key);
  return {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind,
    name: parseKey(key).name,
    uid: `uid of ${name}`,
    ...overrides,
  };
}

async function put(name: string, owners: OwnerReference[] = [], finalizers: string[] = []): Promise<void> {
  const key = keyOf(name);
  const { group, kind } = kindOf(key);
  const parts = parseKey(key);
  const object: KubeObject = {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind,
    metadata: {
      name: parts.name,
      ...(parts.namespace === '' ? {} : { namespace: parts.namespace }),
      uid: `uid of ${name}`,
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
      ...(finalizers.length > 0 ? { finalizers } : {}),
    },
  };
  await Promise.all([store.write(key, () => object), runtime.clock.settle()]);
}

async function remove(name: string, propagation: Propagation = 'Background'): Promise<void> {
  const deletion = actions.delete(keyOf(name), `uid of ${name}`, propagation);
  log.length = 0;
  await Promise.all([deletion, runtime.clock.settle()]);
  await runtime.clock.settle();
}

async function release(name: string, finalizer: string): Promise<void> {
  await Promise.all([actions.removeFinalizer(keyOf(name), finalizer), runtime.clock.settle()]);
  await runtime.clock.settle();
}

const has = (name: string): boolean => store.get(keyOf(name)) !== undefined;
const metadataOf = (name: string): KubeObject['metadata'] | undefined =>
  store.get(keyOf(name))?.object.metadata;

describe('background', () => {
  it('deletes dependents, and theirs, when the owner has gone', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a')]);
    await put('cm c', [ownedBy('cm b')]);
    await put('cm d');
    await runtime.clock.settle();
    expect(log).toEqual([]);
    await remove('rs a');
    expect(store.list('/').records.map((r) => r.key)).toEqual([keyOf('cm d')]);
  });

  it('keeps what has an owner that stands, and removes the references to others', async () => {
    start();
    await put('rs a');
    await put('rs b');
    await put('cm c', [ownedBy('rs a'), ownedBy('rs b'), ownedBy('rs never')]);
    await runtime.clock.settle();
    expect(metadataOf('cm c')?.ownerReferences?.map((r) => r.name)).toEqual(['a', 'b']);
    await remove('rs a');
    expect(metadataOf('cm c')?.ownerReferences?.map((r) => r.name)).toEqual(['b']);
    await remove('rs b');
    expect(has('cm c')).toBe(false);
  });

  it('lets an owner stand as long as finalizers of others hold it', async () => {
    start();
    await put('rs a', [], ['example.io/wait']);
    await put('cm b', [ownedBy('rs a')]);
    await remove('rs a');
    expect([has('rs a'), has('cm b')]).toEqual([true, true]);
    await release('rs a', 'example.io/wait');
    expect([has('rs a'), has('cm b')]).toEqual([false, false]);
  });

  it('finds at its start what was lost before', async () => {
    await put('rs a');
    await put('cm b', [ownedBy('rs a')]);
    await put('cm c', [ownedBy('rs never')]);
    start();
    await runtime.clock.settle();
    expect([has('cm b'), has('cm c')]).toEqual([true, false]);
  });

  it('tries again after a failure', async () => {
    let failures = 2;
    const { delete: remover } = actions;
    actions.delete = async (...rest) => {
      if (failures-- > 0) throw new Error('not now');
      await remover(...rest);
    };
    start();
    await put('cm a', [ownedBy('rs never')]);
    await runtime.clock.until(() => !has('cm a'), 10_000);
    expect(failures).toBeLessThan(0);
  });
});

describe('an owner', () => {
  it('is who has the uid: a namesake is not', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a', { uid: 'uid of an earlier one' })]);
    await runtime.clock.settle();
    expect(has('cm b')).toBe(false);
  });

  it('in another namespace or logical cluster counts as absent, and does not wait for its dependents', async () => {
    start();
    await put('rs a', [], []);
    await put('cm other/b', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await put('cm b@d', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await runtime.clock.settle();
    expect([has('cm other/b'), has('cm b@d')]).toEqual([false, false]);
    await put('cm other/c', [ownedBy('rs a', { blockOwnerDeletion: true })], ['example.io/stuck']);
    await remove('rs a', 'Foreground');
    expect([has('rs a'), has('cm other/c')]).toEqual([false, true]);
  });

  it('may be cluster-scoped', async () => {
    start();
    await put('node n');
    await put('cm a', [ownedBy('node n')]);
    await runtime.clock.settle();
    expect(has('cm a')).toBe(true);
    await remove('node n');
    expect(has('cm a')).toBe(false);
  });

  it('with a namespace cannot be told by a cluster-scoped dependent, which stays', async () => {
    start();
    await put('node n', [ownedBy('rs a')]);
    await runtime.clock.settle();
    expect(has('node n')).toBe(true);
  });

  it('of an unknown kind is not taken to be absent, until the kind is known', async () => {
    start();
    await put('cm a', [ownedBy('widget w')]);
    await runtime.clock.settle();
    expect([has('cm a'), log]).toEqual([true, []]);
    served.push(WIDGETS);
    const crd = objectKey('apiextensions.k8s.io', 'customresourcedefinitions', 'c', '', 'widgets.example.io');
    void store.write(crd, () => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.io', uid: 'crd' },
    }));
    await runtime.clock.settle();
    expect(has('cm a')).toBe(false);
  });

  it('that was seen to go is absent even when its kind goes with it', async () => {
    served.push(WIDGETS);
    start();
    await put('widget w');
    await put('cm a', [ownedBy('widget w')]);
    await runtime.clock.settle();
    served.pop();
    await remove('widget w');
    expect(has('cm a')).toBe(false);
  });
});

describe('foreground', () => {
  it('takes the owner last, after the dependents that block it', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a', { blockOwnerDeletion: true })], ['example.io/wait']);
    await put('cm c', [ownedBy('rs a')], ['example.io/wait']);
    await put('cm d', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await remove('rs a', 'Foreground');
    expect(has('cm d')).toBe(false);
    for (const name of ['rs a', 'cm b', 'cm c'])
      expect(metadataOf(name)?.deletionTimestamp, name).toBeDefined();
    await release('cm b', 'example.io/wait');
    expect([has('rs a'), has('cm b'), has('cm c')]).toEqual([false, false, true]);
  });

  it('goes down the tree', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await put('cm c', [ownedBy('cm b', { blockOwnerDeletion: true })], ['example.io/wait']);
    await remove('rs a', 'Foreground');
    expect(metadataOf('cm b')?.finalizers).toEqual(['foregroundDeletion']);
    expect([has('rs a'), has('cm c')]).toEqual([true, true]);
    await release('cm c', 'example.io/wait');
    expect(store.count('/')).toBe(0);
  });

  it('does not wait for a dependent that has another owner', async () => {
    start();
    await put('rs a');
    await put('rs b');
    await put('cm c', [ownedBy('rs a', { blockOwnerDeletion: true }), ownedBy('rs b')]);
    await remove('rs a', 'Foreground');
    expect(has('rs a')).toBe(false);
    expect(metadataOf('cm c')?.ownerReferences?.map((r) => r.name)).toEqual(['b']);
  });

  it('ends for a circle of owners', async () => {
    await put('cm a', [ownedBy('cm c', { blockOwnerDeletion: true })]);
    await put('cm b', [ownedBy('cm a', { blockOwnerDeletion: true })]);
    await put('cm c', [ownedBy('cm b', { blockOwnerDeletion: true })]);
    start();
    await runtime.clock.settle();
    expect(store.count('/')).toBe(3);
    await remove('cm a', 'Foreground');
    expect(store.count('/')).toBe(0);
  });

  it('is resumed by a collector that starts in the middle', async () => {
    await put('rs a');
    await put('cm b', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await remove('rs a', 'Foreground');
    start();
    await runtime.clock.settle();
    expect(store.count('/')).toBe(0);
  });

  it('ends when a dependent gives up its owner', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a', { blockOwnerDeletion: true })], ['example.io/wait']);
    await remove('rs a', 'Foreground');
    expect(has('rs a')).toBe(true);
    await put('cm b', [], ['example.io/wait']);
    await runtime.clock.settle();
    expect([has('rs a'), has('cm b')]).toEqual([false, true]);
  });
});

describe('orphan', () => {
  it('removes the references of dependents, then the owner', async () => {
    start();
    await put('rs a');
    await put('rs z');
    await put('cm b', [ownedBy('rs a'), ownedBy('rs z')]);
    await put('cm c', [ownedBy('rs a', { blockOwnerDeletion: true })]);
    await remove('rs a', 'Orphan');
    expect(has('rs a')).toBe(false);
    expect(metadataOf('cm b')?.ownerReferences?.map((r) => r.name)).toEqual(['z']);
    expect(metadataOf('cm c')?.ownerReferences).toEqual([]);
    expect(log.some((line) => line.startsWith('delete'))).toBe(false);
  });

  it('is passed on by a dependent that has the finalizer', async () => {
    start();
    await put('rs a');
    await put('cm b', [ownedBy('rs a')], ['orphan']);
    await put('cm c', [ownedBy('cm b')]);
    await remove('rs a');
    expect([has('rs a'), has('cm b'), has('cm c')]).toEqual([false, false, true]);
    expect(metadataOf('cm c')?.ownerReferences).toEqual([]);
  });
});
