import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { compilePolicy, resolvePolicy, sameContent } from './index.ts';
import { listedIn } from './resolve.ts';

const kind = { group: 'example.com', version: 'v1', resource: 'widgets', kind: 'Widget', namespaced: true };

/** As an API server with other limits may have let it in. */
function widget(name: string, depth: number): KubeObject {
  let spec: object = {};
  for (let level = 0; level < depth; level++) spec = { spec };
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'shop', uid: name },
    spec,
  };
}

describe('an object that nests deeper than can be worked on', () => {
  it('is left out, and keeps nothing back that others select with it', () => {
    const policy = compilePolicy({ spec: { downsync: [{ apiGroup: 'example.com' }] } } as never);
    const { spec } = resolvePolicy(policy, {
      stocks: [{ kind, objects: [widget('deep', 3_000), widget('flat', 300)] }],
      namespaces: () => ({}),
      destinations: ['a'],
    });
    expect(listedIn(spec).map(({ name }) => name)).toEqual(['flat']);
    expect(sameContent(widget('deep', 100_000), widget('deep', 100_000))).toBe(false);
  });
});
