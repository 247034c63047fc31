// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import {
  conditionMessage,
  conditionOf,
  everything,
  type SimulatedFleet,
  type SimulationOptions,
  simulateFleet,
  storedBelow,
} from './fleet.ts';
import { CHAIN, configMap, data, definition, field, graphsWords, instance, state } from './graphs-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { a, write, remove, rgd, map, shop, served, active } = graphsWords(() => fleet);

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(7, ['a'], options);
}

describe('a resource graph', () => {
  it('[R8] serves its API, and shows order and edges', async () => {
    await open();
    await served(definition(CHAIN));
    expect(rgd('shop')?.['status']).toMatchObject({
      topologicalOrder: ['first', 'second', 'third'],
      resources: [
        { id: 'second', dependencies: [{ id: 'first' }] },
        { id: 'third', dependencies: [{ id: 'second' }] },
      ],
      lastIssuedRevision: 1,
    });
  });

  it('brings an instance about, follows its edits, and removes it from the last node to the first', async () => {
    await open();
    await served(definition(CHAIN, undefined, { last: '${third.data.colour}' }));
    await write(instance());
    await active();
    expect(data(map('one-1-2-3'))).toEqual({ colour: 'red' });
    expect(shop()?.['status']).toMatchObject({ last: 'red' });
    await write(instance({ colour: 'blue' }));
    await fleet.until(() => field(map('one-1-2-3'), 'colour') === 'blue', 'the edit');
    const last = (): string | undefined => (shop()?.['status'] as { last?: string } | undefined)?.last;
    await fleet.until(() => last() === 'blue', 'its status');
    a().audit.length = 0;
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop() === undefined, 'the instance gone');
    const deleted = a()
      .audit.filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'configmaps')
      .map(({ objectRef }) => objectRef?.name);
    expect(deleted).toEqual(['one-1-2-3', 'one-1-2', 'one-1']);
    expect(storedBelow(a(), 'core/configmaps/default').map(({ metadata }) => metadata.name)).not.toContain(
      'one-1',
    );
  });

  it('[R64] writes finalizer, labels and inventory before any object', async () => {
    await open();
    await served(definition(CHAIN));
    a().audit.length = 0;
    await write(instance());
    await active();
    const writes = a()
      .audit.filter(({ verb, user }) => verb === 'patch' && user.username === 'atoll:engine')
      .map(({ objectRef }) => `${objectRef?.resource}/${objectRef?.subresource ?? ''}`);
    expect(writes.slice(0, 3)).toEqual(['shops/', 'shops/', 'configmaps/']);
    const { finalizers, annotations, labels } = shop()?.metadata ?? {};
    expect(finalizers).toEqual(['kro.run/finalizer']);
    expect(annotations?.['applyset.kubernetes.io/contains-group-kinds']).toBe('ConfigMap');
    expect(labels?.['kro.run/owned']).toBe('true');
  });

  it('[R72] asks and writes nothing at rest', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await fleet.rest(30_000);
    const before = everything(a());
    a().audit.length = 0;
    await fleet.rest(60_000);
    expect(everything(a())).toEqual(before);
    const asked = a().audit.filter(
      ({ verb, user, requestURI }) =>
        user.username === 'atoll:engine' && verb !== 'watch' && /kro|configmaps|openapi/.test(requestURI),
    );
    expect(asked).toEqual([]);
  });

  it('puts back what somebody changes or deletes', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await write({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one-1' },
      data: { colour: 'green' },
    });
    await fleet.until(() => field(map('one-1'), 'colour') === 'red', 'the drift corrected');
    const uid = map('one-1-2')?.metadata.uid;
    await remove('v1', 'ConfigMap', 'one-1-2');
    await fleet.until(() => (map('one-1-2')?.metadata.uid ?? uid) !== uid, 'it made again');
  });

  it('[R12] leaves everything alone while it is suspended', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await write(instance({}, 'one', { annotations: { 'kro.run/reconcile': 'Suspended' } }));
    await fleet.until(
      () => conditionOf(shop(), 'ResourcesReady') === 'False/ReconciliationSuspended',
      'suspended',
    );
    await remove('v1', 'ConfigMap', 'one-1-2');
    await fleet.rest(60_000);
    expect(map('one-1-2')).toBeUndefined();
    await write(instance());
    await fleet.until(() => map('one-1-2') !== undefined, 'it made again');
  });

  it('makes and removes what includeWhen says, with all that depends on it', async () => {
    await open();
    const extra = configMap(
      'second',
      '${first.metadata.name}-2',
      {},
      { includeWhen: ['${schema.spec.extra}'] },
    );
    await served(
      definition([CHAIN[0] ?? {}, extra, configMap('third', '${second.metadata.name}-3', {})], {
        colour: 'string | default=red',
        extra: 'boolean | default=true',
      }),
    );
    await write(instance());
    await active();
    expect(map('one-1-2-3')).toBeDefined();
    await write(instance({ extra: false }));
    await fleet.until(() => map('one-1-2') === undefined && map('one-1-2-3') === undefined, 'both gone');
    await active();
    expect(map('one-1')).toBeDefined();
    await write(instance({ extra: true }));
    await fleet.until(() => map('one-1-2-3') !== undefined, 'both back');
  });

  it('grows and shrinks collections', async () => {
    await open();
    const each = configMap(
      'parts',
      '${schema.metadata.name}-${part}',
      { part: '${part}' },
      {
        forEach: [{ part: '${schema.spec.items}' }],
      },
    );
    await served(definition([each], { items: '[]string | default=["x","y"]' }));
    await write(instance({ items: ['x', 'y', 'z'] }));
    await active();
    const names = (): string[] =>
      storedBelow(a(), 'core/configmaps/default')
        .map(({ metadata: { name = '' } }) => name)
        .filter((name) => name.startsWith('one-'));
    expect(names()).toEqual(['one-x', 'one-y', 'one-z']);
    await write(instance({ items: ['y'] }));
    await fleet.until(() => names().join() === 'one-y', 'two gone');
    await write(instance({ items: [] }));
    await fleet.until(() => names().length === 0, 'all gone');
    await active();
  });

  it('[R86] waits for what is external, follows it, and never writes it', async () => {
    await open();
    await served(
      definition([
        {
          id: 'settings',
          externalRef: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } },
        },
        configMap('own', '${schema.metadata.name}-own', { tone: '${settings.data.tone}' }),
      ]),
    );
    await write(instance());
    await fleet.until(() => conditionMessage(shop(), 'ResourcesReady').includes('settings'), 'the wait told');
    expect(map('one-own')).toBeUndefined();
    a().audit.length = 0;
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } };
    await write({ ...settings, data: { tone: 'low' } });
    await active();
    expect(data(map('one-own'))).toEqual({ tone: 'low' });
    await write({ ...settings, data: { tone: 'high' } });
    await fleet.until(() => field(map('one-own'), 'tone') === 'high', 'the change');
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop() === undefined, 'the instance gone');
    expect(map('settings')).toBeDefined();
    const touched = a().audit.filter(
      ({ verb, user, objectRef }) =>
        objectRef?.name === 'settings' &&
        user.username === 'atoll:engine' &&
        !['get', 'list', 'watch'].includes(verb),
    );
    expect(touched).toEqual([]);
  });

  it('[R66] takes nothing from another instance', async () => {
    await open();
    await served(definition([configMap('one', 'the-same', { colour: '${schema.spec.colour}' })]));
    await write(instance());
    await active();
    await write(instance({ colour: 'blue' }, 'two'));
    await fleet.until(() => state(shop('two')) === 'ERROR', 'the conflict');
    expect(conditionMessage(shop('two'), 'ResourcesReady')).toContain('Shop default/one');
    expect(data(map('the-same'))).toEqual({ colour: 'red' });
    await remove('kro.run/v1alpha1', 'Shop', 'two');
    await fleet.until(() => shop('two') === undefined, 'the second gone');
    expect(map('the-same')).toBeDefined();
  });

  it('[R67] removes nothing by an inventory that was changed by hand', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await write(
      instance({}, 'one', { annotations: { 'applyset.kubernetes.io/contains-group-kinds': 'Secret' } }),
    );
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(
      () => conditionMessage(shop(), 'ResourcesReady').includes('deletion blocked'),
      'the block told',
    );
    expect(map('one-1')).toBeDefined();
  });

  it('[R75] follows labels and annotations that expressions use', async () => {
    await open();
    await served(
      definition([
        configMap('own', '${schema.metadata.name}-own', {
          tone: '${schema.metadata.?annotations["tone"].orValue("none")}',
        }),
      ]),
    );
    await write(instance());
    await active();
    await write(instance({}, 'one', { annotations: { tone: 'low' } }));
    await fleet.until(() => field(map('one-own'), 'tone') === 'low', 'the change');
  });
});

describe('what fails', () => {
  it('is tried again for as long as it is wanted, while the rest goes on', async () => {
    await open();
    const elsewhere = {
      id: 'far',
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '${schema.metadata.name}-far', namespace: 'later' },
        data: {},
      },
    };
    await served(definition([elsewhere, CHAIN[0] ?? {}]));
    await write(instance());
    await fleet.until(() => state(shop()) === 'ERROR', 'the failure told');
    expect(conditionMessage(shop(), 'ResourcesReady')).toContain('far: ConfigMap later/one-far');
    expect(conditionMessage(shop(), 'ResourcesReady')).toContain('"later" not found');
    expect(map('one-1')).toBeDefined();
    await fleet.rest(6 * 3_600_000);
    await write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'later' } });
    await active();
    expect(map('one-far', 'later')).toBeDefined();
  });

  it('[R93] watches each kind once, and not at all when nobody needs it', async () => {
    await open();
    await served(definition([CHAIN[0] ?? {}]));
    a().audit.length = 0;
    const opened = (): number =>
      a().audit.filter(
        ({ verb, user, objectRef, stage }) =>
          stage === 'ResponseStarted' &&
          verb === 'watch' &&
          user.username === 'atoll:engine' &&
          objectRef?.resource === 'configmaps',
      ).length;
    const names = Array.from({ length: 100 }, (_, number) => `i${number}`);
    for (const name of names) await write(instance({}, name));
    for (const name of names) await active(name);
    expect(opened()).toBe(1);
    for (const name of names) await remove('kro.run/v1alpha1', 'Shop', name);
    await fleet.until(() => storedBelow(a(), 'kro.run/shops/default').length === 0, 'all gone');
    await fleet.rest(1_000);
    await write(instance());
    await active();
    // Were the first one still there, no other would be needed.
    expect(opened()).toBe(2);
  });
});

describe('a hub that is away', () => {
  it('is not missed while instances come, change and go', async () => {
    await open();
    await served(definition(CHAIN));
    fleet.cut('a');
    await fleet.run(fleet.kill('hub'));
    await fleet.rest(3_600_000);
    await write(instance());
    await active();
    await write(instance({ colour: 'blue' }));
    await fleet.until(() => field(map('one-1-2-3'), 'colour') === 'blue', 'the edit');
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop() === undefined && map('one-1') === undefined, 'all gone');
  });
});
