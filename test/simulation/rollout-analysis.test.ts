import { afterEach, describe, expect, it } from 'vitest';
import { ANALYSIS_PROVIDER } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Request, Response } from '../../src/kube/exchange.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, merge, openShop, paint, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const colours = (): string => fleet.spokes.map((spoke) => colour(spoke) || '-').join(' ');
const phase = (): string => (shopStatus(fleet)['rollout'] as { phase?: string } | undefined)?.phase ?? '';
const message = (): string =>
  (shopStatus(fleet)['rollout'] as { message?: string } | undefined)?.message ?? '';

describe('a rollout that is measured', () => {
  it('[K79] goes on while the metric is right, and stops and goes back when it is not twice in a row', async () => {
    let errors = '0.2';
    const asked: string[] = [];
    const prometheus = async ({ path, headers }: Request): Promise<Response> => {
      asked.push(`${path} ${headers['accept']}`);
      const data = { resultType: 'vector', result: [{ metric: {}, value: [1, errors] }] };
      if (errors === 'down') return { status: 503, headers: {}, body: Buffer.from('') };
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ status: 'success', data })) };
    };
    fleet = await simulateFleet(61, ['a', 'b', 'c'], { direct: { prometheus } });
    const metric = { name: 'errors', provider: 'metrics', query: 'sum(errors)', condition: '< 1' };
    const rollout = {
      stages: [{ name: 'one', clusterNames: ['a'] }, { name: 'two', clusterNames: ['b'] }, { name: 'three' }],
      analysis: { metrics: [{ ...metric, failureLimit: 2 }], intervalSeconds: 30, initialDelaySeconds: 60 },
      rollback: { automatic: true, scope: 'Fleet' },
    };
    await openShop(fleet, undefined, {});
    await fleet.until(() => colours() === 'red red red', 'red everywhere');
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(ANALYSIS_PROVIDER), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'AnalysisProvider',
        metadata: { name: 'metrics', namespace: 'shop' },
        spec: { type: 'Prometheus', url: 'https://prometheus.test' },
      }),
    );
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout } });
    await fleet.until(() => phase() === 'Succeeded', 'what is there', 600_000);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colours() === 'blue red red', 'stage one');
    await fleet.rest(50_000);
    expect(colours()).toBe('blue red red');
    await fleet.until(() => colours() === 'blue blue red', 'stage two', 60_000);
    expect(asked.at(-1)).toBe('/api/v1/query?query=sum(errors) application/json');
    // A provider that does not answer is no failure of the metric: it holds the stage up, and says so.
    errors = 'down';
    await fleet.rest(300_000);
    expect(colours()).toBe('blue blue red');
    expect(message()).toContain('no fresh sample yet with errors < 1');
    errors = '7';
    await fleet.until(() => colours() === 'red red red', 'gone back', 120_000);
    await fleet.until(() => phase() === 'RolledBack', 'the word', 60_000);
    expect(message()).toContain('errors is 7, must be < 1 (2 in a row)');
  });
});
