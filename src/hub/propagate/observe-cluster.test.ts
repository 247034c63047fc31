import { expect, it } from 'vitest';
import { summariseCluster } from '../../engine/summarise/summarise.ts';
import type { Fleet } from '../fleet.ts';
import { observeCluster } from './observe-cluster.ts';
import { trackedIntent } from './tracked.ts';

const object = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  metadata: { name: 'shop', namespace: 'shop', uid: '0123456789ab' },
};
const position = { lineage: 'own', epoch: 1, generation: 2 };
const fleet = {
  session: () => ({ live: true, dispatch: () => ({ status: { position, appliedGeneration: 2 } }) }),
} as unknown as Fleet;

it.each([
  ['Degraded', 'could not be brought', {}],
  ['Ready', 'is there, whatever its cluster says beside and cannot show', { unproven: true as const }],
])('a cluster is %s where its order %s', (word, _why, how) => {
  const item = trackedIntent('Propagation/shop/shop', object, undefined);
  item.problems.set('a', { message: 'no', ...how });
  expect(summariseCluster(observeCluster(fleet, item, 'a', { generation: 2, epoch: 1 })).word).toBe(word);
});
