// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import {
  conditionOf,
  everything,
  type SimulatedFleet,
  type SimulationOptions,
  simulateFleet,
  storedBelow,
} from './fleet.ts';
import { CHAIN, configMap, definition, graphsWords, instance, state } from './graphs-rig.ts';
import { faultyStorage } from './rig/faults.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { a, write, remove, rgd, shop, served, active } = graphsWords(() => fleet);

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(7, ['a'], options);
}

function fieldsBefore(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, number) => [`field${number}`, 'string | default=x']),
  );
}

describe('a process that dies', () => {
  it('[R57] starts again without writing anything', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await fleet.rest(30_000);
    const before = everything(a());
    await fleet.run(fleet.kill('a'));
    await fleet.run(fleet.start('a'));
    await fleet.rest(30_000);
    const relevant = (all: Record<string, number>): [string, number][] =>
      Object.entries(all).filter(([key]) => /kro\.run|configmaps/.test(key));
    expect(relevant(everything(a()))).toEqual(relevant(before));
  });

  it('[R59] while a definition changes issues each revision once', async () => {
    const disk = faultyStorage();
    await open({ storage: (name) => (name === 'a' ? disk : faultyStorage()) });
    const revisions = (): string[] =>
      storedBelow(a(), 'internal.kro.run/graphrevisions/-').map(({ metadata: { name = '' } }) => name);
    for (let commits = 0; commits < 8; commits++) {
      const node = configMap('first', '${schema.metadata.name}', { round: `${commits}` });
      await write(
        definition([node], { [`field${commits}`]: 'string | default=x', ...fieldsBefore(commits) }),
      );
      disk.crashAfter(commits);
      await fleet.rest(1_000);
      await fleet.run(fleet.kill('a'));
      disk.revive();
      await fleet.run(fleet.start('a'));
      const newest = `shop-r0000${commits + 1}`;
      await fleet.until(() => revisions().includes(newest), newest);
      await fleet.until(() => conditionOf(rgd('shop'), 'Ready') === 'True/Ready', 'ready');
      await fleet.rest(1_000);
      expect(revisions().at(-1)).toBe(newest);
      expect(rgd('shop')?.['status']).toMatchObject({ lastIssuedRevision: commits + 1 });
    }
  });

  it('[R64] between any two writes leaks nothing', { timeout: 120_000 }, async () => {
    const disk = faultyStorage();
    await open({ storage: (name) => (name === 'a' ? disk : faultyStorage()) });
    const all = (): string[] =>
      storedBelow(a(), 'core/configmaps/default').map(({ metadata: { name = '' } }) => name);
    const toggled = configMap(
      'second',
      '${first.metadata.name}-2',
      {},
      { includeWhen: ['${schema.spec.extra}'] },
    );
    await served(
      definition([CHAIN[0] ?? {}, toggled], {
        colour: 'string | default=red',
        extra: 'boolean | default=true',
      }),
    );
    await fleet.rest(1_000);
    const own = (name: string): string[] => all().filter((item) => item.startsWith(`${name}-`));

    async function dying(
      commits: number,
      work: () => Promise<unknown>,
      done: () => boolean,
    ): Promise<boolean> {
      await work();
      disk.crashAfter(commits);
      for (let turn = 0; turn < 40 && !disk.crashed && !done(); turn++) await fleet.rest(250);
      const { crashed } = disk;
      await fleet.run(fleet.kill('a'));
      disk.revive();
      await fleet.run(fleet.start('a'));
      return crashed;
    }

    for (let commits = 0; commits < 8; commits++) {
      const name = `c${commits}`;
      await dying(
        commits,
        () => write(instance({}, name)),
        () => state(shop(name)) === 'ACTIVE',
      );
      await active(name);
      expect(own(name)).toEqual([`${name}-1`, `${name}-1-2`]);
      await dying(
        commits,
        () => write(instance({ extra: false }, name)),
        () => own(name).length === 1,
      );
      await fleet.until(() => own(name).join() === `${name}-1`, 'one removed');
      await write(instance({ extra: true }, name));
      await fleet.until(() => own(name).length === 2, 'it back');
      await dying(
        commits,
        () => remove('kro.run/v1alpha1', 'Shop', name),
        () => shop(name) === undefined,
      );
      await fleet.until(() => shop(name) === undefined, 'the instance gone');
      expect(own(name)).toEqual([]);
    }
  });
});
