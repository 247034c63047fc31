import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import { ROLLOUT_ACTION, type RolloutAction } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps, deployments } from '../../src/kube/well-known.ts';
import { seededRandom } from '../../src/runtime/index.ts';
import {
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const ACTIONS = resourceIdOf(ROLLOUT_ACTION);

/** The colour on each spoke, in the order of their names. */
function colours(): string {
  return fleet.spokes.map((spoke) => colour(spoke) || '-').join(' ');
}

interface Told {
  phase?: string;
  message?: string;
  reason?: string;
  revision?: number;
}

function rollout(): Told {
  return (shopStatus(fleet)['rollout'] ?? {}) as Told;
}

function revisions(): { number: number; cause?: string; by?: string }[] {
  return (shopStatus(fleet)['revisions'] ?? []) as { number: number }[];
}

async function reaches(phase: string, limitMs?: number): Promise<void> {
  await fleet.until(() => rollout().phase === phase, `phase ${phase}`, limitMs);
}

/** A fleet on which red is everywhere. */
async function open(names: readonly string[], strategy: object, more: object = {}): Promise<void> {
  fleet = await simulateFleet(41, names);
  await openShop(fleet, undefined, { rollout: strategy, ...more });
  await fleet.until(() => colours() === names.map(() => 'red').join(' '), 'red everywhere', 600_000);
  await reaches('Succeeded', 600_000);
}

async function change(spec: object): Promise<void> {
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec });
}

let said = 0;
/** Says something to the rollout, as somebody, and waits for the answer. */
async function say(spec: object, user: string = 'admin', ...groups: string[]): Promise<string> {
  said += 1;
  const name = `action-${said}`;
  const action = {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RolloutAction',
    metadata: { name, namespace: 'shop' },
    spec: { target: { kind: 'Propagation', name: 'shop' }, ...spec },
  } as RolloutAction;
  const client = createClient(fleet.hub.server.as({ name: user, groups: ['system:masters', ...groups] }));
  await fleet.run(client.create(ACTIONS, action));
  let answer: RolloutAction['status'];
  await fleet.until(
    async () => {
      answer = (await fleet.run(fleet.hub.client.get<RolloutAction>(ACTIONS, 'shop', name))).status;
      return answer?.state !== undefined;
    },
    `an answer to ${JSON.stringify(spec)}`,
  );
  return `${answer?.state}: ${answer?.message}`;
}

const stages = [{ name: 'canary', clusterNames: ['a'], soakSeconds: 60 }, { name: 'rest' }];

describe('a staged rollout', () => {
  it('[K92] changes the next stage only after the one before was healthy for the time, and no spec', async () => {
    fleet = await simulateFleet(41, ['a', 'b', 'c']);
    await openShop(fleet, undefined, { rollout: { stages } });
    await fleet.until(() => colours() === 'red - -', 'the first on a');
    await fleet.rest(30_000);
    expect(colours()).toBe('red - -');
    await fleet.until(() => colours() === 'red red red', 'the first everywhere', 120_000);
    await reaches('Succeeded');
    const spec = JSON.stringify(shop(fleet)?.['spec']);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colours() === 'blue red red', 'the second on a');
    await fleet.rest(30_000);
    expect(colours()).toBe('blue red red');
    expect(rollout()).toMatchObject({ phase: 'Progressing', reason: 'Soaking', revision: 2 });
    expect(shopStatus(fleet)).toMatchObject({ ready: 1, clusters: 3 });
    await fleet.until(() => colours() === 'blue blue blue', 'the second everywhere', 120_000);
    await reaches('Succeeded');
    expect(shopStatus(fleet)).toMatchObject({
      ready: 3,
      revisions: [
        { number: 2, by: 'admin', succeededAt: expect.any(String) },
        { number: 1, succeededAt: expect.any(String) },
      ],
    });
    expect(JSON.stringify(shop(fleet)?.['spec'])).toBe(spec);
  });

  it('begins no stage over a status that is stale, also after the hub started again', async () => {
    await open(['a', 'b'], { stages });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Soaking', 'blue on a');
    fleet.cut('a');
    await fleet.rest(300_000);
    expect(colours()).toBe('blue red');
    expect(rollout()).toMatchObject({ phase: 'Progressing', reason: 'StaleStatus' });
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(300_000);
    expect(colours()).toBe('blue red');
    fleet.heal('a');
    await fleet.until(() => colours() === 'blue blue', 'blue everywhere', 300_000);
    await reaches('Succeeded');
  });

  it('goes on where it was when the hub starts again, and tells no spoke anything anew', async () => {
    const asking = [
      { name: 'canary', clusterNames: ['a'] },
      { name: 'rest', approval: { users: ['ann'] } },
    ];
    fleet = await simulateFleet(41, ['a', 'b', 'c']);
    await openShop(fleet, undefined, { rollout: { stages: asking } });
    await fleet.until(() => rollout().reason === 'Approval', 'approval asked for');
    expect(await say({ action: 'Approve', stage: 'rest' }, 'ann')).toMatch(/^Done: /);
    await reaches('Succeeded');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Approval' && colours() === 'blue red red', 'asked again');
    const before = fleet.spokes.map((spoke) =>
      dispatchesOn(spoke).map(({ metadata }) => metadata.resourceVersion),
    );
    const orders = fleet.spokes.map((spoke) => dispatchesOn(spoke).map(({ spec }) => spec));
    const told = new Set<string>();
    for (let times = 0; times < 3; times++) {
      await fleet.kill('hub');
      await fleet.start('hub');
      for (let passed = 0; passed < 20_000; passed += 10) {
        await fleet.rest(passed < 2_000 ? 10 : 1_000);
        if (passed >= 2_000) passed += 990;
        told.add(`${rollout().phase} ${revisions().length}`);
      }
    }
    expect([...told]).toEqual(['Progressing 2']);
    expect(fleet.spokes.map((spoke) => dispatchesOn(spoke).map(({ spec }) => spec))).toEqual(orders);
    expect(
      fleet.spokes.map((spoke) => dispatchesOn(spoke).map(({ metadata }) => metadata.resourceVersion)),
    ).toEqual(before);
    expect(rollout()).toMatchObject({ phase: 'Progressing', reason: 'Approval' });
    expect(await say({ action: 'Approve', stage: 'rest' }, 'ann')).toMatch(/^Done: /);
    await fleet.until(() => colours() === 'blue blue blue', 'blue everywhere');
    await reaches('Succeeded');
    await fleet.rest(10_000);
    const rest = everything(fleet.hub);
    await fleet.rest(120_000);
    expect(everything(fleet.hub)).toEqual(rest);
  });

  it('says nothing to a spoke that keeps what it has while others go back', async () => {
    await open(['a', 'b', 'c'], { stages });
    await change({ rollout: { stages: [{ name: 'canary', clusterNames: ['a'], soakSeconds: 3600 }] } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colours() === 'blue red red', 'blue on a');
    const others = ['b', 'c'].map((name) => dispatchesOn(fleet.spoke(name))[0]?.metadata.resourceVersion);
    expect(await say({ action: 'Rollback' })).toMatch(/^Done: 1 clusters of all stages go back/);
    await fleet.until(() => colours() === 'red red red', 'red everywhere');
    await reaches('RolledBack');
    expect(['b', 'c'].map((name) => dispatchesOn(fleet.spoke(name))[0]?.metadata.resourceVersion)).toEqual(
      others,
    );
    // The next content goes its way as any other.
    await paint(fleet, fleet.hub, 'green');
    await fleet.until(() => colours() === 'green red red', 'green on a');
  });

  it('gives who joins what is everywhere, and takes all away from who leaves', async () => {
    await open(['a', 'b', 'c'], { stages });
    fleet.cut('a');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(5_000);
    const late = await fleet.add('d', fleet.hub);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('d')));
    await fleet.until(() => colour(late) === 'red', 'what is everywhere on d');
    await change({
      placement: {
        clusterSelector: { matchExpressions: [{ key: 'site', operator: 'NotIn', values: ['c'] }] },
      },
    });
    await fleet.until(() => colour(fleet.spoke('c')) === '', 'nothing on c');
    await change({ placement: { clusterSelector: { matchExpressions: null, matchLabels: {} } } });
    await fleet.until(() => colour(fleet.spoke('c')) === 'red', 'red again on c');
    fleet.heal('a');
    await fleet.until(() => colours() === 'blue blue blue blue', 'blue everywhere', 200_000);
    await reaches('Succeeded');
  });
});

describe('what people say to a rollout', () => {
  it('counts as theirs only, by the name that the API server knows', async () => {
    const approval = { groups: ['leads'], users: ['oncall'] };
    await open(['a', 'b'], { stages: [{ name: 'canary', clusterNames: ['a'] }] });
    await change({
      rollout: {
        stages: [
          { name: 'canary', clusterNames: ['a'] },
          { name: 'rest', approval },
        ],
      },
    });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Approval', 'approval asked for');
    const pretended = { username: 'oncall', groups: ['leads'] };
    expect(await say({ action: 'Approve', stage: 'rest', author: pretended }, 'eve')).toMatch(
      /^Refused: eve for stage rest: needs oncall or leads/,
    );
    expect(colours()).toBe('blue red');
    expect(await say({ action: 'Approve', stage: 'rest' }, 'bob', 'leads')).toBe('Done: stage rest by bob');
    await fleet.until(() => colours() === 'blue blue', 'blue everywhere');
    expect(await say({ action: 'Abort' })).toBe(
      'Refused: there is nothing to abort now: the rollout is Succeeded',
    );
  });

  it('pauses, resumes, skips, promotes, aborts', async () => {
    await open(['a', 'b', 'c'], {
      stages: [
        { name: 'one', clusterNames: ['a'] },
        { name: 'two', clusterNames: ['b'] },
      ],
    });
    expect(await say({ action: 'Pause', message: 'a freeze' })).toMatch(/^Done/);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(10_000);
    // A pause is of one rollout: another content is another rollout.
    expect(colours()).toBe('blue blue blue');
    await change({ rollout: { paused: true } });
    await paint(fleet, fleet.hub, 'green');
    await fleet.rest(20_000);
    expect(colours()).toBe('blue blue blue');
    expect(rollout().phase).toBe('Paused');
    await change({ rollout: { paused: null } });
    await fleet.until(() => colours() === 'green green green', 'green everywhere');
    fleet.cut('a');
    await paint(fleet, fleet.hub, 'black');
    await fleet.until(() => rollout().reason === 'StaleStatus', 'a is waited for');
    expect(await say({ action: 'Skip', cluster: 'a' })).toMatch(/^Done/);
    await fleet.until(() => colours() === 'green black black', 'black on those that are seen');
    fleet.heal('a');
    await fleet.rest(20_000);
    expect(colours()).toBe('green black black');
    expect(await say({ action: 'Retry' })).toMatch(/^(Done|Refused)/);
  });

  it('is forgotten once they were told what became of it, without a write for that alone', async () => {
    await open(['a'], { stages });
    expect(await say({ action: 'Pause' })).toMatch(/^Done/);
    await fleet.rest(5_000);
    const versions = (): unknown =>
      storedBelow(fleet.hub, `atoll.dev/intentrollouts/${SYSTEM_NAMESPACE}`).map(
        ({ metadata }) => metadata.resourceVersion,
      );
    const before = versions();
    // Everything is planned anew.
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { metadata: { labels: { tier: 'edge' } } });
    await fleet.rest(5_000);
    expect(versions()).toEqual(before);
  });

  it('is answered where there is no rollout, or no such object', async () => {
    fleet = await simulateFleet(41, ['a']);
    await openShop(fleet);
    await fleet.until(() => colours() === 'red', 'red on a');
    expect(await say({ action: 'Pause' })).toBe(
      'Refused: it has neither spec.rollout nor spec.revisionHistoryLimit',
    );
    expect(await say({ action: 'Pause', target: { kind: 'Propagation', name: 'none' } })).toBe(
      'Refused: there is no such object',
    );
    expect(storedBelow(fleet.hub, `atoll.dev/intentrevisions/${SYSTEM_NAMESPACE}`)).toEqual([]);
  });
});

describe('a history', () => {
  const kept = (): number => storedBelow(fleet.hub, `atoll.dev/intentrevisions/${SYSTEM_NAMESPACE}`).length;

  it('keeps what was everywhere, goes back to it, and lets the oldest go', async () => {
    fleet = await simulateFleet(41, ['a', 'b']);
    await openShop(fleet, undefined, { revisionHistoryLimit: 3 });
    for (const next of ['red', 'blue', 'green', 'black']) {
      await paint(fleet, fleet.hub, next);
      await fleet.until(() => colours() === `${next} ${next}`, `${next} everywhere`);
    }
    await fleet.until(() => revisions()[0]?.number === 4, 'four revisions');
    expect(revisions().map(({ number }) => number)).toEqual([4, 3, 2]);
    expect(kept()).toBe(3);
    expect(await say({ action: 'Rollback', revision: 1 })).toBe(
      'Refused: revision 1 is not kept; there are 2, 3, 4',
    );
    expect(await say({ action: 'Rollback', revision: 2 })).toBe('Done: revision 2 is rolled out again');
    await fleet.until(() => colours() === 'blue blue', 'blue again');
    await fleet.until(() => revisions()[0]?.cause === 'rollback to 2', 'told');
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(10_000);
    expect(colours()).toBe('blue blue');
    // What is asked for now comes back when somebody wants it, or something else.
    expect(await say({ action: 'Retry' })).toMatch(/^Done/);
    await fleet.until(() => colours() === 'black black', 'black again');
    expect(await say({ action: 'Rollback' })).toMatch(/^Done/);
    await fleet.until(() => colours() === 'blue blue', 'the one before');
    await paint(fleet, fleet.hub, 'white');
    await fleet.until(() => colours() === 'white white', 'something new');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => colours() === '- -' && shop(fleet) === undefined, 'all gone');
    expect(kept()).toBe(0);
    expect(storedBelow(fleet.hub, `atoll.dev/intentrollouts/${SYSTEM_NAMESPACE}`)).toEqual([]);
  });

  it('brings back objects that are no longer there, and takes away what came later', async () => {
    await open(['a', 'b'], { stages }, {});
    await fleet.run(fleet.hub.client.create(configMaps, configMap('more', 'pink')));
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(
      () => colours() === '- -' && colour(fleet.spoke('b'), 'more') === 'pink',
      'two',
      200_000,
    );
    await reaches('Succeeded');
    expect(await say({ action: 'Rollback', revision: 1 })).toMatch(/^Done/);
    await fleet.until(
      () => colours() === 'red red' && colour(fleet.spoke('b'), 'more') === '',
      'one',
      200_000,
    );
  });

  it('goes back without what another Propagation has since', async () => {
    await open(['a', 'b'], { stages });
    const owners = (name: string): string =>
      dispatchesOn(fleet.spoke(name))
        .flatMap(({ spec }: KubeObject & { spec?: unknown }) => {
          const { source, objects } = spec as { source: { name: string }; objects: object[] };
          return objects.length > 0 ? [source.name] : [];
        })
        .join();
    const spec = { priority: 7, preemption: 'Always' };
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('rival', spec)));
    await fleet.until(() => owners('a') === 'rival', 'the rival has it where the rollout is');
    expect(await say({ action: 'Rollback' })).toMatch(/^Done/);
    await reaches('RolledBack');
    await fleet.rest(10_000);
    expect([owners('a'), owners('b'), colours()]).toEqual(['rival', 'rival', 'red red']);
  });

  it('takes nothing away that a cluster is to have again when its turn comes', async () => {
    fleet = await simulateFleet(41, ['a', 'b', 'c']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('more', 'pink')]);
    const more = (): string => fleet.spokes.map((spoke) => colour(spoke, 'more') || '-').join(' ');
    await fleet.until(() => more() === 'pink pink pink', 'pink everywhere');
    for (const name of ['b', 'c']) fleet.cut(name);
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'more'));
    await fleet.until(() => more() === '- pink pink', 'it goes where that is heard');
    await fleet.run(fleet.hub.client.create(configMaps, configMap('more', 'blue')));
    await change({ rollout: { stages, maxUnavailable: 1 } });
    for (const name of ['b', 'c']) fleet.heal(name);
    await fleet.until(() => more() === 'blue pink pink', 'the first stage');
    await fleet.rest(30_000);
    expect(more()).toBe('blue pink pink');
    await reaches('Succeeded', 300_000);
    expect(more()).toBe('blue blue blue');
  });

  it('begins with what was there when it is asked for, and ends without a trace', async () => {
    fleet = await simulateFleet(41, ['a', 'b']);
    await openShop(fleet);
    await fleet.until(() => colours() === 'red red', 'red');
    await fleet.rest(1_000);
    await change({ rollout: { stages } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colours() === 'blue red', 'blue on a');
    expect(await say({ action: 'Rollback' })).toMatch(/^Done/);
    await fleet.until(() => colours() === 'red red', 'red again');
    await change({ rollout: null });
    await fleet.until(() => colours() === 'blue blue', 'blue at once');
    await fleet.until(
      () => shopStatus(fleet)['rollout'] === undefined && revisions().length === 0,
      'forgotten',
    );
    expect(kept()).toBe(0);
    await fleet.rest(1_000);
    const rest = everything(fleet.hub);
    await fleet.rest(60_000);
    expect(everything(fleet.hub)).toEqual(rest);
  });
});

describe('a rollout that meets trouble', () => {
  const web = (image: string, annotations: Record<string, string> = {}): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas: 1,
      progressDeadlineSeconds: 30,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations },
        spec: { containers: [{ name: 'web', image }] },
      },
    },
  });
  const image = (name: string): string => {
    const found = stored(fleet.spoke(name), 'apps/deployments/shop/web')?.['spec'] as
      | { template: { spec: { containers: { image: string }[] } } }
      | undefined;
    return found?.template.spec.containers[0]?.image ?? '-';
  };
  const images = (): string => fleet.spokes.map(({ name }) => image(name)).join(' ');
  const selection = { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] };

  it('[K81] goes back by itself, exactly where it failed', async () => {
    fleet = await simulateFleet(43, ['a', 'b', 'c', 'd'], { workloads: true });
    const rollout_ = {
      stages: [
        { name: 'one', clusterNames: ['a'] },
        { name: 'two', clusterNames: ['b', 'c'] },
        { name: 'three' },
      ],
      degradedSeconds: 10,
      rollback: { automatic: true, scope: 'Stage' },
    };
    await openShop(fleet, [web('web:1') as never], { ...selection, rollout: rollout_ });
    await fleet.until(() => images() === 'web:1 web:1 web:1 web:1', 'the first', 300_000);
    await reaches('Succeeded', 120_000);
    // On b alone the next one never becomes ready.
    await change({
      overrides: [
        {
          clusterNames: ['b'],
          patch: [
            {
              op: 'add',
              path: '/spec/template/metadata/annotations',
              value: { 'sim.atoll.dev/fail': 'never-ready' },
            },
          ],
        },
      ],
    });
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', {
      spec: { template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } },
    });
    await fleet.until(() => images() === 'web:2 web:2 web:2 web:1', 'stage two', 300_000);
    await fleet.until(() => images() === 'web:2 web:1 web:1 web:1', 'stage two goes back', 300_000);
    await reaches('RolledBack', 120_000);
    await fleet.rest(60_000);
    expect(images()).toBe('web:2 web:1 web:1 web:1');
    expect(rollout().message).toMatch(/stage two: 1 of 2 clusters failed; b: Degraded/);
    await change({ overrides: null });
    await fleet.until(() => images() === 'web:2 web:2 web:2 web:2', 'repaired', 300_000);
  });

  it('waits for the windows of clusters, in their zones', async () => {
    const now = (): number => fleet.runtime.clock.now();
    await open(['a', 'b'], { maintenance: { windows: [{ start: '00:00', end: '00:00' }] } });
    // Oslo is an hour, or two, ahead: the window opens an hour from now at the earliest.
    const local = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Oslo',
      hour: '2-digit',
      minute: '2-digit',
    });
    const opens = local.format(now() + 3_600_000);
    const closes = local.format(now() + 7_200_000);
    await change({
      rollout: {
        maintenance: { outside: 'Wait', windows: [{ start: opens, end: closes, timeZone: 'Europe/Oslo' }] },
      },
    });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Window', 'waits for its window');
    await fleet.rest(3_300_000);
    expect(colours()).toBe('red red');
    await fleet.until(() => colours() === 'blue blue', 'blue in the window', 400_000);
  });

  it('gives each cluster the share of replicas of the content that it has', async () => {
    fleet = await simulateFleet(47, ['a', 'b']);
    const replicas = (): string =>
      fleet.spokes
        .map((spoke) => {
          const found = stored(spoke, 'apps/deployments/shop/web')?.['spec'] as
            | { replicas: number }
            | undefined;
          return found?.replicas ?? '-';
        })
        .join(' ');
    const asking = {
      stages: [
        { name: 'canary', clusterNames: ['a'], approval: {} },
        { name: 'rest', approval: {} },
      ],
    };
    await openShop(
      fleet,
      [{ ...web('web:1'), spec: { ...(web('web:1') as { spec: object }).spec, replicas: 6 } } as never],
      {
        ...selection,
        replicas: {},
        revisionHistoryLimit: 5,
      },
    );
    await fleet.until(() => replicas() === '3 3', 'three each');
    await change({ rollout: asking });
    await fleet.rest(5_000);
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 10 } });
    await fleet.rest(5_000);
    expect(replicas()).toBe('3 3');
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(5_000);
    expect(replicas()).toBe('3 3');
    // Nothing runs here, so that nothing becomes Ready: who approves goes on, whatever is seen.
    expect(await say({ action: 'Promote' })).toMatch(/^Done/);
    await fleet.until(() => replicas() === '5 5', 'five each');
  });

  it('[K88] leaves windows out in an emergency, where the owners of clusters allow it', async () => {
    await open(['a', 'b'], {});
    const at = (ms: number): string => new Date(fleet.runtime.clock.now() + ms).toISOString().slice(11, 16);
    const windows = [{ start: at(3_600_000), end: at(7_200_000), timezone: 'UTC' }];
    for (const name of ['a', 'b'])
      await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, {
        spec: { maintenance: { windows, enforceWindow: true, allowEmergencyUpdates: name === 'a' } },
      });
    await change({ rollout: { maintenance: { respectClusterWindows: false, outside: 'Wait' } } });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(60_000);
    expect(colours()).toBe('red red');
    expect(await say({ action: 'Emergency' })).toBe('Done: an emergency is declared by admin');
    await fleet.until(() => colours() === 'blue red', 'blue on a');
    await fleet.rest(60_000);
    expect(colours()).toBe('blue red');
    await fleet.until(() => colours() === 'blue blue', 'the window of b', 3_700_000);
  });

  it('holds still while it is suspended, over restarts, and goes on afterwards', async () => {
    await open(['a', 'b'], { stages });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => rollout().reason === 'Soaking', 'blue on a');
    await change({ suspend: true });
    await fleet.rest(5_000);
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(300_000);
    expect(colours()).toBe('blue red');
    expect(await say({ action: 'Promote' })).toBe('Refused: spec.suspend is true: nothing is rolled out');
    await change({ suspend: false });
    await fleet.until(() => colours() === 'blue blue', 'blue everywhere', 200_000);
  });

  it('changes nothing while its strategy is not valid, and says why', async () => {
    await open(['a', 'b'], { stages });
    await change({ rollout: { stages: [{ name: 'x', gates: [{ expression: 'fleet.' }] }] } });
    await paint(fleet, fleet.hub, 'blue');
    await reaches('Refused');
    await fleet.rest(10_000);
    expect(colours()).toBe('red red');
    expect(rollout().message).toContain('stages[0].gates[0].expression');
    await change({
      rollout: { stages: [{ name: 'x', gates: [{ expression: 'fleet.ready == fleet.total' }] }] },
    });
    await fleet.until(() => colours() === 'blue blue', 'blue');
  });

  it('[A76] goes through ten clusters in waves 1-2-2-2-3, and stops at the first that is unhealthy', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `c${index}`);
    const waves = [1, 2, 2, 2].map((size, index) => ({ name: `wave-${index}`, size, soakSeconds: 20 }));
    await open(names, { stages: waves, degradedSeconds: 5 });
    const blue = (): string[] =>
      fleet.spokes.filter((spoke) => colour(spoke) === 'blue').map((spoke) => spoke.name);
    // On c5 there is something of somebody else where the next content has an object.
    await fleet.run(fleet.spoke('c5').client.create(configMaps, configMap('more', 'pink')));
    await fleet.run(fleet.hub.client.create(configMaps, configMap('more', 'pink')));
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => blue().join() === 'c0', 'wave 0');
    await fleet.until(() => blue().join() === 'c0,c1,c2', 'wave 1', 120_000);
    expect(await say({ action: 'Pause' })).toMatch(/^Done/);
    await fleet.rest(120_000);
    expect(blue()).toHaveLength(3);
    expect(await say({ action: 'Resume' })).toMatch(/^Done/);
    await fleet.until(() => blue().join() === 'c0,c1,c2,c3,c4', 'wave 2', 120_000);
    await reaches('Failed', 120_000);
    expect(blue().filter((name) => name > 'c6')).toEqual([]);
    expect(rollout().message).toContain('c5');
    await fleet.run(fleet.spoke('c5').client.delete(configMaps, 'shop', 'more'));
    expect(await say({ action: 'Retry' })).toMatch(/^Done/);
    await fleet.until(() => blue().length === 10, 'all waves', 300_000);
    await reaches('Succeeded', 120_000);
  });
});

describe('any history of a rollout', () => {
  const first = ['a', 'b'];
  const later = ['c', 'd'];
  for (const seed of [1, 2, 3, 4]) {
    it(`begins its second stage over nothing but what is seen to be well, and ends (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const upTo = (limit: number): number => Math.floor(random.next() * limit);
      fleet = await simulateFleet(seed, [...first, ...later], { engineLatencyMs: 20 });
      const strategy = { stages: [{ name: 'one', clusterNames: first, soakSeconds: 4 }, { name: 'two' }] };
      await openShop(fleet, undefined, { rollout: strategy });
      const now = (): number => fleet.runtime.clock.now();
      const had = new Map(fleet.spokes.map(({ name }) => [name, new Set<string>()]));
      const last = new Map<string, string>();
      const cutSince = new Map<string, number>();
      let hubRuns = true;
      let wanted = 'red';
      const look = (): void => {
        for (const name of [...first, ...later]) {
          const is = colour(fleet.spoke(name));
          if (is === '' || is === last.get(name)) continue;
          const isFirstOfStage = later.every((other) => had.get(other)?.has(is) !== true);
          last.set(name, is);
          had.get(name)?.add(is);
          if (!later.includes(name)) continue;
          for (const other of first) {
            expect(had.get(other)?.has(is), `${is} on ${name} before ${other}`).toBe(true);
            const awayFor = now() - (cutSince.get(other) ?? now());
            const wasThere = !cutSince.has(name);
            if (isFirstOfStage && wasThere)
              expect(awayFor, `${is} on ${name} while ${other} was away`).toBeLessThan(3_000);
          }
        }
      };
      const pass = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 250) {
          await fleet.rest(250);
          look();
        }
      };
      for (let turn = 0; turn < 40; turn++) {
        const name = [...first, ...later][upTo(4)] ?? 'a';
        const dice = upTo(10);
        if (dice < 2 && hubRuns) {
          wanted = `colour-${turn}`;
          await paint(fleet, fleet.hub, wanted);
        } else if (dice < 5) {
          if (cutSince.has(name)) {
            fleet.heal(name);
            cutSince.delete(name);
          } else {
            fleet.cut(name);
            cutSince.set(name, now());
          }
        } else if (dice < 7) {
          if (hubRuns) await fleet.kill('hub');
          else await fleet.start('hub');
          hubRuns = !hubRuns;
        }
        await pass(upTo(6_000));
      }
      if (!hubRuns) await fleet.start('hub');
      for (const name of cutSince.keys()) fleet.heal(name);
      cutSince.clear();
      for (let tries = 0; tries < 60 && rollout().phase !== 'Succeeded'; tries++) await pass(2_000);
      await pass(2_000);
      expect(colours()).toBe(`${wanted} ${wanted} ${wanted} ${wanted}`);
      expect(rollout().phase).toBe('Succeeded');
      expect(fleet.hub.engine?.hub()?.mode.observing).toBeUndefined();
    });
  }
});
