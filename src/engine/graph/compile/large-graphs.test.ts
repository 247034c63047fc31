// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import type { GraphResource } from '../definition.ts';
import { schemaSourceOf } from '../schema-source.ts';
import { compileGraph } from './index.ts';

/** Values each of which is computed from the one before, which is written after it where `reversed`. */
function chain(length: number, reversed: boolean): GraphResource[] {
  const resources = Array.from(
    { length },
    (_, index): GraphResource => ({
      id: `n${index}`,
      def: { text: index === 0 ? 'begin' : `\${n${index - 1}.text + "x"}` },
    }),
  );
  return reversed ? resources.reverse() : resources;
}

/**
 * How many elements go into sets and maps, through filters and searches, and out of objects while `work` runs. Whoever looks at
 * everything again for each of many things does it with these.
 */
function countingElements<T>(work: () => T): { result: T; elements: number } {
  let elements = 0;
  const undo: (() => void)[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: each has its own type
  function counted(owner: any, name: string, count: (self: any, given: any, result: any) => number): void {
    const real = owner[name];
    owner[name] = function (this: unknown, ...given: unknown[]): unknown {
      const result = real.apply(this, given);
      elements += count(this, given[0], result);
      return result;
    };
    undo.push(() => {
      owner[name] = real;
    });
  }
  counted(Set.prototype, 'add', () => 1);
  counted(Map.prototype, 'set', () => 1);
  counted(Map.prototype, 'get', () => 1);
  for (const name of ['filter', 'find', 'map', 'flatMap', 'includes', 'every', 'some'])
    counted(Array.prototype, name, (self: unknown[]) => self.length);
  counted(Object, 'keys', (_self, _given, result: unknown[]) => result.length);
  counted(Object, 'entries', (_self, _given, result: unknown[]) => result.length);
  counted(Object, 'values', (_self, _given, result: unknown[]) => result.length);
  counted(Object, 'fromEntries', (_self, _given, result: object) => Reflect.ownKeys(result).length);
  try {
    const result = work();
    return { result, elements };
  } finally {
    for (const put of undo) put();
  }
}

describe('a graph of many nodes', () => {
  function compiled(resources: readonly GraphResource[]): { order: string[]; elements: number } {
    const counted = countingElements(() =>
      compileGraph(
        { name: 'chain', schema: { apiVersion: 'v1alpha1', kind: 'Chain' }, resources },
        { schemas: schemaSourceOf([]) },
      ),
    );
    expect(counted.result.issues).toBeUndefined();
    return { order: counted.result.graph?.nodes.map(({ id }) => id) ?? [], elements: counted.elements };
  }

  for (const reversed of [false, true])
    it(`is compiled with work for each, not for each pair (${reversed ? 'the last written first' : 'in order'})`, () => {
      // What is made once for all graphs is made before it counts.
      compiled(chain(10, reversed));
      const [few, many] = [compiled(chain(100, reversed)), compiled(chain(400, reversed))];
      expect(many.order).toEqual(Array.from({ length: 400 }, (_, index) => `n${index}`));
      expect(many.elements / few.elements).toBeLessThan(4.5);
    });
});
