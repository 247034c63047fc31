import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { ClusterFacts, Override } from '../intent.ts';
import { localFactsOf } from './local-facts.ts';
import { compileOverrides } from './override.ts';
import { render } from './render.ts';

const cluster: ClusterFacts = {
  name: 'oslo',
  labels: { tier: 'edge' },
  fields: { region: 'north', provider: 'aws', version: 'v1.33.1' },
  properties: { size: '3', mirror: 'registry.oslo' },
  resources: { allocatable: { cpu: '16' } },
};

interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
}

function web(...containers: Container[]): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'web', old: 'yes' } },
    spec: { replicas: 1, template: { spec: { containers } } },
  };
}

const main: Container = {
  name: 'main',
  image: 'docker.io/shop/web:1',
  command: ['serve', '--fast'],
  args: ['a', 'b'],
};

function on(object: KubeObject, ...overrides: Override[]): KubeObject {
  const { patches, problems } = compileOverrides([object], overrides, cluster);
  expect(problems).toEqual([]);
  // As a dispatch carries them.
  const travelled = JSON.parse(JSON.stringify(patches)) as typeof patches;
  const rendered = render([object], travelled, localFactsOf(cluster));
  expect(rendered.problems).toEqual([]);
  return rendered.objects[0] as KubeObject;
}

function problemsOf(object: KubeObject, ...overrides: Override[]): string {
  return compileOverrides([object], overrides, cluster)
    .problems.map(({ message }) => message)
    .join('\n');
}

function mainOf(object: KubeObject): Container {
  return (object['spec'] as { template: { spec: { containers: Container[] } } }).template.spec
    .containers[0] as Container;
}

describe('kinds of overrides', () => {
  it.each<[string, NonNullable<Override['images']>[number], string]>([
    ['another registry', { name: '*', newRegistry: 'mirror:5000' }, 'mirror:5000/shop/web:1'],
    ['no registry', { name: '*', newRegistry: '' }, 'shop/web:1'],
    ['another repository', { name: 'docker.io/shop/web', newName: 'shop/site' }, 'shop/site:1'],
    [
      'another repository behind another registry',
      { name: '*', newName: 'shop/site', newRegistry: 'local.host' },
      'local.host/shop/site:1',
    ],
    ['another tag', { name: 'docker.io/shop/web', newTag: '2' }, 'docker.io/shop/web:2'],
    ['no tag', { name: 'docker.io/shop/web', newTag: '' }, 'docker.io/shop/web'],
    ['a digest', { name: 'docker.io/shop/web', digest: 'sha256:ab' }, 'docker.io/shop/web@sha256:ab'],
  ])('[A31] image: %s', (_what, image, wanted) => {
    expect(mainOf(on(web(main), { images: [image] })).image).toBe(wanted);
  });

  it('[A31] command and args: words go and come, of one container or all', () => {
    const two = web(main, { name: 'proxy', image: 'proxy:1' });
    const changed = on(two, {
      command: [{ container: 'main', remove: ['--fast'], add: ['--safe'] }],
      args: [{ add: ['--verbose'] }],
    });
    const { containers } = (changed['spec'] as { template: { spec: { containers: Container[] } } }).template
      .spec;
    expect(containers[0]).toMatchObject({ command: ['serve', '--safe'], args: ['a', 'b', '--verbose'] });
    expect(containers[1]).toEqual({ name: 'proxy', image: 'proxy:1', args: ['--verbose'] });
    expect(mainOf(on(web(main), { args: [{ remove: ['a', 'b'] }] }))).not.toHaveProperty('args');
    expect(problemsOf(web(main), { command: [{ container: 'none', add: ['x'] }] })).toContain(
      'no container none for its command',
    );
  });

  it('[A31] labels and annotations: added, replaced and removed where they are', () => {
    const changed = on(web(main), {
      labels: { remove: ['old', 'absent'], replace: { app: 'site', absent: 'x' }, add: { 'a/b': '1' } },
      annotations: { add: { note: 'hello' } },
    });
    expect(changed.metadata).toMatchObject({
      labels: { app: 'site', 'a/b': '1' },
      annotations: { note: 'hello' },
    });
    expect(changed.metadata.labels).toEqual({ app: 'site', 'a/b': '1' });
    expect(on(web(main), { annotations: { replace: { note: 'x' }, remove: ['note'] } })).toEqual(web(main));
  });

  it('[A31] apply in order: image, command, args, labels, annotations, then the patch', () => {
    const changed = on(
      web(main),
      {
        patch: [
          { op: 'test', path: '/spec/template/spec/containers/0/image', value: 'docker.io/shop/web:2' },
          { op: 'test', path: '/metadata/labels/app', value: 'site' },
          { op: 'replace', path: '/metadata/labels/app', value: 'patched' },
        ],
        labels: { replace: { app: 'site' } },
        images: [{ name: '*', newTag: '2' }],
      },
      { labels: { replace: { app: 'later' } } },
    );
    expect(changed.metadata.labels?.['app']).toBe('later');
  });

  it('[S84] a value that depends on the cluster keeps its type', () => {
    const patch: Override['patch'] = [
      { op: 'replace', path: '/spec/replicas', expression: 'int(cluster.properties.size)' },
    ];
    expect(on(web(main), { patch })).toMatchObject({ spec: { replicas: 3 } });
  });

  it.each([
    ["cluster.name + '-' + cluster.labels.tier", 'oslo-edge'],
    ["cluster.fields.region + '/' + cluster.fields.provider", 'north/aws'],
    ["'size' in cluster.properties ? [cluster.name] : []", ['oslo']],
    ["{'cpu': cluster.resources.allocatable.cpu}", { cpu: '16' }],
    ["cluster.fields.version.startsWith('v1.3')", true],
  ])('may be computed: %s', (expression, wanted) => {
    const changed = on(web(main), { patch: [{ op: 'add', path: '/spec/x', expression }] });
    expect(changed).toMatchObject({ spec: { x: wanted } });
  });

  it.each([
    ['cluster.properties.none', /no such key/],
    ['cluster.', /operation 0/],
    ['other', /undeclared|undefined|other/],
    ['null', /gives null/],
  ])('say what is wrong with %s', (expression, message) => {
    expect(problemsOf(web(main), { patch: [{ op: 'add', path: '/spec/x', expression }] })).toMatch(message);
  });

  it('carry the names of their overrides, and of the facts of the hub what is asked for', () => {
    const overrides: Override[] = [
      { name: 'colour', patch: [{ op: 'add', path: '/spec/x', value: 1 }] },
      { patch: [{ op: 'add', path: '/spec/y', expression: 'cluster.name' }] },
      { patch: [{ op: 'add', path: '/spec/z', expression: 'cluster.labels.tier' }] },
    ];
    const { patches } = compileOverrides([web(main)], overrides, cluster);
    expect(patches.map(({ override, name, stated }) => [override, name, stated])).toEqual([
      [0, 'colour', undefined],
      [1, undefined, undefined],
      [2, undefined, { labels: { tier: 'edge' } }],
    ]);
  });

  it.each<[string, Override['patch']]>([
    ['metadata.name', [{ op: 'replace', path: '/metadata/name', value: 'x' }]],
    ['metadata.namespace', [{ op: 'remove', path: '/metadata/namespace' }]],
    ['kind', [{ op: 'replace', path: '/kind', value: 'X' }]],
    ['apiVersion', [{ op: 'replace', path: '/apiVersion', value: 'v2' }]],
    ['metadata.uid', [{ op: 'add', path: '/metadata/uid', value: 'x' }]],
    ['metadata.ownerReferences', [{ op: 'add', path: '/metadata/ownerReferences', value: [] }]],
    ['status', [{ op: 'add', path: '/status', value: {} }]],
    [
      'metadata.labels[atoll.dev/dispatch]',
      [{ op: 'add', path: '/metadata/labels/atoll.dev~1dispatch', value: 'mine' }],
    ],
    [
      'metadata.annotations[atoll.dev/managed-by]',
      [{ op: 'add', path: '/metadata/annotations', value: { 'atoll.dev/managed-by': 'me' } }],
    ],
    // By a way around.
    ['metadata.name', [{ op: 'add', path: '/metadata', value: { name: 'x' } }]],
    ['kind', [{ op: 'copy', from: '/metadata/name', path: '/kind' }]],
  ])('may not change %s', (field, patch) => {
    expect(problemsOf(web(main), { ...(patch && { patch }) })).toContain(`may not change ${field}`);
  });
});

const yaml = `# how the shop looks
colour: red   # everybody likes it
limits:
- name: a
  max: 10
- name: b
  max: 20
on: yes
`;
const settings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: {
    'app.yaml': yaml,
    'app.json': '{\n  "colour": "red",\n  "big": 9007199254740993\n}\n',
    plain: 'text',
  },
};
const dataOf = (object: KubeObject): Record<string, string> => object['data'] as Record<string, string>;

describe('documents inside of strings', () => {
  it('[A33] a key of a YAML document in a ConfigMap is changed in place, and the rest stays as it was written', () => {
    const changed = on(settings, {
      patch: [
        {
          op: 'edit',
          path: '/data/app.yaml',
          format: 'yaml',
          operations: [
            { op: 'replace', path: '/colour', value: 'blue' },
            { op: 'replace', path: '/limits/1/max', expression: 'int(cluster.properties.size)' },
            { op: 'add', path: '/limits/-', value: { name: 'c', max: 1 } },
            { op: 'remove', path: '/limits/0' },
            { op: 'test', path: '/limits/0/name', value: 'b' },
          ],
        },
      ],
    });
    expect(dataOf(changed)['app.yaml']).toBe(`# how the shop looks
colour: blue # everybody likes it
limits:
- name: b
  max: 3
- name: c
  max: 1
on: yes
`);
    expect(dataOf(changed)['app.json']).toBe(dataOf(settings)['app.json']);
  });

  it('[A33] a key of a JSON document is, with its form and its long numbers', () => {
    const changed = on(settings, {
      patch: [
        {
          op: 'edit',
          path: '/data/app.json',
          format: 'json',
          operations: [{ op: 'replace', path: '/colour', value: 'blue' }],
        },
      ],
    });
    expect(dataOf(changed)['app.json']).toContain('"big": 9007199254740993');
    expect(dataOf(changed)['app.json']).toContain('  "colour": "blue"');
    expect(dataOf(changed)['app.json']).toMatch(/\n$/);
  });

  it('of a Secret are decoded and encoded', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const secret: KubeObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'settings', namespace: 'shop' },
      data: { conf: base64('host: a\n') },
    };
    const changed = on(secret, {
      patch: [{ op: 'edit', path: '/data/conf', operations: [{ op: 'replace', path: '/host', value: 'b' }] }],
    });
    expect(dataOf(changed)['conf']).toBe(base64('host: b\n'));
  });

  it.each<[string, NonNullable<Override['patch']>[number], RegExp]>([
    ['a path that is not there', { op: 'edit', path: '/data/none' }, /does not exist/],
    ['what is no text', { op: 'edit', path: '/data' }, /no text/],
    ['what is no JSON', { op: 'edit', path: '/data/plain', format: 'json' }, /no JSON/],
    [
      'a key that is not in the document',
      { op: 'edit', path: '/data/app.yaml', operations: [{ op: 'replace', path: '/none', value: 1 }] },
      /none does not exist/,
    ],
    [
      'operations beyond the document',
      {
        op: 'edit',
        path: '/data/app.json',
        format: 'json',
        operations: [{ op: 'move', path: '/a', from: '/b' }],
      },
      /move cannot be used/,
    ],
    [
      'a failing test',
      { op: 'edit', path: '/data/app.yaml', operations: [{ op: 'test', path: '/colour', value: 'green' }] },
      /not the expected one/,
    ],
  ])('report %s', (_what, operation, message) => {
    expect(problemsOf(settings, { patch: [operation] })).toMatch(message);
  });

  it('cannot make the reader run away', () => {
    const deep: KubeObject = { ...settings, data: { bad: '['.repeat(100_000) } };
    expect(
      problemsOf(deep, {
        patch: [{ op: 'edit', path: '/data/bad', operations: [{ op: 'add', path: '/a', value: 1 }] }],
      }),
    ).not.toBe('');
  });
});
