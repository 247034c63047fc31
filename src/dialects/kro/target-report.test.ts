// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { compileContract } from '../../engine/contract/index.ts';
import { type TargetFacts, targetsCondition } from './target-report.ts';
import type { ResourceGraphDefinition } from './types.ts';

function on(cluster: string, template: object = {}): ResourceGraphDefinition {
  const node = { id: 'app', target: { cluster: { name: cluster } } };
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', namespace: 'shop' },
    ...template,
  };
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'mesh', generation: 3 },
    spec: { schema: { apiVersion: 'v1alpha1', kind: 'Mesh' }, resources: [{ ...node, template: body }] },
  };
}

const fine: TargetFacts = {
  facts: { apis: { complete: true, kinds: ['v1/ConfigMap'] } },
  unreachable: false,
  contracts: [],
};
const author = { username: 'alice' };
const said = (definition: ResourceGraphDefinition, facts?: TargetFacts): string => {
  const condition = targetsCondition(definition, author, () => facts);
  return condition ? `${condition.status}/${condition.reason}: ${condition.message}` : '';
};

describe('the clusters that a definition names', () => {
  it('are looked at by name, and by nothing that only an instance tells', () => {
    expect(said(on('a'), fine)).toBe('True/Reachable: its objects can be on a');
    expect(said(on('${schema.spec.cluster}'), fine)).toBe('');
    expect(targetsCondition(on('a'), author, () => fine)?.observedGeneration).toBe(3);
  });

  it('are missing, out of reach, without the kind, or forbid it', () => {
    expect(said(on('a'))).toBe(
      'False/TargetMissing: resources[0].target.cluster.name: there is no cluster a in the fleet',
    );
    expect(said(on('a'), { ...fine, unreachable: true })).toMatch(/^False\/TargetUnreachable: .* cluster a /);
    expect(said(on('a', { kind: 'Secret' }), fine)).toMatch(
      /^False\/KindAbsent: .* does not serve v1 Secret$/,
    );
    const contracts = [compileContract('owner', { allow: [{ namespaces: ['mine'] }] })];
    expect(said(on('a'), { ...fine, contracts })).toMatch(
      /^False\/TargetForbidden: .* the cluster a refuses /,
    );
  });

  it('are not blamed for what is not known', () => {
    expect(said(on('a', { kind: 'Secret' }), { ...fine, facts: {} })).toMatch(/^True/);
    const contracts = [compileContract('owner', { allow: [{ namespaces: ['mine'] }] })];
    // The namespace is that of the instance.
    expect(said(on('a', { metadata: { name: 'x' } }), { ...fine, contracts })).toMatch(/^True/);
  });

  it('count for templates where the definition names one, and for what is read where the node does', () => {
    const { spec } = on('a');
    const externalRef = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } };
    const common: ResourceGraphDefinition = {
      ...on('a'),
      spec: {
        ...spec,
        target: { cluster: { name: 'b' } },
        resources: [
          { id: 'home', externalRef },
          { id: 'there', externalRef, target: { cluster: { name: 'a' } } },
        ],
      },
    };
    expect(said(common, fine)).toMatch(/^False\/KindAbsent: resources\[1\]\.target.* cluster a /);
  });
});
