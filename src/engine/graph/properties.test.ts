// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { digestOf } from '../digest.ts';
import { compileGraph } from './compile/index.ts';
import type { GraphDefinition, GraphResource } from './definition.ts';
import { someKinds } from './graph.fixture.ts';
import {
  type InstanceStep,
  observedObjects,
  renderInstance,
  stepDeletion,
  stepInstance,
} from './instance/index.ts';

const owner = { name: 'graph', uid: 'u', version: '0' };
const instance: KubeObject = {
  apiVersion: 'kro.run/v1',
  kind: 'Test',
  metadata: { name: 'i', namespace: 'n', uid: 'u' },
  spec: { list: ['x', 'z'] },
};

/** Graphs without cycles: each node may use those with smaller numbers, and is written anywhere. */
const graphs: fc.Arbitrary<{ resources: GraphResource[]; shuffled: GraphResource[] }> = fc
  .array(fc.record({ uses: fc.array(fc.nat(), { maxLength: 3 }), each: fc.boolean() }), {
    minLength: 1,
    maxLength: 9,
  })
  .chain((shapes) => {
    const resources = shapes.map(({ uses, each }, index): GraphResource => {
      const used = index === 0 ? [] : [...new Set(uses.map((use) => use % index))];
      const data = Object.fromEntries(
        used.map((use) => [
          `k${use}`,
          shapes[use]?.each ? `\${string(node${use}.size())}` : `\${node${use}.metadata.name}`,
        ]),
      );
      const name = each ? `n${index}-\${item${index}}` : `n${index}`;
      return {
        id: `node${index}`,
        template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data },
        ...(each && { forEach: [{ [`item${index}`]: '${schema.spec.list}' }] }),
      };
    });
    return fc
      .shuffledSubarray(resources, { minLength: resources.length, maxLength: resources.length })
      .map((shuffled) => ({ resources, shuffled }));
  });

function compiledOf(resources: readonly GraphResource[]) {
  const definition: GraphDefinition = {
    name: 'g',
    schema: { kind: 'Test', apiVersion: 'v1', spec: { list: '[]string' } },
    resources,
  };
  const { graph, issues } = compileGraph(definition, { schemas: someKinds });
  if (!graph) throw new Error(JSON.stringify(issues));
  return graph;
}

describe('properties', () => {
  it('compiling does not depend on the order in which nodes are written', () => {
    fc.assert(
      fc.property(graphs, ({ resources, shuffled }) => {
        const [a, b] = [compiledOf(resources), compiledOf(shuffled)];
        const facts = (graph: typeof a): string[] =>
          graph.nodes.map(({ id, wave, dependencies }) => `${id} ${wave} ${dependencies}`).sort();
        expect(facts(a)).toEqual(facts(b));
        expect(a.digest).toEqual(b.digest);
        expect(a.definition).toEqual(b.definition);
        for (const graph of [a, b])
          for (const [at, node] of graph.nodes.entries())
            for (const id of node.dependencies)
              expect(graph.nodes.findIndex((other) => other.id === id)).toBeLessThan(at);
      }),
      { numRuns: 40 },
    );
  });

  it('rendering is deterministic', () => {
    fc.assert(
      fc.property(graphs, ({ resources, shuffled }) => {
        const render = (of: readonly GraphResource[]): InstanceStep =>
          renderInstance(compiledOf(of), instance, [], { owner });
        const [a, b, c] = [render(resources), render(resources), render(shuffled)];
        expect(digestOf(a.objects)).toBe(digestOf(b.objects));
        expect(a.objects.map(({ digest }) => digest).sort()).toEqual(
          c.objects.map(({ digest }) => digest).sort(),
        );
        expect(a.ready).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('what is made last goes first: nothing is deleted before what was made of it', () => {
    fc.assert(
      fc.property(graphs, ({ shuffled }) => {
        const graph = compiledOf(shuffled);
        const there = new Map<string, KubeObject>();
        const made: string[] = [];
        for (let round = 0; round <= graph.nodes.length; round++) {
          const step = stepInstance(graph, instance, observedObjects(there.values()), { owner });
          for (const { ref, object } of step.objects)
            if (!there.has(ref.name)) {
              made.push(ref.name);
              there.set(ref.name, object);
            }
        }
        const gone: string[] = [];
        while (there.size > 0) {
          const { delete: wave } = stepDeletion([...there.values()]);
          expect(wave.length).toBeGreaterThan(0);
          for (const { ref } of wave) {
            gone.push(ref.name);
            there.delete(ref.name);
          }
        }
        const waves = new Map(graph.nodes.map(({ id, wave }) => [id.replace('node', 'n'), wave]));
        const wavesOf = (names: readonly string[]): (number | undefined)[] =>
          names.map((name) => waves.get(name.split('-')[0] ?? ''));
        expect([...gone].sort()).toEqual([...made].sort());
        expect(wavesOf(gone)).toEqual(wavesOf(made).toSorted((a, b) => (b ?? 0) - (a ?? 0)));
        for (const node of graph.nodes)
          for (const id of node.dependencies) {
            const [first, second] = [id, node.id].map((item) =>
              gone.findIndex((name) => name.split('-')[0] === item.replace('node', 'n')),
            );
            expect(second).toBeLessThan(first ?? 0);
          }
      }),
      { numRuns: 40 },
    );
  });
});
