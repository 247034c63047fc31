// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionMessage, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { at, CERTS, configMap, definition, field, instance, map, targetWords } from './graphs-targets-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, mesh, remotes, served, active } = targetWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(9, names);
  for (const target of [fleet.hub, ...fleet.spokes]) await write(target, CERTS);
}

describe('a graph with targets', () => {
  it('[R144] repairs, prunes and removes across clusters, in order', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const both = [
      configMap('first', { colour: '${schema.spec.colour}' }, at('a')),
      configMap('second', { colour: '${first.data.colour}' }, at('b')),
      configMap('third', { colour: '${second.data.colour}' }),
    ];
    await served(definition(both, { colour: 'string | default=red' }));
    await write(fleet.hub, instance());
    await active();
    const { annotations = {} } = mesh()?.metadata ?? {};
    expect(annotations['applyset.kubernetes.io/contains-group-kinds']).toContain('RemoteObject.atoll.dev');
    const uid = map(b, 'one-second')?.metadata.uid;
    await remove(b, 'v1', 'ConfigMap', 'one-second');
    await fleet.until(() => (map(b, 'one-second')?.metadata.uid ?? uid) !== uid, 'it is made again');
    await write(a, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one-first' },
      data: { colour: 'grey' },
    } as KubeObject);
    await fleet.until(() => field(map(a, 'one-first'), 'colour') === 'red', 'the drift undone');
    await write(fleet.hub, instance({ colour: 'blue' }));
    await fleet.until(() => field(map(fleet.hub, 'one-third'), 'colour') === 'blue', 'the edit through both');
    expect(field(map(b, 'one-second'), 'colour')).toBe('blue');
    // One node less: its object goes.
    await served(
      definition([both[0] as object, configMap('third', { colour: '${first.data.colour}' })], {
        colour: 'string | default=red',
      }),
    );
    await fleet.until(() => map(b, 'one-second') === undefined, 'pruned on b');
    await active();
    await served(definition(both, { colour: 'string | default=red' }));
    await fleet.until(() => map(b, 'one-second') !== undefined, 'there again');
    await active();
    const gone: string[] = [];
    const watch = (): void => {
      for (const [name, target] of [
        ['one-third', fleet.hub],
        ['one-second', b],
        ['one-first', a],
      ] as const)
        if (!gone.includes(name) && map(target, name) === undefined) gone.push(name);
    };
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    await fleet.until(() => {
      watch();
      return mesh() === undefined;
    }, 'the instance gone');
    expect(gone).toEqual(['one-third', 'one-second', 'one-first']);
    expect(remotes()).toEqual([]);
  });

  it('leaks nothing where the hub dies while objects come, move and go', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const nodes = [
      configMap('first', { colour: 'red' }, at('${schema.spec.cluster}')),
      configMap('second', { colour: '${first.data.colour}' }, at('b')),
    ];
    await served(definition(nodes, { cluster: 'string' }));
    const dies = async (afterMs: number): Promise<void> => {
      await fleet.rest(afterMs);
      await fleet.kill(fleet.hub);
      await fleet.start(fleet.hub);
    };
    for (const afterMs of [10, 40, 90, 200]) {
      await write(fleet.hub, instance({ cluster: 'a' }));
      await dies(afterMs);
      await active();
      await write(fleet.hub, instance({ cluster: 'b' }));
      await dies(afterMs);
      await fleet.until(
        () => map(b, 'one-first') !== undefined && map(a, 'one-first') === undefined,
        'moved',
      );
      await active();
      await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
      await dies(afterMs);
      await fleet.until(() => mesh() === undefined, 'the instance gone');
      await fleet.rest(5_000);
      expect(remotes()).toEqual([]);
      for (const target of [a, b])
        for (const name of ['one-first', 'one-second']) expect(map(target, name)).toBeUndefined();
    }
  });

  it('waits with its removal, in order, for a cluster that is away, and says why', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await served(
      definition([
        configMap('first', { colour: 'red' }, at('a')),
        configMap('second', { colour: '${first.data.colour}' }, at('b')),
        configMap('third', { colour: '${second.data.colour}' }, at('a')),
      ]),
    );
    await write(fleet.hub, instance());
    await active();
    fleet.cut('b');
    await fleet.rest(600_000);
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    await fleet.until(() => map(a, 'one-third') === undefined, 'the last one gone');
    await fleet
      .until(
        () =>
          conditionMessage(mesh(), 'ResourcesReady').includes(
            'waits until ConfigMap default/one-second on cluster b (',
          ),
        'why it waits',
        600_000,
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify([mesh()?.['status'], remotes()], undefined, 1), { cause: error });
      });
    await fleet.rest(600_000);
    // What comes after it in the order of removal is not touched.
    expect(map(a, 'one-first')).toBeDefined();
    expect(map(b, 'one-second')).toBeDefined();
    fleet.heal('b');
    await fleet.until(() => mesh() === undefined, 'the instance gone');
    for (const target of [a, b])
      for (const name of ['one-first', 'one-second']) expect(map(target, name)).toBeUndefined();
    expect(remotes()).toEqual([]);
  });

  it('gives a cluster that is away up where somebody says so, and tells it when it is back', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await served(
      definition([
        configMap('first', { colour: 'red' }, at('a')),
        configMap('second', { colour: '${first.data.colour}' }, at('b')),
      ]),
    );
    await write(fleet.hub, instance());
    await active();
    fleet.cut('b');
    await fleet.rest(600_000);
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    const leaving = (): KubeObject | undefined =>
      remotes().find(({ metadata }) => metadata.deletionTimestamp !== undefined);
    await fleet.until(() => leaving() !== undefined, 'the second about to go');
    await fleet.rest(600_000);
    expect(map(a, 'one-first')).toBeDefined();
    const resource = await fleet.run(fleet.hub.client.resourceFor('atoll.dev/v1alpha1', 'RemoteObject'));
    const patch = { metadata: { annotations: { 'atoll.dev/give-up': 'true' } } };
    await fleet.run(fleet.hub.client.patch(resource, '', leaving()?.metadata.name ?? '', 'merge', patch));
    await fleet.until(() => mesh() === undefined, 'the instance gone');
    expect(map(a, 'one-first')).toBeUndefined();
    expect(map(b, 'one-second')).toBeDefined();
    fleet.heal('b');
    await fleet.until(() => map(b, 'one-second') === undefined, 'it is gone from b');
  });
});
