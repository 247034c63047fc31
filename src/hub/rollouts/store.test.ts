import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import { type RevisionContent, revisionDigest } from '../../engine/rollout/index.ts';
import type { Client } from '../../kube/client.ts';
import { installKinds, resourceIdOf } from '../../kube/custom-resource.ts';
import { createClient } from '../../kube/rest-client.ts';
import { namespaces } from '../../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { INTENT_REVISION, INTENT_ROLLOUT, type IntentRevision, type IntentRollout } from './kinds.ts';
import {
  contentOfParts,
  createRolloutStore,
  EMPTY_RECORD,
  type RolloutStore,
  revisionParts,
} from './store.ts';

const source = { kind: 'Propagation', namespace: 'shop', name: 'web', uid: 'uid-1' };
const REVISIONS = resourceIdOf(INTENT_REVISION);
const ROLLOUTS = resourceIdOf(INTENT_ROLLOUT);

let runtime: VirtualRuntime;
let server: ApiServer;
let client: Client;
let store: RolloutStore;

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(2_000);
  return work;
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  client = createClient(server.as({ name: 'engine', groups: ['system:masters'] }));
  await run(
    client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } }),
  );
  await run(installKinds(runtime.clock, client, [INTENT_REVISION, INTENT_ROLLOUT]));
  store = createRolloutStore(client);
});
afterEach(async () => {
  await run(server.close());
});

function content(...data: string[]): RevisionContent {
  return {
    objects: data.map((text, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `m-${index}`, namespace: 'shop' },
      data: { text },
    })) as never,
    overrides: [{ clusterNames: ['a'], patch: [{ op: 'remove', path: '/data/text' }] }],
    applyStrategy: { retainReplicas: true },
  };
}

describe('revisions', () => {
  it('come back as they were, objects and all that is said of them', async () => {
    for (const one of [content('x'), { objects: [], overrides: [] }]) {
      const digest = revisionDigest(one);
      await run(store.keep('shop-web-1', source, digest, one));
      await run(store.keep('shop-web-1', source, digest, one));
      expect(await run(store.content('shop-web-1', digest))).toEqual(one);
      expect(await run(store.content('another', digest))).toBeUndefined();
    }
  });

  it('over a MiB are kept in parts, and are not there while one is missing', async () => {
    const large = content(...Array.from({ length: 6 }, () => randomBytes(300_000).toString('base64')));
    const digest = revisionDigest(large);
    const parts = revisionParts('shop-web-1', source, digest, large);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(1.4 * 1024 * 1024);
    await run(store.keep('shop-web-1', source, digest, large));
    expect(await run(store.content('shop-web-1', digest))).toEqual(large);
    await run(client.delete(REVISIONS, SYSTEM_NAMESPACE, parts[1]?.metadata.name ?? ''));
    expect(await run(store.content('shop-web-1', digest))).toBeUndefined();
    await run(store.drop('shop-web-1', digest));
    expect((await run(client.list(REVISIONS, SYSTEM_NAMESPACE))).items).toEqual([]);
  });

  it('that somebody changed are none', async () => {
    const digest = revisionDigest(content('x'));
    const [part] = revisionParts('shop-web-1', source, digest, content('x'));
    const forged = { ...part, spec: { ...part?.spec, content: { overrides: [] } } } as IntentRevision;
    expect(() => contentOfParts([forged], digest)).toThrow(/does not have the content/);
    const [other] = revisionParts('shop-web-1', source, digest, content('y'));
    expect(() => contentOfParts([other as IntentRevision], digest)).toThrow(/does not have the content/);
  });
});

describe('the record of a rollout', () => {
  it('is read as it was written, and forgotten with all revisions of its intent and of no other', async () => {
    const record = { ...EMPTY_RECORD, generation: 7, given: { a: 7 } };
    await run(store.write('one', source, record));
    await run(store.write('one', source, { ...record, generation: 8 }));
    await run(store.write('two', source, record));
    await run(store.keep('one', source, revisionDigest(content('x')), content('x')));
    await run(store.keep('two', source, revisionDigest(content('x')), content('x')));
    expect(await run(store.read('one'))).toEqual({ ...record, generation: 8 });
    await run(store.forget('one'));
    await run(store.forget('one'));
    expect(await run(store.read('one'))).toBeUndefined();
    expect(await run(store.read('two'))).toEqual(record);
    expect((await run(client.list(REVISIONS, SYSTEM_NAMESPACE))).items).toHaveLength(1);
  });

  it('that cannot be read says what to do', async () => {
    await run(store.write('one', source, EMPTY_RECORD));
    await run(
      client.patch<IntentRollout>(ROLLOUTS, SYSTEM_NAMESPACE, 'one', 'merge', { spec: { data: 'bm9uZQ==' } }),
    );
    await expect(run(store.read('one'))).rejects.toThrow(
      /To start anew with what is on the clusters: kubectl delete intentrollouts -n atoll-system one/,
    );
  });
});
