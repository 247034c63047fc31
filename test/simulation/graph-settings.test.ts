// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { graphSettings } from '../../src/spoke/graphs/index.ts';
import { conditionMessage, conditionOf } from './fleet.ts';
import {
  configMap,
  type GraphCluster,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
  stateOf,
} from './graph-cluster.ts';

let cluster: GraphCluster;
const { map, rgd, shop, served, active } = shopWords(() => cluster);
afterEach(async () => cluster?.stop());

const open = async (texts: readonly string[], network?: (handler: Handler) => Handler): Promise<void> => {
  cluster = await startGraphCluster({ ...graphSettings(texts), ...(network && { network }) });
};
/** Looks at instances, as the metrics count them. */
const passes = (): number =>
  Number(
    /^dynamic_controller_reconcile_total\{gvr="[^"]*shops"\} (\d+)$/m.exec(
      cluster.graphs?.metrics() ?? '',
    )?.[1],
  );
const ONE = configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' });
const never = { ...ONE, readyWhen: ['${first.data.colour == "never"}'] };
const now = (): number => cluster.runtime.clock.monotonic();

describe('[R100] settings', () => {
  it('instance-requeue-interval: what waits is looked at again so often, what does not never', async () => {
    await open(['instance-requeue-interval=3s']);
    await served(shopDefinition([never]));
    await cluster.write(shopInstance());
    await cluster.until(() => map('one-1') !== undefined, 'the object');
    await cluster.rest(30_000);
    let before = passes();
    await cluster.rest(30_000);
    expect(passes() - before).toBe(10);
    await cluster.write(shopInstance({ colour: 'never' }));
    await active();
    await cluster.rest(30_000);
    before = passes();
    await cluster.rest(60_000);
    expect(passes() - before).toBe(0);
    // By default watches alone tell.
    await cluster.stop();
    cluster.start(graphSettings([]));
    await cluster.write(shopInstance({ colour: 'red' }));
    await cluster.rest(60_000);
    before = passes();
    await cluster.rest(60_000);
    expect(passes() - before).toBe(0);
  });

  it('dynamic-controller-default-resync-period: all instances are looked at again so often', async () => {
    await open(['dynamic-controller-default-resync-period=60']);
    await served(shopDefinition([ONE]));
    for (const name of ['one', 'two']) await cluster.write(shopInstance({}, name));
    for (const name of ['one', 'two']) await active(name);
    await cluster.rest(30_000);
    const before = passes();
    cluster.audit.length = 0;
    await cluster.rest(300_000);
    expect(passes() - before).toBe(10);
    // To look costs nothing where watches have told.
    expect(cluster.asked()).toEqual([]);
  });

  it('dynamic-controller-rate-limiter-*-delay: pauses after failures', async () => {
    const tried: number[] = [];
    const refusing =
      (handler: Handler): Handler =>
      async (request) => {
        if (request.method !== 'PATCH' || !request.path.includes('/configmaps/')) return handler(request);
        tried.push(now());
        throw new Error('connect ECONNREFUSED');
      };
    const delays = ['min-delay=1s', 'max-delay=4s'];
    await open(
      delays.map((text) => `dynamic-controller-rate-limiter-${text}`),
      refusing,
    );
    await served(shopDefinition([ONE]));
    await cluster.write(shopInstance());
    await cluster.until(() => tried.length === 6, 'six attempts');
    const pauses = tried.slice(1).map((at, index) => Math.round((at - (tried[index] ?? 0)) / 1_000));
    expect(pauses).toEqual([1, 2, 4, 4, 4]);
  });

  it('client-qps and client-burst: no more requests than that, which wait for their turn', async () => {
    const asked: number[] = [];
    const counting =
      (handler: Handler): Handler =>
      (request) => {
        asked.push(now());
        return handler(request);
      };
    await open(['client-qps=10', 'client-burst=5'], counting);
    const many = configMap(
      'many',
      '${schema.metadata.name}-${string(n)}',
      {},
      { forEach: [{ n: '${lists.range(40)}' }] },
    );
    await served(shopDefinition([many]));
    await cluster.rest(10_000);
    asked.length = 0;
    const began = now();
    await cluster.write(shopInstance());
    await active();
    // 40 objects and a few writes of the instance, 5 at once and then 10 in a second.
    expect(now() - began).toBeGreaterThanOrEqual(3_500);
    for (const at of asked)
      expect(asked.filter((other) => other >= at && other < at + 1_000).length).toBeLessThanOrEqual(16);
  });

  it('rgd-max-collection-size, rgd-max-collection-dimension-size and rgd-max-graph-revisions: bounds', async () => {
    await open([
      'rgd-max-collection-size=3',
      'rgd-max-collection-dimension-size=1',
      'rgd-max-graph-revisions=2',
    ]);
    const of = (forEach: readonly object[]): object =>
      configMap('many', '${schema.metadata.name}-${string(n)}', {}, { forEach });
    await cluster.write(shopDefinition([of([{ n: '${[1]}' }, { m: '${[1]}' }])]));
    await cluster.until(
      () => conditionOf(rgd(), 'GraphAccepted')?.startsWith('False') === true,
      'the refusal',
    );
    expect(conditionMessage(rgd(), 'GraphAccepted')).toContain('1');
    await served(shopDefinition([of([{ n: '${lists.range(4)}' }])]));
    await cluster.write(shopInstance());
    await cluster.until(() => stateOf(shop()) === 'ERROR', 'the error');
    for (const size of [3, 2, 1]) await served(shopDefinition([of([{ n: `\${lists.range(${size})}` }])]));
    await active();
    await cluster.until(
      () => cluster.below('internal.kro.run/graphrevisions/-').length === 2,
      'revisions kept',
    );
  });

  it('dynamic-controller-concurrent-reconciles: so many instances at once', async () => {
    for (const [limit, most] of [
      [1, 1],
      [3, 3],
    ] as const) {
      let [writing, seen] = [0, 0];
      const slow =
        (handler: Handler): Handler =>
        async (request) => {
          if (request.method !== 'PATCH' || !request.path.includes('/configmaps/')) return handler(request);
          writing += 1;
          seen = Math.max(seen, writing);
          try {
            for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
            return await handler(request);
          } finally {
            writing -= 1;
          }
        };
      await open([`dynamic-controller-concurrent-reconciles=${limit}`], slow);
      await served(shopDefinition([ONE]));
      const names = ['a', 'b', 'c', 'd', 'e'];
      await cluster.stop();
      for (const name of names) await cluster.write(shopInstance({}, name));
      cluster.start();
      for (const name of names) await active(name);
      expect(seen).toBe(most);
      await cluster.stop();
    }
  });
});
