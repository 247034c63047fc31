import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareForApply, kindRank } from './kind-rank.ts';

const ref = (
  kind: string,
  name = 'x',
  namespace = '',
): { apiVersion: string; kind: string; namespace: string; name: string } => ({
  apiVersion: 'v1',
  kind,
  namespace,
  name,
});

describe('the order of applying', () => {
  it('puts what is needed before what needs it', () => {
    const kinds = [
      'Deployment',
      'Widget',
      'ConfigMap',
      'Namespace',
      'RoleBinding',
      'HorizontalPodAutoscaler',
      'CustomResourceDefinition',
      'Service',
      'Role',
      'ValidatingWebhookConfiguration',
    ];
    expect([...kinds].sort((a, b) => kindRank(a) - kindRank(b))).toEqual([
      'Namespace',
      'CustomResourceDefinition',
      'Role',
      'RoleBinding',
      'ConfigMap',
      'Service',
      'Deployment',
      'Widget',
      'HorizontalPodAutoscaler',
      'ValidatingWebhookConfiguration',
    ]);
  });

  it('is total: equal sets have equal order', () => {
    const refs = fc.array(
      fc.record({
        apiVersion: fc.constantFrom('v1', 'v2'),
        kind: fc.constantFrom('Namespace', 'Secret', 'ConfigMap', 'Odd'),
        namespace: fc.constantFrom('', 'a', 'b'),
        name: fc.constantFrom('x', 'y'),
      }),
    );
    fc.assert(
      fc.property(refs, (list) => {
        expect([...list].reverse().sort(compareForApply)).toEqual([...list].sort(compareForApply));
      }),
    );
    expect(compareForApply(ref('Secret'), ref('Secret'))).toBe(0);
  });
});
