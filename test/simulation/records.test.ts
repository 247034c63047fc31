import { afterEach, describe, expect, it } from 'vitest';
import { OWNERSHIP_RECORD, type OwnershipRecord } from '../../src/engine/dispatch/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';
import { colour, configMap, openShop, paint, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const RECORDS = resourceIdOf(OWNERSHIP_RECORD);
const record = (): OwnershipRecord | undefined =>
  storedBelow(fleet.spoke('a'), 'atoll.dev/ownershiprecords/atoll-system')[0] as OwnershipRecord | undefined;

/** What somebody makes of the record, and of one of an earlier time. */
const HARM = {
  deleted: () => undefined,
  emptied: (now: OwnershipRecord): OwnershipRecord => ({ ...now, spec: { ...now.spec, owned: [] } }),
  'set back': (now: OwnershipRecord, then: OwnershipRecord): OwnershipRecord => ({ ...now, spec: then.spec }),
};

function present(): OwnershipRecord {
  const found = record();
  if (!found) throw new Error('there is no record');
  return found;
}

async function harm(how: keyof typeof HARM, then: OwnershipRecord): Promise<void> {
  const { client } = fleet.spoke('a');
  const next = HARM[how](present(), then);
  const name = present().metadata.name ?? '';
  await fleet.run(next ? client.update(RECORDS, next) : client.delete(RECORDS, 'atoll-system', name));
}

const owned = () => record()?.spec.owned.map(({ ref, uid }) => [ref.kind, ref.name, uid]);
const uidOf = (name: string) => stored(fleet.spoke('a'), `core/configmaps/shop/${name}`)?.metadata.uid;

describe('the record of what was made', () => {
  it.each([
    ['deleted', 'at work'],
    ['emptied', 'at work'],
    ['set back', 'at work'],
    ['deleted', 'away'],
    ['emptied', 'away'],
    ['set back', 'away'],
  ] as const)('[F29] %s out of band while its engine is %s is rebuilt', async (how, when) => {
    fleet = await simulateFleet(51, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 1);
    const then = present();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'a second generation');
    await ready(fleet, 1);
    const before = owned();
    expect(before).toHaveLength(2);
    const uids = [uidOf('settings'), uidOf('prices')];
    if (when === 'away') await fleet.run(fleet.spoke('a').engine?.stop() ?? Promise.resolve());
    await harm(how, then);
    if (when === 'away') {
      await fleet.kill('a');
      await fleet.start('a');
      await fleet.until(
        () => JSON.stringify(owned()) === JSON.stringify(before),
        'the record as it was',
        5_000,
      );
    }
    await paint(fleet, fleet.hub, 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'the next change');
    await ready(fleet, 1);
    expect(owned()).toEqual(before);
    expect(record()?.spec.accepted.position.generation).toBe(3);
    expect([uidOf('settings'), uidOf('prices')]).toEqual(uids);
    // What it was made for: the spoke knows what it may take away.
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === '', 'a removal');
  });
});
