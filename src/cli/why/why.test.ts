import { describe, expect, it } from 'vitest';
import type { Propagation } from '../../dialects/propagation/types.ts';
import type { Dispatch } from '../../engine/dispatch/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import { failure } from '../../kube/status-error.ts';
import {
  appliedStatus,
  away,
  condition,
  connected,
  deployment,
  dispatch,
  NOW,
  propagation,
  put,
  secret,
  startApi,
} from '../fleet.fixture.ts';
import { clusterFacts, planPropagation, type SpokeReading, sourceKey } from '../fleet-reading.ts';
import { plainPaint } from '../output.ts';
import { parseAsked, readWhy, type WhyFacts } from './facts.ts';
import { whyReport } from './report.ts';
import { selectingOf } from './selecting.ts';
import { whyText } from './text.ts';

const CART = deployment('cart', 1, { app: 'cart' });
const FAR = away(connected('far', { env: 'test' }));
const CLUSTERS = [connected('a', { env: 'prod' }), connected('b', { env: 'test' }), FAR];

type Readings = Record<string, SpokeReading<Dispatch | undefined>>;

/** Facts as they would be read for `object`, with these answers of the spokes. */
function facts(
  object: KubeObject,
  propagations: readonly Propagation[],
  readings: Readings,
  cluster?: string,
): WhyFacts {
  const sources = new Map([[sourceKey(object), { objects: [object] }]]);
  return {
    object,
    fleet: { propagations, clusters: CLUSTERS },
    selecting: propagations
      .filter((item) => selectingOf(item, object).selects)
      .map((item) => ({
        ...planPropagation(item, clusterFacts(CLUSTERS), sources),
        dispatches: new Map(Object.entries(readings)),
      })),
    now: NOW,
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function chainOf(input: WhyFacts, name: string) {
  return whyReport(input).propagations[0]?.clusters.find((item) => item.cluster === name);
}

const live = (value: Dispatch | undefined): SpokeReading<Dispatch | undefined> => ({ live: true, value });
const seen = { observedGeneration: 1, dispatchGeneration: 4, dispatchedTo: ['a', 'b', 'far'] };
const ALL = propagation('all', {}, seen);

describe('why: the chain on a cluster', () => {
  it('goes from source to health, with what the overrides change of this object', () => {
    const all = propagation(
      'all',
      {
        overrides: [
          { clusterNames: ['a'], patch: [{ op: 'replace', path: '/spec/replicas', value: 3 }] },
          { clusterNames: ['b'], patch: [{ op: 'replace', path: '/spec/replicas', value: 9 }] },
        ],
      },
      seen,
    );
    const input = facts(CART, [all], { a: live(dispatch(all, [CART], 4, appliedStatus(4))) }, 'a');
    expect(chainOf(input, 'a')).toMatchObject({
      chosen: true,
      reason: 'clusterSelector (everything) matches its labels',
      word: 'Ready',
      overrides: [{ override: 0, operations: [{ op: 'replace', path: '/spec/replicas', value: 3 }] }],
      dispatch: { live: true, generation: 4, acceptedGeneration: 4, appliedGeneration: 4, holds: 'object' },
      health: { health: 'Healthy' },
    });
    const text = whyText(whyReport(input), true, NOW, plainPaint);
    expect(text).toContain('Deployment shop/cart');
    expect(text).toMatch(/overrides\[0\] +replace \/spec\/replicas with 3/);
    expect(text).toMatch(/applied +generation 4, 2m ago \(2026-03-01T11:58:00Z\)/);
    expect(text).not.toContain('with 9');
  });

  it("tells this object's trouble, not that of others in the same dispatch", () => {
    const ref = (name: string) => ({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name });
    const trouble = { health: 'Degraded', reason: 'CrashLoopBackOff', message: 'it crashes' } as const;
    const own = dispatch(ALL, [CART], 4, appliedStatus(4, [{ ref: ref('cart'), ...trouble }]));
    expect(chainOf(facts(CART, [ALL], { a: live(own) }), 'a')).toMatchObject({
      word: 'Degraded',
      message: 'CrashLoopBackOff: it crashes',
    });
    const other = dispatch(ALL, [CART], 4, appliedStatus(4, [{ ref: ref('web'), ...trouble }]));
    expect(chainOf(facts(CART, [ALL], { a: live(other) }), 'a')).toMatchObject({
      word: 'Ready',
      message: '',
    });
  });

  it('knows no health of a generation that was not taken yet', () => {
    const behind = dispatch(ALL, [CART], 4, appliedStatus(3));
    const chain = chainOf(facts(CART, [ALL], { a: live(behind) }), 'a');
    expect(chain).toMatchObject({
      word: 'Waiting',
      dispatch: { generation: 4, acceptedGeneration: 3, appliedGeneration: 3 },
    });
    expect(chain?.health).toBeUndefined();
  });

  it('knows no health beyond the objects that a status can name', () => {
    const names = Array.from({ length: 50 }, (_, index) => ({
      ref: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: `x-${index}` },
      health: 'Progressing' as const,
      reason: 'RollingOut',
      message: '',
    }));
    const full = dispatch(ALL, [CART], 4, appliedStatus(4, names));
    expect(chainOf(facts(CART, [ALL], { a: live(full) }), 'a')?.health?.health).toBe('Unknown');
  });

  it('tells the reason of a spoke that refuses', () => {
    const status = {
      ...appliedStatus(3),
      conditions: [condition('Accepted', 'False', 'AnotherHub', 'this spoke belongs to hub x')],
    };
    const chain = chainOf(facts(CART, [ALL], { a: live(dispatch(ALL, [CART], 4, status)) }), 'a');
    expect(chain).toMatchObject({
      word: 'Degraded',
      dispatch: { refused: 'AnotherHub: this spoke belongs to hub x' },
    });
  });

  it('of a spoke that is away shows what was known last, with its age, and claims nothing', () => {
    const input = facts(CART, [ALL], { far: { live: false, why: 'the link is cut' } }, 'far');
    expect(chainOf(input, 'far')).toMatchObject({
      word: 'Stale',
      dispatch: { live: false, why: 'the link is cut', wantedGeneration: 4 },
      lastKnown: { asOf: '2026-03-01T11:55:00Z', applied: true, objects: { healthy: 3, total: 3 } },
    });
    const text = whyText(whyReport(input), true, NOW, plainPaint);
    expect(text).toMatch(
      /last known +5m ago: all that was dispatched was applied, 3 of 3 objects of the cluster were healthy/,
    );
    expect(text).not.toMatch(/^ +health/m);
  });

  it('says why a cluster is not chosen', () => {
    const prod = propagation(
      'prod',
      { placement: { clusterSelector: { matchLabels: { env: 'prod' } } } },
      { ...seen, dispatchedTo: ['a'] },
    );
    const chain = chainOf(facts(CART, [prod], {}, 'b'), 'b');
    expect(chain).toMatchObject({
      chosen: false,
      reason: 'clusterSelector (env=prod) does not match its labels (env=test)',
    });
    expect(chain?.word).toBeUndefined();
  });

  it('shows a cluster that is no longer chosen while it is being cleared', () => {
    const prod = propagation(
      'prod',
      { placement: { clusterNames: ['a'] } },
      { ...seen, dispatchedTo: ['a', 'b'] },
    );
    const input = facts(CART, [prod], { b: live(dispatch(prod, [], 5, appliedStatus(4))) }, 'b');
    expect(chainOf(input, 'b')).toMatchObject({
      chosen: false,
      word: 'Removing',
      message: 'what it holds is being removed',
    });
  });

  it('names the override that fails, and that the cluster keeps what it has', () => {
    const bad = propagation(
      'bad',
      { overrides: [{ clusterNames: ['a'], patch: [{ op: 'remove', path: '/spec/nothing' }] }] },
      seen,
    );
    const input = facts(CART, [bad], { a: live(dispatch(bad, [CART], 4, appliedStatus(4))) }, 'a');
    expect(chainOf(input, 'a')).toMatchObject({
      word: 'Degraded',
      blocked: expect.stringMatching(/overrides\[0\].*\/spec\/nothing/),
    });
    expect(whyText(whyReport(input), true, NOW, plainPaint)).toContain('the cluster keeps what it has');
  });

  it('tells what the hub holds back', () => {
    const suspended = propagation('all', { suspend: true }, seen);
    expect(whyReport(facts(CART, [suspended], {})).propagations[0]?.held).toMatch(/spec.suspend is true/);
    const notReady = [
      {
        cluster: 'a',
        state: 'Degraded',
        reason: 'NotDispatched',
        message: 'more than spec.deletionBudget 50% allows',
      },
    ];
    const held = propagation('all', {}, { ...seen, notReady });
    const chain = chainOf(facts(CART, [held], { a: live(dispatch(held, [CART], 3, appliedStatus(3))) }), 'a');
    expect(chain).toMatchObject({ word: 'Degraded', message: 'more than spec.deletionBudget 50% allows' });
  });

  it('tells who waits for its turn in a rollout, and takes no older generation for a lag', () => {
    const revisions = [{ number: 1, digest: 'd', at: '2026-03-01T11:00:00Z' }];
    const notReady = [
      { cluster: 'b', state: 'Waiting', reason: 'HeldBack', message: 'its turn has not come' },
    ];
    const rolled = propagation('all', {}, { ...seen, revisions, notReady });
    const older = live(dispatch(rolled, [CART], 2, appliedStatus(2)));
    const input = facts(CART, [rolled], { a: older, b: older });
    expect(chainOf(input, 'a')).toMatchObject({ word: 'Ready' });
    expect(chainOf(input, 'b')).toMatchObject({ word: 'Waiting', message: 'its turn has not come' });
  });

  it('prints no value of a Secret', () => {
    const keys = secret('keys', { token: 'aHVudGVyMg==' });
    const all = propagation(
      'all',
      {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret' }],
        overrides: [{ patch: [{ op: 'replace', path: '/data/token', value: 'Z2VoZWlt' }] }],
      },
      seen,
    );
    const report = whyReport(facts(keys, [all], { a: live(dispatch(all, [keys], 4, appliedStatus(4))) }));
    const printed = JSON.stringify(report) + whyText(report, true, NOW, plainPaint);
    expect(printed).not.toContain('Z2VoZWlt');
    expect(printed).not.toContain('aHVudGVyMg');
    expect(printed).toMatch(/sha256:[0-9a-f]{12}/);
  });
});

describe('why: which propagation', () => {
  it('tells for each that does not select the object which clause fails', () => {
    const reasons = (spec: Parameters<typeof propagation>[1]): string =>
      selectingOf(propagation('p', spec), CART).reason;
    const of = (more: object) => ({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', ...more }],
    });
    expect(reasons(of({ name: 'web' }))).toBe('resourceSelectors[0]: name is web, not cart');
    expect(reasons(of({ labelSelector: { matchLabels: { app: 'web' } } }))).toBe(
      'resourceSelectors[0]: labelSelector (app=web) does not match its labels (app=cart)',
    );
    expect(reasons({ resourceSelectors: [{ apiVersion: 'v1', kind: 'Service' }] })).toMatch(
      /none .* for kind Deployment \(they are for Service\)/,
    );
    expect(reasons(of({}))).toBe('resourceSelectors[0] (every Deployment) matches');
  });
  it('tells why an object is never propagated', () => {
    const owned = deployment('made');
    owned.metadata.ownerReferences = [
      { apiVersion: 'v1', kind: 'Boss', name: 'x', uid: '1', controller: true },
    ];
    expect(selectingOf(ALL, owned)).toMatchObject({
      selects: false,
      reason: expect.stringMatching(/never propagated: it is made by Boss x/),
    });
  });
  it('looks at propagations of the namespace only, those that select first', () => {
    const services = propagation('services', { resourceSelectors: [{ apiVersion: 'v1', kind: 'Service' }] });
    const elsewhere = { ...ALL, metadata: { ...ALL.metadata, namespace: 'other', name: 'elsewhere' } };
    const report = whyReport(facts(CART, [services, elsewhere, ALL], {}));
    expect(report.propagations.map((item) => [item.name, item.selects])).toEqual([
      ['all', true],
      ['services', false],
    ]);
  });
  it('says so where there is none', () => {
    expect(whyText(whyReport(facts(CART, [], {})), false, NOW, plainPaint)).toContain(
      'there is no Propagation in namespace shop',
    );
  });
  it('has a line for each cluster in the short form', () => {
    const readings = {
      a: live(dispatch(ALL, [CART], 4, appliedStatus(4))),
      b: live(undefined),
      far: { live: false as const, why: 'cut' },
    };
    const text = whyText(whyReport(facts(CART, [ALL], readings)), false, NOW, plainPaint);
    expect(text).toMatch(/^ {2}a +Ready +generation 4, 2m ago +-$/m);
    expect(text).toMatch(/^ {2}b +Waiting/m);
    expect(text).toMatch(/^ {2}far +Stale +unknown, last synced 5m ago +- +cut$/m);
  });
});

describe('why: reading', () => {
  it('follows the chain through the hub, and proposes names for what is not there', async () => {
    const [hub, spoke] = await Promise.all([startApi(), startApi()]);
    try {
      const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
      await put(hub.client, shop, connected('a'), connected('far'), deployment('cart'), propagation('all'));
      const resource = await hub.client.resourceFor('atoll.dev/v1alpha1', 'Propagation');
      const made = await hub.client.get<Propagation>(resource, 'shop', 'all');
      await hub.client.update(
        resource,
        { ...made, status: { ...seen, dispatchedTo: ['a', 'far'] } },
        { subresource: 'status' },
      );
      await put(spoke.client, dispatch(made, [deployment('cart')], 4, appliedStatus(4)));
      const offline = createClient(() => Promise.reject(failure(503, 'ServiceUnavailable', 'far is away')));
      const spokes = (name: string) => (name === 'a' ? spoke.asHub : offline);
      const ask = (kind: string, name: string, namespace = 'shop', cluster?: string) =>
        readWhy(
          hub.client,
          spokes,
          { kind, name, namespace, ...(cluster === undefined ? {} : { cluster }) },
          NOW,
        );

      const chains = whyReport(await ask('deploy', 'cart')).propagations[0]?.clusters;
      expect(chains?.map((chain) => [chain.cluster, chain.word])).toEqual([
        ['a', 'Ready'],
        ['far', 'Stale'],
      ]);
      await expect(ask('deploy', 'carr')).rejects.toThrow(
        'no Deployment "carr" in namespace shop; similar: cart',
      );
      await expect(ask('deploy', 'cart', 'default')).rejects.toThrow(/there is one in namespace shop/);
      await expect(ask('deployy', 'cart')).rejects.toThrow(/no kind named "deployy"; similar: deploy/);
      await expect(ask('deploy', 'cart', 'shop', 'fra')).rejects.toThrow('no cluster "fra"');
    } finally {
      await Promise.all([hub.close(), spoke.close()]);
    }
  });
  it('takes <kind>/<name> or two words', () => {
    expect(parseAsked(['deploy/cart'])).toEqual({ kind: 'deploy', name: 'cart' });
    expect(parseAsked(['deploy', 'cart'])).toEqual({ kind: 'deploy', name: 'cart' });
    for (const words of [
      ['deploy'],
      ['deploy/'],
      ['/cart'],
      ['deploy/cart', 'x'],
      ['a', 'b', 'c'],
      ['a/b/c'],
    ])
      expect(() => parseAsked(words), words.join(' ')).toThrow();
  });
});
