import { afterEach, describe, expect, it } from 'vitest';
import { type Dispatch, dispatchSigner, OWNERSHIP_RECORD } from '../../src/engine/dispatch/index.ts';
import { createSigningKey } from '../../src/hub/dispatch/signing-key.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  DISPATCHES,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import { faultyStorage } from './rig/faults.ts';
import { observes } from './rig/oracle.ts';
import { colour, merge, openShop, paint, ready } from './shop.ts';

const RECORDS = resourceIdOf(OWNERSHIP_RECORD);

let fleet: SimulatedFleet;
let lie: ((dispatch: Dispatch) => Dispatch) | undefined;
afterEach(async () => {
  lie = undefined;
  await fleet.stop();
});

/** Fleet of `a` and `b` on which the engine of `a` tells of its orders what `lie` makes of it. */
async function open(): Promise<void> {
  fleet = await simulateFleet(5, ['a', 'b'], {
    engineApi: (cluster, api) => (cluster === 'a' ? liar(api) : api),
  });
  await openShop(fleet);
  await ready(fleet, 2);
}

function liar(api: Handler): Handler {
  return (request) => {
    if (!lie || request.method !== 'PUT' || !/\/dispatches\/[^/]+\/status$/.test(request.path))
      return api(request);
    const said = lie(JSON.parse(Buffer.from(request.body as Uint8Array).toString('utf8')) as Dispatch);
    return api({ ...request, body: Buffer.from(JSON.stringify(said)) });
  };
}

function saying(status: object): (dispatch: Dispatch) => Dispatch {
  return (dispatch) => ({ ...dispatch, status: { ...dispatch.status, ...status } });
}

function refusing(reason: string): (dispatch: Dispatch) => Dispatch {
  return (dispatch) => {
    const { generation: observedGeneration } = dispatch.metadata;
    const said = { type: 'Accepted', status: 'False', reason, message: 'it heard more', observedGeneration };
    return saying({ conditions: [{ ...said, lastTransitionTime: '2026-01-01T00:00:00Z' }] })(dispatch);
  };
}

const order = (name = 'a'): Dispatch => dispatchesOn(fleet.spoke(name))[0] as Dispatch;
const entry = (name = 'a'): KubeObject | undefined =>
  stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`);
const history = (name = 'a'): string => conditionOf(entry(name), 'HistoryAgrees');
const recordOf = (name: string): KubeObject & { spec: { accepted: Dispatch['spec'] } } =>
  stored(fleet.spoke(name), `atoll.dev/ownershiprecords/atoll-system/${order(name).metadata.name}`) as never;

/** The fleet goes on, `b` too, whatever `a` says. */
async function goesOn(): Promise<void> {
  await paint(fleet, fleet.hub, 'green');
  await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'a change elsewhere');
  await fleet.rest(30_000);
  expect(observes(fleet.hub)).toBe(false);
}

describe('what a spoke says of orders of its hub, and cannot show', () => {
  it.each([
    [
      'a generation that was never said',
      () => saying({ position: { ...order().spec.position, generation: 999 } }),
    ],
    ['an epoch that never was', () => saying({ position: { ...order().spec.position, epoch: 7 } })],
    ['that it heard more before', () => refusing('StaleGeneration')],
    ['that it heard something else before', () => refusing('Diverged')],
  ])('%s is told of its cluster, and stops nobody', async (_what, make) => {
    await open();
    lie = make();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => history() === 'False/UnprovenClaim', 'the word about the claim');
    expect(conditionMessage(entry(), 'HistoryAgrees')).toContain(
      'kubectl -n atoll-system get dispatch shop-shop-',
    );
    expect(history('b')).toBe('');
    await goesOn();
    // Even there what the hub says is done, as far as the engine does it.
    expect(colour(fleet.spoke('a'))).toBe('green');
    lie = undefined;
    await paint(fleet, fleet.hub, 'gold');
    await fleet.until(() => history() === '', 'the end of the word');
    await ready(fleet, 2);
  });

  it('fails no rollout', async () => {
    await open();
    const rollout = { stages: [{ name: 'canary', clusterNames: ['a'], soakSeconds: 120 }, { name: 'rest' }] };
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout } });
    await fleet.rest(5_000);
    lie = (dispatch) =>
      saying({ position: { ...order().spec.position, ...dispatch.status?.position, epoch: 7 } })(dispatch);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => history() === 'False/UnprovenClaim', 'the word about the claim');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the next stage', 180_000);
  });

  it('an order that another key signed in the name of the hub is written over', async () => {
    await open();
    const stranger = createSigningKey();
    const { signature: _, ...spec } = order().spec;
    const position = { ...spec.position, generation: 999 };
    const forged = { ...spec, position, publicKey: stranger.publicKey };
    const signed = dispatchSigner(stranger.privateKey)('a', order().metadata.name ?? '', forged);
    await fleet.run(fleet.spoke('a').client.update(DISPATCHES, { ...order(), spec: signed }));
    await fleet.until(() => order().spec.position.generation === spec.position.generation, 'the true order');
    await goesOn();
  });

  it.each(['made up', 'the one of another cluster'])('a record that is %s proves nothing', async (kind) => {
    await open();
    const { generation } = order().spec.position;
    const forged = {
      'made up': () => ({
        ...recordOf('a').spec.accepted,
        position: { ...order().spec.position, generation: 999 },
      }),
      'the one of another cluster': () => recordOf('b').spec.accepted,
    }[kind];
    await fleet.run(
      fleet.spoke('a').client.update(RECORDS, {
        ...recordOf('a'),
        spec: { ...recordOf('a').spec, accepted: forged?.() },
      }),
    );
    lie = saying({ position: { ...order().spec.position, generation: generation + 50 } });
    // The engine writes its own record with what it accepts: nothing new comes meanwhile.
    const { name = '', resourceVersion = '' } = order().metadata;
    await fleet.run(
      fleet.spoke('a').client.update(
        DISPATCHES,
        {
          ...order(),
          metadata: { name, namespace: 'atoll-system', resourceVersion },
          status: lie(order()).status,
        },
        { subresource: 'status' },
      ),
    );
    await fleet.until(() => history() === 'False/UnprovenClaim', 'the word about the claim');
    expect(conditionMessage(entry(), 'HistoryAgrees')).toContain('was not signed by this hub');
    await goesOn();
  });
});

it('a hub that was restored is told by the only spoke that heard more, by its record alone, whoever else says nothing', async () => {
  const disk = faultyStorage();
  fleet = await simulateFleet(6, ['a', 'b'], {
    storage: (cluster) => (cluster === 'hub' ? disk : faultyStorage()),
  });
  await openShop(fleet);
  await ready(fleet, 2);
  await disk.backUp();
  fleet.cut('b');
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'a change on one of them');
  fleet.cut('a');
  // Not even the order is there any more: what is left is what the spoke accepted.
  const name = order('a').metadata.name ?? '';
  await fleet.run(fleet.spoke('a').client.delete(DISPATCHES, 'atoll-system', name));
  await fleet.kill(fleet.hub);
  disk.restore();
  await fleet.start(fleet.hub);
  fleet.heal('b');
  await fleet.rest(10_000);
  expect(observes(fleet.hub)).toBe(false);
  fleet.heal('a');
  await fleet.until(() => observes(fleet.hub), 'that the hub observes');
  const why = (): string =>
    conditionMessage(stored(fleet.hub, 'atoll.dev/propagations/shop/shop'), 'Dispatched');
  await fleet.until(() => why().includes('then: atoll hub confirm'), 'the next step');
  expect(why()).toContain('a: the spoke has generation 2 of epoch 1, this hub knows 1 of epoch 1 only');
  expect([colour(fleet.spoke('a')), history('a')]).toEqual(['blue', '']);
});

it('spokes that make orders up and answer nothing hold up no other one', async () => {
  const liars = ['l', 'm', 'n', 'o', 'p'];
  let areLying = false;
  const kept = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'made-up' }];
  const madeUp = Array.from({ length: 20 }, (_, index) => ({
    ...{ name: `made-up-${index}`, source: '', revision: '', health: '' },
    ...{ generation: 1, kept },
  }));
  let asked = 0;
  fleet = await simulateFleet(7, ['b', ...liars], {
    engineApi: (cluster, api) => (request) => {
      const isOwn = request.method === 'PUT' && /\/clusters\/[^/]+\/status$/.test(request.path);
      if (!areLying || !liars.includes(cluster) || !isOwn) return api(request);
      const said = JSON.parse(Buffer.from(request.body as Uint8Array).toString('utf8')) as {
        status: { dispatches: object[] };
      };
      said.status.dispatches.push(...madeUp);
      return api({ ...request, body: Buffer.from(JSON.stringify(said)) });
    },
    network: (_spoke, handler) => (request) => {
      if (!areLying || !request.path.includes('/ownershiprecords/made-up')) return handler(request);
      asked += 1;
      return new Promise(() => undefined);
    },
  });
  await openShop(fleet);
  await ready(fleet, 6);
  areLying = true;
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => asked >= 4, 'that they are asked for what they made up');
  await paint(fleet, fleet.hub, 'green');
  await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'a change elsewhere', 3_000);
  expect(observes(fleet.hub)).toBe(false);
});
