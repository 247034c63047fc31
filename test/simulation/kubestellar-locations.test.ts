import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EDGE_PLACEMENT } from '../../src/dialects/kubestellar/index.ts';
import { customResourceDefinition } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { at, listAt } from '../../src/schema/json.ts';
import { applyAll, established } from './federation.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, stored, storedBelow } from './fleet.ts';
import { kubestellarFleet, kubestellarWords } from './kubestellar-words.ts';
import { configMap, merge } from './shop.ts';

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await kubestellarFleet();
});
afterEach(async () => fleet?.stop());
const { apply, bindingOf, listedBy, held } = kubestellarWords(() => fleet);

describe('placements by locations', () => {
  beforeEach(async () => {
    await applyAll(fleet, fleet.hub, [customResourceDefinition(EDGE_PLACEMENT)]);
    await fleet.until(() => established(fleet.hub, 'locations.edge.kubestellar.io'), 'its kinds');
  });
  const location = (name: string, labels: Record<string, string>, instanceSelector: object): KubeObject => ({
    apiVersion: 'edge.kubestellar.io/v2alpha1',
    kind: 'Location',
    metadata: { name, labels },
    spec: {
      resource: { group: 'edge.kubestellar.io', version: 'v2alpha1', resource: 'synctargets' },
      instanceSelector,
    },
  });
  const placement = (locationSelectors: object[]): KubeObject => ({
    apiVersion: 'edge.kubestellar.io/v2alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'p' },
    spec: {
      locationSelectors,
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    },
  });
  const destinations = (): unknown[] =>
    listAt(stored(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-/p'), 'destinations').map(
      (item) => `${at(item, 'locationName')}/${at(item, 'syncTargetName')}`,
    );
  const edge = (kind: string, name: string): KubeObject | undefined =>
    stored(fleet.hub, `edge.kubestellar.io/${kind}/-/${name}`);

  it('[S11] go to all SyncTargets of a Location', async () => {
    await apply(
      configMap('settings', 'red'),
      location(
        'prod',
        { env: 'prod' },
        { matchExpressions: [{ key: 'site', operator: 'In', values: ['a', 'b'] }] },
      ),
      placement([{ matchLabels: { env: 'prod' } }]),
    );
    await fleet.until(() => held('settings').length === 2, 'the map');
    expect(destinations()).toEqual(['prod/a', 'prod/b']);
    await fleet.until(
      () => at(edge('edgeplacements', 'p'), 'status', 'matchingLocationCount') === 1,
      'it is counted',
    );
    await fleet.until(() => at(edge('locations', 'prod'), 'status', 'instances') === 2, 'and so are they');
    expect(listedBy('p')).toEqual(['configmaps shop/settings']);
    await apply(location('prod', { env: 'prod' }, { matchLabels: { site: 'b' } }));
    await fleet.until(() => held('settings').join() === 'b', 'a is left');
    expect(destinations()).toEqual(['prod/b']);
  });

  it('[S42] tell where they go in slices of a hundred, and take back those that are too many', async () => {
    const target = (index: number): KubeObject => ({
      apiVersion: 'edge.kubestellar.io/v2alpha1',
      kind: 'SyncTarget',
      metadata: { name: `t-${1000 + index}`, labels: { pool: 'far', half: String(index % 2) } },
    });
    await apply(...Array.from({ length: 250 }, (_, index) => target(index)));
    await apply(location('far', { env: 'far' }, { matchLabels: { pool: 'far' } }));
    await apply(placement([{ matchLabels: { env: 'far' } }]));
    const sizes = (): number[] =>
      storedBelow(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-').map(
        (slice) => listAt(slice, 'destinations').length,
      );
    await fleet.until(() => sizes().join() === '100,100,50', 'three slices');
    const union = storedBelow(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-').flatMap((slice) =>
      listAt(slice, 'destinations').map((item) => at(item, 'syncTargetName')),
    );
    expect(new Set(union)).toEqual(new Set(Array.from({ length: 250 }, (_, index) => `t-${1000 + index}`)));
    await apply(location('far', { env: 'far' }, { matchLabels: { pool: 'far', half: '1' } }));
    await fleet.until(() => sizes().join() === '100,25', 'two are enough');
  });

  it('see SpokeClusters as SyncTargets, and as Locations where nobody described any', async () => {
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', {
      metadata: { labels: { env: 'prod' }, annotations: { floor: '3' } },
    });
    await apply(configMap('settings', 'red'), placement([{ matchLabels: { env: 'prod' } }]));
    await fleet.until(() => held('settings').join() === 'a', 'the map');
    expect(destinations()).toEqual(['a/a']);
    expect(edge('locations', 'a')?.metadata).toMatchObject({
      labels: { env: 'prod' },
      annotations: { floor: '3' },
    });
    await apply(location('mine', { env: 'test' }, { matchLabels: { site: 'a' } }));
    await fleet.until(() => edge('locations', 'a') === undefined, 'somebody described it');
    await fleet.until(() => held('settings').length === 0, 'it is no longer at a place of that kind');
    expect(edge('synctargets', 'a')).toBeDefined();
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('edge.kubestellar.io/v2alpha1', 'EdgePlacement'),
    );
    await fleet.run(fleet.hub.client.delete(resource, '', 'p'));
    await fleet.until(() => edge('edgeplacements', 'p') === undefined, 'it is gone');
    expect(bindingOf('p')).toBeUndefined();
  });
});
