import { describe, expect, it } from 'vitest';
import type { FleetSummary } from '../../engine/summarise/summarise.ts';
import type { KubeObject } from '../../kube/object.ts';
import { compilePropagation, effectiveSelectors } from './compile.ts';
import { type PropagationFindings, reportPropagation } from './report.ts';
import type { Propagation, PropagationSpec } from './types.ts';

function propagation(
  spec: Partial<PropagationSpec> = {},
  namespace: string | undefined = 'shop',
): Propagation {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: namespace === undefined ? 'ClusterPropagation' : 'Propagation',
    metadata: { name: 'all', uid: 'u-1', generation: 4, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }],
      placement: { clusterSelector: {} },
      ...spec,
    },
  };
}

function map(name: string, namespace: string = 'shop', labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels, uid: `u-${name}`, resourceVersion: '1' },
    data: {},
  };
}

const stock = [map('b'), map('a', 'shop', { app: 'x' }), map('c', 'other'), map('kube-root-ca.crt')];
const compile = (item: Propagation): ReturnType<typeof compilePropagation> =>
  compilePropagation(item, (selector) => stock.filter((object) => object.kind === selector.kind));
const names = (item: Propagation): string[] =>
  compile(item).intent.objects.map((object) => `${object.metadata.namespace}/${object.metadata.name}`);

describe('compiling a propagation', () => {
  it('takes objects of its own namespace only, whatever its selectors say', () => {
    expect(names(propagation())).toEqual(['shop/a', 'shop/b']);
    const sly = propagation({
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'other' }],
    });
    expect(effectiveSelectors(sly)).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' }]);
    expect(names(sly)).toEqual(['shop/a', 'shop/b']);
  });

  it('takes objects of every namespace as a ClusterPropagation', () => {
    const everywhere = propagation({}, undefined);
    expect(effectiveSelectors({ ...everywhere, metadata: { name: 'all' } })).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap' },
    ]);
  });

  it('makes portable objects in apply order, each once', () => {
    const item = propagation({
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' },
      ],
    });
    const { objects } = compile(item).intent;
    expect(objects.map((object) => object.metadata)).toEqual([
      { name: 'a', namespace: 'shop', labels: { app: 'x' } },
      { name: 'b', namespace: 'shop' },
    ]);
  });

  it('tells which selectors match nothing, which objects may not travel, and what is not valid', () => {
    const item = propagation({
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'x' } } },
        { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'none' } } },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'kube-root-ca.crt' },
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          labelSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] },
        },
      ],
    });
    const compiled = compile(item);
    expect(compiled.emptySelectors).toEqual([1, 2]);
    expect(compiled.skipped).toMatchObject([
      { ref: { name: 'kube-root-ca.crt' }, reason: /root certificate/ },
    ]);
    expect(compiled.problems).toEqual([expect.stringContaining('resourceSelectors[3].labelSelector')]);
  });

  it('has a budget of its own where none is given', () => {
    expect(compile(propagation()).intent).toMatchObject({
      deletionBudget: '50%',
      suspend: false,
      source: { uid: 'u-1', generation: 4, namespace: 'shop' },
    });
    expect(compile(propagation({ deletionBudget: 0, suspend: true })).intent).toMatchObject({
      deletionBudget: 0,
      suspend: true,
    });
  });
});

const fine = { ok: true, reason: 'Fine', message: '' };
const summary: FleetSummary = { clusters: 2, ready: 2, stale: 0, notReady: [] };
const findings = (changes: Partial<PropagationFindings> = {}): PropagationFindings => ({
  generation: 4,
  objects: 2,
  revision: 'sha256:1',
  dispatchGeneration: 7,
  dispatchDigest: 'sha256:2',
  dispatchHistory: [],
  dispatchedTo: ['a', 'b'],
  summary,
  suspended: false,
  selection: fine,
  placement: fine,
  overrides: fine,
  ...changes,
});

describe('reporting a propagation', () => {
  const conditionsOf = (found: PropagationFindings): Record<string, string> =>
    Object.fromEntries(
      (reportPropagation(found, undefined, 0).conditions ?? []).map((item) => [
        item.type,
        `${item.status}/${item.reason}`,
      ]),
    );

  it('is quiet: equal findings make an equal status, whenever', () => {
    const first = reportPropagation(findings(), undefined, 1_000);
    expect(reportPropagation(findings(), first, 900_000_000)).toEqual(first);
  });

  it('says Ready only where every cluster is seen to be so', () => {
    const notReady = (word: 'Stale' | 'Waiting' | 'Degraded', reason: string): FleetSummary => ({
      clusters: 2,
      ready: 1,
      stale: word === 'Stale' ? 1 : 0,
      notReady: [{ cluster: 'b', word, reason, message: 'm', objects: [] }],
    });
    expect(conditionsOf(findings())).toMatchObject({ Ready: 'True/Ready', Dispatched: 'True/Dispatched' });
    expect(conditionsOf(findings({ summary: notReady('Stale', 'NotConnected') }))).toMatchObject({
      Ready: 'Unknown/Stale',
      Dispatched: 'True/Dispatched',
    });
    expect(conditionsOf(findings({ summary: notReady('Waiting', 'NotAccepted') }))).toMatchObject({
      Ready: 'False/NotAccepted',
      Dispatched: 'False/NotAccepted',
    });
    expect(conditionsOf(findings({ summary: notReady('Degraded', 'NotDispatched') }))).toMatchObject({
      Ready: 'False/NotDispatched',
      Dispatched: 'False/NotDispatched',
    });
    expect(
      conditionsOf(findings({ summary: { clusters: 0, ready: 0, stale: 0, notReady: [] } })),
    ).toMatchObject({ Ready: 'False/NotPlaced' });
    expect(conditionsOf(findings({ suspended: true }))).toMatchObject({ Dispatched: 'False/Suspended' });
  });

  it('names 50 clusters at the most', () => {
    const notReady = Array.from({ length: 80 }, (_, i) => ({
      cluster: `c${i}`,
      word: 'Stale' as const,
      reason: 'r',
      message: 'm',
      objects: [],
    }));
    const status = reportPropagation(
      findings({ summary: { clusters: 80, ready: 0, stale: 80, notReady } }),
      undefined,
      0,
    );
    expect(status.notReady).toHaveLength(50);
    expect(status.stale).toBe(80);
  });
});
