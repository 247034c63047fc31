import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { carryOut } from '../../src/cli/plan/apply-plan.ts';
import { type Asked, computePlan } from '../../src/cli/plan/compute-plan.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, configMap, merge, openShop, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const NAMES = ['a', 'b', 'c', 'd'];

/** When the spoke's engine wrote the config map last. */
function writtenAt(name: string): string {
  const writes = fleet
    .spoke(name)
    .audit.filter(
      ({ user, verb, objectRef, responseStatus }) =>
        user.username === 'atoll:engine' &&
        objectRef?.resource === 'configmaps' &&
        !['get', 'list', 'watch'].includes(verb) &&
        (responseStatus?.code ?? 500) < 300,
    );
  return writes.at(-1)?.requestReceivedTimestamp ?? '';
}

describe('a plan of what is rolled out', () => {
  it('says which clusters change in which stage, and that is the order in which they do', async () => {
    fleet = await simulateFleet(87, NAMES);
    await openShop(fleet);
    await ready(fleet, NAMES.length);
    const stage = fc.record(
      {
        clusterNames: fc.subarray(NAMES, { minLength: 1 }),
        size: fc.constantFrom(1, 2, '50%'),
        soakSeconds: fc.constantFrom(10, 60),
      },
      { requiredKeys: ['soakSeconds'] },
    );
    let shown = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(stage, { minLength: 1, maxLength: 3 }), async (wanted) => {
        const stages = wanted.map((rule, index) => ({ name: `s${index}`, ...rule }));
        await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout: { stages } } });
        const phase = (): string =>
          (shopStatus(fleet)['rollout'] as { phase?: string } | undefined)?.phase ?? '';
        await fleet.until(() => phase() === 'Succeeded', 'what is there', 600_000);
        shown += 1;
        const asked: Asked = {
          manifests: [{ object: configMap('settings', `colour-${shown}`), at: 'file.yaml:1' }],
          namespace: { name: 'shop', explicit: false },
        };
        const spokeClient = (name: string) => fleet.spoke(name).client;
        const plan = await fleet.run(computePlan(fleet.hub.client, spokeClient, asked));
        const ahead = plan.notes
          .filter(({ message }) => message.startsWith('the rollout of shop'))
          .map(({ clusters }) => clusters);
        expect(ahead.flat().sort()).toEqual(NAMES);
        await fleet.run(carryOut(fleet.hub.client, spokeClient, asked, plan, fleet.runtime.clock));
        await fleet.until(
          () => fleet.spokes.every((spoke) => colour(spoke) === `colour-${shown}`),
          'everywhere',
          600_000,
        );
        const times = ahead.map((clusters) => clusters.map(writtenAt).sort());
        for (let index = 1; index < times.length; index++)
          expect((times[index - 1]?.at(-1) ?? '') < (times[index]?.[0] ?? '')).toBe(true);
        // What is rolled out is planned no more.
        await fleet.until(() => phase() === 'Succeeded', 'the end', 600_000);
        const after = await fleet.run(computePlan(fleet.hub.client, spokeClient, asked));
        expect(after.notes).toEqual([]);
      }),
      { numRuns: 8, seed: 11 },
    );
    expect(shown).toBe(8);
  });
});
