import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { installKinds, resourceIdOf } from '../../kube/custom-resource.ts';
import { createClient } from '../../kube/rest-client.ts';
import { failure } from '../../kube/status-error.ts';
import { namespaces } from '../../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { INTENT_RECORD, type IntentRecords, openIntentRecords, type RecordedSource } from './records.ts';

const RECORDS = resourceIdOf(INTENT_RECORD);
const web: RecordedSource = {
  apiVersion: 'types.kubefed.io/v1beta1',
  kind: 'FederatedDeployment',
  namespace: 'shop',
  name: 'web',
  uid: '0123456789abcdef',
};

let runtime: VirtualRuntime;
let server: ApiServer;
let client: Client;
let records: IntentRecords;

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(2_000);
  return work;
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  client = createClient(server.as({ name: 'engine', groups: ['system:masters'] }));
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } };
  await run(client.create(namespaces, namespace));
  await run(installKinds(runtime.clock, client, [INTENT_RECORD]));
  records = openIntentRecords(runtime, client);
  await run(records.whenSynced());
});
afterEach(async () => {
  records.stop();
  await run(server.close());
});

describe('records of intents', () => {
  it('remember over a restart what was written, field by field', async () => {
    await run(records.write(web, { dispatchGeneration: 1, dispatchDigest: 'a', dispatchedTo: ['x', 'y'] }));
    await run(records.write(web, { dispatchGeneration: 2, dispatchedTo: ['y'] }));
    records.stop();
    records = openIntentRecords(runtime, client);
    expect(records.synced).toBe(false);
    await run(records.whenSynced());
    expect(records.get(web)).toMatchObject({
      dispatchGeneration: 2,
      dispatchDigest: 'a',
      dispatchedTo: ['y'],
    });
    expect(records.sources()).toEqual([web]);
  });

  it('are read back at once, and written one after the other', async () => {
    const first = records.write(web, { dispatchGeneration: 1 });
    const second = records.write(web, { dispatchDigest: 'b' });
    const third = records.write(web, { dispatchGeneration: 3 });
    await run(Promise.all([first, second, third]));
    expect(records.get(web)).toMatchObject({ dispatchGeneration: 3, dispatchDigest: 'b' });
    const { items } = await run(client.list(RECORDS, SYSTEM_NAMESPACE));
    expect(items.map(({ metadata, spec }) => [metadata.name, spec])).toEqual([
      ['shop-web-01234567', { source: web, dispatchGeneration: 3, dispatchDigest: 'b' }],
    ]);
  });

  it('replace a decision whole: nothing of the one before stays', async () => {
    const decision = (rejected: object): never => ({ chosen: ['x'], rejected }) as never;
    await run(records.write(web, { decision: decision({ y: 'no' }) }));
    await run(records.write(web, { decision: decision({ z: 'no' }) }));
    expect(records.get(web)?.decision).toEqual({ chosen: ['x'], rejected: { z: 'no' } });
  });

  it('are not written where nothing is new', async () => {
    await run(records.write(web, { dispatchGeneration: 1 }));
    const [before] = (await run(client.list(RECORDS, SYSTEM_NAMESPACE))).items;
    await run(records.write(web, { dispatchGeneration: 1 }));
    const [after] = (await run(client.list(RECORDS, SYSTEM_NAMESPACE))).items;
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });

  it('belong to one object: another of the same name starts with nothing', async () => {
    await run(records.write(web, { dispatchGeneration: 7, dispatchDigest: 'a' }));
    const again = { ...web, uid: '01234567-another' };
    expect(records.get(again)).toBeUndefined();
    await run(records.write(again, { dispatchGeneration: 1 }));
    expect(records.get(again)).toEqual({ source: again, dispatchGeneration: 1 });
    expect(records.get(web)).toBeUndefined();
  });

  it('are forgotten once, and come back when somebody else deletes them', async () => {
    await run(records.write(web, { dispatchGeneration: 1 }));
    await run(client.delete(RECORDS, SYSTEM_NAMESPACE, 'shop-web-01234567'));
    const late = records.write(web, { dispatchGeneration: 2 });
    await run(late);
    expect(records.get(web)).toMatchObject({ dispatchGeneration: 2 });
    await run(records.remove(web));
    await run(records.remove(web));
    expect([records.get(web), records.sources()]).toEqual([undefined, []]);
  });

  it('tell of a write that failed, and go on from what was durable', async () => {
    await run(records.write(web, { dispatchGeneration: 1 }));
    records.stop();
    const refusing: Client = {
      ...client,
      patch: () => Promise.reject(failure(500, 'InternalError', 'the disk is full')),
    };
    records = openIntentRecords(runtime, refusing);
    await run(records.whenSynced());
    await expect(run(records.write(web, { dispatchGeneration: 2 }))).rejects.toThrow('the disk is full');
    expect(records.get(web)).toMatchObject({ dispatchGeneration: 1 });
  });
});
