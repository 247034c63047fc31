// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, expect, it } from 'vitest';
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
