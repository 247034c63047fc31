import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareClaims,
  type Explicitness,
  explicitnessOf,
  type SourceClaim,
  settleClaims,
} from './overlap.ts';

const claim = (
  name: string,
  explicitness: Explicitness = 'Kind',
  priority = 0,
  namespace = 'shop',
): SourceClaim => ({
  source: { kind: namespace === '' ? 'ClusterPropagation' : 'Propagation', namespace, name },
  explicitness,
  priority,
});

describe('several sources of one object', () => {
  it.each<[string, SourceClaim, SourceClaim]>([
    ['priority before closeness', claim('z', 'Kind', 5), claim('a', 'Name', 4)],
    ['a priority above the default', claim('z', 'Kind', 1), claim('a', 'Name')],
    ['the default above a negative priority', claim('z', 'Kind'), claim('a', 'Name', -1)],
    ['a name before a label', claim('z', 'Name'), claim('a', 'Property')],
    ['a name before the kind', claim('z', 'Name'), claim('a', 'Kind')],
    ['a label before the kind', claim('z', 'Property'), claim('a', 'Kind')],
    ['closeness at equal priority', claim('z', 'Name', 3), claim('a', 'Property', 3)],
    ['the smaller name among names', claim('a', 'Name'), claim('b', 'Name')],
    ['the smaller name among labels', claim('a', 'Property', 2), claim('b', 'Property', 2)],
    ['the smaller name among kinds', claim('a', 'Kind'), claim('aa', 'Kind')],
    ['the namespace before the fleet', claim('z'), claim('a', 'Kind', 0, '')],
    [
      'the namespace before the fleet, whatever the priority',
      claim('z', 'Kind', 0),
      claim('a', 'Name', 9, ''),
    ],
    ['priority in the fleet', claim('z', 'Kind', 2, ''), claim('a', 'Name', 1, '')],
    ['closeness in the fleet', claim('z', 'Property', 2, ''), claim('a', 'Kind', 2, '')],
    ['the smaller name in the fleet', claim('a', 'Kind', 2, ''), claim('b', 'Kind', 2, '')],
  ])('[A3] %s', (_what, winner, loser) => {
    for (const claims of [
      [winner, loser],
      [loser, winner],
    ]) {
      const contest = settleClaims(claims);
      expect(contest?.winner).toBe(winner);
      expect(contest?.losers[0]?.claim).toBe(loser);
      expect(contest?.losers[0]?.reason).toContain(winner.source.name);
    }
  });

  it('says why each loses', () => {
    const contest = settleClaims([
      claim('a', 'Name', 1),
      claim('b', 'Name', 0),
      claim('c', 'Kind', 1),
      claim('d', 'Name', 1),
    ]);
    expect(contest?.losers.map(({ claim: { source }, reason }) => `${source.name}: ${reason}`)).toEqual([
      'd: Propagation shop/a comes first by name',
      'c: Propagation shop/a names the object, and this one selects all of its kind',
      'b: Propagation shop/a has the larger priority (1, not 0)',
    ]);
    expect(settleClaims([])).toBeUndefined();
  });

  it('the order is total: whoever is asked first, the same wins', () => {
    const claims = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b'),
        how: fc.constantFrom<Explicitness>('Name', 'Property', 'Kind'),
        priority: fc.integer({ min: -1, max: 1 }),
        namespace: fc.constantFrom('', 'shop'),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(claims, (list) => {
        const all = list.map(({ name, how, priority, namespace }) => claim(name, how, priority, namespace));
        expect(settleClaims([...all].reverse())?.winner).toEqual(settleClaims(all)?.winner);
        for (const other of all)
          expect(compareClaims(settleClaims(all)?.winner as SourceClaim, other)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it.each<[string, SourceClaim, SourceClaim, boolean]>([
    ['does not take what another has', claim('a', 'Name', 5), claim('z'), false],
    ['takes it where it preempts', { ...claim('a', 'Kind', 5), preemption: 'Always' }, claim('z'), true],
    [
      'takes nothing from one that goes before it',
      { ...claim('a', 'Name'), preemption: 'Always' },
      claim('z', 'Kind', 1),
      false,
    ],
    [
      'of the fleet takes nothing from a namespace',
      { ...claim('a', 'Kind', 9, ''), preemption: 'Always' },
      claim('z'),
      false,
    ],
    [
      'of a namespace takes it from the fleet',
      { ...claim('a'), preemption: 'Always' },
      claim('z', 'Name', 9, ''),
      true,
    ],
    [
      'of the fleet takes it within the fleet',
      { ...claim('a', 'Kind', 9, ''), preemption: 'Always' },
      claim('z', 'Kind', 0, ''),
      true,
    ],
  ])('one that comes later %s', (_what, late, holder, takes) => {
    const contest = settleClaims([late, holder], holder);
    expect(contest?.winner).toBe(takes ? late : holder);
    expect(contest?.losers[0]?.reason).not.toBe('');
  });

  it('the closest selector of a source counts', () => {
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const object = { ...kind, metadata: { name: 'a', namespace: 'shop', labels: { x: 'y' } } };
    expect(explicitnessOf([kind, { ...kind, labelSelector: { matchLabels: { x: 'y' } } }], object)).toBe(
      'Property',
    );
    expect(explicitnessOf([{ ...kind, name: 'a' }, kind], object)).toBe('Name');
    expect(explicitnessOf([{ ...kind, name: 'b' }], object)).toBeUndefined();
  });
});
