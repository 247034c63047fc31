// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler, Request, Response } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionMessage } from './fleet.ts';
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

let cluster: GraphCluster;
const { map, shop, served, active } = shopWords(() => cluster);
afterEach(async () => cluster?.stop());

const SPEC = { colour: 'string | default=red' };
const labelled = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { site: 'x' } },
  data: {},
});

/** What stands between engine and API server, and may be changed while they run. */
function interposed(): {
  act: (handler: Handler, request: Request) => Promise<Response>;
  settings: GraphSettings;
} {
  const between = {
    act: (handler: Handler, request: Request): Promise<Response> => handler(request),
    settings: {} as GraphSettings,
  };
  between.settings = { network: (handler) => (request) => between.act(handler, request) };
  return between;
}

const isWatch = ({ path }: Request): boolean => path.includes('watch=');

describe('watches', () => {
  it('show an object in the version that its node states, whatever others state', async () => {
    cluster = await startGraphCluster();
    const scaler = (id: string, version: string, spec: object): object => ({
      id,
      template: {
        apiVersion: `autoscaling/${version}`,
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: `\${schema.metadata.name}-${id}` },
        spec: {
          maxReplicas: 3,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: id },
          ...spec,
        },
      },
    });
    const target = { type: 'Utilization', averageUtilization: 70 };
    await served(
      shopDefinition([
        scaler('first', 'v1', { targetCPUUtilizationPercentage: 50 }),
        scaler('second', 'v2', { metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }] }),
        configMap('names', '${schema.metadata.name}-seen', {
          colour: '${schema.spec.colour}',
          first: '${string(first.spec.targetCPUUtilizationPercentage)}',
          second: '${string(second.spec.metrics[0].resource.target.averageUtilization)}',
        }),
      ]),
    );
    await cluster.write(shopInstance());
    await active();
    for (const colour of ['blue', 'green', 'white']) {
      await cluster.write(shopInstance({ colour }));
      await cluster.until(() => dataOf(map('one-seen'))['colour'] === colour, colour);
      await active();
      expect(dataOf(map('one-seen'))).toEqual({ colour, first: '50', second: '70' });
      await cluster.rest(20_000);
    }
  });

  it.each(['selected', 'collected'])('[R94] see what happens between list and watch: %s', async (what) => {
    const between = interposed();
    cluster = await startGraphCluster(between.settings);
    const nodes =
      what === 'selected'
        ? [
            {
              id: 'found',
              externalRef: {
                apiVersion: 'v1',
                kind: 'ConfigMap',
                metadata: { selector: { matchLabels: { site: 'x' } } },
              },
            },
            configMap('names', '${schema.metadata.name}-names', {
              all: '${found.map(f, f.metadata.name).join(",")}',
            }),
          ]
        : [
            configMap(
              'parts',
              '${schema.metadata.name}-${part}',
              {},
              { forEach: [{ part: '${["a", "b"]}' }] },
            ),
            configMap('names', '${schema.metadata.name}-names', {
              all: '${parts.map(p, p.metadata.name).join(",")}',
            }),
          ];
    await served(shopDefinition(nodes));
    const admin = cluster.server.as({ name: 'admin', groups: ['system:masters'] });
    let listed = 0;
    between.act = async (handler, request) => {
      const ofMaps = request.method === 'GET' && /\/configmaps(\?|$)/.test(request.path);
      const response = await handler(request);
      if (ofMaps && !isWatch(request)) {
        listed += 1;
        // Before the watch begins, and after what was listed.
        const body = Buffer.from(JSON.stringify(labelled(`between-${listed}`)));
        const headers = { 'content-type': 'application/json' };
        await admin({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', headers, body });
        await admin({ method: 'DELETE', path: '/api/v1/namespaces/default/configmaps/one-a', headers: {} });
      }
      return response;
    };
    await cluster.write(shopInstance());
    await active();
    expect(listed).toBeGreaterThan(0);
    const all = (): string | undefined => dataOf(map('one-names'))['all'];
    if (what === 'selected')
      await cluster.until(
        () => all() === Array.from({ length: listed }, (_, index) => `between-${index + 1}`).join(),
        'what came between',
      );
    else expect([all(), map('one-a') !== undefined]).toEqual(['one-a,one-b', true]);
  });

  it('[R96] of a pass that fails stay: what it was told of before it is told of again', async () => {
    const between = interposed();
    cluster = await startGraphCluster(between.settings);
    const external = {
      id: 'far',
      externalRef: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'far' } },
    };
    await cluster.write({ ...labelled('far'), data: { v: '1' } });
    await served(
      shopDefinition([external, configMap('own', '${schema.metadata.name}-own', { v: '${far.data.v}' })]),
    );
    await cluster.write(shopInstance());
    await active();
    let failing = true;
    let tries = 0;
    between.act = async (handler, request) => {
      if (request.method === 'PATCH' && request.path.includes('/shops/one')) {
        tries += 1;
        if (failing) throw new Error('connect ECONNREFUSED');
      }
      return handler(request);
    };
    // The pass ends before it has looked at anything: its interest of before is kept.
    await cluster.write({ ...shopInstance(), metadata: { name: 'one', labels: { 'kro.run/owned': 'no' } } });
    await cluster.until(() => tries >= 6, 'some failures');
    const before = tries;
    await cluster.write({ ...labelled('far'), data: { v: '2' } });
    await cluster.rest(10);
    expect(tries).toBe(before + 1);
    failing = false;
    await cluster.until(() => dataOf(map('one-own'))['v'] === '2', 'the change');
  });

  it('[R97] that do not start hold nobody else up', async () => {
    const between = interposed();
    cluster = await startGraphCluster(between.settings);
    await cluster.write({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    });
    await served(shopDefinition([configMap('first', '${schema.metadata.name}-1')]));
    const stuck = {
      id: 'widget',
      template: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: '${schema.metadata.name}' },
      },
    };
    await served(shopDefinition([stuck], { kind: 'Stall', spec: SPEC }, 'stall'));
    async function slowest(prefix: string): Promise<number> {
      let longest = 0;
      for (let index = 0; index < 20; index++) {
        const name = `${prefix}${index}`;
        const began = cluster.runtime.clock.monotonic();
        await cluster.write(shopInstance({}, name));
        await active(name);
        longest = Math.max(longest, cluster.runtime.clock.monotonic() - began);
      }
      return longest;
    }
    const before = await slowest('a');
    let waiting = 0;
    between.act = (handler, request) => {
      if (!request.path.includes('/widgets')) return handler(request);
      waiting += 1;
      // An API server that takes requests and never answers.
      return new Promise((_resolve, reject) => {
        request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
      });
    };
    for (let index = 0; index < 30; index++)
      await cluster.write({ ...shopInstance({}, `s${index}`), kind: 'Stall' });
    await cluster.rest(10_000);
    expect(waiting).toBeGreaterThan(0);
    const stall = (): KubeObject | undefined => cluster.stored('kro.run/stalls/default/s29');
    expect(stateOf(stall())).not.toBe('ACTIVE');
    expect(await slowest('b')).toBe(before);
    await cluster.rest(60_000);
    expect(conditionMessage(stall(), 'ResourcesReady')).toContain('Widget default/s29 cannot be read');
    expect(await slowest('c')).toBe(before);
    between.act = (handler, request) => handler(request);
    await cluster.until(() => stateOf(stall()) === 'ACTIVE', 'it works in the end', 120_000);
  });

  it('[R98] and a defect in one pass is contained: it is counted, and others go on', async () => {
    const between = interposed();
    cluster = await startGraphCluster(between.settings);
    await served(shopDefinition([configMap('first', '${schema.metadata.name}-1')]));
    let defect = true;
    between.act = async (handler, request) => {
      // An answer that is none makes the code behind it fail by a TypeError.
      if (defect && request.method === 'PATCH' && request.path.includes('/shops/bad/status'))
        return undefined as unknown as Response;
      return handler(request);
    };
    await cluster.write(shopInstance({}, 'bad'));
    await cluster.write(shopInstance({}, 'good'));
    await active('good');
    const panics = (): number =>
      Number(
        /^dynamic_controller_reconcile_panics_total (\d+)$/m.exec(cluster.graphs?.metrics() ?? '')?.[1] ?? 0,
      );
    await cluster.until(() => panics() > 0, 'the count');
    await cluster.write(shopInstance({}, 'later'));
    await active('later');
    expect(stateOf(shop('bad'))).toBe('');
    defect = false;
    await active('bad');
  });
});
