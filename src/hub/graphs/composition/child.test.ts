import { describe, expect, it } from 'vitest';
import type { HubObject, ResourceGraphDefinition } from '../../../dialects/kro/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { toldFields, toldStatus, wantedChild } from './child.ts';
import { composingOf } from './composing.ts';

function graph(
  name: string,
  kind: string,
  resources: readonly object[],
  hubOnly = false,
): ResourceGraphDefinition {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name, ...(hubOnly && { labels: { 'kro.run/distribute': 'false' } }) },
    spec: { schema: { apiVersion: 'v1alpha1', kind }, resources },
  } as unknown as ResourceGraphDefinition;
}

const part = { apiVersion: 'kro.run/v1alpha1', kind: 'Part', metadata: { name: 'x' } };
const definitions = [
  graph('whole', 'Whole', [{ id: 'part', template: part }]),
  graph('part', 'Part', [], true),
];

function wish(object: object, more: object = {}): HubObject {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'HubObject',
    metadata: { name: 'part-1', uid: 'u', generation: 1 },
    spec: {
      graph: 'whole',
      node: 'part',
      instance: { apiVersion: 'kro.run/v1alpha1', kind: 'Whole', name: 'one', namespace: 'default' },
      object: { ...part, metadata: { name: 'one', namespace: 'default' }, ...object },
      ...more,
    },
  } as unknown as HubObject;
}

const wanted = (object: HubObject, sent = true): ReturnType<typeof wantedChild> =>
  wantedChild(
    'a',
    object,
    'composition-1',
    sent ? definitions.find(({ metadata }) => metadata.name === object.spec?.graph) : undefined,
    composingOf(definitions),
  );

describe('what a spoke asks of the hub', () => {
  it('is made in a namespace of that spoke, with nothing of the marks that it came with', () => {
    const labels = {
      team: 'x',
      'kro.run/owned': 'true',
      'internal.kro.run/node-id': 'y',
      'atoll.dev/composition': 'z',
    };
    const annotations = { note: 'n', 'kro.run/originating-cluster': 'b', 'atoll.dev/graph-revision': '1' };
    const found = wanted(
      wish({
        metadata: { name: 'one', namespace: 'kube-system', labels, annotations, finalizers: ['x'], uid: '1' },
        spec: { size: 1 },
        status: { done: true },
      }),
    );
    if ('problem' in found) throw new Error(found.problem);
    expect(found.object).toEqual({
      ...part,
      metadata: {
        name: 'one',
        namespace: expect.stringMatching(/^a-kube-system-[0-9a-f]{10}$/),
        labels: { team: 'x', 'atoll.dev/composition': 'composition-1' },
        annotations: { note: 'n', 'kro.run/originating-cluster': 'a' },
      },
      spec: { size: 1 },
    });
    expect(found.origin).toEqual({ namespace: 'kube-system', name: 'one' });
    expect(found.refused).toContain('originating-cluster=b was not taken over');
  });

  it('is refused where the hub sent nothing that asks for it, or what is asked is none', () => {
    const problem = (object: HubObject, sent = true): string => {
      const found = wanted(object, sent);
      return 'problem' in found ? found.problem : 'made';
    };
    expect(problem(wish({}))).toBe('made');
    expect(problem(wish({}), false)).toContain('the hub sent no definition whole to a');
    expect(problem(wish({}, { graph: 'other' }))).toContain('the hub sent no definition other');
    expect(problem(wish({}, { node: 'other' }))).toContain('has no node other');
    for (const object of [
      { kind: 'Secret', apiVersion: 'v1' },
      { kind: 'Whole' },
      { apiVersion: 'kro.run/v2' },
      { kind: 7 },
      { metadata: { name: 'UPPER', namespace: 'default' } },
      { metadata: { name: 'ünïcode', namespace: 'default' } },
      { metadata: { name: 'x'.repeat(300), namespace: 'default' } },
      { metadata: { name: 'one', namespace: '../x' } },
      { metadata: { name: 'one' } },
      { metadata: null },
    ])
      expect(problem(wish(object))).toMatch(/^refused: /);
    expect(problem({ ...wish({}), spec: undefined } as unknown as HubObject)).toMatch(/^refused: /);
  });

  it('is told of by the fields that were asked for', () => {
    const object = {
      ...part,
      metadata: { name: 'one', uid: 'u', annotations: { secret: 'x' } },
      spec: { a: 1 },
      data: { b: 2 },
      status: { url: 'x', more: 'y' },
    } as unknown as KubeObject;
    expect(toldStatus(object, ['url', 'absent'])).toEqual({ url: 'x' });
    expect(toldStatus(object, ['*'])).toEqual({ url: 'x', more: 'y' });
    expect(toldFields(object, [])).toEqual({});
    expect(toldFields(object, ['spec', 'metadata'])).toEqual({ metadata: { uid: 'u' }, spec: { a: 1 } });
    expect(toldFields(object, ['*'])).toEqual({ spec: { a: 1 }, data: { b: 2 } });
  });
});
