import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/index.ts';
import { memoryDriver } from '../storage/index.ts';
import { openStore, type Store, type StoreEvent } from '../store/index.ts';
import { logicalClusters, overlayStore, templateSet } from './index.ts';

const role = (name: string, namespace?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Role',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});
const TEMPLATES = templateSet([
  { group: '', resource: 'roles', object: role('b') },
  { group: '', resource: 'roles', object: role('d') },
  { group: '', resource: 'roles', object: role('d', 'ns') },
]);
const CLUSTERS = ['a', 'a-b', 'b'];
const NAMES = ['a', 'b', 'c', 'd'];

type Step =
  | {
      readonly do: 'put' | 'remove';
      readonly cluster: string;
      readonly name: string;
      readonly inside: boolean;
    }
  | { readonly do: 'create' | 'delete'; readonly cluster: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('put' as const, 'remove' as const),
      cluster: fc.constantFrom(...CLUSTERS),
      name: fc.constantFrom(...NAMES),
      inside: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('create' as const, 'delete' as const),
      cluster: fc.constantFrom(...CLUSTERS),
    }),
  },
);

type State = Map<string, string>;
const stateOf = (records: readonly { key: string; revision: number }[]): State =>
  new Map(records.map(({ key, revision }) => [key, String(revision)]));

function follow(state: State, events: readonly StoreEvent[]): void {
  for (const { type, record } of events) {
    expect(state.has(record.key), `${type} ${record.key}`).toBe(type !== 'created');
    if (type === 'deleted') state.delete(record.key);
    else state.set(record.key, String(record.revision));
  }
}

async function settle<T>(runtime: VirtualRuntime, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await runtime.clock.settle();
  return promise;
}

function pages(store: Store, prefix: string, limit: number): { key: string; revision: number }[] {
  const all: { key: string; revision: number }[] = [];
  let after: string | undefined;
  for (;;) {
    const chunk = store.list(prefix, { limit, ...(after === undefined ? {} : { after }) });
    expect(chunk.remaining).toBe(store.count(prefix) - all.length - chunk.records.length);
    all.push(...chunk.records);
    after = chunk.records.at(-1)?.key;
    if (!chunk.more) return all;
  }
}

it('[V79] agrees with a store that has it all: state, past, chunks, and watches from anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const runtime = virtualRuntime(1);
      const stored = await openStore(runtime, memoryDriver());
      const store = overlayStore(stored, TEMPLATES);
      const clusters = logicalClusters(runtime, stored, TEMPLATES.digest);
      /** What there is, by key: the label that tells versions apart, '' for what was never written. */
      const model = new Map<string, string>();
      const keyOf = (cluster: string, name: string, inside: boolean) =>
        `/core/roles/${cluster}/${inside ? 'ns' : '-'}/${name}`;
      const prefixes = [
        '/core/roles/',
        ...CLUSTERS.map((cluster) => `/core/roles/${cluster}/`),
        '/core/roles/a/ns/',
        '/core/roles/a/-/b',
      ];
      const watched = prefixes.map((prefix) => {
        const state: State = new Map();
        store.watch(prefix, store.revision, (events) => follow(state, events));
        return state;
      });
      const past: { revision: number; keys: string[] }[] = [];
      let version = 0;

      for (const one of steps) {
        const { cluster } = one;
        if (!('name' in one) && one.do === 'create') {
          if (!clusters.has(cluster))
            for (const [name, inside] of [
              ['b', false],
              ['d', false],
              ['d', true],
            ] as const)
              model.set(keyOf(cluster, name, inside), '');
          await settle(runtime, clusters.create(cluster));
        } else if (!('name' in one)) {
          for (const key of [...model.keys()])
            if (key.startsWith(`/core/roles/${cluster}/`)) model.delete(key);
          await settle(runtime, clusters.delete(cluster));
        } else if (!clusters.has(cluster)) {
          const write = store.write(keyOf(cluster, one.name, one.inside), () => role(one.name));
          await expect(settle(runtime, write)).rejects.toMatchObject({ code: 404 });
        } else if (one.do === 'put') {
          const key = keyOf(cluster, one.name, one.inside);
          const label = String(++version);
          const { outcome, record } = await settle(
            runtime,
            store.write(key, (current) => {
              expect(current?.object.metadata.labels?.v ?? '').toBe(model.get(key) ?? '');
              const object = current?.object ?? role(one.name);
              return { ...object, metadata: { ...object.metadata, labels: { v: label } } };
            }),
          );
          expect(outcome).toBe(model.has(key) ? 'updated' : 'created');
          expect(record.object.metadata.labels?.v).toBe(label);
          model.set(key, label);
        } else {
          const key = keyOf(cluster, one.name, one.inside);
          if (model.has(key)) {
            const { outcome } = await settle(
              runtime,
              store.write(key, () => null),
            );
            expect(outcome).toBe('deleted');
          }
          model.delete(key);
        }
        const present = store.list('/core/roles/').records;
        expect(present.map(({ key, object }) => [key, object.metadata.labels?.v ?? ''])).toEqual(
          [...model].sort(),
        );
        for (const { key } of present) expect(store.get(key)?.revision).toBeDefined();
        prefixes.forEach((prefix, index) => {
          const { records } = store.list(prefix);
          expect(store.count(prefix)).toBe(records.length);
          expect(watched[index]).toEqual(stateOf(records));
          for (const limit of [1, 2]) expect(stateOf(pages(store, prefix, limit))).toEqual(stateOf(records));
        });
        past.push({ revision: store.revision, keys: present.map(({ key }) => key) });
      }

      for (const { revision, keys } of past) {
        const then = store.list('/core/roles/', { revision });
        expect(then.records.map(({ key }) => key)).toEqual(keys);
        expect(store.list('/core/roles/', { revision, limit: 2 }).remaining).toBe(
          Math.max(0, keys.length - 2),
        );
      }
      await store.close();
    }),
    { numRuns: 60, seed: 11 },
  );
});

it('[V77] leaves nothing behind of what was decided while a cluster was being marked', async () => {
  const runtime = virtualRuntime(1);
  const memory = memoryDriver();
  let release: (() => void) | undefined;
  let holds = false;
  const stored = await openStore(runtime, {
    ...memory,
    async commit(changes) {
      if (holds)
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      await memory.commit(changes);
    },
  });
  const store = overlayStore(stored, TEMPLATES);
  const clusters = logicalClusters(runtime, stored, TEMPLATES.digest);
  await settle(runtime, clusters.create('a'));

  holds = true;
  const deletion = clusters.delete('a');
  await runtime.clock.settle();
  // The mark is on its way to the disk, so the cluster is there for all others.
  const late = store.write('/core/roles/a/-/late', () => role('late'));
  holds = false;
  release?.();
  await Promise.allSettled([settle(runtime, deletion), late]);
  expect(stored.list('/core/').records.map(({ key }) => key)).toEqual([]);
});
