import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../apiserver/index.ts';
import { DISPATCH_LABEL, type OwnedObject } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import { createClient } from '../kube/rest-client.ts';
import { configMaps, namespaces, pods } from '../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../runtime/runtime.ts';
import { type Applied, type ApplyRequest, applyOwned } from './apply.ts';
import { fingerprintOf, wholeFingerprintOf } from './fingerprint.ts';
import { type Pruned, prune, unnotedUid } from './prune.ts';

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
const pruneNow = (claims: ReadonlyMap<string, OwnedObject>): Promise<Pruned> =>
  run(prune({ client, clock: runtime.clock, dispatch: 'd', owned: claims }, tombstones));
const isThere = async (): Promise<boolean> =>
  (await run(client.list(configMaps, 'default'))).items.some((item) => item.metadata.name === 'a');

const OBJECT: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'default' },
};

async function make(labels: Record<string, string> = {}): Promise<string> {
  const object = { ...OBJECT, metadata: { ...OBJECT.metadata, labels } };
  return (await run(client.create(configMaps, object))).metadata.uid ?? '';
}

describe('pruning', () => {
  it('deletes what the spoke made, by UID', async () => {
    const uid = await make();
    expect(await pruneNow(owned(uid))).toEqual({ done: [ref], pending: [] });
    expect(await isThere()).toBe(false);
  });

  it('leaves an object that someone else put in its place', async () => {
    await make();
    expect(await pruneNow(owned('another-uid'))).toEqual({
      done: [ref],
      pending: [],
    });
    expect(await isThere()).toBe(true);
  });

  it('leaves what it never claimed', async () => {
    await make({ [DISPATCH_LABEL]: 'd' });
    expect((await pruneNow(new Map())).done).toEqual([ref]);
    expect(await isThere()).toBe(true);
  });

  it('finds the UID that was not noted of what it made, for whoever takes it over', async () => {
    const uidOf = (dispatch: string): Promise<string | undefined> =>
      run(unnotedUid({ client, clock: runtime.clock, dispatch }, { ref, uid: '' }));
    expect(await uidOf('d')).toBeUndefined();
    const uid = await make({ [DISPATCH_LABEL]: 'd' });
    expect(await uidOf('d')).toBe(uid);
    expect(await uidOf('another')).toBeUndefined();
  });

  it('deletes what it made anew and could not note before it stopped, but no copy of it', async () => {
    const made = { ...OBJECT, metadata: { ...OBJECT.metadata, labels: { [DISPATCH_LABEL]: 'd' } } };
    await run(client.create(configMaps, made, { fieldManager: 'kubectl' }));
    expect((await pruneNow(owned('uid-of-before'))).done).toEqual([ref]);
    expect(await isThere()).toBe(true);
    await run(client.delete(configMaps, 'default', 'a'));
    await applyNow(OBJECT, { ownedUid: 'uid-of-before' });
    expect((await pruneNow(owned('uid-of-before'))).done).toEqual([ref]);
    expect(await isThere()).toBe(false);
  });

  it('deletes what it made and could not note before it stopped, and only that', async () => {
    await make({ [DISPATCH_LABEL]: 'other' });
    expect((await pruneNow(owned(''))).done).toEqual([ref]);
    expect(await isThere()).toBe(true);
    await run(client.delete(configMaps, 'default', 'a'));
    await make({ [DISPATCH_LABEL]: 'd' });
    expect((await pruneNow(owned(''))).done).toEqual([ref]);
    expect(await isThere()).toBe(false);
    expect((await pruneNow(owned(''))).done).toEqual([ref]);
  });
});

describe('a namespace', () => {
  const home: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'home' } };
  const homeRef = refOf(home);
  const pod = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'home', ...more },
    spec: { containers: [{ name: 'c', image: 'c:1' }] },
  });
  const pruneHome = (uid: string): Promise<Pruned> =>
    run(
      prune(
        {
          client,
          clock: runtime.clock,
          dispatch: 'd',
          owned: new Map([[refKey(homeRef), { ref: homeRef, uid }]]),
        },
        [{ ref: homeRef, reason: 'no longer selected' }],
      ),
    );

  it('is looked through to the end for what somebody else has in it', async () => {
    const uid = (await run(client.create(namespaces, home))).metadata.uid ?? '';
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u' }];
    for (let index = 0; index < 30; index++)
      await run(client.create(pods, pod(`a-${index}`, { ownerReferences })));
    await run(client.create(pods, pod('z-debug')));
    expect(await pruneHome(uid)).toEqual({ done: [homeRef], pending: [] });
    expect((await run(client.get(namespaces, '', 'home'))).metadata.deletionTimestamp).toBeUndefined();
    await run(client.delete(pods, 'home', 'z-debug', { gracePeriodSeconds: 0 }));
    const { uid: again = '' } = (await run(client.get(namespaces, '', 'home'))).metadata;
    await pruneHome(again);
    const left = await run(client.list(namespaces, ''));
    const still = left.items.find(({ metadata }) => metadata.name === 'home');
    expect(still === undefined || still.metadata.deletionTimestamp !== undefined).toBe(true);
  });
});

function applyNow(object: KubeObject, more: Partial<ApplyRequest> = {}): Promise<Applied> {
  const request: ApplyRequest = {
    object,
    dispatch: 'd',
    origin: 'hub 1, Propagation shop/shop',
    ownedUid: '',
    strategy: {},
    retained: [],
    letGo: () => false,
    seen: undefined,
    drifted: false,
    ...more,
  };
  return run(applyOwned(client, runtime.clock, request));
}

describe('applying', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'team' },
    data: { a: '1' },
  };

  it('makes the namespace that an object needs', async () => {
    const result = await applyNow(object);
    expect(result).toMatchObject({
      outcome: 'applied',
      live: { metadata: { labels: { [DISPATCH_LABEL]: 'd' } } },
    });
  });

  it('writes nothing the second time', async () => {
    await applyNow(object);
    const { revision } = server.store;
    expect((await applyNow(object)).outcome).toBe('applied');
    expect(server.store.revision).toBe(revision);
  });

  it('says what the server answers where it refuses', async () => {
    const result = await applyNow({ ...object, apiVersion: 'nobody/v1', kind: 'Nothing' });
    expect(result).toMatchObject({ outcome: 'failed', reason: 'NoKindMatch' });
  });
});

describe('an API server that does not answer', () => {
  it('is given up after half a minute, with a word that says what is not known', async () => {
    const resource = {
      group: '',
      version: 'v1',
      resource: 'configmaps',
      kind: 'ConfigMap',
      namespaced: true,
    };
    const never = (): Promise<never> => new Promise(() => undefined);
    const silent = { ...client, resourceFor: async () => resource, get: never, apply: never, delete: never };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } };
    const request: ApplyRequest = {
      object,
      dispatch: 'd',
      origin: '',
      ownedUid: '',
      strategy: {},
      retained: [],
      letGo: () => false,
      seen: undefined,
      drifted: false,
    };
    const words: unknown[] = [];
    const note = (result: Applied): void => void words.push(result.outcome === 'failed' && result.word);
    applyOwned(silent, runtime.clock, request).then(note, note);
    applyOwned(silent, runtime.clock, { ...request, ownedUid: 'u' }).then(note, note);
    for (const preserve of [false, true])
      prune(
        {
          client: silent,
          clock: runtime.clock,
          dispatch: 'd',
          owned: new Map([[refKey(ref), { ref, uid: 'u', preserve }]]),
        },
        tombstones,
      ).then(({ pending }) => words.push(pending[0]?.word));
    await runtime.clock.advance(29_000);
    expect(words).toEqual([]);
    await runtime.clock.advance(2_000);
    expect(words.sort()).toEqual([
      'CreationTimedOut',
      'DeletionTimedOut',
      'LabelRemovalTimedOut',
      'UpdateTimedOut',
    ]);
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
    expect(wholeFingerprintOf(noted)).toBe(wholeFingerprintOf(base));
    expect(fingerprintOf(noted, base, [])).toBe(fingerprintOf(base, base, []));
  });

  it('sees changes of what is stated, and another object', () => {
    const others = [
      { ...base, metadata: { ...base.metadata, labels: {} } },
      { ...base, spec: { replicas: 2 } },
      { ...base, metadata: { ...base.metadata, uid: 'v' } },
      { ...base, metadata: { ...base.metadata, deletionTimestamp: 'now' } },
    ];
    for (const other of others)
      expect(fingerprintOf(other, base, [])).not.toBe(fingerprintOf(base, base, []));
  });

  it('of the whole sees changes of labels, annotations, generation, and of content where there is no generation', () => {
    const others = [
      { ...base, metadata: { ...base.metadata, labels: {} } },
      { ...base, metadata: { ...base.metadata, generation: 3 } },
      { ...base, metadata: { ...base.metadata, annotations: { mine: 'x' } } },
      { ...base, metadata: { ...base.metadata, uid: 'v' } },
    ];
    for (const other of others) expect(wholeFingerprintOf(other)).not.toBe(wholeFingerprintOf(base));
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', uid: 'u' }, data: { a: '1' } };
    expect(wholeFingerprintOf({ ...map, data: { a: '2' } })).not.toBe(wholeFingerprintOf(map));
  });

  it('does not look at fields that the cluster owns', () => {
    const retained = [{ path: ['spec', 'replicas'], mode: 'keep' as const }];
    const scaled = { ...base, spec: { replicas: 7 } };
    expect(fingerprintOf(scaled, base, retained)).toBe(fingerprintOf(base, base, retained));
  });
});
