// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  writesBy,
} from './fleet.ts';
import {
  colour,
  fleetGraphWords,
  graph,
  instance,
  map,
  revisionOn,
  rgd,
  rolloutOf,
  shop,
  state,
} from './graphs-fleet-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, rows, servedOn, active, distributed } = fleetGraphWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(7, names);
}

/** What the engines of the fleet counted together, of one metric. */
function counted(metric: string): number {
  return fleet.runtime.metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

describe('a hub that starts', () => {
  it('[R133] with one of five clusters in a black hole serves four at once, and that one later', async () => {
    const hole = { open: false };
    const names = ['a', 'b', 'c', 'd', 'e'];
    const network = (spoke: string, handler: Handler): Handler =>
      spoke === 'e' ? (request) => (hole.open ? new Promise(() => undefined) : handler(request)) : handler;
    fleet = await simulateFleet(7, names, { network });
    await write(fleet.hub, graph());
    await servedOn(names, 1);
    await fleet.kill(fleet.hub);
    hole.open = true;
    await fleet.start(fleet.hub);
    await write(fleet.hub, graph('shop', { data: { colour: 'new' } }));
    await fleet.until(
      () => names.slice(0, 4).every((name) => revisionOn(fleet.spoke(name)) === '2'),
      'the four',
      5_000,
    );
    expect(revisionOn(fleet.spoke('e'))).toBe('1');
    await fleet.rest(600_000);
    hole.open = false;
    fleet.cut('e');
    fleet.heal('e');
    await fleet.until(() => revisionOn(fleet.spoke('e')) === '2', 'the fifth', 600_000);
    await distributed();
  });

  it('[R131] serves instances itself as well, beside a cluster that is called as if it were it', async () => {
    await open(['hub-local', 'local']);
    const local = fleet.spoke('local');
    await write(fleet.hub, graph());
    await servedOn(['hub-local', 'local'], 1);
    await write(fleet.hub, instance({ colour: 'blue' }));
    await write(local, instance({ colour: 'green' }));
    for (const target of [fleet.hub, local]) await active(target);
    expect([fleet.hub, local, fleet.spoke('hub-local')].map((target) => colour(target))).toEqual([
      'blue',
      'green',
      undefined,
    ]);
    await remove(local, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => map(local, 'one-map') === undefined, 'that of the cluster gone');
    await fleet.rest(30_000);
    expect(colour(fleet.hub)).toBe('blue');
  });
});

describe('clusters without their hub', () => {
  it('[R167] make, repair and remove instances by themselves', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance());
    await active(a);
    await fleet.kill(fleet.hub);
    await fleet.rest(3_600_000);
    await write(b, instance({ colour: 'green' }));
    await active(b);
    expect(colour(b)).toBe('green');
    await write(a, {
      ...(map(a, 'one-map') as KubeObject),
      metadata: { name: 'one-map' },
      data: { colour: 'grey' },
    });
    await fleet.until(() => colour(a) === 'red', 'the drift undone');
    await remove(a, 'v1', 'ConfigMap', 'one-map');
    await fleet.until(() => colour(a) === 'red', 'the object made again');
    await write(a, instance({ colour: 'blue' }));
    await fleet.until(() => colour(a) === 'blue', 'the edit');
    await fleet.kill(a);
    await fleet.start(a);
    await write(a, instance({}, 'two'));
    await active(a, 'two');
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop(a) === undefined && map(a, 'one-map') === undefined, 'the instance gone');
    // What was dispatched is put back as well.
    await remove(b, 'kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop').catch(() => undefined);
    await fleet.rest(60_000);
    expect(state(shop(b))).toBe('ACTIVE');
  });

  it('[R168] write nothing when it is back; it learns what happened meanwhile', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, rolloutOf({}));
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance());
    await active(a);
    await distributed();
    await fleet.rest(120_000);
    await fleet.kill(fleet.hub);
    await fleet.rest(3_600_000);
    await write(a, instance({ colour: 'blue' }));
    await write(b, instance({}, 'three'));
    await active(b, 'three');
    await fleet.until(() => colour(a) === 'blue', 'the edit');
    await fleet.rest(120_000);
    const before = [a, b].map(everything);
    for (const spoke of [a, b]) spoke.audit.length = 0;
    const revision = fleet.hub.server.store.revision;
    await fleet.start(fleet.hub);
    await fleet.until(
      () => rows().length === 2 && rows().every(({ instances }) => instances === 1),
      'what happened is known',
    );
    await distributed();
    await fleet.rest(120_000);
    expect([a, b].map(everything)).toEqual(before);
    for (const spoke of [a, b]) expect(writesBy(spoke.audit, HUB_USER)).toEqual([]);
    expect(fleet.hub.server.store.revision - revision).toBeLessThan(20);
    expect(colour(a)).toBe('blue');
  });
});

describe('a cluster that two hubs send graphs', () => {
  it('[R169] takes those of its own hub; the other one is refused and told so', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, graph());
    await servedOn(['a'], 1);
    await write(a, instance());
    await active(a);
    const other = await fleet.add('other', fleet.hub);
    other.tunnels.set('a', a.link);
    await fleet.run(other.client.create(SPOKE_CLUSTERS, spokeCluster('a')));
    await write(other, graph('shop', { data: { colour: 'theirs' } }));
    await fleet.until(
      () => conditionOf(rgd(other), 'Distributed').startsWith('False/'),
      'the other hub knows',
    );
    await fleet.rest(600_000);
    expect(conditionMessage(rgd(other), 'Distributed')).toContain('hub');
    expect(colour(a)).toBe('red');
    expect(conditionOf(rgd(a), 'Ready')).toBe('True/Ready');
    const before = everything(a);
    await fleet.rest(3_600_000);
    expect(everything(a)).toEqual(before);
  });
});

describe('clusters beside each other', () => {
  it('have instances of one name that know nothing of each other', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance({ colour: 'blue' }));
    await write(b, instance({ colour: 'green' }));
    await active(a);
    await active(b);
    const uid = map(b, 'one-map')?.metadata.uid;
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => map(a, 'one-map') === undefined, 'that of a gone');
    await fleet.rest(60_000);
    expect(map(b, 'one-map')?.metadata.uid).toBe(uid);
    expect(colour(b)).toBe('green');
  });

  it('[R129] have a queue and watches of their own: what happens on one enqueues nothing on another', async () => {
    const passes = async (others: boolean): Promise<readonly number[]> => {
      const asked = new Map<string, number>();
      fleet = await simulateFleet(7, ['a', 'b'], {
        engineApi: (cluster, handler) => (request) => {
          asked.set(cluster, (asked.get(cluster) ?? 0) + 1);
          return handler(request);
        },
      });
      const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
      await write(fleet.hub, graph());
      await servedOn(['a', 'b'], 1);
      for (const target of others ? [a, b, fleet.hub] : [a]) {
        await write(target, instance());
        await active(target);
      }
      await fleet.rest(300_000);
      const metrics = ['dynamic_controller_reconcile_total', 'dynamic_controller_informer_events_total'];
      const before = metrics.map(counted);
      const quiet = asked.get('b');
      for (const name of ['blue', 'green', 'grey', 'pink', 'white']) {
        await write(a, instance({ colour: name }));
        await fleet.until(() => colour(a) === name, name);
        await fleet.rest(5_000);
      }
      expect((asked.get('b') ?? 0) - (quiet ?? 0)).toBeLessThanOrEqual(5);
      const after = metrics.map((metric, index) => counted(metric) - (before[index] ?? 0));
      await fleet.stop();
      return after;
    };
    const alone = await passes(false);
    expect(alone[0]).toBeGreaterThanOrEqual(5);
    expect(await passes(true)).toEqual(alone);
  });

  it('[R134] are asked no more than now and then while one of them is in a black hole, which is shown', async () => {
    const hole = { open: false, asked: 0 };
    const network = (spoke: string, handler: Handler): Handler =>
      spoke === 'b'
        ? (request) => {
            if (!hole.open) return handler(request);
            hole.asked += 1;
            return new Promise(() => undefined);
          }
        : handler;
    fleet = await simulateFleet(7, ['a', 'b'], { network });
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await distributed();
    const connected = (): string =>
      conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/b'), 'Connected');
    const hubWrites = (): number => writesBy(fleet.hub.audit, 'atoll:engine').length;
    hole.open = true;
    // A hiccup is none.
    await fleet.rest(3_000);
    expect(connected()).toMatch(/^True/);
    await write(fleet.hub, graph('shop', { data: { colour: 'new' } }));
    await fleet.until(() => revisionOn(fleet.spoke('a')) === '2', 'a has it');
    await fleet.until(() => !connected().startsWith('True'), 'it is shown', 300_000);
    const [asked, written] = [hole.asked, hubWrites()];
    await fleet.rest(600_000);
    expect(hole.asked - asked).toBeLessThanOrEqual(60);
    expect(hubWrites() - written).toBeLessThanOrEqual(5);
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain('b');
    hole.open = false;
    fleet.cut('b');
    fleet.heal('b');
    await fleet.until(() => revisionOn(fleet.spoke('b')) === '2', 'b has it', 600_000);
    await distributed();
  });

  it('[R135] are as fast as ever while the API server of one of them hangs with its connections open', async () => {
    let goOn: PromiseWithResolvers<void> | undefined;
    // Stopped, not dead: what was asked is answered when it goes on.
    const stopped =
      (handler: Handler): Handler =>
      async (request) => {
        await goOn?.promise;
        return handler(request);
      };
    fleet = await simulateFleet(7, ['a', 'b', 'c'], {
      network: (spoke, handler) => (spoke === 'b' ? stopped(handler) : handler),
      engineApi: (cluster, handler) => (cluster === 'b' ? stopped(handler) : handler),
    });
    const names = ['a', 'c'];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b', 'c'], 1);
    for (const name of names) {
      await write(fleet.spoke(name), instance());
      await active(fleet.spoke(name));
    }
    let edits = 0;
    /** Until a new revision of the hub is what instances are made of, longest of three times. */
    const longest = async (): Promise<number> => {
      const took: number[] = [];
      for (let round = 0; round < 3; round++) {
        edits += 1;
        const data = { colour: `colour-${edits}` };
        await fleet.rest(30_000);
        const began = fleet.runtime.clock.now();
        await write(fleet.hub, graph('shop', { data }));
        await fleet.until(
          () => names.every((name) => colour(fleet.spoke(name)) === data.colour),
          data.colour,
        );
        took.push(fleet.runtime.clock.now() - began);
      }
      return Math.max(...took);
    };
    const before = await longest();
    goOn = Promise.withResolvers();
    expect(await longest()).toBeLessThanOrEqual(before + 100);
    await fleet.rest(600_000);
    expect(await longest()).toBeLessThanOrEqual(before + 100);
    goOn.resolve();
    goOn = undefined;
    await fleet.until(() => revisionOn(fleet.spoke('b')) === String(edits + 1), 'b has it', 600_000);
  });
});
