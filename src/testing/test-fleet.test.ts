import { afterEach, describe, expect, it } from 'vitest';
import { PROPAGATION } from '../dialects/propagation/kinds.ts';
import { apiVersionOf, resourceIdOf } from '../kube/custom-resource.ts';
import type { KubeObject } from '../kube/object.ts';
import { configMaps } from '../kube/well-known.ts';
import { startTestFleet, type TestCluster, type TestFleet } from './index.ts';

let fleet: TestFleet | undefined;
afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
});

async function placeGreeting(on: TestFleet, text: string): Promise<void> {
  await on.run(
    on.hub.client.apply(
      configMaps,
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'greeting', namespace: 'default' },
        data: { text },
      } as KubeObject,
      { fieldManager: 'test' },
    ),
  );
  await on.run(
    on.hub.client.apply(
      resourceIdOf(PROPAGATION),
      {
        apiVersion: apiVersionOf(PROPAGATION),
        kind: PROPAGATION.kind,
        metadata: { name: 'greeting', namespace: 'default' },
        spec: {
          resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'greeting' }],
          placement: { clusterSelector: {} },
        },
      } as KubeObject,
      { fieldManager: 'test' },
    ),
  );
}

function greetingOn(cluster: TestCluster): unknown {
  const found = cluster.server.store.get('/core/configmaps/root/default/greeting')?.object;
  return (found?.['data'] as { text?: string } | undefined)?.text;
}

describe('a test fleet', { timeout: 20_000 }, () => {
  for (const virtualTime of [true, false])
    it(`converges after a cut link and a killed spoke, on ${virtualTime ? 'virtual' : 'real'} time`, async () => {
      fleet = await startTestFleet({ spokes: 2, virtualTime });
      const [one, two] = [fleet.spoke('spoke-1'), fleet.spoke('spoke-2')];
      await placeGreeting(fleet, 'hello');
      await fleet.until(
        () => [one, two].every((spoke) => greetingOn(spoke) === 'hello'),
        'that both are greeted',
      );

      fleet.cut('spoke-1');
      await fleet.kill('spoke-2');
      expect(two.engine).toBeUndefined();
      await placeGreeting(fleet, 'good bye');
      await fleet.rest(20);
      expect(greetingOn(one)).toBe('hello');

      fleet.heal('spoke-1');
      await fleet.start('spoke-2');
      await fleet.until(
        () => [one, two].every((spoke) => greetingOn(spoke) === 'good bye'),
        'that both are newly greeted',
      );
    });

  it('says which clusters there are', async () => {
    fleet = await startTestFleet({ spokes: ['north'], virtualTime: true });
    expect(() => fleet!.cut('south')).toThrow('no spoke south; there are north');
    await expect(fleet.add('north', fleet.hub)).rejects.toThrow('there is a cluster north already');
  });
});
