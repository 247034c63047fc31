import { afterEach, describe, expect, it } from 'vitest';
import { WORKLOAD_UPDATE_ANNOTATION } from '../../src/engine/dispatch/index.ts';
import { ROLLOUT_ACTION } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { deployments, pods } from '../../src/kube/well-known.ts';
import { at } from '../../src/schema/json.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { merge, openShop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function web(replicas: number, image: string, spec: object = {}, annotations: object = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: template(image, annotations),
      ...spec,
    },
  };
}

function template(image: string, annotations: object = {}): object {
  return {
    metadata: { labels: { app: 'web' }, annotations },
    spec: { containers: [{ name: 'main', image }] },
  };
}

const CANARY = {
  strategy: 'Canary',
  canary: {
    steps: [
      { weight: 10, pauseSeconds: 300 },
      { weight: 45, pauseSeconds: 600 },
    ],
  },
  timeoutSeconds: 600,
};

const ROLLOUT = { timeoutSeconds: 7200, degradedSeconds: 30 };

function podsWith(image: string, spoke: string, name = 'web'): KubeObject[] {
  return storedBelow(fleet.spoke(spoke), 'core/pods/shop').filter(
    (pod) =>
      pod.metadata.name?.startsWith(`${name}-`) === true &&
      pod.metadata.deletionTimestamp === undefined &&
      at(pod, 'spec', 'containers') !== undefined &&
      JSON.stringify(at(pod, 'spec', 'containers')).includes(`"${image}"`),
  );
}

function isReady(pod: KubeObject): boolean {
  return JSON.stringify(at(pod, 'status', 'conditions') ?? []).includes('"type":"Ready","status":"True"');
}

function live(spoke: string, kind = 'deployments'): KubeObject | undefined {
  return stored(fleet.spoke(spoke), `apps/${kind}/shop/web`);
}

function progress(spoke: string, kind = 'deployments'): { template?: string; change?: { step: number } } {
  const text = live(spoke, kind)?.metadata.annotations?.[WORKLOAD_UPDATE_ANNOTATION];
  return JSON.parse(text ?? '{}') as object;
}

async function open(
  names: readonly string[],
  object: KubeObject,
  workloadUpdate: object,
  rollout: object = ROLLOUT,
): Promise<void> {
  fleet = await simulateFleet(91, names, { workloads: true });
  await openShop(fleet, [object], {
    resourceSelectors: [{ apiVersion: object.apiVersion, kind: object.kind, name: 'web' }],
    apply: { workloadUpdate },
    rollout,
  });
  await fleet.until(() => phase() === 'Succeeded', 'the first everywhere', 600_000);
}

function phase(): string {
  return (shopStatus(fleet)['rollout'] as { phase?: string } | undefined)?.phase ?? '';
}

async function change(image: string, annotations: object = {}): Promise<void> {
  await merge(fleet, fleet.hub, deployments, 'shop', 'web', {
    spec: { template: template(image, annotations) },
  });
}

describe('a change inside of one cluster', () => {
  it('[K91] takes no more pods than the weight of the step, and gives the fields back', async () => {
    const own = { strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } }, minReadySeconds: 3 };
    await open(['a'], web(20, 'shop/web:1', own), CANARY);
    const before = live('a')?.['spec'];
    await change('shop/web:2');
    const most = [2, 9, 20];
    let held = 0;
    const start = fleet.runtime.clock.now();
    await fleet.until(
      () => {
        const fresh = podsWith('shop/web:2', 'a').length;
        const { change: under } = progress('a');
        if (under) {
          expect(fresh).toBeLessThanOrEqual(most[under.step] ?? 0);
          held = Math.max(held, under.step);
        }
        const ready = [...podsWith('shop/web:1', 'a'), ...podsWith('shop/web:2', 'a')].filter(isReady);
        expect(ready.length).toBeGreaterThanOrEqual(20);
        return phase() === 'Succeeded' && fresh === 20;
      },
      'the second everywhere',
      3_600_000,
    );
    expect(held).toBe(2);
    expect(fleet.runtime.clock.now() - start).toBeGreaterThan(900_000);
    const { template: _old, ...kept } = before as { template: object };
    const { template: _new, ...now } = (live('a')?.['spec'] ?? {}) as { template?: object };
    expect(now).toEqual(kept);
    expect(progress('a').change).toBeUndefined();
  });

  it('[K91] goes on with the hub away, and with its spoke killed in the middle', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await change('shop/web:2');
    await fleet.until(() => podsWith('shop/web:2', 'a').some(isReady), 'the first step');
    fleet.cut('a');
    await fleet.rest(200_000);
    await fleet.kill('a');
    await fleet.rest(50_000);
    await fleet.start('a');
    await fleet.rest(20_000);
    expect(podsWith('shop/web:2', 'a')).toHaveLength(1);
    await fleet.until(
      () => {
        const { change: under } = progress('a');
        expect(podsWith('shop/web:2', 'a').length).toBeLessThanOrEqual([1, 5, 10][under?.step ?? 2] ?? 0);
        return under === undefined;
      },
      'the end without the hub',
      1_200_000,
    );
    expect(podsWith('shop/web:2', 'a').filter(isReady)).toHaveLength(10);
    expect(phase()).toBe('Progressing');
    fleet.heal('a');
    await fleet.until(() => phase() === 'Succeeded', 'the hub knows', 600_000);
  });

  it('[K91] stops where pods do not come, and the cluster fails and goes back at once', async () => {
    const rollback = { automatic: true, scope: 'Stage' };
    await open(['a', 'b'], web(10, 'shop/web:1'), CANARY, {
      ...ROLLOUT,
      rollback,
      stages: [{ name: 'first', clusterNames: ['a'] }, { name: 'rest' }],
    });
    await change('shop/web:2', { 'sim.atoll.dev/fail': 'never-ready' });
    let told = '';
    await fleet.until(
      () => {
        expect(podsWith('shop/web:2', 'a').length).toBeLessThanOrEqual(1);
        expect(podsWith('shop/web:1', 'a').filter(isReady).length).toBeGreaterThanOrEqual(9);
        const [dispatch] = dispatchesOn(fleet.spoke('a'));
        if (conditionOf(dispatch, 'Healthy') === 'False/WorkloadUpdateTimedOut')
          told = conditionMessage(dispatch, 'Healthy');
        return phase() === 'RolledBack';
      },
      'going back',
      3_600_000,
    );
    expect(told).toBe(
      'Deployment web: stopped at step 1 of 2 (10 %): 0 of 1 new pods are available after 600 s',
    );
    expect(podsWith('shop/web:2', 'b')).toHaveLength(0);
    await fleet.until(() => progress('a').change === undefined, 'the fields are given back');
    expect(podsWith('shop/web:1', 'a').filter(isReady)).toHaveLength(10);
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBeUndefined();
    expect(at(live('a'), 'spec', 'progressDeadlineSeconds')).toBe(600);
  });

  it('[K91] stays where it stopped until something is ordered anew, and goes on from there', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await change('shop/web:2', { 'sim.atoll.dev/fail': 'never-ready' });
    await fleet.until(() => phase() === 'Failed', 'the failure', 3_600_000);
    const { client } = fleet.spoke('a');
    const heal = async (): Promise<void> => {
      for (const { metadata } of podsWith('shop/web:2', 'a'))
        if (metadata.annotations?.['sim.atoll.dev/fail'] !== undefined)
          await fleet.run(
            client.patch(pods, 'shop', metadata.name ?? '', 'merge', {
              metadata: { annotations: { 'sim.atoll.dev/fail': null } },
            }),
          );
    };
    await heal();
    await fleet.rest(120_000);
    expect(podsWith('shop/web:2', 'a').filter(isReady)).toHaveLength(1);
    expect(conditionOf(dispatchesOn(fleet.spoke('a'))[0], 'Healthy')).toBe('False/WorkloadUpdateTimedOut');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { apply: { workloadUpdate: { timeoutSeconds: 700 } } },
    });
    await fleet.until(
      async () => {
        await heal();
        return phase() === 'Succeeded' && podsWith('shop/web:2', 'a').length === 10;
      },
      'the end',
      3_600_000,
    );
  });

  it('[K91] goes on from where it stopped when the rollout is tried again', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await change('shop/web:2', { 'sim.atoll.dev/fail': 'never-ready' });
    await fleet.until(() => phase() === 'Failed', 'the failure', 3_600_000);
    const order = (): unknown => at(dispatchesOn(fleet.spoke('a'))[0], 'spec', 'position', 'generation');
    const before = Number(order());
    const heal = async (): Promise<void> => {
      for (const { metadata } of podsWith('shop/web:2', 'a'))
        if (metadata.annotations?.['sim.atoll.dev/fail'] !== undefined)
          await merge(fleet, fleet.spoke('a'), pods, 'shop', metadata.name ?? '', {
            metadata: { annotations: { 'sim.atoll.dev/fail': null } },
          });
    };
    await heal();
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(ROLLOUT_ACTION), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'RolloutAction',
        metadata: { name: 'again', namespace: 'shop' },
        spec: { target: { kind: 'Propagation', name: 'shop' }, action: 'Retry' },
      } as KubeObject),
    );
    await fleet.until(
      async () => {
        await heal();
        return phase() === 'Succeeded' && podsWith('shop/web:2', 'a').length === 10;
      },
      'the end',
      3_600_000,
    );
    expect(order()).toBe(before + 1);
  });

  it('[K91] is not let loose by whoever takes its notes off, also while the spoke is away', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await change('shop/web:2');
    await fleet.until(() => podsWith('shop/web:2', 'a').some(isReady), 'the first step');
    const take = async (value: string | null): Promise<void> => {
      const metadata = { annotations: { [WORKLOAD_UPDATE_ANNOTATION]: value } };
      await merge(fleet, fleet.spoke('a'), deployments, 'shop', 'web', { metadata });
    };
    for (const value of [null, '{"template":"x","change":{"step":-1}}', 'ø'.repeat(5_000)]) {
      await take(value);
      await fleet.rest(20_000);
      expect(podsWith('shop/web:2', 'a')).toHaveLength(1);
      expect(progress('a').change?.step).toBe(0);
    }
    await fleet.kill('a');
    await fleet.start('a');
    await take(null);
    await fleet.rest(20_000);
    expect(podsWith('shop/web:2', 'a')).toHaveLength(1);
    await fleet.until(() => podsWith('shop/web:2', 'a').length === 10, 'the end', 1_800_000);
    await fleet.until(() => progress('a').change === undefined, 'the fields are given back');
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBeUndefined();
    expect(at(live('a'), 'spec', 'strategy', 'rollingUpdate', 'maxSurge')).toBe('25%');
  });

  it('[K91] begins anew with other content in the middle, and goes back without steps', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await change('shop/web:2');
    await fleet.until(() => podsWith('shop/web:2', 'a').length === 1, 'one of the second');
    await change('shop/web:3');
    await fleet.until(() => {
      expect(podsWith('shop/web:3', 'a').length).toBeLessThanOrEqual(1);
      return podsWith('shop/web:3', 'a').some(isReady);
    }, 'one of the third');
    expect(podsWith('shop/web:1', 'a').length).toBeGreaterThanOrEqual(8);
    await change('shop/web:1');
    await fleet.until(() => podsWith('shop/web:1', 'a').filter(isReady).length === 10, 'all of the first');
    await fleet.until(() => progress('a').change === undefined, 'the end');
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBeUndefined();
  });

  it('[K91] holds StatefulSets by their partition', async () => {
    const { spec, ...rest } = web(10, 'shop/web:1');
    const set = { ...rest, kind: 'StatefulSet', spec: { ...(spec as object), serviceName: 'web' } };
    await open(['a'], set, CANARY);
    const sets = await fleet.run(fleet.hub.client.resourceFor('apps/v1', 'StatefulSet'));
    await merge(fleet, fleet.hub, sets, 'shop', 'web', { spec: { template: template('shop/web:2') } });
    await fleet.until(
      () => {
        const { change: under } = progress('a', 'statefulsets');
        const fresh = podsWith('shop/web:2', 'a').length;
        if (under) expect(fresh).toBeLessThanOrEqual([1, 5, 10][under.step] ?? 0);
        return fresh === 10 && under === undefined;
      },
      'the end',
      1_800_000,
    );
    expect(at(live('a', 'statefulsets'), 'spec', 'updateStrategy', 'rollingUpdate', 'partition')).toBe(0);
  });

  it('[K91] replaces all pods at the same time where that is asked for, and gives back what others set', async () => {
    const own = { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
    await open(['a'], web(6, 'shop/web:1', own), { strategy: 'AllAtOnce' });
    await merge(fleet, fleet.spoke('a'), deployments, 'shop', 'web', { spec: { minReadySeconds: 7 } });
    await change('shop/web:2');
    let least = 6;
    await fleet.until(
      () => {
        least = Math.min(least, podsWith('shop/web:1', 'a').length);
        const all = podsWith('shop/web:2', 'a');
        if (all.length > 0) expect(podsWith('shop/web:1', 'a')).toHaveLength(0);
        return all.filter(isReady).length === 6 && progress('a').change === undefined;
      },
      'the end',
      600_000,
    );
    expect(least).toBe(0);
    expect(at(live('a'), 'spec')).toMatchObject({
      minReadySeconds: 7,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { apply: { workloadUpdate: CANARY } },
    });
    await fleet.until(() => phase() === 'Succeeded', 'the strategy', 600_000);
    await change('shop/web:3');
    await fleet.until(
      () => podsWith('shop/web:3', 'a').length === 6 && progress('a').change === undefined,
      'in steps',
      1_800_000,
    );
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBe(7);
  });

  it('holds what is replaced as a whole as well, and lets a DaemonSet change at once', async () => {
    await open(['a'], web(10, 'shop/web:1'), CANARY);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { apply: { strategy: 'Update' } } });
    await fleet.until(() => phase() === 'Succeeded', 'the strategy', 600_000);
    await change('shop/web:2');
    await fleet.until(() => {
      expect(podsWith('shop/web:2', 'a').length).toBeLessThanOrEqual(1);
      return podsWith('shop/web:2', 'a').some(isReady);
    }, 'the first step');
    await fleet.until(
      () => podsWith('shop/web:2', 'a').length === 10 && progress('a').change === undefined,
      'the end',
      1_800_000,
    );
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBeUndefined();
    expect(at(live('a'), 'spec', 'strategy', 'rollingUpdate', 'maxUnavailable')).toBe('25%');
    await fleet.stop();

    const { spec, ...rest } = web(1, 'shop/web:1');
    const { replicas: _replicas, ...own } = spec as { replicas: number };
    await open(['a'], { ...rest, kind: 'DaemonSet', spec: own }, { strategy: 'AllAtOnce' });
    const sets = await fleet.run(fleet.hub.client.resourceFor('apps/v1', 'DaemonSet'));
    await merge(fleet, fleet.hub, sets, 'shop', 'web', { spec: { template: template('shop/web:2') } });
    const unavailable = (): unknown =>
      at(live('a', 'daemonsets'), 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable');
    await fleet.until(() => unavailable() === '100%', 'at once');
    await fleet.until(
      () => podsWith('shop/web:2', 'a').some(isReady) && progress('a', 'daemonsets').change === undefined,
      'the end',
      600_000,
    );
    expect(unavailable()).toBe(1);
  });

  it('gives the fields back to a workload that is let go of in the middle', async () => {
    const own = { strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 1 } } };
    await open(['a'], web(10, 'shop/web:1', own), CANARY);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { apply: { preserveOnDeletion: true } },
    });
    await fleet.until(() => phase() === 'Succeeded', 'the strategy', 600_000);
    await change('shop/web:2');
    await fleet.until(() => podsWith('shop/web:2', 'a').some(isReady), 'the first step');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => podsWith('shop/web:2', 'a').length === 10, 'its own way', 600_000);
    expect(progress('a')).toEqual({});
    expect(at(live('a'), 'spec')).toMatchObject({
      progressDeadlineSeconds: 600,
      strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 1 } },
    });
    expect(at(live('a'), 'spec', 'minReadySeconds')).toBeUndefined();
  });

  it('refuses what cannot be done, and says why', async () => {
    fleet = await simulateFleet(91, ['a'], { workloads: true });
    const spec = (more: object): object => ({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }],
      ...more,
    });
    const asked = (more: object): Promise<void> =>
      openShop(fleet, [], spec({ apply: { workloadUpdate: more } }));
    await expect(asked({ strategy: 'BlueGreen' })).rejects.toThrow(
      /Unsupported value: "BlueGreen": supported values: .*"AllAtOnce".*"Canary".*"Rolling"|"Rolling".*"Canary".*"AllAtOnce"/,
    );
    const create = (more: object): Promise<unknown> =>
      fleet.run(
        fleet.hub.client.create(PROPAGATIONS, {
          apiVersion: 'atoll.dev/v1alpha1',
          kind: 'Propagation',
          metadata: { name: 'shop', namespace: 'shop' },
          spec: spec({ placement: { clusterSelector: {} }, ...more }),
        } as KubeObject),
      );
    await expect(create({ apply: { workloadUpdate: { strategy: 'Canary' } } })).rejects.toThrow(
      'canary is for the strategy Canary',
    );
    await fleet.run(fleet.hub.client.create(deployments, web(10, 'shop/web:1')));
    await create({ apply: { workloadUpdate: CANARY }, rollout: { timeoutSeconds: 900 } });
    await fleet.until(
      () => JSON.stringify(shopStatus(fleet)).includes('raise spec.rollout.timeoutSeconds'),
      'the reason',
    );
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: {
        rollout: { timeoutSeconds: 1000 },
        apply: { ignoreFields: [{ condition: 'OnPresent', paths: ['spec.strategy'] }] },
      },
    });
    const told = (): string => conditionMessage(dispatchesOn(fleet.spoke('a'))[0], 'Applied');
    await fleet.until(() => told().includes('its update cannot be held'), 'the reason of the spoke');
  });
});
