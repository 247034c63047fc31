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

  describe('values that share their parts', () => {
    const bound = (innermost: string, of: (before: string) => string, levels: number, body: string): string =>
      Array.from({ length: levels }, (_, level) => level)
        .reduceRight((inner, level) => `cel.bind(v${level + 1}, ${of(`v${level}`)}, ${inner})`, body)
        .replace(/^/, `cel.bind(v0, ${innermost}, `) + ')';
    const rendered = (expression: string): string => {
      const graph = compiled(
        `schema: {spec: {name: string}}\nresources:\n- id: made\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: made}, data: {x: '\${${expression}}'}}`,
      );
      const { nodes } = renderInstance(graph, instance, [], options);
      return `${nodes[0]?.state}: ${nodes[0]?.reasons.map(reasonText).join()}`;
    };
    const ten = (name: string): string => `[${Array.from({ length: 10 }, () => `dyn(${name})`).join(', ')}]`;

    it('are not written out without an end', () => {
      expect(rendered(bound('[1]', ten, 12, 'json.marshal(v12)'))).toContain('too large to be written');
    });

    it('are not merged without an end', () => {
      const pair = (name: string): string => `{"a": dyn(${name}), "b": dyn(${name})}`;
      const source = bound('{"a": dyn(1)}', pair, 40, 'json.marshal(v40.deepMerge(v40))');
      expect(rendered(source)).toContain('cost limit exceeded');
    });
  });
});
