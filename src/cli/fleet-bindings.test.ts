import { afterEach, describe, expect, it } from 'vitest';
import { type Binding, CONTROL_KINDS } from '../dialects/kubestellar/index.ts';
import { dispatchName } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds } from '../kube/custom-resource.ts';
import type { KubeObject } from '../kube/object.ts';
import { systemRuntime } from '../runtime/runtime.ts';
import { readDiff } from './diff/facts.ts';
import { diffReport } from './diff/report.ts';
import {
  appliedStatus,
  configMap,
  connected,
  deployment,
  dispatch,
  NOW,
  put,
  startApi,
} from './fleet.fixture.ts';
import { readFleetAtHub } from './fleet-reading.ts';
import { plainPaint } from './output.ts';
import { statusReport } from './status/report.ts';
import { statusText } from './status/text.ts';
import { readWhy } from './why/facts.ts';
import { whyReport } from './why/report.ts';
import { whyText } from './why/text.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const CART = deployment('cart', 2);
const POLICY = {
  apiVersion: 'control.kubestellar.io/v1alpha1',
  kind: 'BindingPolicy',
  name: 'carts',
  uid: 'p1',
  controller: true,
};

function binding(name: string, clusters: readonly string[], objects: readonly string[]): Binding {
  return {
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'Binding',
    metadata: { name, ownerReferences: [POLICY] },
    spec: {
      workload: {
        namespaceScope: objects.map((object) => ({
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          namespace: 'shop',
          name: object,
        })),
      },
      destinations: clusters.map((clusterId) => ({ clusterId })),
    },
    status: {
      observedGeneration: 1,
      errors: ['deployments shop/gone is not at the hub'],
      conditions: ['Ready', 'Synced'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: type === 'Ready' ? 'Available' : 'ReconcileError',
        message: `about ${type}`,
        lastTransitionTime: '2026-03-01T11:00:00Z',
        lastUpdateTime: '2026-03-01T11:00:00Z',
      })),
    },
  };
}

/** A hub with two clusters, and the API of the first of them. */
async function fleet(
  ...objects: KubeObject[]
): Promise<{ hub: Client; spoke: (name: string) => Client; atSpoke: Client }> {
  const [hub, spoke] = await Promise.all([startApi(), startApi()]);
  closers.push(hub.close, spoke.close);
  await installKinds(systemRuntime().clock, hub.client, CONTROL_KINDS);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  await put(hub.client, namespace, connected('a'), connected('b'), ...objects);
  return { hub: hub.client, spoke: () => spoke.asHub, atSpoke: spoke.client };
}

describe('Bindings, for those who ask about objects', () => {
  it('explains an object by the Binding that lists it, and names how many others do not', async () => {
    const one = binding('carts', ['a'], ['cart', 'gone']);
    const { hub, spoke, atSpoke } = await fleet(CART, one, binding('mails', ['a', 'b'], ['mail']));
    const stored = (await readFleetAtHub(hub)).propagations.find(({ metadata }) => metadata.name === 'carts');
    const order = dispatch(stored as never, [CART], 3, appliedStatus(3));
    const name = dispatchName({
      kind: 'Binding',
      namespace: '',
      name: 'carts',
      uid: stored?.metadata.uid ?? '',
    });
    await put(atSpoke, { ...order, metadata: { ...order.metadata, name } });
    const asked = { kind: 'deploy', name: 'cart', namespace: 'shop' };
    const report = whyReport(await readWhy(hub, spoke, asked, NOW));
    expect(report.otherBindings).toBe(1);
    expect(report.propagations).toMatchObject([
      {
        kind: 'Binding',
        name: 'carts',
        selects: true,
        reason: 'BindingPolicy carts selects it',
        errors: ['deployments shop/gone is not at the hub'],
        clusters: [
          { cluster: 'a', chosen: true, word: 'Ready', dispatch: { generation: 3, holds: 'object' } },
          { cluster: 'b', chosen: false },
        ],
      },
    ]);
    const text = whyText(report, true, NOW, plainPaint);
    expect(text).toMatch(/^binding +Binding carts lists it: BindingPolicy carts selects it$/m);
    expect(text).toMatch(/^ +chosen +it is one of its destinations$/m);
  });

  it('says that no Binding lists an object', async () => {
    const { hub, spoke } = await fleet(CART, binding('mails', ['a'], ['mail']));
    const asked = { kind: 'deploy', name: 'cart', namespace: 'shop' };
    const text = whyText(whyReport(await readWhy(hub, spoke, asked, NOW)), false, NOW, plainPaint);
    expect(text).toMatch(/^binding +the Binding that there is does not list it$/m);
  });

  it('shows what a change of an object does on the clusters of its Binding, and what is settled only at the hub', async () => {
    const { hub } = await fleet(CART, configMap('free', { a: 'b' }), binding('carts', ['b'], ['cart']));
    const manifests = [
      { object: deployment('cart', 5), at: 'x.yaml' },
      { object: configMap('free', { a: 'c' }), at: 'x.yaml' },
      {
        object: {
          apiVersion: 'control.kubestellar.io/v1alpha1',
          kind: 'BindingPolicy',
          metadata: { name: 'new' },
        },
        at: 'x.yaml',
      },
    ];
    const report = diffReport(await readDiff(hub, manifests as never, { name: 'shop', explicit: false }));
    expect(report.groups).toMatchObject([
      { clusters: ['b'], changes: [{ change: 'changed', fields: [{ path: 'spec.replicas' }] }] },
    ]);
    expect(report.notes.map(({ message }) => message)).toEqual([
      'ConfigMap shop/free stays at the hub: no propagation selects it, and no Binding lists it now',
      'what BindingPolicy new selects is settled by the hub once it is applied, and not shown here',
    ]);
  });

  it('counts among the intents of the fleet, and leads to the Binding that is meant', async () => {
    const { hub } = await fleet(binding('carts', ['a', 'b'], ['cart']));
    const report = statusReport({
      server: 'https://hub',
      context: 'hub',
      hub: { reachable: true, version: 'v1' },
      fleet: await readFleetAtHub(hub),
      now: NOW,
      members: ['a', 'b'],
      dirOption: '',
    });
    expect(statusText(report, NOW, plainPaint)).toMatch(
      /^Binding carts +2 +2 +0 +1 +ReconcileError: about Synced$/m,
    );
    expect(report.next?.command).toBe('kubectl --context hub describe bindings.control.kubestellar.io carts');
  });
});
