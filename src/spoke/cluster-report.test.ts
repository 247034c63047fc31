import { expect, it } from 'vitest';
import type { DispatchSpec } from '../engine/dispatch/index.ts';
import { clusterStatusOf } from './cluster-report.ts';
import type { Held } from './held.ts';

const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name });

const accepted: DispatchSpec = {
  source: { apiVersion: 'v1', kind: 'Shop', namespace: 'shop', name: 'shop', uid: 'u', generation: 1 },
  position: { lineage: 'l', epoch: 1, generation: 2 },
  revision: 'r',
  bundles: [],
  objects: [ref('wanted')],
  patches: [],
  tombstones: [{ ref: ref('ordered-away'), reason: 'no longer selected' }],
  publicKey: '',
};

function held(uids: Record<string, string>): Held {
  const owned = Object.entries(uids).map(([name, uid]) => [name, { ref: ref(name), uid }] as const);
  return {
    name: 'shop',
    accepted,
    owned: new Map(owned),
    wanted: new Map(),
    strategies: new Map(),
    problems: [],
    missing: undefined,
    claims: new Set(),
    refusal: undefined,
    states: new Map(),
    pendingRemovals: [],
    acceptedAt: 0,
    removed: [],
    complete: true,
    appliedGeneration: 2,
    appliedAt: undefined,
    attempts: 0,
  };
}

function kept(uids: Record<string, string>, ordered: boolean): string[] | undefined {
  const dispatch = { apiVersion: 'v1', kind: 'Dispatch', metadata: { name: 'shop' }, spec: accepted };
  const report = {
    name: 'a',
    engine: 'test',
    gitVersion: 'v1.36.0',
    nodes: [],
    dispatches: ordered ? [dispatch] : [],
    held: [held(uids)],
    corrections: 0,
    lastCorrection: undefined,
  };
  return clusterStatusOf(report, undefined, 0).dispatches?.[0]?.kept?.map(({ name }) => name);
}

it('names what is left of earlier orders and that nobody asks for, also what was made before its UID was noted', () => {
  expect(kept({ wanted: '1', 'ordered-away': '2', left: '3' }, true)).toEqual(['left']);
  expect(kept({ wanted: '1', left: '' }, true)).toEqual(['left']);
  expect(kept({ wanted: '1', 'ordered-away': '2' }, true)).toBeUndefined();
});

it('names all that it owns where the order is gone', () => {
  expect(kept({ wanted: '1', left: '' }, false)).toEqual(['wanted', 'left']);
});

it('names a bounded part of what it keeps, of each order that is gone at least one object, and says how many more', () => {
  const orders = Array.from({ length: 40 }, (_, order) => ({
    ...held(Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`${'m'.repeat(200)}-${at}`, 'u']))),
    name: `order-${order + 10}`,
  }));
  const report = {
    name: 'a',
    engine: 'test',
    gitVersion: 'v1.36.0',
    nodes: [],
    dispatches: [],
    held: orders,
    corrections: 0,
    lastCorrection: undefined,
  };
  const { dispatches = [] } = clusterStatusOf(report, undefined, 0);
  expect(dispatches).toHaveLength(40);
  for (const { kept: named = [], keptMore = 0 } of dispatches) {
    expect(named.length).toBeGreaterThan(0);
    expect(named.length + keptMore).toBe(2_000);
  }
  expect(JSON.stringify(dispatches).length).toBeLessThan(400_000);
});
