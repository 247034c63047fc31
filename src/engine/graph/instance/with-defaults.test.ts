import { expect, it } from 'vitest';
import { compiled } from '../graph.fixture.ts';
import { withDefaults } from './index.ts';
import { instance } from './instance.fixture.ts';

it('an instance that was read before its graph got a field has the default of that field', () => {
  const graph = compiled(`
schema: {spec: {name: string, colour: "string | default=blue", size: {w: "integer | default=2", h: integer}}}
resources: []
`);
  const old = instance({ name: 'cart', size: { h: 1 } });
  expect(withDefaults(old, graph)).toEqual({
    ...old,
    spec: { name: 'cart', colour: 'blue', size: { h: 1, w: 2 } },
  });
  expect(old['spec']).toEqual({ name: 'cart', size: { h: 1 } });
  const { spec: _spec, ...bare } = old;
  expect(withDefaults(bare, graph)['spec']).toEqual({ colour: 'blue', size: { w: 2 } });
  const without = compiled('schema: {spec: {name: string}}\nresources: []');
  expect(withDefaults(bare, without)).toBe(bare);
});
