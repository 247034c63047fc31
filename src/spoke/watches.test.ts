import { expect, it } from 'vitest';
import type { Client } from '../kube/client.ts';
import type { Change } from '../kube/informer.ts';
import type { KubeObject } from '../kube/object.ts';
import { failure } from '../kube/status-error.ts';
import { virtualRuntime } from '../runtime/index.ts';
import { managedWatches } from './watches.ts';

const widget: KubeObject = {
  apiVersion: 'x.io/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'n', uid: 'u', resourceVersion: '1' },
};
const REF = { apiVersion: 'x.io/v1', kind: 'Widget', namespace: 'n', name: 'w' };

it('ends the watch of what is served no longer, tells of its objects, and watches anew what is served again', async () => {
  const runtime = virtualRuntime(1);
  let plural: string | undefined = 'widgets';
  const asked: string[] = [];
  const gone = (): never => {
    throw failure(404, 'NotFound', 'the server could not find the requested resource', {});
  };
  let close = (): void => undefined;
  const client = {
    resourceFor: async () =>
      plural === undefined
        ? gone()
        : { group: 'x.io', version: 'v1', resource: plural, kind: 'Widget', namespaced: true },
    list: async ({ resource }: { resource: string }) => {
      asked.push(resource);
      if (resource !== plural) gone();
      return { items: [structuredClone(widget)], metadata: { resourceVersion: '1' } };
    },
    async *watch({ resource }: { resource: string }) {
      asked.push(resource);
      if (resource !== plural) gone();
      await new Promise<void>((resolve) => {
        close = resolve;
      });
    },
  } as unknown as Client;
  const changes: string[] = [];
  const watches = managedWatches(runtime, client, ({ type, object }: Change) =>
    changes.push(`${type} ${object.metadata.name}`),
  );
  await watches.watch(REF);
  expect(watches.seen(REF)).toBeDefined();
  expect(changes.splice(0)).toEqual(['added w']);
  await runtime.clock.advance(10);
  plural = undefined;
  close();
  await runtime.clock.advance(10_000);
  expect(changes.splice(0)).toEqual(['deleted w']);
  expect(watches.seen(REF)).toBeUndefined();
  asked.length = 0;
  await runtime.clock.advance(3_600_000);
  expect(asked).toEqual([]);
  await expect(watches.watch(REF)).rejects.toMatchObject({ code: 404 });
  plural = 'widgetry';
  await watches.watch(REF);
  expect(asked[0]).toBe('widgetry');
  expect(changes).toEqual(['added w']);
  watches.stop();
});

it('goes on watching where somebody on the way answers 404 for a while', async () => {
  const runtime = virtualRuntime(1);
  let isAstray = false;
  let close = (): void => undefined;
  const client = {
    resourceFor: async () => ({ resource: 'widgets', kind: 'Widget', namespaced: true }),
    list: async () => {
      if (isAstray) throw failure(404, '', 'not found');
      return { items: [structuredClone(widget)], metadata: { resourceVersion: '1' } };
    },
    async *watch() {
      if (isAstray) throw failure(404, '', 'not found');
      await new Promise<void>((resolve) => {
        close = resolve;
      });
    },
  } as unknown as Client;
  const changes: string[] = [];
  const watches = managedWatches(runtime, client, ({ type }: Change) => changes.push(type));
  await watches.watch(REF);
  await runtime.clock.advance(10);
  isAstray = true;
  close();
  await runtime.clock.advance(60_000);
  isAstray = false;
  await runtime.clock.advance(60_000);
  expect(changes).toEqual(['added']);
  expect(watches.seen(REF)).toBeDefined();
  watches.stop();
});

it('ends the watch of what is served no longer also where the cluster says so later, or cannot be asked at first', async () => {
  const runtime = virtualRuntime(1);
  let answers = ['served', 'failing'];
  let isGone = false;
  let close = (): void => undefined;
  let asked = 0;
  const client = {
    resourceFor: async () => {
      if (!isGone) return { resource: 'widgets', kind: 'Widget', namespaced: true };
      asked += 1;
      // Discovery lags behind what is served.
      const answer = answers.shift();
      if (answer === 'served') return { resource: 'widgets', kind: 'Widget', namespaced: true };
      throw failure(answer === 'failing' ? 503 : 404, '', 'x');
    },
    list: async () => {
      if (isGone) throw failure(404, '', 'not found');
      return { items: [structuredClone(widget)], metadata: { resourceVersion: '1' } };
    },
    async *watch() {
      if (isGone) throw failure(404, '', 'not found');
      await new Promise<void>((resolve) => {
        close = resolve;
      });
    },
  } as unknown as Client;
  const changes: string[] = [];
  const watches = managedWatches(runtime, client, ({ type }: Change) => changes.push(type));
  await watches.watch(REF);
  await runtime.clock.advance(10);
  isGone = true;
  close();
  await runtime.clock.advance(120_000);
  expect(changes).toEqual(['added', 'deleted']);
  expect(asked).toBe(3);
  await runtime.clock.advance(3_600_000);
  expect(asked).toBe(3);
  // Nobody is asked for one that is stopped.
  isGone = false;
  await watches.watch(REF);
  answers = ['failing'];
  await runtime.clock.advance(10);
  isGone = true;
  close();
  await runtime.clock.advance(1_000);
  watches.stop();
  await runtime.clock.advance(3_600_000);
  expect(asked).toBe(4);
});
