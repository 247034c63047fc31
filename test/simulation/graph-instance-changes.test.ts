// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, expect, it } from 'vitest';
import { MANAGERS } from '../../src/engine/graph/index.ts';
import { conditionMessage } from './fleet.ts';
import {
  configMap,
  dataOf,
  type GraphCluster,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
  stateOf,
} from './graph-cluster.ts';

let cluster: GraphCluster;
afterEach(async () => cluster?.stop());

it('goes on with what an instance says since a pass over it wrote what it said before', async () => {
  let asked = 0;
  cluster = await startGraphCluster({
    network: (handler) => async (request) => {
      const isOfInstance = request.method === 'PATCH' && /\/shops\/one(\?|$)/.test(request.path);
      asked += isOfInstance ? 1 : 0;
      // The finalizer comes first; then the inventory, of what is about to be applied.
      if (isOfInstance && asked === 2)
        await cluster.client.patch(
          await cluster.client.resourceFor('kro.run/v1alpha1', 'Shop'),
          'default',
          'one',
          'merge',
          { spec: { colour: 'blue' } },
        );
      return handler(request);
    },
  });
  const { map, served, shop } = shopWords(() => cluster);
  await served(
    shopDefinition([
      configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' }),
      configMap('second', '${first.metadata.name}-2', { colour: '${first.data.colour}' }),
    ]),
  );
  await cluster.write(shopInstance({ colour: 'red' }));
  await cluster.until(() => dataOf(map('one-1-2'))['colour'] === 'blue', 'the later colour');
  await cluster.until(() => stateOf(shop()) === 'ACTIVE', 'the instance active');
  expect(asked).toBeGreaterThan(1);
  expect(dataOf(map('one-1'))['colour']).toBe('blue');
});

it('says so where its inventory cannot be written, and goes on once it can', async () => {
  let refusing = true;
  cluster = await startGraphCluster({
    network: (handler) => async (request) => {
      const { pathname, searchParams } = new URL(request.path, 'http://x');
      const isInventory = request.method === 'PATCH' && /\/shops\/one$/.test(pathname);
      if (!refusing || !isInventory || searchParams.get('fieldManager') !== MANAGERS.inventory)
        return handler(request);
      const message = 'metadata.annotations: Too long';
      const refused = {
        apiVersion: 'v1',
        kind: 'Status',
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message,
      };
      return { status: 422, headers: {}, body: Buffer.from(JSON.stringify(refused)) };
    },
  });
  const { map, served, shop } = shopWords(() => cluster);
  await served(shopDefinition([configMap('first', '${schema.metadata.name}-1')]));
  await cluster.write(shopInstance({ colour: 'red' }));
  const said = (): string => conditionMessage(shop(), 'InstanceManaged');
  await cluster.until(() => said().includes('Too long'), 'what is wrong');
  expect([stateOf(shop()), map('one-1')]).toEqual(['ERROR', undefined]);
  refusing = false;
  await cluster.until(() => stateOf(shop()) === 'ACTIVE', 'the instance active');
  expect(map('one-1')).toBeDefined();
});

it('gives up a pass over nodes that use each other without an end, says so, and can be deleted', async () => {
  let writes = 0;
  cluster = await startGraphCluster({
    network: (handler) => async (request) => {
      if (request.method === 'PATCH' && request.path.includes('/configmaps/')) writes += 1;
      return handler(request);
    },
  });
  const { map, served, shop } = shopWords(() => cluster);
  await served(
    shopDefinition([
      configMap('first', '${schema.metadata.name}-1', { seen: '${defer(second.metadata.resourceVersion)}' }),
      configMap('second', '${first.metadata.name}-2', { seen: '${first.metadata.resourceVersion}' }),
    ]),
  );
  await cluster.write(shopInstance({ colour: 'red' }));
  await cluster.until(() => stateOf(shop()) === 'ERROR', 'the instance in error');
  expect(JSON.stringify(shop()?.['status'])).toContain('do not come to an end');
  await cluster.rest(60_000);
  expect(writes).toBeLessThan(300);
  await cluster.remove('kro.run/v1alpha1', 'Shop', 'one');
  await cluster.until(() => map('one-1') === undefined && shop() === undefined, 'everything gone');
});
