import { afterEach, describe, expect, it } from 'vitest';
import { SPOKE_CONTRACT } from '../../src/engine/contract/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { deployments } from '../../src/kube/well-known.ts';
import { conditionMessage, conditionOf, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';

let fleet: SimulatedFleet;
let orders: Orders;
afterEach(async () => fleet.stop());

function web(app: string, replicas = 1): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      },
    },
  };
}

const live = (): KubeObject | undefined => stored(fleet.spoke('a'), 'apps/deployments/shop/web');
const uid = (): string => live()?.metadata.uid ?? '';
const app = (): unknown =>
  (live()?.['spec'] as { selector?: { matchLabels?: { app?: string } } } | undefined)?.selector?.matchLabels
    ?.app;
const applied = (): string => conditionOf(orders.dispatch('shop'), 'Applied');
const told = (): string => conditionMessage(orders.dispatch('shop'), 'Applied');
const anew = { apply: { replace: 'WhenImmutable' as const } };

async function open(seed: number, extras: object = {}): Promise<void> {
  fleet = await simulateFleet(seed, ['a']);
  orders = ordersFor(fleet, 'a');
  await orders.fulfil('shop', [web('one')], extras);
}

async function patchLive(patch: object): Promise<void> {
  await fleet.run(fleet.spoke('a').client.patch(deployments, 'shop', 'web', 'merge', patch));
}

describe('a field that cannot be changed on an object that is there', () => {
  it('is named with what to do, and nothing is deleted, where nothing else is asked for', async () => {
    await open(221);
    const before = uid();
    await orders.give('shop', [web('two')]);
    await fleet.until(() => applied() === 'False/ApplyFailed', 'the failure');
    expect(told()).toContain(
      'Deployment web: spec.selector cannot be changed while it is there; to have it deleted and made anew: spec.apply.replace: WhenImmutable at the hub, or on this cluster: kubectl -n shop delete deployment web',
    );
    expect(orders.dispatch('shop')?.status?.objects).toMatchObject([
      { reason: 'Immutable', word: 'UpdateFailed' },
    ]);
    await fleet.rest(120_000);
    expect([uid(), app()]).toEqual([before, 'one']);

    // Said afterwards it is enough.
    await orders.fulfil('shop', [web('two')], anew);
    expect(app()).toBe('two');
    expect(uid()).not.toBe(before);
  });

  it('is changed by deleting the object and making it anew where that is asked for, once', async () => {
    await open(222, anew);
    const before = uid();
    await orders.fulfil('shop', [web('one', 2)], anew);
    expect(uid()).toBe(before);
    await orders.fulfil('shop', [web('two', 2)], anew);
    const after = uid();
    expect([app(), after === before]).toEqual(['two', false]);
    const record = stored(fleet.spoke('a'), 'atoll.dev/ownershiprecords/atoll-system/shop');
    expect(record?.['spec']).toMatchObject({ owned: [{ ref: { name: 'web' }, uid: after }] });
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(60_000);
    expect(uid()).toBe(after);
    // The record is right: what it made it may take away.
    await orders.fulfil('shop', [], anew);
    expect(live()).toBeUndefined();
  });

  it('deletes nothing that is refused for something else as well', async () => {
    await open(223, anew);
    const before = uid();
    await orders.give('shop', [web('two', -1)], anew);
    await fleet.until(() => applied() === 'False/ApplyFailed', 'the failure');
    await fleet.rest(60_000);
    expect([uid(), app()]).toEqual([before, 'one']);
    expect(told()).toContain('spec.replicas');
  });

  it.each([
    ['protected', 'it is protected by atoll.dev/deletion-protected'],
    ['kept by the contract of the owner', 'SpokeContract owner'],
    ['to be preserved', 'it is not deleted, since preserveOnDeletion keeps it'],
  ])('deletes nothing that is %s', async (what, text) => {
    await open(224, anew);
    const before = uid();
    if (what === 'protected')
      await patchLive({ metadata: { annotations: { 'atoll.dev/deletion-protected': 'true' } } });
    if (what.startsWith('kept')) {
      const contract = {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'SpokeContract',
        metadata: { name: 'owner' },
        spec: { mustNotDelete: [{ kinds: [{ kind: 'Deployment' }] }] },
      };
      await fleet.run(fleet.spoke('a').client.create(resourceIdOf(SPOKE_CONTRACT), contract));
    }
    const preserve = what === 'to be preserved' ? { preserveOnDeletion: true } : {};
    await orders.give('shop', [web('two')], { apply: { ...anew.apply, ...preserve } });
    await fleet.until(() => told().includes(text), 'told', 60_000);
    await fleet.rest(60_000);
    expect([uid(), app()]).toEqual([before, 'one']);
  });

  it('waits for finalizers of the object, and goes on when they are gone', async () => {
    await open(225, anew);
    const before = uid();
    await patchLive({ metadata: { finalizers: ['shop.io/wait'] } });
    await orders.give('shop', [web('two')], anew);
    await fleet.until(() => told().includes('it waits for its finalizers: shop.io/wait'), 'told');
    expect(orders.dispatch('shop')?.status?.objects).toMatchObject([
      { reason: 'Replacing', word: 'WaitingForRemoval' },
    ]);
    expect(uid()).toBe(before);
    await patchLive({ metadata: { finalizers: [] } });
    await fleet.until(() => app() === 'two' && applied() === 'True/Applied', 'made anew', 60_000);
  });
});
