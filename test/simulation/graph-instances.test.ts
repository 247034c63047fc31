// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionOf } from './fleet.ts';
import {
  configMap,
  dataOf,
  type GraphCluster,
  type GraphSettings,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
  stateOf,
} from './graph-cluster.ts';
import { CHAIN, instanceWords, managers, plainMap, SPEC } from './graph-instances-rig.ts';
import { faultyStorage } from './rig/faults.ts';

let cluster: GraphCluster;
afterEach(async () => cluster?.stop());
const { maps, leave, message } = instanceWords(() => cluster);

const { map, shop, served, active } = shopWords(() => cluster);

const open = async (settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
};

describe('an instance', () => {
  it('[R62] is first written with finalizer, labels and an empty inventory at once; dying then leaves nothing', async () => {
    const disk = faultyStorage();
    cluster = await startGraphCluster({}, disk);
    await served(shopDefinition(CHAIN));
    await cluster.rest(1_000);
    // That of the instance, and one more.
    disk.crashAfter(2);
    await cluster.write(shopInstance());
    await cluster.rest(5_000);
    const { finalizers, labels = {}, annotations = {} } = shop()?.metadata ?? {};
    expect(finalizers).toEqual(['kro.run/finalizer']);
    expect(labels['kro.run/owned']).toBe('true');
    expect(labels['applyset.kubernetes.io/id']).toMatch(/^applyset-.*-v1$/);
    expect(annotations['applyset.kubernetes.io/contains-group-kinds']).toBe('');
    expect(annotations['internal.kro.run/applyset-inventory-hash']).toMatch(/^sha256:/);
    expect(maps()).toEqual([]);
    await cluster.kill();
    disk.revive();
    await cluster.revive();
    await leave();
    await cluster.until(() => shop() === undefined && maps().length === 0, 'all gone');
  });

  it('[R63] is written by three managers, which stay the same when the engine starts anew', async () => {
    await open();
    const wide = Array.from({ length: 12 }, (_, index) =>
      configMap(`n${index}`, `\${schema.metadata.name}-${index}`),
    );
    await served(shopDefinition(wide));
    cluster.audit.length = 0;
    await cluster.write(shopInstance());
    await active();
    expect(managers(shop())).toEqual(
      expect.arrayContaining(['kro.run/labeller Apply', 'kro.run/applyset-parent Apply']),
    );
    expect(managers(map('one-1'))).toEqual(['kro.run/applyset Apply']);
    const before = [shop(), map('one-1')].map((object) => object?.metadata.managedFields);
    await cluster.stop();
    cluster.start();
    await cluster.rest(30_000);
    expect([shop(), map('one-1')].map((object) => object?.metadata.managedFields)).toEqual(before);
    // Whoever else wrote a field of a template loses it.
    await cluster.write(plainMap('one-1', {}, { labels: { 'kro.run/node-id': 'other' } }));
    await cluster.until(() => map('one-1')?.metadata.labels?.['kro.run/node-id'] === 'n1', 'it taken back');
  });

  it('[R71] gets on by events alone: nothing is asked by the clock while it waits', async () => {
    await open();
    const ready = configMap(
      'first',
      '${schema.metadata.name}-1',
      {},
      { readyWhen: ['${first.data["done"] == "yes"}'] },
    );
    await served(shopDefinition([ready, configMap('second', '${first.metadata.name}-2')]));
    await cluster.write(shopInstance());
    await cluster.until(() => map('one-1') !== undefined && message() !== '', 'the first object');
    await cluster.rest(30_000);
    cluster.audit.length = 0;
    await cluster.rest(600_000);
    expect(cluster.asked().filter(({ verb }) => verb !== 'watch')).toEqual([]);
    await cluster.write(plainMap('one-1', { done: 'yes' }));
    await cluster.until(() => stateOf(shop()) === 'ACTIVE', 'active', 2_000);
    expect(map('one-1-2')).toBeDefined();
  });

  it('[R92] says which node, which object and which cluster it waits for', async () => {
    await open({ cluster: 'paris' });
    await served(
      shopDefinition([
        configMap(
          'first',
          '${schema.metadata.name}-1',
          {},
          { readyWhen: ['${first.data["done"] == "yes"}'] },
        ),
      ]),
    );
    await cluster.write(shopInstance());
    await cluster.until(() => message() !== '' && map('one-1') !== undefined, 'a message');
    expect(message()).toBe(
      'on cluster paris: first: ConfigMap default/one-1 is not ready: ${first.data["done"] == "yes"} is not known (no such key: data)',
    );
    await cluster.write(plainMap('one-1', {}, { finalizers: ['example.org/hold'] }));
    await leave();
    await cluster.until(() => message().includes('until'), 'what holds it');
    expect(message()).toBe('on cluster paris: waits until ConfigMap default/one-1 are gone');
  });

  it('[R43] leaves out what includeWhen says, by schema and by other nodes, with all that depends on it', async () => {
    await open();
    await served(
      shopDefinition(
        [
          configMap(
            'base',
            '${schema.metadata.name}-base',
            {},
            { readyWhen: ['${base.data["mode"] != ""}'] },
          ),
          configMap(
            'extra',
            '${schema.metadata.name}-extra',
            {},
            {
              includeWhen: ['${schema.spec.extra}', '${base.data["mode"] == "big"}'],
            },
          ),
          configMap('behind', '${extra.metadata.name}-behind'),
          configMap('apart', '${schema.metadata.name}-apart'),
        ],
        { spec: { extra: 'boolean | default=true' } },
      ),
    );
    await cluster.write(shopInstance());
    await cluster.until(() => map('one-apart') !== undefined, 'what depends on nothing');
    await cluster.rest(5_000);
    // What it looks at is not ready: it waits, and is not left out.
    expect(message()).toContain('base: ConfigMap default/one-base is not ready');
    expect(maps()).toEqual(['one-apart', 'one-base']);
    await cluster.write(plainMap('one-base', { mode: 'big' }));
    await active();
    expect(maps()).toEqual(['one-apart', 'one-base', 'one-extra', 'one-extra-behind']);
    await cluster.write(plainMap('one-base', { mode: 'small' }));
    await cluster.until(() => maps().length === 2, 'both pruned');
    await active();
    await cluster.write(plainMap('one-base', { mode: 'big' }));
    await cluster.until(() => maps().length === 4, 'both back');
    await cluster.write(shopInstance({ extra: false }));
    await cluster.until(() => maps().length === 2, 'both pruned again');
  });
});

describe('time', () => {
  it('[R85] is looked at again at the instant that an expression names, and not before', async () => {
    await open();
    const until = '${time.now(timestamp(schema.spec.until)) < timestamp(schema.spec.until)}';
    const stamped = '${string(time.now(timestamp(schema.spec.until)))}';
    await served(
      shopDefinition(
        [
          configMap('lease', '${schema.metadata.name}-lease', {}, { includeWhen: [until] }),
          configMap('stamp', '${schema.metadata.name}-stamp', { at: stamped }),
        ],
        {
          spec: { until: 'string' },
          status: { over: '${time.now(timestamp(schema.spec.until)) >= timestamp(schema.spec.until)}' },
        },
      ),
    );
    const { clock } = cluster.runtime;
    const instant = clock.now() + 3 * 3_600_000 + 1_234;
    await cluster.write(shopInstance({ until: new Date(instant).toISOString() }));
    await active();
    const over = (): unknown => ((shop()?.['status'] ?? {}) as { over?: boolean }).over;
    expect([map('one-lease') !== undefined, over()]).toEqual([true, false]);
    await cluster.rest(60_000);
    // What is computed from it stands still meanwhile, also when there is another reason to look.
    const stamp = dataOf(map('one-stamp'))['at'];
    const version = map('one-stamp')?.metadata.resourceVersion;
    await cluster.remove('v1', 'ConfigMap', 'one-lease');
    await cluster.until(() => map('one-lease') !== undefined, 'it made again');
    cluster.audit.length = 0;
    await cluster.rest(instant - clock.now() - 1_000);
    expect(cluster.asked(['patch', 'get', 'list'])).toEqual([]);
    expect([map('one-lease') !== undefined, map('one-stamp')?.metadata.resourceVersion]).toEqual([
      true,
      version,
    ]);
    await cluster.rest(2_000);
    expect([map('one-lease'), over()]).toEqual([undefined, true]);
    expect(dataOf(map('one-stamp'))['at']).not.toBe(stamp);
    expect(Math.abs(Date.parse(dataOf(map('one-stamp'))['at'] ?? '') - instant)).toBeLessThanOrEqual(1_000);
    await cluster.write(shopInstance({ until: new Date(clock.now() + 60_000).toISOString() }));
    await cluster.until(() => map('one-lease') !== undefined, 'another instant');
    await cluster.until(() => map('one-lease') === undefined, 'which comes', 61_000);
  });
});

describe('what fails', () => {
  it('[R74] is tried until it works, also after six hours, without any change of the instance', async () => {
    let down = false;
    await open({
      network: (handler) => async (request) => {
        if (down && request.path.includes('/configmaps')) throw new Error('connect ECONNREFUSED');
        return handler(request);
      },
    });
    await served(shopDefinition(CHAIN));
    down = true;
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('ECONNREFUSED'), 'the failure told');
    const before = shop()?.metadata.generation;
    await cluster.rest(6 * 3_600_000);
    expect(maps()).toEqual([]);
    down = false;
    await active();
    expect([maps(), shop()?.metadata.generation]).toEqual([['one-1', 'one-1-2', 'one-1-2-3'], before]);
  });

  it('[R76] by an admission policy is told with its words, and works once the policy allows it', async () => {
    await open();
    const policy = (expression: string): KubeObject => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'no-red' },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['configmaps'],
            },
          ],
        },
        validations: [{ expression, message: 'red is out of fashion' }],
      },
    });
    await cluster.write(
      policy('!has(object.data) || !("colour" in object.data) || object.data.colour != "red"'),
    );
    await cluster.write({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'no-red' },
      spec: { policyName: 'no-red', validationActions: ['Deny'] },
    });
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('red is out of fashion'), 'the denial told');
    expect([stateOf(shop()), conditionOf(shop(), 'Ready')]).toEqual(['ERROR', 'False/NotReady']);
    expect(message()).toContain('first: ConfigMap default/one-1');
    await cluster.write(policy('true'));
    await active();
  });
});

describe('transitions', () => {
  it('[R91] are counted, and told by Events and by a series for each condition where the gates are open', async () => {
    const events = (): string[] =>
      cluster
        .below('core/events/default')
        .filter((item) => (item['involvedObject'] as { kind?: string } | undefined)?.kind === 'Shop')
        .map((item) => `${String(item['type'])} ${String(item['reason'])}`);
    const series = (): string[] =>
      (cluster.graphs?.metrics() ?? '')
        .split('\n')
        .filter((line) => line.startsWith('instance_condition_current'));
    await open();
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await active();
    await cluster.rest(5_000);
    expect([events(), series()]).toEqual([[], []]);
    expect(cluster.graphs?.metrics()).toMatch(
      /instance_state_transitions_total\{gvr="kro\.run\/v1alpha1\/shops",from_state="[A-Z_]*",to_state="ACTIVE"\} 1/,
    );
    await cluster.stop();
    cluster.start({ conditionEvents: true, conditionMetrics: true });
    const ready = configMap(
      'first',
      '${schema.metadata.name}-1',
      {},
      { readyWhen: ['${first.data["done"] == "yes"}'] },
    );
    await served(shopDefinition([ready]));
    await cluster.until(() => events().includes('Warning NotReady'), 'the Event');
    expect(series().join('\n')).toContain(
      'gvr="kro.run/v1alpha1/shops",namespace="default",name="one",condition_type="Ready",condition_status="False",reason="NotReady"',
    );
    await cluster.write(plainMap('one-1', { done: 'yes' }));
    await cluster.until(() => events().includes('Normal Ready'), 'the other Event');
    // Other changes of the status are none.
    await cluster.write(shopInstance({ colour: 'blue' }));
    await cluster.rest(5_000);
    expect(events().sort()).toEqual(['Normal Ready', 'Warning NotReady']);
    expect(series().filter((line) => line.includes('"Ready"'))).toHaveLength(1);
    await leave();
    await cluster.until(() => shop() === undefined, 'the instance gone');
    await cluster.rest(1_000);
    expect(series()).toEqual([]);
  });

  it('[R113] bounds hold: the cost of an expression, and how many objects are written at the same time', async () => {
    let writing = 0;
    let most = 0;
    const network: GraphSettings['network'] = (handler) => async (request) => {
      if (request.method !== 'PATCH' || !request.path.includes('/configmaps/')) return handler(request);
      writing += 1;
      most = Math.max(most, writing);
      await Promise.resolve();
      const response = await handler(request);
      writing -= 1;
      return response;
    };
    const parts = configMap(
      'parts',
      '${schema.metadata.name}-${string(n)}',
      {},
      {
        forEach: [{ n: '${lists.range(30)}' }],
      },
    );
    const sum = '${string(lists.range(300).map(a, lists.range(300).map(b, a * b)).size())}';
    await open({ network, applyConcurrency: 3, costLimit: 50_000 });
    await served(shopDefinition([parts, configMap('sum', '${schema.metadata.name}-sum', { sum })]));
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('cost'), 'the limit of cost');
    expect(message()).toContain('sum: ');
    expect([most, maps().length]).toEqual([3, 30]);
    await cluster.stop();
    cluster.start({ network, applyConcurrency: 10, costLimit: 5_000_000 });
    await active();
    await cluster.write(shopInstance({}, 'two'));
    await active('two');
    expect(most).toBe(10);
  });
});

describe('an engine that dies between any two writes', () => {
  it('leaks nothing: neither objects, nor fields of other objects, nor marks on what is kept', async () => {
    const disk = faultyStorage();
    cluster = await startGraphCluster({}, disk);
    const annotated = (id: string, name: string, wish: string, content: object): object => ({
      id,
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, annotations: { [`atoll.dev/${wish}`]: 'true' } },
        data: content,
      },
    });
    await served(
      shopDefinition(
        [
          configMap('own', '${schema.metadata.name}-own', { colour: '${schema.spec.colour}' }),
          annotated('shared', 'shared', 'contribute', { added: 'x' }),
          annotated('kept', '${own.metadata.name}-kept', 'preserve-on-deletion', {}),
        ],
        { spec: SPEC },
      ),
    );
    await cluster.write(plainMap('shared', { mine: 'y' }));
    await cluster.rest(1_000);

    async function dying(commits: number, work: () => Promise<unknown>, done: () => boolean): Promise<void> {
      await work();
      disk.crashAfter(commits);
      for (let turn = 0; turn < 20 && !disk.crashed && !done(); turn++) await cluster.rest(250);
      await cluster.kill();
      disk.revive();
      await cluster.revive();
    }

    for (let commits = 0; commits < 7; commits++) {
      const name = `c${commits}`;
      await dying(
        commits,
        () => cluster.write(shopInstance({}, name)),
        () => stateOf(shop(name)) === 'ACTIVE',
      );
      await active(name);
      expect(dataOf(map('shared'))).toEqual({ mine: 'y', added: 'x' });
      await dying(
        commits,
        () => leave(name),
        () => shop(name) === undefined,
      );
      await cluster.until(() => shop(name) === undefined, 'the instance gone');
      expect(dataOf(map('shared'))).toEqual({ mine: 'y' });
      expect(managers(map('shared'))).toEqual(['someone Apply']);
      expect(maps()).toEqual([`${name}-own-kept`, 'shared']);
      expect(map(`${name}-own-kept`)?.metadata.labels ?? {}).toEqual({});
      await cluster.remove('v1', 'ConfigMap', `${name}-own-kept`);
    }
  });
});
