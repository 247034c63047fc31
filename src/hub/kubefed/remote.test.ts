import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { federatedTypeFor } from '../../dialects/kubefed/index.ts';
import type { Handler } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';
import { type Following, openRemote, type Remote } from './remote.ts';

const TYPE = federatedTypeFor({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  pluralName: 'deployments',
  scope: 'Namespaced',
});

let runtime: VirtualRuntime;
let server: ApiServer;
let remote: Remote;
let answering: PromiseWithResolvers<void>;
let news: string[];

async function run<T>(work: Promise<T>): Promise<T> {
  await runtime.clock.advance(2_000);
  return work;
}

function follow(name: string): Following {
  const object: KubeObject = { apiVersion: 'v1', kind: 'X', metadata: { name, namespace: 'shop' } };
  return remote.follow(name, TYPE, object, ['a', 'b']);
}

/** Two clusters, of which neither answers before it is to. */
beforeEach(async () => {
  runtime = virtualRuntime(1);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  answering = Promise.withResolvers();
  const spoke = server.as({ name: 'reader', groups: ['system:masters'] });
  const handler: Handler = async ({ headers: _impersonating, ...request }) => {
    await answering.promise;
    return spoke({ ...request, headers: { accept: 'application/json' } });
  };
  const sessions = new Map(['a', 'b'].map((name) => [name, { live: true, link: { handler } }]));
  const fleet: unknown = { session: (name: string) => sessions.get(name), onChange: () => undefined };
  news = [];
  remote = openRemote(runtime, { fleet: fleet as Fleet, onNews: (key) => void news.push(key) });
});
afterEach(async () => {
  answering.resolve();
  await run(remote.stop());
  await run(server.close());
});

it('waits a minute for clusters that do not say what they have, and hears of all that answer after all', async () => {
  expect(follow('web').waitingFor).toContain('what runs on a, b is being read');
  await runtime.clock.advance(30_000);
  expect(follow('web').silent.size).toBe(0);
  await runtime.clock.advance(31_000);
  expect(news).toContain('web');
  const { silent, waitingFor } = follow('web');
  expect([[...silent], waitingFor]).toEqual([['a', 'b'], undefined]);
  answering.resolve();
  await runtime.clock.advance(5_000);
  expect([...follow('web').silent]).toEqual([]);
  expect([...remote.workloads('web').keys()]).toEqual(['a', 'b']);
});

it('begins to wait anew where it did not ask for a while', async () => {
  follow('web');
  await runtime.clock.advance(20_000);
  remote.forget('web');
  await runtime.clock.advance(60_000);
  expect(follow('cart').waitingFor).toContain('a, b');
});
