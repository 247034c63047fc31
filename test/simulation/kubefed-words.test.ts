import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClusterStatusWord,
  DEFAULT_NAMESPACE,
  KUBEFED_CONFIG,
} from '../../src/dialects/kubefed/index.ts';
import { OBJECT_WORDS } from '../../src/engine/dispatch/words.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler, Request, Response } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  applyAll,
  enable,
  federated,
  federatedAt,
  openFederatedShop,
  propagation,
  running,
  TARGETS,
} from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

/** What goes wrong with a request: it is refused, or never answered. */
type Fault = 'refused' | 'unanswered' | 'absent';
type Faults = (request: Request) => Fault | undefined;

const none: Faults = () => undefined;
/** Between the engine of `a` and its own API server, between the hub and `a`, and between the hub's engine and its own. */
let atHome: Faults = none;
let onTheWay: Faults = none;
let atHub: Faults = none;
let fleet: SimulatedFleet;
/** Words and reasons that a status had. */
const produced = new Set<string>();

async function open(): Promise<void> {
  atHome = none;
  onTheWay = none;
  atHub = none;
  fleet = await simulateFleet(31, ['a', 'b'], {
    engineApi: (cluster, handler) => {
      if (cluster === 'b') return handler;
      return failing(handler, () => (cluster === 'a' ? atHome : atHub));
    },
    network: (spoke, handler) => (spoke === 'a' ? failing(handler, () => onTheWay) : handler),
  });
  await enable(fleet, ['Namespace', 'ConfigMap']);
  await openFederatedShop(fleet, ['a', 'b']);
}

function failing(handler: Handler, faults: () => Faults): Handler {
  return (request) => {
    switch (faults()(request)) {
      case 'unanswered':
        return new Promise((_resolve, reject) => {
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
        });
      case 'refused':
        return Promise.resolve(status(500, 'InternalError'));
      case 'absent':
        return Promise.resolve(status(404, 'NotFound'));
      default:
        return handler(request);
    }
  };
}

function status(code: number, reason: string): Response {
  const body = {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    code,
    reason,
    message: `simulated ${reason}`,
  };
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** Requests of one method about the ConfigMap `shop/c`. */
function about(fault: Fault, ...methods: string[]): Faults {
  return ({ method, path }) =>
    methods.includes(method) &&
    /\/namespaces\/shop\/configmaps(\/c)?(\?|$)/.test(path) &&
    !path.includes('watch=')
      ? fault
      : undefined;
}

const both = { placement: { clusters: [{ name: 'a' }, { name: 'b' }] } };

async function write(spec: object = {}, metadata: object = {}): Promise<void> {
  const object = federated('ConfigMap', 'c', { template: { data: { colour: 'red' } }, ...both, ...spec });
  await applyAll(fleet, fleet.hub, [
    { ...object, metadata: { ...object.metadata, ...metadata } } as KubeObject,
  ]);
}

async function comesTo(is: string, clusters: Record<string, string>): Promise<void> {
  const wanted = JSON.stringify({ is, clusters });
  await fleet.until(
    () => JSON.stringify(propagation(federatedAt(fleet, 'ConfigMap', 'c'))) === wanted,
    wanted,
    240_000,
  );
  produced.add(is);
  for (const word of Object.values(clusters)) produced.add(word);
}

/** What stands in the way on `a`, while `b` has it. */
const onA = (word: ClusterStatusWord | ''): Promise<void> =>
  comesTo(word === '' ? 'True' : 'CheckClusters', { a: word, b: '' });

async function settled(): Promise<void> {
  await write();
  await onA('');
}

async function remove(): Promise<void> {
  const resource = await fleet.run(
    fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', 'FederatedConfigMap'),
  );
  await fleet.run(fleet.hub.client.delete(resource, 'shop', 'c'));
}

/** While an object goes, clusters that are done with it are not named. */
async function removing(word: ClusterStatusWord): Promise<void> {
  await fleet.until(
    () => propagation(federatedAt(fleet, 'ConfigMap', 'c')).clusters['a'] === word,
    word,
    240_000,
  );
  produced.add(word);
}

async function goneOnceHealed(): Promise<void> {
  atHome = none;
  onTheWay = none;
  await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone at the hub', 240_000);
}

const atSpoke = (): KubeObject | undefined => stored(fleet.spoke('a'), 'core/configmaps/shop/c');

describe('the words of a status, each by what brings it about', () => {
  beforeEach(open);
  afterEach(async () => fleet.stop());

  it('CreationFailed, and nothing once it goes', async () => {
    atHome = about('refused', 'PATCH', 'POST');
    await write();
    await onA('CreationFailed');
    atHome = none;
    await onA('');
  });

  it('CreationTimedOut', async () => {
    atHome = about('unanswered', 'PATCH', 'POST');
    await write();
    await onA('CreationTimedOut');
    await fleet.rest(35_000);
    await onA('CreationTimedOut');
    atHome = none;
    await onA('');
  });

  it('UpdateFailed', async () => {
    await settled();
    atHome = about('refused', 'PATCH', 'PUT');
    await write({ template: { data: { colour: 'green' } } });
    await onA('UpdateFailed');
    atHome = none;
    await onA('');
    expect(atSpoke()?.['data']).toEqual({ colour: 'green' });
  });

  it('UpdateTimedOut', async () => {
    await settled();
    atHome = about('unanswered', 'PATCH', 'PUT');
    await write({ template: { data: { colour: 'green' } } });
    await fleet.rest(35_000);
    await onA('UpdateTimedOut');
    atHome = none;
    await onA('');
  });

  it('RetrievalFailed', async () => {
    atHome = about('refused', 'GET');
    await write();
    await onA('RetrievalFailed');
    atHome = none;
    await onA('');
  });

  it('DeletionFailed', async () => {
    await settled();
    atHome = about('refused', 'DELETE');
    await remove();
    await removing('DeletionFailed');
    await goneOnceHealed();
    expect(atSpoke()).toBeUndefined();
  });

  it('DeletionTimedOut', async () => {
    await settled();
    atHome = about('unanswered', 'DELETE');
    await remove();
    await removing('DeletionTimedOut');
    await goneOnceHealed();
    expect(atSpoke()).toBeUndefined();
  });

  it.each([
    ['LabelRemovalFailed', 'refused'],
    ['LabelRemovalTimedOut', 'unanswered'],
  ] as const)('%s', async (word, fault) => {
    await write({}, { annotations: { 'kubefed.io/orphan': 'true' } });
    await onA('');
    atHome = about(fault, 'PATCH', 'PUT');
    await remove();
    await removing(word);
    await goneOnceHealed();
    expect(atSpoke()?.metadata.labels?.['atoll.dev/dispatch']).toBeUndefined();
    expect(atSpoke()).toBeDefined();
  });

  it('WaitingForRemoval, while a finalizer holds it', async () => {
    await settled();
    const change = (finalizers: string[] | null): Promise<unknown> =>
      fleet.run(
        fleet.spoke('a').client.patch(configMaps, 'shop', 'c', 'merge', { metadata: { finalizers } }),
      );
    await change(['example.com/hold']);
    await write({ placement: { clusters: [{ name: 'b' }] } });
    await onA('WaitingForRemoval');
    await change(null);
    await comesTo('True', { b: '' });
  });

  it('AlreadyExists, where nothing may be taken over', async () => {
    await fleet.run(
      fleet.hub.client.apply(
        resourceIdOf(KUBEFED_CONFIG),
        {
          apiVersion: 'core.kubefed.io/v1beta1',
          kind: 'KubeFedConfig',
          metadata: { name: 'kubefed', namespace: DEFAULT_NAMESPACE },
          spec: { scope: 'Cluster', syncController: { adoptResources: 'Disabled' } },
        },
        { fieldManager: 'kubectl' },
      ),
    );
    await fleet.until(() => stored(fleet.spoke('a'), 'core/namespaces/-/shop') !== undefined, 'shop on a');
    const mine = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop' } };
    await fleet.run(fleet.spoke('a').client.create(configMaps, mine));
    await write();
    await onA('AlreadyExists');
    expect(atSpoke()?.['data']).toBeUndefined();
  });

  it.each(['atoll.dev/managed', 'kubefed.io/managed'])(
    'ManagedLabelFalse, where the owner of a cluster wants it back by the label %s',
    async (label) => {
      await settled();
      const patch = { metadata: { labels: { [label]: 'false' } }, data: { colour: 'blue' } };
      await fleet.run(fleet.spoke('a').client.patch(configMaps, 'shop', 'c', 'merge', patch));
      await onA('ManagedLabelFalse');
      await fleet.rest(30_000);
      expect(atSpoke()?.['data']).toEqual({ colour: 'blue' });
    },
  );

  it('ApplyOverridesFailed', async () => {
    await write({
      overrides: [{ clusterName: 'a', clusterOverrides: [{ path: '/data/none/here', value: 'x' }] }],
    });
    await onA('ApplyOverridesFailed');
  });

  it('ComputeResourceFailed, where the content does not arrive with its order', async () => {
    atHome = ({ method, path }) => (method === 'GET' && path.includes('/bundles/') ? 'absent' : undefined);
    await write();
    await onA('ComputeResourceFailed');
    atHome = none;
    await onA('');
  });

  it('ClientRetrievalFailed, where the hub cannot give its order', async () => {
    onTheWay = ({ method, path }) =>
      method !== 'GET' && path.includes('/dispatches') ? 'refused' : undefined;
    await write();
    await onA('ClientRetrievalFailed');
    onTheWay = none;
    await onA('');
  });

  it('CachedRetrievalFailed, where the cluster is there and the hub cannot read what it has', async () => {
    await settled();
    fleet.cut('a');
    onTheWay = ({ method, path }) =>
      method === 'GET' && path.includes('/dispatches') ? 'refused' : undefined;
    fleet.heal('a');
    await onA('CachedRetrievalFailed');
    onTheWay = none;
    await onA('');
  });

  it('VersionRetrievalFailed, where the hub cannot write down what it sends', async () => {
    await settled();
    atHub = ({ method, path }) =>
      method !== 'GET' && path.includes('/intentrecords') ? 'refused' : undefined;
    await write({ template: { data: { colour: 'green' } } });
    await comesTo('CheckClusters', { a: 'VersionRetrievalFailed', b: 'VersionRetrievalFailed' });
    expect(atSpoke()?.['data']).toEqual({ colour: 'red' });
    atHub = none;
    await onA('');
    expect(atSpoke()?.['data']).toEqual({ colour: 'green' });
  });

  it('FieldRetentionFailed, where a rule of the cluster says what is its own and cannot be read', async () => {
    await settled();
    const rule = (path: string): KubeObject => ({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'ResourceRule',
      metadata: { name: 'maps' },
      spec: { target: { group: '', kind: 'ConfigMap' }, fields: [{ path, direction: 'Up' }] },
    });
    await applyAll(fleet, fleet.spoke('a'), [rule('data.[')]);
    await write({ template: { data: { colour: 'green' } } });
    await onA('FieldRetentionFailed');
    expect(atSpoke()?.['data']).toEqual({ colour: 'red' });
    await applyAll(fleet, fleet.spoke('a'), [rule('data.other')]);
    await onA('');
    expect(atSpoke()?.['data']).toEqual({ colour: 'green' });
  });

  it('ClusterNotReady, where nobody sees the cluster', async () => {
    await settled();
    fleet.cut('a');
    await onA('ClusterNotReady');
    fleet.heal('a');
    await onA('');
  });
});

describe('the reasons of a status', () => {
  beforeEach(open);
  afterEach(async () => fleet.stop());

  it('NamespaceNotFederated', async () => {
    await settled();
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', 'FederatedNamespace'),
    );
    await fleet.run(fleet.hub.client.delete(resource, 'shop', 'shop'));
    await comesTo('NamespaceNotFederated', {});
  });

  it('ClusterRetrievalFailed, where the hub cannot read which clusters there are', async () => {
    await settled();
    await fleet.kill(fleet.hub);
    atHub = ({ method, path }) =>
      method === 'GET' && /core.oam.dev.*spokeclusters/.test(path) && !path.includes('customresource')
        ? 'refused'
        : undefined;
    await fleet.start(fleet.hub);
    await comesTo('ClusterRetrievalFailed', {});
    atHub = none;
    await onA('');
  });

  it('ComputePlacementFailed', async () => {
    const { ConfigMap } = TARGETS;
    if (ConfigMap) await running(fleet, ConfigMap);
    await write({
      placement: { clusterSelector: { matchExpressions: [{ key: 'a b', operator: 'Exists' }] } },
    });
    await comesTo('ComputePlacementFailed', {});
  });
});

it('[F31] every word and reason was brought about above', () => {
  const words = Object.keys(OBJECT_WORDS).filter((word) => !['Propagated', 'ContractRefused'].includes(word));
  // With none at all where nothing stands in the way they are twenty.
  expect(words).toHaveLength(19);
  expect(words.filter((word) => !produced.has(word))).toEqual([]);
  expect([...produced].filter((word) => !words.includes(word)).sort()).toEqual([
    '',
    'CheckClusters',
    'ClusterRetrievalFailed',
    'ComputePlacementFailed',
    'NamespaceNotFederated',
    'True',
  ]);
});
