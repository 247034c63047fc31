import { afterEach, describe, expect, it } from 'vitest';
import { type BareCluster, type EngagedRig, kubeconfigOf, startEngagedRig } from './engaged-rig.ts';
import { engagedWords, kindOn, mapOn, SHOP, shopOn } from './engaged-words.ts';
import { dataOf, shopInstance, shopWords, stateOf } from './graph-cluster.ts';

let rig: EngagedRig;
afterEach(() => rig.close());
const { statusOf, graphsOf, engaged } = engagedWords(() => rig);
const { served } = shopWords(() => rig.hub);

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

/** A Secret that leads to the cluster `a`, by another address of it. */
async function toA(name: string, token: string, host = 'a.other'): Promise<void> {
  const text = kubeconfigOf('a', token).replace('a.example', host);
  await rig.credential(name, token, { data: { kubeconfig: Buffer.from(text).toString('base64') } });
}

const nameOf = (cluster: BareCluster, token: string): string[] =>
  cluster.audit
    .filter(
      ({ user, verb }) => user.username === `engine-${token}` && !['get', 'list', 'watch'].includes(verb),
    )
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);

describe('a cluster that is engaged under two names', () => {
  it('is worked on under the first: the second is refused with the reason, and writes nothing', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await toA('zweite', 'two');
    await rig.untilState('zweite', 'AlreadyEngaged');
    expect(statusOf('zweite').message).toBe(
      'it is the same cluster as a, which is engaged already: by this name nothing is written there. Next: take one of the two credentials away; see: kubectl get engagedclusters',
    );
    await served(SHOP);
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'the graph');
    await a.write(shopInstance({ colour: 'blue' }));
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    await rig.hub.rest(120_000);
    expect(nameOf(a, 'two')).toEqual([]);
    expect(graphsOf('zweite')).toEqual([]);
    // Nobody dials it again and again.
    expect(a.tokens).toEqual(['one', 'two']);
    expect(rig.stateOf('a')).toBe('Ready');
  });

  it('stays with the first over a restart, and goes to the second when the first is given up', async () => {
    const [a] = (await open('a')) as [BareCluster];
    const first = rig.start();
    await engaged('a');
    await toA('0-before', 'two');
    await rig.untilState('0-before', 'AlreadyEngaged');
    await rig.stop(first);
    rig.start();
    await rig.hub.rest(60_000);
    expect([rig.stateOf('a'), rig.stateOf('0-before')]).toEqual(['Ready', 'AlreadyEngaged']);
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await rig.withdraw('a');
    await rig.untilState('a', 'Disengaged');
    await rig.untilState('0-before', 'Ready');
    await a.write(shopInstance({ colour: 'blue' }));
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'blue', 'the second looks after it');
    // The first comes back, and is the second now.
    await rig.credential('a');
    await rig.untilState('a', 'AlreadyEngaged');
    expect(rig.stateOf('0-before')).toBe('Ready');
  });

  it('is told of where both come at once, and where a credential comes to lead to it', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    await rig.credential('a');
    await toA('zweite', 'two');
    await rig.credential('b');
    rig.start();
    const states = (): string => [rig.stateOf('a'), rig.stateOf('zweite')].sort().join();
    await rig.hub.until(() => states() === 'AlreadyEngaged,Ready', 'one of them');
    await rig.untilState('b', 'Ready');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined && kindOn(b) !== undefined, 'the kinds');
    await toA('b', 'three');
    await rig.untilState('b', 'AlreadyEngaged');
    expect(nameOf(a, 'three')).toEqual([]);
    // A definition waits for clusters that have something of it, and not for this one.
    expect(graphsOf('b')).toEqual([]);
    await rig.credential('b');
    await rig.untilState('b', 'Ready');
    expect(states()).toBe('AlreadyEngaged,Ready');
  });

  it('is told of where replicas share the clusters, and is not where nobody may ask who it is', async () => {
    const [a] = (await open('a')) as [BareCluster];
    for (const identity of ['w1', 'w2']) rig.start({ worker: { identity, namespace: 'default' } });
    const names = ['a', 'n1', 'n2', 'n3', 'n4'];
    for (const name of names) await toA(name, name);
    const ready = (): string[] => names.filter((name) => rig.stateOf(name) === 'Ready');
    const rest = (): string[] => names.filter((name) => rig.stateOf(name) === 'AlreadyEngaged');
    await rig.hub.until(() => ready().length === 1 && rest().length === 4, 'one of them', 300_000);
    await rig.hub.rest(120_000);
    expect([ready().length, rest().length]).toEqual([1, 4]);
    await rig.stop();
    a.users.set('none', { name: 'nobody', groups: ['system:authenticated'] });
    rig.start();
    await toA('least', 'none');
    await rig.hub.rest(60_000);
    expect(['', 'AlreadyEngaged']).not.toContain(rig.stateOf('least'));
  });
});
