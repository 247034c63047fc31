import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../../apiserver/index.ts';
import type { Client } from '../../../kube/client.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { createClient } from '../../../kube/rest-client.ts';
import { failure } from '../../../kube/status-error.ts';
import { configMaps, customResourceDefinitions } from '../../../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../../runtime/runtime.ts';
import { openWorkloadKinds, type WorkloadKinds } from './workload-kinds.ts';

let runtime: VirtualRuntime;
let client: Client;
let definitions: Informer;
let kinds: WorkloadKinds;
let told: string[];
let away: boolean;

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(2_000);
  return work;
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  const server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  const whole = createClient(server.as({ name: 'engine', groups: ['system:masters'] }), {
    clock: runtime.clock,
  });
  away = true;
  client = {
    ...whole,
    getJson: (path, options) =>
      away && path.startsWith('/apis/batch/')
        ? Promise.reject(failure(503, 'ServiceUnavailable', 'batch is away'))
        : whole.getJson(path, options),
  };
  definitions = startInformer(runtime, client, customResourceDefinitions);
  told = [];
  kinds = openWorkloadKinds(runtime, {
    client,
    definitions,
    onObject: (kind, { type, object }) => told.push(`${type} ${kind.resource} ${object.metadata.name}`),
    onKinds: () => undefined,
  });
  kinds.open();
  await runtime.clock.advance(2_000);
});
afterEach(() => {
  kinds.stop();
  definitions.stop();
});

describe('kinds of a hub', () => {
  it('are known but for groups that do not answer, which are asked again', async () => {
    expect([kinds.known, kinds.kindOf('apps', 'deployments')?.kind]).toEqual([true, 'Deployment']);
    expect([kinds.kindOf('batch', 'jobs'), kinds.mystery('batch')]).toEqual([undefined, 'batch is away']);
    away = false;
    await runtime.clock.advance(60_000);
    expect([kinds.kindOf('batch', 'jobs')?.version, kinds.mystery('batch')]).toEqual(['v1', undefined]);
    expect(kinds.resourceOf('batch', 'Job')).toBe('jobs');
    // What can only be asked, and never listed, is no kind to select.
    expect(kinds.kindOf('authorization.k8s.io', 'subjectaccessreviews')).toBeUndefined();
  });

  it('are watched only while they are wanted', async () => {
    const map = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
    });
    await run(client.create(configMaps, map('before')));
    kinds.want(({ resource }) => resource === 'configmaps');
    expect(kinds.unread().map(({ kind }) => kind.resource)).toEqual(['configmaps']);
    await runtime.clock.advance(2_000);
    expect(kinds.unread()).toEqual([]);
    await run(client.create(configMaps, map('after')));
    const [stock, ...others] = kinds.stocks(() => true);
    const names = stock?.objects
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== 'kube-root-ca.crt');
    expect([names, others]).toEqual([['after', 'before'], []]);
    expect(told).toEqual(['added configmaps after']);
    kinds.want(() => false);
    await run(client.create(configMaps, map('late')));
    expect([told.length, kinds.stocks(() => true)]).toEqual([1, []]);
  });
});
