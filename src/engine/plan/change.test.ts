import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { blastRadius, changeOf, essence, isImmutable, movedInputs, planHash, planInputs } from './change.ts';

const map = (data: Record<string, string>, metadata: KubeObject['metadata'] = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', namespace: 'shop', ...metadata },
  data,
});
const server = { uid: 'u', resourceVersion: '7', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z' };

describe('what carrying out a plan does to an object', () => {
  const red = map({ colour: 'red' });
  const blue = map({ colour: 'blue' });
  const live = map({ colour: 'red' }, server);
  it.each<[string, Parameters<typeof changeOf>[0], string | undefined]>([
    ['made, where there is none', { after: red, look: { tried: red } }, 'create by dry run'],
    ['made, as far as can be read', { after: red, look: {} }, 'create by reading'],
    ['changed', { before: red, after: blue, look: { live, tried: blue } }, 'change by dry run'],
    [
      'left',
      {
        before: red,
        after: red,
        look: { live, tried: map({ colour: 'red' }, { ...server, resourceVersion: '8' }) },
      },
      'none by dry run',
    ],
    [
      'changed, as the hub knows, without a dry run',
      { before: red, after: blue, look: { live } },
      'change by hub',
    ],
    ['deleted', { before: red, look: { live } }, 'delete by reading'],
    ['nothing, where it is gone already', { before: red, look: {} }, undefined],
    [
      'replaced',
      { before: red, after: blue, look: { live, refusal: { immutable: true, message: 'm' } } },
      'replace by dry run',
    ],
    [
      'refused',
      { after: blue, look: { live, refusal: { immutable: false, message: 'm' } } },
      'refuse by dry run',
    ],
    ['made, where nobody can look', { after: red }, 'create by hub'],
    ['changed, where nobody can look', { before: red, after: blue }, 'change by hub'],
    ['deleted, where nobody can look', { before: red }, 'delete by hub'],
  ])('%s', (_what, plan, wanted) => {
    const change = changeOf(plan);
    expect(change && `${change.change} by ${change.by}`).toBe(wanted);
  });

  it('does not look at what servers, controllers and Atoll keep in an object', () => {
    const marked = map(
      { colour: 'red' },
      {
        ...server,
        managedFields: [{ manager: 'x' }],
        labels: { 'atoll.dev/dispatch': 'd', app: 'x' },
        annotations: {
          'atoll.dev/managed-by': 'h',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      },
    );
    expect(essence({ ...marked, status: { a: 1 } })).toEqual(
      map({ colour: 'red' }, { labels: { app: 'x' } }),
    );
  });

  it('knows the words of servers for what may not change', () => {
    expect(isImmutable('data: Forbidden: field is immutable when `immutable` is set', undefined)).toBe(true);
    expect(isImmutable('invalid', { causes: [{ message: 'field is immutable' }] })).toBe(true);
    expect(isImmutable('exceeded quota', {})).toBe(false);
  });
});

describe('a plan as a whole', () => {
  const change = (word: 'create' | 'none', colour = 'red') =>
    ({
      ref: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'x' },
      change: word,
      by: 'hub',
      to: map({ colour }),
    }) as const;

  it('counts what it touches', () => {
    const clusters = [
      { cluster: 'a', changes: [change('create'), change('none')] },
      { cluster: 'b', away: 'x', changes: [change('create')] },
      { cluster: 'c', changes: [change('none')] },
    ];
    expect(blastRadius(clusters, 9)).toMatchObject({
      clusters: 2,
      ofClusters: 9,
      away: 1,
      create: 2,
      delete: 0,
    });
  });

  it('has another hash when anything that it follows from is another, and says what', () => {
    const created = [{ cluster: 'a', changes: [change('create')] }];
    const hub = { before: 'h', after: 'i' };
    const inputs = planInputs('f', hub, created);
    expect(planHash(planInputs('f', hub, created))).toBe(planHash(inputs));
    const others = [
      planInputs('g', hub, created),
      planInputs('g', { ...hub, after: 'j' }, created),
      planInputs('f', { before: 'x', after: 'j' }, created),
      planInputs('f', { ...hub, after: 'j' }, created),
      planInputs('f', hub, [{ cluster: 'a', changes: [change('create', 'blue')] }]),
      planInputs('f', hub, [{ cluster: 'a', away: 'x', changes: [change('create')] }]),
      planInputs('f', hub, []),
    ];
    expect(new Set([inputs, ...others].map(planHash)).size).toBe(8);
    expect(others.map((other) => movedInputs(inputs, other))).toEqual([
      ['what is asked for is something else'],
      ['what is asked for is something else'],
      ['the hub has something else, or places it elsewhere'],
      ['the hub would make something else of it'],
      ['it comes to something else on a'],
      ['it comes to something else on a'],
      ['it comes to something else on a'],
    ]);
    expect(movedInputs(inputs, inputs)).toEqual([]);
  });
});
