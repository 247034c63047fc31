// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { compiled } from '../graph.fixture.ts';
import { reasonText, renderInstance } from './index.ts';

const options = { owner: { name: 'test', uid: 'g', version: '1' } };
const list = `[${Array.from({ length: 40 }, (_, index) => index).join(',')}]`;
/** Some hundred thousand units, which is less than one expression may cost. */
const DEAR = `\${${list}.map(a, ${list}.map(b, ${list}.filter(c, c == a).size())).size() == 0 ? "x" : "y"}`;

describe('what the expressions of an instance cost together', () => {
  const graphOf = (count: number): ReturnType<typeof compiled> =>
    compiled(
      `schema: {spec: {name: string}}\nresources:${Array.from(
        { length: count },
        (_, index) =>
          `\n- id: n${index}\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: n${index}}, data: {x: '${DEAR}'}}`,
      ).join('')}`,
    );
  const instance = {
    apiVersion: 'kro.run/v1',
    kind: 'Test',
    metadata: { name: 'one', namespace: 'ns', uid: 'u' },
    spec: {},
  };

  it('is bounded: whoever writes many dear ones stops no others that the engine looks after', () => {
    const { nodes, objects } = renderInstance(graphOf(200), instance, [], options);
    expect(objects.length).toBeGreaterThan(20);
    expect(objects.length).toBeLessThan(150);
    const last = nodes.at(-1);
    expect(last?.state).toBe('ERROR');
    expect(last?.reasons.map(reasonText).join()).toContain('cost more together than');
  });

  it('is enough for many', () => {
    const { nodes } = renderInstance(graphOf(20), instance, [], options);
    expect(nodes.every(({ state }) => state === 'SYNCED')).toBe(true);
  });
});
