import { describe, expect, it } from 'vitest';
import type { Dispatch, DispatchSpec, Position } from '../../engine/dispatch/index.ts';
import { claimOf, type OwnWord, proofOfRestore } from './evidence.ts';

const at = (generation: number, epoch = 1, lineage = 'l'): Position => ({ lineage, epoch, generation });

function spec(position: Position, changes: Partial<DispatchSpec> = {}): DispatchSpec {
  const source = { apiVersion: 'v1', kind: 'Any', namespace: 'n', name: 'n', uid: 'u', generation: 1 };
  const nothing = { bundles: [], objects: [], patches: [], tombstones: [] };
  return { source, position, revision: '', ...nothing, publicKey: 'k', ...changes };
}

/** Generation 4 of the first epoch, by which the spoke is to have nothing; generation 3 stood for …03. */
const OWN: OwnWord = {
  spoke: 'a',
  position: at(4),
  plan: undefined,
  history: ['3:0000000000000003'],
};

describe('an order that the hub signed', () => {
  it.each([
    ['of a later generation', spec(at(5)), 'this hub knows 4 of epoch 1 only'],
    ['of a later epoch', spec(at(1, 2)), 'generation 1 of epoch 2'],
    ['that says something else at its generation', spec(at(4), { revision: 'other' }), 'another content'],
    ['of a past that it does not remember so', spec(at(3), { digest: 'f'.repeat(16) }), 'does not remember'],
  ])('%s proves that it was restored', (_what, signed, words) => {
    expect(proofOfRestore(signed, OWN)).toContain(words);
  });

  it.each([
    ['that it gives now', spec(at(4))],
    ['that it remembers', spec(at(3), { digest: '0000000000000003' })],
    ['that is older than what it remembers', spec(at(2), { digest: 'f'.repeat(16) })],
    ['of an epoch before', spec(at(9, 0), { revision: 'other' })],
    ['of another hub', spec(at(9, 9, 'other'))],
  ])('%s proves nothing', (_what, signed) => {
    expect(proofOfRestore(signed, OWN)).toBeUndefined();
  });
});

describe('what a spoke says of itself', () => {
  const dispatch = (position: Position, status: object): Dispatch => ({
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Dispatch',
    metadata: { name: 'd', generation: 7 },
    spec: spec(position),
    status,
  });
  const refused = (reason: string, observedGeneration: number, message = 'no'): object => ({
    conditions: [{ type: 'Accepted', status: 'False', reason, message, observedGeneration }],
  });

  it('is a claim where a restored hub would hear it', () => {
    expect(claimOf(dispatch(at(4), { position: at(5) }), OWN)).toContain('it took generation 5 of epoch 1');
    expect(claimOf(dispatch(at(4), refused('StaleGeneration', 7)), OWN)).toContain(
      'does not take generation 4: no',
    );
    expect(claimOf(dispatch(at(4), refused('Diverged', 7)), OWN)).toBeDefined();
  });

  it('is none where it is about another order, or nothing that the hub said before', () => {
    expect(claimOf(undefined, OWN)).toBeUndefined();
    expect(claimOf(dispatch(at(4), { position: at(4) }), OWN)).toBeUndefined();
    expect(claimOf(dispatch(at(4), { position: at(9, 9, 'other') }), OWN)).toBeUndefined();
    expect(claimOf(dispatch(at(4), refused('Diverged', 6)), OWN)).toBeUndefined();
    expect(claimOf(dispatch(at(3), refused('Diverged', 7)), OWN)).toBeUndefined();
    expect(claimOf(dispatch(at(4), refused('Held', 7)), OWN)).toBeUndefined();
  });

  it('is told in bounds', () => {
    const endless = refused('Diverged', 7, 'x'.repeat(1_000_000));
    expect(claimOf(dispatch(at(4), endless), OWN)?.length).toBe(500);
  });
});
