// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { definitionOf } from './compile.ts';
import {
  composedNodes,
  compositionCycles,
  hubKindOf,
  hubOnlyKinds,
  namespacePolicyOf,
  withHubNodes,
} from './composition.ts';
import type { ResourceGraphDefinition } from './types.ts';

function graph(
  name: string,
  kind: string,
  kinds: readonly string[],
  { hubOnly = false, annotations = {} }: { hubOnly?: boolean; annotations?: Record<string, string> } = {},
): ResourceGraphDefinition {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name, annotations, ...(hubOnly && { labels: { 'kro.run/distribute': 'false' } }) },
    spec: {
      schema: { apiVersion: 'v1alpha1', kind },
      resources: kinds.map((of, index) => ({
        id: `node${index}`,
        template: { apiVersion: 'kro.run/v1alpha1', kind: of, metadata: { name: 'x' } },
      })),
    },
  };
}

const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'parts.kro.run' },
  spec: {
    group: 'kro.run',
    scope: 'Namespaced',
    names: { kind: 'Part' },
    versions: [{ name: 'v1alpha1', schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

describe('composition', () => {
  it('is of the nodes of a handed-on definition whose kind only the hub serves', () => {
    const part = graph('part', 'Part', [], { hubOnly: true });
    const shared = graph('shared', 'Shared', []);
    const whole = graph('whole', 'Whole', ['Part', 'Shared', 'Other']);
    const kinds = hubOnlyKinds([part, shared, whole]);
    expect([...kinds.keys()]).toEqual(['kro.run/Part']);
    expect(composedNodes(whole, kinds).map(({ id }) => id)).toEqual(['node0']);
    expect(composedNodes(graph('whole', 'Whole', ['Part'], { hubOnly: true }), kinds)).toEqual([]);
    const withTarget = { ...whole, spec: { ...whole.spec, target: { cluster: { name: 'a' } } } };
    expect(composedNodes(withTarget, kinds)).toEqual([]);
  });

  it('tells clusters which nodes these are, with what their kind is like; nobody else writes that', () => {
    const whole = graph('whole', 'Whole', ['Part', 'Other']);
    const hub = { scope: 'Namespaced', schema: { type: 'object' } } as const;
    expect(hubKindOf({ group: 'kro.run', version: 'v1alpha1', kind: 'Part' }, [crd])).toEqual(hub);
    expect(hubKindOf({ group: 'kro.run', version: 'v2', kind: 'Part' }, [crd])).toBeUndefined();
    const spec = withHubNodes(whole.spec, ({ kind }) => (kind === 'Part' ? hub : undefined));
    expect(spec.resources?.map(({ target }) => target)).toEqual([{ hub }, undefined]);
    const sent = { ...whole, spec };
    expect(definitionOf(sent).issues?.map(({ path }) => path)).toEqual(['target.hub']);
    const metadata = { ...whole.metadata, annotations: { 'atoll.dev/distributed-revision': '1' } };
    const { definition } = definitionOf({ ...sent, metadata });
    expect(definition?.resources.map((node) => node.hub)).toEqual([hub, undefined]);
    expect(definition?.resources[0]).not.toHaveProperty('target');
  });

  it('without end is found, by every definition of the cycle and by no other', () => {
    const cyclic = [
      graph('a', 'A', ['B']),
      graph('b', 'B', ['C'], { hubOnly: true }),
      graph('c', 'C', ['A'], { hubOnly: true }),
      graph('d', 'D', ['A', 'B']),
    ];
    const found = compositionCycles(cyclic);
    expect(Object.fromEntries(found)).toEqual({
      a: ['a', 'b', 'c', 'a'],
      b: ['b', 'c', 'a', 'b'],
      c: ['c', 'a', 'b', 'c'],
    });
    expect(compositionCycles([...cyclic.slice(0, 2), graph('c', 'C', [], { hubOnly: true })]).size).toBe(0);
    // What makes itself on one cluster may have its reasons, and its ends.
    expect(compositionCycles([graph('a', 'A', ['A']), graph('b', 'B', [], { hubOnly: true })]).size).toBe(0);
    expect(compositionCycles([graph('a', 'A', ['B']), graph('b', 'B', ['A'])]).size).toBe(0);
  });

  it('makes namespaces on the hub unless the definition says otherwise, however it says that', () => {
    const of = (value: string): string =>
      namespacePolicyOf(graph('a', 'A', [], { annotations: { 'atoll.dev/composed-namespaces': value } }));
    expect(namespacePolicyOf(graph('a', 'A', []))).toBe('Create');
    expect([' Create ', 'Require', 'nonsense'].map(of)).toEqual(['Create', 'Require', 'Require']);
  });
});
