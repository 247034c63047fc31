import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { Override } from '../intent.ts';
import { splitImage } from './images.ts';
import { compileOverrides } from './override.ts';
import { render } from './render.ts';

const cluster = { name: 'oslo', labels: { tier: 'edge' } };

function deployment(name: string, ...images: string[]): KubeObject {
  const containers = images.map((image, i) => ({ name: `c${i}`, image }));
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { template: { spec: { containers } } },
  };
}

const config: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { colour: 'red' },
};

function compiled(
  objects: KubeObject[],
  ...overrides: Override[]
): { problems: string[]; objects: readonly KubeObject[] } {
  const result = compileOverrides(objects, overrides, cluster);
  const rendered = render(objects, result.patches);
  expect(rendered.problems).toEqual([]);
  return { problems: result.problems.map((item) => item.message), objects: rendered.objects };
}

function imagesOf(object: KubeObject | undefined): unknown[] {
  const { template } = (object?.['spec'] ?? { template: { spec: { containers: [] } } }) as {
    template: { spec: { containers: { image: string }[] } };
  };
  return template.spec.containers.map((item) => item.image);
}

describe('overrides on one cluster', () => {
  it('change the objects that they point at', () => {
    const { objects, problems } = compiled([config, deployment('cart', 'cart:1')], {
      target: { kind: 'ConfigMap', name: 'settings' },
      patch: [{ op: 'replace', path: '/data/colour', value: 'blue' }],
    });
    expect(problems).toEqual([]);
    expect(objects[0]).toMatchObject({ data: { colour: 'blue' } });
    expect(objects[1]).toEqual(deployment('cart', 'cart:1'));
  });

  it('hold on their clusters only', () => {
    const patch = [{ op: 'replace', path: '/data/colour', value: 'blue' }] as const;
    expect(compiled([config], { clusterNames: ['bern'], patch }).objects).toEqual([config]);
    expect(compiled([config], { clusterSelector: { matchLabels: { tier: 'core' } }, patch }).objects).toEqual(
      [config],
    );
    expect(
      compiled([config], { clusterSelector: { matchLabels: { tier: 'edge' } }, patch }).objects[0],
    ).toMatchObject({ data: { colour: 'blue' } });
  });

  it('are applied in order: later ones see what earlier ones did', () => {
    const { objects } = compiled(
      [config],
      { patch: [{ op: 'add', path: '/data/list', value: 'a' }] },
      {
        patch: [
          { op: 'test', path: '/data/list', value: 'a' },
          { op: 'replace', path: '/data/list', value: 'b' },
        ],
      },
    );
    expect(objects[0]).toMatchObject({ data: { list: 'b' } });
  });

  it.each<[string, Override, RegExp]>([
    [
      'a field to replace that is not there',
      { patch: [{ op: 'replace', path: '/data/none', value: 'x' }] },
      /ConfigMap shop\/settings: .*does not exist/,
    ],
    [
      'a path that is not there',
      { patch: [{ op: 'replace', path: '/data/none/deep', value: 1 }] },
      /ConfigMap shop\/settings: /,
    ],
    [
      'a target that is not selected',
      { target: { kind: 'Secret' } },
      /its target \(Secret\) is none of the selected objects/,
    ],
    [
      'an image that nobody uses',
      { images: [{ name: 'nginx', newTag: '2' }] },
      /no container of its targets uses the image nginx/,
    ],
    [
      'a change of the name',
      { patch: [{ op: 'replace', path: '/metadata/name', value: 'other' }] },
      /may not change/,
    ],
    [
      'a change of the kind',
      { patch: [{ op: 'replace', path: '/kind', value: 'Secret' }] },
      /may not change/,
    ],
    [
      'the whole object taken away',
      { patch: [{ op: 'replace', path: '', value: null }] },
      /does not leave an object/,
    ],
    [
      'a failing test',
      { patch: [{ op: 'test', path: '/data/colour', value: 'green' }] },
      /ConfigMap shop\/settings/,
    ],
  ])('are a problem with %s', (_what, override, message) => {
    const { problems } = compileOverrides([config], [override], cluster);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toMatch(message);
  });

  it('without a target are no problem where nothing is selected', () => {
    expect(
      compileOverrides(
        [],
        [{ patch: [{ op: 'add', path: '/data/a', value: 1 }], images: [{ name: 'a' }] }],
        cluster,
      ),
    ).toEqual({ patches: [], problems: [] });
  });
});

describe('image overrides', () => {
  it('change tag, name and digest in every container of the name', () => {
    const objects = [deployment('cart', 'shop/cart:1', 'proxy:3', 'shop/cart@sha256:abc')];
    const change = (images: Override['images']): unknown[] =>
      imagesOf(compiled(objects, { ...(images && { images }) }).objects[0]);
    expect(change([{ name: 'shop/cart', newTag: '2' }])).toEqual(['shop/cart:2', 'proxy:3', 'shop/cart:2']);
    expect(change([{ name: 'shop/cart', newName: 'mirror:5000/cart' }])).toEqual([
      'mirror:5000/cart:1',
      'proxy:3',
      'mirror:5000/cart@sha256:abc',
    ]);
    expect(change([{ name: 'proxy', digest: 'sha256:d' }])).toEqual([
      'shop/cart:1',
      'proxy@sha256:d',
      'shop/cart@sha256:abc',
    ]);
  });

  it('find containers where the patch of the same override has put them', () => {
    const { objects } = compiled([deployment('cart', 'cart:1')], {
      patch: [
        { op: 'add', path: '/spec/template/spec/containers/0', value: { name: 'first', image: 'first:1' } },
      ],
      images: [{ name: 'cart', newTag: '2' }],
    });
    expect(imagesOf(objects[0])).toEqual(['first:1', 'cart:2']);
  });

  it('reach pods, cron jobs and init containers', () => {
    const pod: KubeObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { initContainers: [{ image: 'a:1' }], containers: [{ image: 'a:1' }] },
    };
    const cron: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'c' },
      spec: { jobTemplate: { spec: { template: { spec: { containers: [{ image: 'a' }] } } } } },
    };
    const { objects } = compiled([pod, cron], { images: [{ name: 'a', newTag: '9' }] });
    expect(JSON.stringify(objects).match(/a:9/g)).toHaveLength(3);
  });

  it.each([
    ['nginx', { name: 'nginx' }],
    ['nginx:1.2', { name: 'nginx', tag: '1.2' }],
    ['host:5000/team/app', { name: 'host:5000/team/app' }],
    ['host:5000/team/app:1@sha256:ab', { name: 'host:5000/team/app', tag: '1', digest: 'sha256:ab' }],
    ['app@sha256:ab', { name: 'app', digest: 'sha256:ab' }],
  ])('take %s apart', (image, parts) => {
    expect(splitImage(image)).toEqual(parts);
  });
});

describe('rendering', () => {
  it('is deterministic, leaves its input alone and passes objects without patches on as they are', () => {
    const data = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.string(), { minKeys: 1 });
    fc.assert(
      fc.property(data, fc.string(), (values, added) => {
        const object: KubeObject = { ...config, data: values };
        const other = deployment('cart', 'cart:1');
        const before = structuredClone([object, other]);
        const override: Override = {
          target: { kind: 'ConfigMap' },
          patch: [{ op: 'add', path: '/data/added', value: added }],
        };
        const { patches } = compileOverrides([object, other], [override], cluster);
        const first = render([object, other], patches);
        expect(render(structuredClone([object, other]), structuredClone(patches))).toEqual(first);
        expect([object, other]).toEqual(before);
        expect(first.objects[0]).toMatchObject({ data: { ...values, added } });
        expect(first.objects[1]).toBe(other);
      }),
    );
  });

  it('leaves out an object whose patch fails, and says so', () => {
    const target = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
    const result = render(
      [config, deployment('cart', 'cart:1')],
      [{ target, operations: [{ op: 'remove', path: '/data/none' }], override: 0 }],
    );
    expect(result.objects.map((object) => object.kind)).toEqual(['Deployment']);
    expect(result.problems).toEqual([expect.stringContaining('ConfigMap shop/settings: ')]);
  });
});
