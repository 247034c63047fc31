import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compilePlacement, type Placement, REJECTIONS } from '../../engine/place/index.ts';
import { compiledSelector } from '../../engine/select/index.ts';
import { type KubeObject, refOf, refText } from '../../kube/object.ts';
import type { JsonObject, JsonValue } from '../../schema/json.ts';
import { prune } from '../../schema/prune.ts';
import { validateValue } from '../../schema/validate.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import { compilePropagation, concernedBy } from './compile.ts';
import { CLUSTER_PROPAGATION } from './kinds.ts';
import type { Propagation, PropagationSpec } from './types.ts';

const guide = readFileSync(new URL('../../../docs/propagation.md', import.meta.url), 'utf8');
const blocks = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);

/** A part of a spec as the API server takes it: what it prunes or refuses. */
function problemsOf(spec: JsonObject): readonly string[] {
  const type = { schema: CLUSTER_PROPAGATION.spec, resolve: () => undefined };
  const kept = ['resourceSelectors', 'placement'].filter((field) => !(field in spec));
  const issues = validateValue(spec, type).filter(({ path }) => !kept.includes(path));
  return [...issues.map(({ path, detail }) => `${path}: ${detail}`), ...prune(spec, type)];
}

function read(text: string): JsonObject {
  const parsed = parseYamlBody(text);
  if (!('value' in parsed)) throw new Error(JSON.stringify(parsed));
  return parsed.value as JsonObject;
}

describe('the guide', () => {
  const examples = blocks.map(read).filter((block) => !('apiVersion' in block));

  it('has examples of each part', () => {
    expect(examples.map((example) => Object.keys(example)[0])).toEqual([
      'resourceSelectors',
      'dependencies',
      ...Array.from({ length: 5 }, () => 'placement'),
    ]);
  });

  it.each(examples.map((example, index) => [index, example] as const))(
    'example %i is taken by the API and can be compiled',
    (_index, example) => {
      const spec = structuredClone(example);
      expect(problemsOf(spec)).toEqual([]);
      if (spec['placement'] !== undefined)
        expect(compilePlacement(spec['placement'] as unknown as Placement).issues).toEqual([]);
      for (const selector of (spec['resourceSelectors'] ??
        []) as unknown as PropagationSpec['resourceSelectors'])
        expect(compiledSelector(selector).issues).toEqual([]);
    },
  );

  it('names every rule', () => {
    for (const rule of Object.keys(REJECTIONS)) expect(guide).toContain(`\`${rule}\``);
  });
});

describe('the fields of a placement', () => {
  const taken = (placement: JsonValue): readonly string[] => problemsOf({ placement } as JsonObject);

  it.each<[string, JsonValue]>([
    ['an operator that is none', { clusterFields: [{ key: 'zone', operator: 'Near' }] }],
    ['no clusters', { numberOfClusters: 0 }],
    ['a weight beyond all', { scores: [{ type: 'Balance', weight: 1000 }] }],
    ['a group without name', { groups: [{ clusterNames: ['a'] }] }],
    ['an effect that is none', { tolerations: [{ operator: 'Exists', effect: 'Now' }] }],
  ])('refuse %s', (_what, placement) => {
    expect(taken(placement)).not.toEqual([]);
  });
});

describe('dependencies of a propagation', () => {
  const object = (
    apiVersion: string,
    kind: string,
    name: string,
    more: object = {},
    namespace = 'shop',
  ): KubeObject => ({
    apiVersion,
    kind,
    metadata: namespace === '' ? { name } : { name, namespace },
    ...more,
  });
  const pod = {
    spec: { volumes: [{ configMap: { name: 'settings' } }, { secret: { secretName: 'gone' } }] },
  };
  const stock = [
    object('apps/v1', 'Deployment', 'web', { spec: { template: pod } }),
    object('v1', 'ConfigMap', 'settings'),
    object('v1', 'ConfigMap', 'other'),
    object('example.com/v1', 'Widget', 'w'),
    object(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      'widgets.example.com',
      {
        spec: { group: 'example.com', names: { kind: 'Widget' } },
      },
      '',
    ),
    object(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      'parts.example.com',
      {
        spec: { group: 'example.com', names: { kind: 'Part' } },
      },
      '',
    ),
    object('v1', 'Namespace', 'shop', {}, ''),
  ];
  const compile = (
    spec: Partial<PropagationSpec>,
    namespace?: string,
  ): ReturnType<typeof compilePropagation> => {
    const propagation: Propagation = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: namespace === undefined ? 'ClusterPropagation' : 'Propagation',
      metadata: { name: 'p', ...(namespace === undefined ? {} : { namespace }) },
      spec: { resourceSelectors: [], placement: { clusterSelector: {} }, ...spec },
    };
    return compilePropagation(propagation, ({ kind }) => stock.filter((item) => item.kind === kind));
  };
  const sent = (...args: Parameters<typeof compile>): string[] =>
    compile(...args).intent.objects.map((item) => refText(refOf(item)));
  const web = [{ apiVersion: 'apps/v1', kind: 'Deployment' }];
  const widgets = [{ apiVersion: 'example.com/v1', kind: 'Widget' }];

  it('[S34] the ConfigMap of a Deployment travels when that is asked for; what is missing is named', () => {
    expect(sent({ resourceSelectors: web }, 'shop')).toEqual(['Deployment shop/web']);
    const along = { resourceSelectors: web, dependencies: { references: true } };
    expect(sent(along, 'shop')).toEqual(['ConfigMap shop/settings', 'Deployment shop/web']);
    expect(compile(along, 'shop').closure?.missing).toMatchObject([
      { ref: { kind: 'Secret', name: 'gone' } },
    ]);
  });

  it('[S33] a custom resource brings its definition, and only that, before itself; for a Propagation it is refused', () => {
    const along = { resourceSelectors: widgets, dependencies: { definitions: true, namespaces: true } };
    expect(sent(along)).toEqual([
      'Namespace shop',
      'CustomResourceDefinition widgets.example.com',
      'Widget shop/w',
    ]);
    expect(sent(along, 'shop')).toEqual(['Widget shop/w']);
    expect(compile(along, 'shop').closure?.refused).toHaveLength(2);
  });

  it('is concerned by what it selects, what comes along, and what is missing', () => {
    const spec = { resourceSelectors: web, dependencies: { references: true } };
    const propagation: Propagation = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'p', namespace: 'shop' },
      spec: { placement: { clusterSelector: {} }, ...spec },
    };
    const compiled = compile(spec, 'shop');
    const concerns = (item: KubeObject): boolean => concernedBy(propagation, compiled, item);
    expect(concerns(object('apps/v1', 'Deployment', 'new'))).toBe(true);
    expect(concerns(object('v1', 'ConfigMap', 'settings'))).toBe(true);
    expect(concerns(object('v1', 'Secret', 'gone'))).toBe(true);
    expect(concerns(object('v1', 'ConfigMap', 'other'))).toBe(false);
    expect(concerns(object('v1', 'Namespace', 'shop', {}, ''))).toBe(false);
    const byTeam: Propagation = {
      ...propagation,
      spec: {
        ...propagation.spec,
        resourceSelectors: [
          { ...web[0], namespaceSelector: { matchLabels: { a: 'b' } } },
        ] as PropagationSpec['resourceSelectors'],
      },
    };
    expect(concernedBy(byTeam, undefined, object('v1', 'Namespace', 'shop', {}, ''))).toBe(true);
  });

  it('selects by an expression, and blocks where that cannot be understood', () => {
    const by = (expression: string): Partial<PropagationSpec> => ({
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', expression }],
    });
    expect(sent(by("object.metadata.name.startsWith('s')"), 'shop')).toEqual(['ConfigMap shop/settings']);
    expect(compile(by('object.'), 'shop').problems[0]).toContain('resourceSelectors[0].expression: ');
  });
});
