import { expect, it } from 'vitest';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import { type Claims, createClaims } from './claims.ts';
import { type Held, newState } from './held.ts';

const settings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'shop', name: 'settings' },
};
const KEY = refKey(refOf(settings));

interface Rig {
  readonly claims: Claims;
  readonly moved: string[];
  /** A dispatch is held that wants the settings, which it has made where a UID is given. */
  hold(name: string, uid?: string): Held;
}

function rig(): Rig {
  const held = new Map<string, Held>();
  const moved: string[] = [];
  const claims = createClaims(held, { onMoved: (name) => void moved.push(name), onContested: () => {} });
  return {
    claims,
    moved,
    hold(name, uid = ''): Held {
      const next = {
        name,
        owned: new Map([[KEY, { ref: refOf(settings), uid }]]),
        wanted: new Map([[KEY, settings]]),
        claims: new Set<string>(),
        strategies: new Map(),
        states: new Map([[KEY, { ...newState(refOf(settings)), settled: true }]]),
      } as unknown as Held;
      const before = held.get(name);
      held.set(name, next);
      claims.settle(before, next);
      return next;
    },
  };
}

it('[S57] hands an object to the one that has it, though another came before that wants it too', () => {
  const { claims, hold } = rig();
  hold('maker', 'made-by-it');
  hold('earlier');
  hold('later', 'made-by-it');
  claims.give(KEY, 'later');
  expect(claims.heir(KEY, 'maker')?.name).toBe('later');
  expect(claims.heir(KEY, 'later')?.name).toBe('maker');
});

it('[S57] lets the one that loses an object write it anew when it has it again', () => {
  const { claims, moved, hold } = rig();
  const first = hold('first');
  // It was made by this one, which is known again only now.
  hold('maker', 'made-by-it');
  expect(claims.claimant(KEY)).toBe('maker');
  expect(first.states.get(KEY)?.settled).toBe(false);
  expect(moved).toEqual(['first']);
  claims.leave(KEY, 'maker');
  expect(claims.claimant(KEY)).toBe('first');
  expect(moved).toEqual(['first', 'first']);
});
