import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { seededRandom } from '../../src/runtime/index.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, openShop } from './shop.ts';

/** Content of several megabytes that does not compress: what is sent of it, and what is not sent again. */
const MAPS = 60;
const KIB_EACH = 64;
let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function bigMap(index: number): KubeObject {
  const random = seededRandom(index + 1);
  const bytes = Buffer.from(Array.from({ length: KIB_EACH * 768 }, () => Math.floor(random.next() * 256)));
  const metadata = { name: `part-${index}`, namespace: 'shop' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { content: bytes.toString('base64') } };
}

async function openLargeShop(): Promise<void> {
  await openShop(
    fleet,
    Array.from({ length: MAPS }, (_, index) => bigMap(index)),
  );
}

const there = (): number =>
  Array.from({ length: MAPS }, (_, index) =>
    stored(fleet.spoke('far'), `core/configmaps/shop/part-${index}`),
  ).filter((map) => map !== undefined).length;

/** Bundles that the hub has had written on the spoke so far. */
const sent = (): number =>
  fleet
    .spoke('far')
    .audit.filter(
      ({ user, verb, objectRef, responseStatus }) =>
        user.username === HUB_USER &&
        verb === 'create' &&
        objectRef?.resource === 'bundles' &&
        responseStatus?.code === 201,
    ).length;

describe('an intent of several megabytes', () => {
  it('sends of a change the part that it is in, and nothing else of what the spoke has', async () => {
    fleet = await simulateFleet(1, ['far']);
    await openLargeShop();
    await fleet.until(() => there() === MAPS, 'all of it');
    const whole = sent();
    expect(whole).toBeGreaterThan(4);
    await fleet.run(fleet.hub.client.patch(configMaps, 'shop', 'part-7', 'merge', { data: { more: 'x' } }));
    const changed = (): boolean =>
      JSON.stringify(stored(fleet.spoke('far'), 'core/configmaps/shop/part-7') ?? {}).includes('"more":"x"');
    await fleet.until(changed, 'the change');
    // A part may be too large for one object.
    expect(sent() - whole).toBeLessThanOrEqual(2);
  });

  it('goes on where it was when the link breaks while it is sent', async () => {
    let broken = true;
    const uploads: string[] = [];
    fleet = await simulateFleet(1, ['far'], {
      network: (_spoke, handler) => async (request) => {
        if (request.method === 'POST' && request.path.includes('/bundles')) {
          if (broken && uploads.length >= 3) throw new Error('the wire broke');
          uploads.push(nameIn(request.body));
        }
        return handler(request);
      },
    });
    await openLargeShop();
    await fleet.until(() => sent() === 3, 'the first parts');
    await fleet.rest(20_000);
    expect(sent()).toBe(3);
    expect(there()).toBe(0);
    broken = false;
    await fleet.until(() => there() === MAPS, 'all of it');
    await fleet.rest(20_000);
    // Nothing is sent twice, and nothing that the order does not name.
    expect(new Set(uploads).size).toBe(uploads.length);
    const [order] = dispatchesOn(fleet.spoke('far'));
    expect([...uploads].sort()).toEqual(
      [...((order?.['spec'] ?? {}) as { bundles: string[] }).bundles].sort(),
    );
  });
});

describe('an intent of more objects than a spoke can remember', () => {
  it('is refused by the spoke, in words that reach whoever wrote it; what was there before stays', async () => {
    fleet = await simulateFleet(1, ['far']);
    await openShop(fleet, [configMap('first', 'red')]);
    await fleet.until(() => colour(fleet.spoke('far'), 'first') === 'red', 'the first');
    // Long names, so that there need not be many of them.
    const create = (index: number): Promise<KubeObject> =>
      fleet.hub.client.create(configMaps, configMap(`${'x'.repeat(240)}-${index}`, 'red'));
    await fleet.run(Promise.all(Array.from({ length: 2_400 }, (_, index) => create(index))));
    const ready = (): string =>
      conditionMessage(stored(fleet.hub, 'atoll.dev/propagations/shop/shop'), 'Ready');
    await fleet.until(() => ready().includes('has to remember of its 2401 objects'), 'the word');
    expect(ready()).toContain('select them by several intents');
    expect(colour(fleet.spoke('far'), 'first')).toBe('red');
    const far = fleet.spoke('far');
    expect(far.server.store.count('/core/configmaps/root/shop/')).toBeLessThan(10);
    const [order] = dispatchesOn(far);
    expect(conditionOf(order, 'Accepted')).toBe('False/TooManyObjects');
  });
});

function nameIn(body: Uint8Array | undefined): string {
  const { metadata } = JSON.parse(Buffer.from(body ?? []).toString('utf8')) as KubeObject;
  return metadata.name ?? '';
}
