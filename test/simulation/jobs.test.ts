import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionMessage, PROPAGATIONS, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { merge, openShop, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function job(name: string, spec: object): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'shop' },
    spec: {
      suspend: true,
      ...spec,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'load:1' }] } },
    },
  };
}

/** Parallelism and completions of a Job, by cluster. */
function shares(name: string): Record<string, (number | undefined)[]> {
  const out: Record<string, (number | undefined)[]> = {};
  for (const spoke of fleet.spokes) {
    const spec = stored(spoke, `batch/jobs/shop/${name}`)?.['spec'] as
      | { parallelism?: number; completions?: number }
      | undefined;
    if (spec) out[spoke.name] = [spec.parallelism, spec.completions];
  }
  return out;
}

describe('Jobs on several clusters', () => {
  it('[A44] share parallelism and completions, keep what they have, and leave work queues alone', async () => {
    fleet = await simulateFleet(91, ['a', 'b', 'c', 'd']);
    const weights = [
      ['c', 2],
      ['a', 5],
      ['b', 3],
      ['d', 2],
    ] as const;
    await openShop(
      fleet,
      [job('load', { parallelism: 10, completions: 100 }), job('queue', { parallelism: 10 })],
      {
        resourceSelectors: [{ apiVersion: 'batch/v1', kind: 'Job' }],
        placement: { clusterNames: ['c', 'b', 'a'] },
        replicas: { preferences: weights.map(([name, weight]) => ({ clusterNames: [name], weight })) },
      },
    );
    const first = { a: [5, 50], b: [3, 30], c: [2, 20] };
    await fleet.until(() => Object.keys(shares('load')).length === 3, 'the Job everywhere');
    expect(shares('load')).toEqual(first);
    expect(shares('queue')).toEqual({ a: [5, undefined], b: [3, undefined], c: [2, undefined] });
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(5_000);
    expect(shares('load')).toEqual(first);
    // A cluster that is left: nobody who has the Job can take what it had, and a new cluster can.
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterNames: ['a', 'c'] }, deletionBudget: '100%' },
    });
    await fleet.until(() => shares('load')['b'] === undefined, 'b is left');
    expect([shares('load')['a']?.[1], shares('load')['c']?.[1]]).toEqual([50, 20]);
    await fleet.until(
      () => conditionMessage(shop(fleet), 'Placed').includes('30 of its completions'),
      'it is told',
    );
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterNames: ['a', 'c', 'd'] } },
    });
    await fleet.until(() => shares('load')['d'] !== undefined, 'd has it');
    expect(Object.values(shares('load')).map(([, completions]) => completions)).toEqual([50, 20, 30]);
  });
});
