import { afterEach, describe, expect, it } from 'vitest';
import { INCIDENT } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, merge, openShop, paint, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const INCIDENTS = resourceIdOf(INCIDENT);

interface Told {
  phase?: string;
  message?: string;
  reason?: string;
  stages?: { name: string; clusters: number }[];
}

const rollout = (): Told => (shopStatus(fleet)['rollout'] ?? {}) as Told;
const colours = (): string => fleet.spokes.map((spoke) => colour(spoke) || '-').join(' ');

async function open(strategy: object): Promise<void> {
  fleet = await simulateFleet(94, ['a', 'b', 'c']);
  await openShop(fleet, undefined, { rollout: {} });
  await fleet.until(() => rollout().phase === 'Succeeded', 'red everywhere');
  await strategyIs(strategy);
}

async function strategyIs(rolloutSpec: object): Promise<void> {
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout: rolloutSpec } });
  await fleet.rest(1_000);
}

function incident(severity: string, namespace = 'shop'): KubeObject {
  const { kind } = INCIDENT;
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind,
    metadata: { name: severity.toLowerCase(), namespace },
    spec: { severity },
  };
}

const stages = [
  { name: 'canary', clusterNames: ['a'], soakSeconds: 60 },
  { name: 'rest', soakSeconds: 1 },
];

describe('incidents', () => {
  it('[K80] that are open pause the rollouts that name them, over restarts, until they are closed', async () => {
    await open({ stages, pauseOnIncidents: ['P1', 'P2'] });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colours() === 'blue red red', 'blue on a');
    await fleet.run(fleet.hub.client.create(INCIDENTS, incident('P3')));
    await fleet.run(fleet.hub.client.create(INCIDENTS, incident('P1')));
    await fleet.until(() => rollout().reason === 'Incident', 'paused', 120_000);
    expect(rollout().message).toMatch(/open incidents: P1/);
    await fleet.rest(600_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(600_000);
    expect(colours()).toBe('blue red red');
    // A new content does not start either.
    await paint(fleet, fleet.hub, 'green');
    await fleet.rest(60_000);
    expect(colours()).toBe('blue red red');
    await merge(fleet, fleet.hub, INCIDENTS, 'shop', 'p1', { spec: { closed: true } });
    await fleet.until(() => colours() === 'green green green', 'it goes on', 600_000);
    // One of the hub itself concerns all, and one that is gone is over.
    await fleet.run(fleet.hub.client.create(INCIDENTS, incident('P2', 'atoll-system')));
    await fleet.run(fleet.hub.client.create(INCIDENTS, incident('P1', 'default')));
    await paint(fleet, fleet.hub, 'gold');
    await fleet.rest(60_000);
    expect(colours()).toBe('green green green');
    await fleet.run(fleet.hub.client.delete(INCIDENTS, 'atoll-system', 'p2'));
    await fleet.until(() => colours() === 'gold gold gold', 'it goes on', 600_000);
  });
});

describe('clusters that skip a stage', () => {
  it('belong to the next one that means them', async () => {
    const all = [{ name: 'canary', clusterNames: ['a', 'b'], approval: {} }, { name: 'rest' }];
    await open({ stages: all, skipStages: [{ stages: ['canary'], clusterNames: ['b'] }] });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Approval', 'waits');
    expect(rollout().stages?.map(({ name, clusters }) => `${name} ${clusters}`)).toEqual([
      'canary 1',
      'rest 2',
    ]);
    // Who has not started yet moves on, too; and there is nobody left whom the stage could wait for.
    await strategyIs({ stages: all, skipStages: [{ stages: ['canary'], clusterSelector: {} }] });
    await fleet.until(() => colours() === 'blue blue blue', 'everywhere', 600_000);
    await strategyIs({ stages: all, skipStages: [{ stages: ['none'], clusterNames: ['b'] }] });
    await fleet.until(() => rollout().phase === 'Refused', 'refused');
    expect(rollout().message).toMatch(/skipStages\[0\].stages: there is no stage none/);
  });
});
