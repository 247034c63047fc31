import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/index.ts';
import { memoryDriver } from '../storage/memory-driver.ts';
import { objectKey } from '../store/key.ts';
import { openStore } from '../store/mvcc-store.ts';
import type { Store } from '../store/store.ts';
import type { NamespaceActions } from './actions.ts';
import { startNamespaceController } from './namespace.ts';
import { storeActions } from './testing/fixtures/store-actions.ts';

let runtime: VirtualRuntime;
let store: Store;
let log: string[];
let actions: NamespaceActions;
let controller: ReturnType<typeof startNamespaceController> | undefined;

beforeEach(async () => {
  runtime = virtualRuntime(3);
  store = await openStore(runtime, memoryDriver());
  log = [];
  actions = storeActions(runtime, store, log);
  controller = undefined;
});
afterEach(() => controller?.stop());

const start = (): void => {
  controller = startNamespaceController(runtime, { store, actions });
};

async function write(key: string, object: KubeObject | null): Promise<void> {
  await Promise.all([store.write(key, () => object), runtime.clock.settle()]);
}

async function put(
  group: string,
  resource: string,
  kind: string,
  namespace: string,
  name: string,
  rest: Record<string, unknown> = {},
  finalizers: string[] = [],
): Promise<string> {
  const key = objectKey(group, resource, 'c', namespace, name);
  const metadata = { name, uid: `uid of ${key}`, ...(finalizers.length > 0 ? { finalizers } : {}) };
  await write(key, { apiVersion: group === '' ? 'v1' : `${group}/v1`, kind, metadata, ...rest });
  return key;
}

const putNamespace = (name: string): Promise<string> =>
  put('', 'namespaces', 'Namespace', '', name, { spec: { finalizers: ['kubernetes'] } });

async function remove(key: string): Promise<void> {
  const deletion = actions.delete(key, `uid of ${key}`, 'Background');
  log.length = 0;
  await Promise.all([deletion, runtime.clock.settle()]);
  await runtime.clock.settle();
}

function conditions(key: string): Record<string, string> {
  const status = store.get(key)?.object.status as { conditions?: Condition[] } | undefined;
  return Object.fromEntries(
    (status?.conditions ?? []).map((c) => [c.type, `${c.status} ${c.reason}: ${c.message}`]),
  );
}

it('empties the namespace, touches no other, and lets it go', async () => {
  start();
  const doomed = await putNamespace('doomed');
  await putNamespace('doomed-not');
  await put('', 'configmaps', 'ConfigMap', 'doomed', 'a');
  await put('apps', 'deployments', 'Deployment', 'doomed', 'b');
  await put('example.io', 'widgets', 'Widget', 'doomed', 'c');
  const kept = [
    await put('', 'configmaps', 'ConfigMap', 'doomed-not', 'a'),
    await put('', 'nodes', 'Node', '', 'doomed'),
    objectKey('', 'configmaps', 'd', 'doomed', 'a'),
    objectKey('', 'namespaces', 'c', '', 'doomed-not'),
  ];
  await write(kept[2]!, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid: 'x' } });
  expect(log).toEqual([]);
  await remove(doomed);
  expect(store.list('/').records.map((r) => r.key)).toEqual(kept.sort());
});

it('takes the pods first and all else only when they have gone', async () => {
  start();
  const doomed = await putNamespace('doomed');
  // The fixture gives pods with a spec a grace period.
  const pod = await put('', 'pods', 'Pod', 'doomed', 'p', { spec: {} });
  const secret = await put('', 'secrets', 'Secret', 'doomed', 's');
  await remove(doomed);
  await runtime.clock.advance(5000);
  expect(log.filter((line) => line.startsWith('delete'))).toEqual([`delete ${pod} Background`]);
  expect(conditions(doomed)).toEqual({
    NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered: All resources successfully discovered',
    NamespaceDeletionGroupVersionParsingFailure:
      'False ParsedGroupVersions: All legacy kube types successfully parsed',
    NamespaceDeletionContentFailure:
      'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
    NamespaceContentRemaining:
      'True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances, secrets. has 1 resource instances',
    NamespaceFinalizersRemaining: 'False ContentHasNoFinalizers: All content-preserving finalizers finished',
  });
  await write(pod, null);
  await runtime.clock.settle();
  expect(log).toContain(`delete ${secret} Background`);
  expect(store.count('/')).toBe(0);
});

it('waits for finalizers of its content, says so, and writes nothing while it waits', async () => {
  start();
  const doomed = await putNamespace('doomed');
  const stuck = await put('example.io', 'widgets', 'Widget', 'doomed', 'w', {}, ['example.io/hold']);
  await put('', 'configmaps', 'ConfigMap', 'doomed', 'a');
  await remove(doomed);
  await runtime.clock.advance(5000);
  expect(conditions(doomed)).toMatchObject({
    NamespaceContentRemaining:
      'True SomeResourcesRemain: Some resources are remaining: widgets.example.io has 1 resource instances',
    NamespaceFinalizersRemaining:
      'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.io/hold in 1 resource instances',
  });
  const { revision } = store;
  await runtime.clock.advance(60_000);
  expect(store.revision).toBe(revision);
  await Promise.all([actions.removeFinalizer(stuck, 'example.io/hold'), runtime.clock.settle()]);
  await runtime.clock.settle();
  expect(store.count('/')).toBe(0);
});

it('finds at its start the namespaces that are being deleted', async () => {
  const doomed = await putNamespace('doomed');
  await put('', 'configmaps', 'ConfigMap', 'doomed', 'a');
  await remove(doomed);
  start();
  await runtime.clock.settle();
  expect(store.count('/')).toBe(0);
});

it('tells what could not be deleted, and tries again', async () => {
  const { delete: remover } = actions;
  let broken = true;
  actions.delete = async (key, uid, propagation, revision) => {
    if (broken && key.includes('/configmaps/')) throw new Error('denied by policy');
    await remover(key, uid, propagation, revision);
  };
  start();
  const doomed = await putNamespace('doomed');
  await put('', 'configmaps', 'ConfigMap', 'doomed', 'a');
  await put('', 'secrets', 'Secret', 'doomed', 's');
  await remove(doomed);
  expect(conditions(doomed).NamespaceDeletionContentFailure).toContain(
    'True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: configmaps "a": denied by policy',
  );
  expect(log).not.toContain('finalize c/doomed');
  broken = false;
  await runtime.clock.until(() => store.count('/') === 0, 10_000);
});

it('deletes what is created in the meantime', async () => {
  start();
  const doomed = await putNamespace('doomed');
  const stuck = await put('', 'configmaps', 'ConfigMap', 'doomed', 'a', {}, ['example.io/hold']);
  await remove(doomed);
  const late = await put('late.io', 'things', 'Thing', 'doomed', 't');
  await runtime.clock.settle();
  expect(store.get(late)).toBeUndefined();
  await Promise.all([actions.removeFinalizer(stuck, 'example.io/hold'), runtime.clock.settle()]);
  await runtime.clock.settle();
  expect(store.count('/')).toBe(0);
});

it('keeps a namespace that has finalizers of its own, after emptying it', async () => {
  start();
  const doomed = await put(
    '',
    'namespaces',
    'Namespace',
    '',
    'doomed',
    { spec: { finalizers: ['kubernetes'] } },
    ['example.io/hold'],
  );
  await put('', 'configmaps', 'ConfigMap', 'doomed', 'a');
  await remove(doomed);
  expect(store.list('/').records.map((r) => r.key)).toEqual([doomed]);
  expect(store.get(doomed)?.object.spec).toEqual({ finalizers: [] });
  await Promise.all([actions.removeFinalizer(doomed, 'example.io/hold'), runtime.clock.settle()]);
  expect(store.count('/')).toBe(0);
  // Until nobody can ask for its history any more.
  await runtime.clock.advance(400_000);
  expect(runtime.clock.pending()).toBe(0);
});
