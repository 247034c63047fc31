import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Propagation } from '../../dialects/propagation/types.ts';
import { type Contract, compileContract } from '../../engine/contract/index.ts';
import { type KubeObject, refText } from '../../kube/object.ts';
import { configMap, connected, deployment, propagation, put, secret, startApi } from '../fleet.fixture.ts';
import { clusterFacts, sourceKey } from '../fleet-reading.ts';
import { plainPaint } from '../output.ts';
import { readDiff } from './facts.ts';
import { ManifestError, manifestsIn, readManifestFiles } from './manifest-files.ts';
import { type DiffReport, diffReport, type FleetState } from './report.ts';
import { diffText } from './text.ts';

const CLUSTERS = clusterFacts([
  connected('a', { env: 'prod' }),
  connected('b', { env: 'test' }),
  connected('c', { env: 'prod' }),
]);

function state(objects: readonly KubeObject[], ...propagations: readonly Propagation[]): FleetState {
  const sources = new Map<string, { objects: KubeObject[] }>();
  for (const kind of ['apps/Deployment', '/Secret', '/ConfigMap']) sources.set(kind, { objects: [] });
  for (const object of objects) sources.get(sourceKey(object))?.objects.push(object);
  return { propagations, clusters: CLUSTERS, sources };
}

function report(before: FleetState, after: FleetState, changed: readonly KubeObject[] = []): DiffReport {
  return diffReport({ before, after, changed });
}

/** `a,c: changed Deployment shop/web` for every change. */
function brief({ groups }: DiffReport): string[] {
  return groups.flatMap(({ clusters, changes }) =>
    changes.map(({ ref, change }) => `${clusters.join(',')}: ${change} ${refText(ref)}`),
  );
}

const ALL = propagation('all');

describe('diff: what a change does on which cluster', () => {
  it('gives fields with old and new value, and one block for clusters with the same changes', () => {
    const overridden = propagation('all', {
      overrides: [{ clusterNames: ['b'], patch: [{ op: 'replace', path: '/spec/replicas', value: 7 }] }],
    });
    const web = deployment('web', 3);
    (web as unknown as { spec: { template: { spec: { containers: { image: string }[] } } } }).spec.template
      .spec.containers[0]!.image = 'x:2';
    const found = report(state([deployment('web', 2)], overridden), state([web], overridden));
    expect(brief(found)).toEqual(['a,c: changed Deployment shop/web', 'b: changed Deployment shop/web']);
    expect(found.groups[0]?.changes[0]?.fields).toContainEqual({ path: 'spec.replicas', from: 2, to: 3 });
    // Where an override decides, the change does not arrive.
    expect(found.groups[1]?.changes[0]?.fields.map((field) => field.path)).toEqual([
      'spec.template.spec.containers[main].image',
    ]);
    expect(found.summary).toEqual({ clusters: 3, objects: 1 });
    const text = diffText(found, plainPaint);
    expect(text).toContain('a, c:\n  ~ Deployment shop/web\n      spec.replicas: 2 → 3\n');
    expect(text).toContain('3 clusters, 1 object changed');
  });

  it('follows a change of the propagation itself', () => {
    const objects = [deployment('web'), deployment('cart')];
    const prod = propagation('all', { placement: { clusterSelector: { matchLabels: { env: 'prod' } } } });
    expect(brief(report(state(objects, ALL), state(objects, prod)))).toEqual([
      'b: removed Deployment shop/cart',
      'b: removed Deployment shop/web',
    ]);
    expect(brief(report(state(objects), state(objects, prod)))).toEqual([
      'a,c: created Deployment shop/cart',
      'a,c: created Deployment shop/web',
    ]);
  });

  it('finds nothing where an object only moves from one propagation to another', () => {
    const objects = [deployment('web')];
    const before = state(objects, ALL, propagation('next', { placement: { clusterNames: [] } }));
    const after = state(
      objects,
      propagation('all', { placement: { clusterNames: [] } }),
      propagation('next'),
    );
    expect(brief(report(before, after))).toEqual([]);
  });

  it('shows changes of Secrets as digests, never values', () => {
    const secrets = propagation('all', { resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret' }] });
    const found = report(
      state([secret('keys', { token: 'b2xk', same: 'c2FtZQ==' })], secrets),
      state([secret('keys', { token: 'bmV3', same: 'c2FtZQ==', more: 'bW9yZQ==' })], secrets),
    );
    const all = JSON.stringify(found) + diffText(found, plainPaint);
    for (const value of ['b2xk', 'bmV3', 'c2FtZQ', 'bW9yZQ']) expect(all).not.toContain(value);
    expect(found.groups[0]?.changes[0]?.fields.map((field) => field.path)).toEqual([
      'data.token',
      'data.more',
    ]);
    expect(diffText(found, plainPaint)).toMatch(/data\.token: sha256:[0-9a-f]{12} → sha256:[0-9a-f]{12}/);
  });

  it('shows long texts by the lines that differ', () => {
    const maps = propagation('all', { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }] });
    const found = report(
      state([configMap('conf', { file: 'one\ntwo\nthree\n' })], maps),
      state([configMap('conf', { file: 'one\n2\nthree\n' })], maps),
    );
    expect(diffText(found, plainPaint)).toContain('      data.file:\n        - two\n        + 2\n\n');
  });

  it('keeps clusters as they are where an override fails, and says so', () => {
    const bad = propagation('all', {
      overrides: [{ clusterNames: ['b'], patch: [{ op: 'remove', path: '/spec/nothing' }] }],
    });
    const found = report(state([deployment('web', 1)], ALL), state([deployment('web', 2)], bad));
    expect(brief(found)).toEqual(['a,c: changed Deployment shop/web']);
    expect(found.notes).toEqual([
      {
        clusters: ['b'],
        message: expect.stringMatching(/changes nothing there: overrides\[0\].*keeps what it has/),
      },
    ]);
  });

  it('changes nothing while the propagation is suspended', () => {
    const suspended = propagation('all', { suspend: true });
    const found = report(state([deployment('web', 1)], ALL), state([deployment('web', 2)], suspended));
    expect(found.groups).toEqual([]);
    expect(found.notes[0]).toMatchObject({
      clusters: ['a', 'b', 'c'],
      message: expect.stringMatching(/spec.suspend/),
    });
    const again = report(state([deployment('web', 1)], suspended), state([deployment('web', 2)], ALL));
    expect(brief(again)).toEqual(['a,b,c: changed Deployment shop/web']);
    expect(again.notes[0]?.message).toMatch(/was held back until now/);
  });

  it('changes nothing where a selector is not valid or a kind is not served', () => {
    const invalid = propagation('all', {
      resourceSelectors: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          labelSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] },
        },
      ],
    });
    const found = report(state([deployment('web')], ALL), state([deployment('web')], invalid));
    expect(found.groups).toEqual([]);
    expect(found.notes).toHaveLength(1);
  });

  it('says what the deletion budget of the hub would hold back', () => {
    const objects = ['a', 'b', 'c'].map((name) => deployment(name));
    const one = propagation('all', {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }],
    });
    const found = report(state(objects, ALL), state(objects, one));
    expect(found.groups).toEqual([]);
    expect(found.notes[0]?.message).toMatch(/remove 2 of 3 objects .*spec.deletionBudget 50%/);
    const allowed = { ...one, spec: { ...one.spec, deletionBudget: '100%' } };
    expect(brief(report(state(objects, ALL), state(objects, allowed)))).toHaveLength(2);
  });

  it('says which clusters the cluster budget of the hub would hold back, and what lifting it takes away', () => {
    const objects = [deployment('web', 1)];
    const to = (clusterNames: string[], clusterBudget?: number): Propagation =>
      propagation('all', {
        placement: { clusterNames },
        ...(clusterBudget === undefined ? {} : { clusterBudget }),
      });
    const wide = to(['a', 'b', 'c'], 1);
    const found = report(state(objects, wide), state([deployment('web', 2)], to(['a'], 1)));
    // Whoever is still chosen gets what is new.
    expect(brief(found)).toEqual(['a: changed Deployment shop/web']);
    expect(found.notes).toEqual([
      {
        clusters: ['b', 'c'],
        message: expect.stringMatching(
          /changes nothing there: 2 of 3 clusters would be left .*clusterBudget 1/,
        ),
      },
    ]);
    expect(brief(report(state(objects, wide), state(objects, to(['a', 'b'], 1))))).toEqual([
      'c: removed Deployment shop/web',
    ]);
    const sent = (wish: Propagation, status: object): Propagation =>
      ({ ...wish, status: { ...status, dispatchedTo: ['a', 'b', 'c'] } }) as Propagation;
    const lifted = report(state(objects, sent(to(['a'], 1), {})), state(objects, sent(to(['a'], 2), {})));
    expect(lifted.notes).toEqual([
      {
        clusters: ['b', 'c'],
        message: expect.stringContaining('takes away there what spec.clusterBudget kept'),
      },
    ]);
    // Where a copy moved away from, nobody chose to leave.
    const failover = { moves: [], left: ['b', 'c'] };
    const moved = report(
      state(objects, sent(to(['a'], 0), { failover })),
      state([deployment('web', 2)], sent(to(['a'], 0), { failover })),
    );
    expect(moved.notes).toEqual([]);
  });

  it('names objects of the files that go nowhere', () => {
    const map = configMap('conf', {});
    const root = configMap('kube-root-ca.crt', {});
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const found = report(state([], ALL), state([map, root], ALL), [map, root, shop, ALL]);
    expect(found.notes.map((note) => note.message)).toEqual([
      'ConfigMap shop/conf stays at the hub: no propagation selects it',
      'ConfigMap shop/kube-root-ca.crt stays at the hub: each cluster has its own root certificate',
    ]);
    expect(diffText(found, plainPaint)).toContain('No cluster changes.');
  });
});

describe('diff: manifests', () => {
  it('names file and line of every mistake', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ok\n---\nkind: [a\n---\napiVersion: v1\nkind: Secret\n';
    const { manifests, problems } = manifestsIn(text, 'x.yaml');
    expect(manifests.map((item) => item.at)).toEqual(['x.yaml:1']);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/^x\.yaml:[67]: /);
    expect(problems[1]).toBe('x.yaml:8: Secret has no metadata.name');
  });
  it('reads directories in name order, below them only when asked', () => {
    const root = mkdtempSync(join(tmpdir(), 'atoll-diff-'));
    try {
      const write = (path: string, name: string): void =>
        writeFileSync(
          join(root, path),
          JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
        );
      mkdirSync(join(root, 'sub'));
      write('b.json', 'second');
      write('a.yaml', 'first');
      write('sub/c.yml', 'third');
      writeFileSync(join(root, 'notes.txt'), 'not yaml: [');
      const names = (recursive: boolean) =>
        readManifestFiles([root], recursive).map((item) => item.object.metadata.name);
      expect(names(false)).toEqual(['first', 'second']);
      expect(names(true)).toEqual(['first', 'second', 'third']);
      expect(() => readManifestFiles([join(root, 'none')], false)).toThrow(/no such file/);
      expect(() => readManifestFiles(['https://example.com/x.yaml'], false)).toThrow(/URLs are not read/);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('diff: contracts of clusters', () => {
  it('say what they will refuse of the changes there, and of nothing else', () => {
    const wish = propagation('all', { author: { username: 'ann' } });
    const contract = (spec: object): readonly Contract[] => [compileContract('platform', spec)];
    const found = diffReport({
      before: state([deployment('web', 2), deployment('old')], wish),
      after: state([deployment('web', 3), deployment('cart')], {
        ...wish,
        spec: { ...wish.spec, deletionBudget: '100%' },
      }),
      changed: [],
      contracts: new Map([
        ['a', contract({ deny: [{ kinds: [{ kind: 'Deployment' }], authors: { users: ['ann'] } }] })],
        ['b', contract({ mustNotDelete: [{ name: 'old' }] })],
        ['c', contract({ deny: [{ authors: { users: ['bob'] } }] })],
      ]),
    });
    const text = found.notes.map(({ clusters, message }) => `${clusters.join(',')}: ${message}`).join('\n');
    expect(text).toMatch(
      /^a: .*ann may not apply Deployment shop\/(web|cart)\. Next: .*\(and 2 more objects\)$/m,
    );
    expect(text).toMatch(/^b: .*Deployment shop\/old must not be deleted/m);
    expect(text).not.toContain('c: ');
  });
});

describe('diff: against a hub', () => {
  let hub: Awaited<ReturnType<typeof startApi>>;
  beforeAll(async () => {
    hub = await startApi();
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await put(hub.client, shop, connected('a'), connected('b'), deployment('web', 2), propagation('all'));
  });
  afterAll(() => hub.close());

  const run = async (text: string, namespace = { name: 'shop', explicit: false }): Promise<DiffReport> =>
    diffReport(await readDiff(hub.client, manifestsIn(text, 'x.yaml').manifests, namespace));
  const yaml = (...objects: readonly unknown[]): string =>
    objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const revision = async (): Promise<string | undefined> =>
    (await hub.client.list(await hub.client.resourceFor('v1', 'Namespace'), '')).metadata.resourceVersion;

  it('knows the defaults of the hub: the same file changes nothing, and nothing is written', async () => {
    const before = await revision();
    expect(brief(await run(yaml(deployment('web', 2))))).toEqual([]);
    expect(brief(await run(yaml(deployment('web', 5), deployment('cart'))))).toEqual([
      'a,b: created Deployment shop/cart',
      'a,b: changed Deployment shop/web',
    ]);
    expect(await revision()).toBe(before);
  });

  it('takes away what kubectl would: fields of the last applied file that this one has not', async () => {
    const last = deployment('old', 4, { drop: 'me' });
    last.metadata.annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(
        deployment('old', 4, { drop: 'me' }),
      ),
    };
    await put(hub.client, last);
    const next = deployment('old') as KubeObject & { spec: { replicas?: number } };
    delete next.spec.replicas;
    const found = await run(yaml(next));
    expect(found.groups[0]?.changes[0]?.fields).toEqual([
      { path: 'metadata.labels', from: { drop: 'me' } },
      { path: 'spec.replicas', from: 4, to: 1 },
    ]);
  });

  it('takes objects as they stand whose namespace or kind comes with the same files', async () => {
    const fresh = { ...deployment('web'), metadata: { name: 'web', namespace: 'fresh' } };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } };
    const own = { ...propagation('own'), metadata: { name: 'own', namespace: 'fresh' } };
    expect(brief(await run(yaml(namespace, fresh, own)))).toEqual(['a,b: created Deployment fresh/web']);
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'boats.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Boat', plural: 'boats', singular: 'boat', listKind: 'BoatList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    };
    const boat = { apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: 'one' } };
    const { uid: _uid, ...metadata } = propagation('boats').metadata;
    const { spec } = propagation('boats', {
      resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Boat' }],
    });
    const boats = { ...propagation('boats'), metadata, spec };
    expect(brief(await run(yaml(crd, boat, boats)))).toEqual(['a,b: created Boat shop/one']);
  });

  it('reads back what kubectl get wrote', async () => {
    const resource = await hub.client.resourceFor('apps/v1', 'Deployment');
    expect(brief(await run(yaml(await hub.client.get(resource, 'shop', 'web'))))).toEqual([]);
  });

  it('follows a relabelled or new cluster', async () => {
    const spoke = { ...connected('c'), status: undefined };
    expect(brief(await run(yaml(spoke)))).toContain('c: created Deployment shop/web');
  });

  it('tells what the hub refuses, with file and line', async () => {
    const bad = { ...deployment('bad'), spec: { replicas: 1 } };
    await expect(run(yaml(configMap('x', {}), bad))).rejects.toThrow(
      /^x\.yaml:3: Deployment\.apps "bad" is invalid/,
    );
    await expect(run(yaml({ apiVersion: 'v1', kind: 'Boot', metadata: { name: 'x' } }))).rejects.toThrow(
      /x\.yaml:1: the hub serves no kind Boot in v1/,
    );
    await expect(run(yaml(deployment('web')), { name: 'other', explicit: true })).rejects.toThrow(
      ManifestError,
    );
  });
});
