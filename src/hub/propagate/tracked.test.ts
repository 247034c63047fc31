import { expect, it } from 'vitest';
import type { Retraction } from './retractions.ts';
import { trackedIntent, trackedRetraction, trackedTable } from './tracked.ts';

const object = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  metadata: { name: 'shop', namespace: 'shop', uid: '0123456789ab' },
};
const spec: Retraction['spec'] = {
  source: {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    namespace: 'shop',
    name: 'shop',
    uid: '0123456789ab',
    generation: 1,
  },
  generation: 2,
  digest: 'retracted',
  clusters: ['a'],
};

it.each(['intent', 'retraction'])(
  'finds the retraction by its dispatch, while the intent goes and after, where the %s was looked at first',
  (first) => {
    const table = trackedTable();
    const intent = trackedIntent('Propagation/shop/shop', object, undefined);
    const retraction = trackedRetraction(intent.dispatch, spec);
    for (const item of first === 'intent' ? [intent, retraction] : [retraction, intent]) table.add(item);
    expect(table.ofDispatch(intent.dispatch)).toBe(retraction);
    table.remove(intent.key);
    expect(table.ofDispatch(intent.dispatch)).toBe(retraction);
    expect([...table.onSpoke('a')]).toEqual([retraction]);
    table.remove(retraction.key);
    expect(table.ofDispatch(intent.dispatch)).toBeUndefined();
  },
);

it('forgets what was wrong with clusters that have nothing of an intent any more', () => {
  const table = trackedTable();
  const item = trackedIntent('Propagation/shop/shop', object, { dispatchedTo: ['a', 'b'] });
  table.add(item);
  for (const spoke of ['a', 'b']) item.problems.set(spoke, { message: 'no' });
  table.setDispatchedTo(item, ['b']);
  expect([...item.problems.keys()]).toEqual(['b']);
});

it('keeps in mind what is found while clusters that were found before are written down', () => {
  const table = trackedTable();
  const item = trackedIntent('Propagation/shop/shop', object, undefined);
  table.add(item);
  item.found.add('a');
  const known = [...item.found];
  item.found.add('b');
  table.setDispatchedTo(item, known);
  expect([...item.dispatchedTo]).toEqual(['a']);
  expect([...item.found]).toEqual(['b']);
});
