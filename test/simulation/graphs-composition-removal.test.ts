import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { dispatchesOn, type SimulatedFleet, simulateFleet } from './fleet.ts';
import {
  app,
  compositionWords,
  conditions,
  DATABASE,
  FULL_STACK,
  graph,
  instance,
  leaf,
  map,
  node,
  on,
  replies,
  state,
  WEB,
  wishes,
} from './graphs-composition-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { publish, write, remove, composed, until, facts, active } = compositionWords(() => fleet);

async function open(
  names: readonly string[] = ['a', 'b'],
  graphs: readonly KubeObject[] = [DATABASE, WEB, FULL_STACK],
): Promise<void> {
  fleet = await simulateFleet(11, names);
  await publish(graphs);
}

describe('a graph with parts on the hub', () => {
  it('[R151] removes the child on the hub and its leaves first, then the rest in reverse', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(a, instance());
    await active(a);
    await until(
      () => map(a, 'shop-web') !== undefined,
      () => facts(a),
    );
    const gone: string[] = [];
    const look = (): void => {
      const there: Record<string, unknown> = {
        'shop-note': map(a, 'shop-note'),
        'shop-web': map(a, 'shop-web'),
        WebApplication: on(fleet.hub, 'webapplications')[0],
        'shop-db': map(a, 'shop-db'),
        Database: on(fleet.hub, 'databases')[0],
      };
      for (const [name, object] of Object.entries(there))
        if (object === undefined && !gone.includes(name)) gone.push(name);
    };
    await remove(a, 'FullStackApp', 'shop');
    await fleet.until(() => {
      look();
      return app(a) === undefined;
    }, 'it is gone');
    expect(gone.indexOf('shop-db')).toBeGreaterThan(gone.indexOf('WebApplication'));
    expect(gone.indexOf('WebApplication')).toBeGreaterThan(gone.indexOf('shop-web'));
    expect(gone.indexOf('Database')).toBeGreaterThan(gone.indexOf('shop-db'));
    expect(gone).toHaveLength(5);
    await until(
      () => composed().length === 0 && replies(a).length === 0,
      () => facts(a),
    );
    expect(dispatchesOn(a)).toHaveLength(1);
  });

  it('[R151] waits for a cluster that is away and holds a leaf, and says so where the instance is', async () => {
    const database = graph('database', 'Database', [leaf('db', {}, { target: { cluster: { name: 'b' } } })], {
      hubOnly: true,
    });
    const root = graph('full-stack', 'FullStackApp', [leaf('first', {}), node('database', 'Database', {})]);
    await open(['a', 'b'], [database, root]);
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(a, instance());
    await active(a);
    await until(
      () => map(b, 'shop-db') !== undefined,
      () => facts(a),
    );
    fleet.cut('b');
    await remove(a, 'FullStackApp', 'shop');
    await until(
      () => conditions(app(a)).includes('shop-db on cluster b'),
      () => facts(a),
    );
    await fleet.rest(120_000);
    expect(conditions(app(a))).toContain(
      'Database default/shop on the hub (it is being deleted on the hub: ',
    );
    fleet.heal('b');
    await until(
      () => app(a) === undefined,
      () => facts(a),
    );
    expect(map(b, 'shop-db')).toBeUndefined();
  });

  it('[R151] waits for a hub that is away and says why; what is given up stays on the hub', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(a, instance());
    await active(a);
    fleet.cut('a');
    await remove(a, 'FullStackApp', 'shop');
    await fleet.rest(120_000);
    expect(conditions(app(a))).toContain(
      'WebApplication default/shop on the hub (the hub has not said yet that it is gone',
    );
    expect(map(a, 'shop-db')).toBeDefined();
    const resource = await fleet.run(a.client.resourceFor('atoll.dev/v1alpha1', 'HubObject'));
    const giveUp = async (): Promise<void> => {
      for (const { metadata } of wishes(a)) {
        const annotations = { 'atoll.dev/give-up': 'true' };
        await fleet.run(
          a.client.patch(resource, '', metadata.name ?? '', 'merge', { metadata: { annotations } }),
        );
      }
    };
    await giveUp();
    await fleet.until(() => app(a) === undefined || wishes(a).length > 0, 'the next');
    await giveUp();
    await until(
      () => app(a) === undefined,
      () => facts(a),
    );
    fleet.heal('a');
    await until(
      () => composed().every(({ spec }) => JSON.stringify(spec).includes('"state":"Kept"')),
      () => facts(a),
    );
    expect(on(fleet.hub, 'databases')).toHaveLength(1);
    // The same instance again has it again.
    await write(a, instance());
    await active(a);
    expect(on(fleet.hub, 'databases')).toHaveLength(1);
    expect(on(fleet.hub, 'databases').map(state)).toEqual(['ACTIVE']);
  });
});
