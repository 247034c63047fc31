import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../apiserver/index.ts';
import { DISPATCH_LABEL, type OwnedObject } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { type KubeObject, refKey } from '../kube/object.ts';
import { createClient } from '../kube/rest-client.ts';
import { configMaps } from '../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../runtime/runtime.ts';
import { applyOwned, fingerprint } from './apply.ts';
import { prune } from './prune.ts';

let runtime: VirtualRuntime;
let server: ApiServer;
let client: Client;

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(1_000);
  return work;
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  client = createClient(server.as({ name: 'engine', groups: ['system:masters'] }));
});
afterEach(async () => run(server.close()));

const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' };
const tombstones = [{ ref, reason: 'no longer selected' }];
const owned = (uid: string): Map<string, OwnedObject> => new Map([[refKey(ref), { ref, uid }]]);
const isThere = async (): Promise<boolean> =>
  (await run(client.list(configMaps, 'default'))).items.some((item) => item.metadata.name === 'a');

async function make(labels: Record<string, string> = {}): Promise<string> {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'default', labels },
  };
  return (await run(client.create(configMaps, object))).metadata.uid ?? '';
}

describe('pruning', () => {
  it('deletes what the spoke made, by UID', async () => {
    const uid = await make();
    expect(await run(prune(client, 'd', tombstones, owned(uid)))).toEqual({ done: [ref], pending: [] });
    expect(await isThere()).toBe(false);
  });

  it('leaves an object that someone else put in its place', async () => {
    await make();
    expect(await run(prune(client, 'd', tombstones, owned('another-uid')))).toEqual({
      done: [ref],
      pending: [],
    });
    expect(await isThere()).toBe(true);
  });

  it('leaves what it never claimed', async () => {
    await make({ [DISPATCH_LABEL]: 'd' });
    expect((await run(prune(client, 'd', tombstones, new Map()))).done).toEqual([ref]);
    expect(await isThere()).toBe(true);
  });

  it('deletes what it made and could not note before it stopped, and only that', async () => {
    await make({ [DISPATCH_LABEL]: 'other' });
    expect((await run(prune(client, 'd', tombstones, owned('')))).done).toEqual([ref]);
    expect(await isThere()).toBe(true);
    await run(client.delete(configMaps, 'default', 'a'));
    await make({ [DISPATCH_LABEL]: 'd' });
    expect((await run(prune(client, 'd', tombstones, owned('')))).done).toEqual([ref]);
    expect(await isThere()).toBe(false);
    expect((await run(prune(client, 'd', tombstones, owned('')))).done).toEqual([ref]);
  });
});

describe('applying', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'team' },
    data: { a: '1' },
  };

  it('makes the namespace that an object needs', async () => {
    const result = await run(applyOwned(client, 'd', object, ''));
    expect(result).toMatchObject({
      outcome: 'applied',
      live: { metadata: { labels: { [DISPATCH_LABEL]: 'd' } } },
    });
  });

  it('writes nothing the second time', async () => {
    await run(applyOwned(client, 'd', object, ''));
    const { revision } = server.store;
    expect((await run(applyOwned(client, 'd', object, ''))).outcome).toBe('applied');
    expect(server.store.revision).toBe(revision);
  });

  it('says what the server answers where it refuses', async () => {
    const result = await run(
      applyOwned(client, 'd', { ...object, apiVersion: 'nobody/v1', kind: 'Nothing' }, ''),
    );
    expect(result).toMatchObject({ outcome: 'failed', reason: 'NoKindMatch' });
  });
});

describe('a fingerprint', () => {
  const base = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x', uid: 'u', generation: 2, labels: { a: 'b' } },
    spec: { replicas: 1 },
  };

  it('is blind to status and to what controllers note', () => {
    const noted = {
      ...base,
      metadata: {
        ...base.metadata,
        resourceVersion: '9',
        annotations: { 'deployment.kubernetes.io/revision': '3' },
      },
      status: { replicas: 1 },
    };
    expect(fingerprint(noted)).toBe(fingerprint(base));
  });

  it('sees changes of labels, annotations, generation, and of content where there is no generation', () => {
    const others = [
      { ...base, metadata: { ...base.metadata, labels: {} } },
      { ...base, metadata: { ...base.metadata, generation: 3 } },
      { ...base, metadata: { ...base.metadata, annotations: { mine: 'x' } } },
      { ...base, metadata: { ...base.metadata, uid: 'v' } },
    ];
    for (const other of others) expect(fingerprint(other)).not.toBe(fingerprint(base));
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', uid: 'u' }, data: { a: '1' } };
    expect(fingerprint({ ...map, data: { a: '2' } })).not.toBe(fingerprint(map));
  });
});
