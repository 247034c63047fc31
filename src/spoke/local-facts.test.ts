import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clusterFactsOf } from '../dialects/kubevela/cluster-facts.ts';
import { clusterInfoOf } from '../dialects/kubevela/cluster-info.ts';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import type { Override, PatchOperation } from '../engine/intent.ts';
import { contentOn, planIntent } from '../engine/plan/plan.ts';
import { render } from '../engine/render/render.ts';
import type { KubeObject } from '../kube/object.ts';
import { canonicalJson } from '../schema/json.ts';
import { ownFactsOf } from './local-facts.ts';

const word = fc.constantFrom('a', 'b', 'red', 'yes', '1', 'ä "x"', '#');
const objects: KubeObject[] = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'shop', labels: { app: 'x' } },
    data: {
      colour: 'red',
      'a.yaml': '# note\ncolour: red\nlist:\n- 1\n- 2\n',
      'a.json': '{"colour": "red"}',
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      replicas: 2,
      template: { spec: { containers: [{ name: 'main', image: 'docker.io/shop/web:1', args: ['a', 'b'] }] } },
    },
  },
];

const expression = fc.constantFrom(
  'cluster.name',
  'cluster.labels.tier',
  "cluster.fields.region + '/' + cluster.name",
  'cluster.fields.provider',
  'cluster.fields.version',
  "'zone' in cluster.fields ? cluster.fields.zone : []",
  'cluster.fields.size()',
  'cluster.properties.colour',
  'int(cluster.properties.size) * 2',
  'cluster.properties.size() + cluster.labels.size()',
  "quantity(cluster.resources.allocatable.cpu).isGreaterThan(quantity('3'))",
  "cluster.fields.map(key, key).filter(key, key != 'version')",
);
const given = fc.oneof(
  fc.record({ value: fc.oneof(word, fc.integer(), fc.boolean(), fc.array(word)) }),
  fc.record({ expression }),
);
const pathOf = (...paths: string[]) => fc.record({ path: fc.constantFrom(...paths) });
const plain = fc
  .tuple(pathOf('/data/colour', '/spec/replicas', '/metadata/annotations', '/spec/x', '/data/x'), given)
  .map(([path, value]): PatchOperation => ({ op: 'add', ...path, ...value }));
const inner = fc
  .tuple(fc.constantFrom('add', 'replace'), pathOf('/colour', '/list/0', '/new'), given)
  .map(([op, path, value]): PatchOperation => ({ op: op as 'add', ...path, ...value }));
const edit = fc.tuple(fc.constantFrom('json', 'yaml'), fc.array(inner, { minLength: 1, maxLength: 3 })).map(
  ([format, operations]): PatchOperation => ({
    op: 'edit',
    path: `/data/a.${format}`,
    format: format as 'json',
    operations,
  }),
);
const override = fc.record(
  {
    target: fc.constantFrom({ kind: 'ConfigMap' }, { kind: 'Deployment' }),
    clusterSelector: fc.constantFrom({}, { matchLabels: { tier: 'gold' } }),
    labels: fc.record({ add: fc.dictionary(fc.constantFrom('app', 'k'), word) }),
    annotations: fc.record({ add: fc.dictionary(fc.constantFrom('app', 'k'), word) }),
    images: fc.constant([{ name: '*', newRegistry: 'mirror:5000' }]),
    args: fc.constant([{ remove: ['a'], add: ['c'] }]),
    patch: fc.array(fc.oneof(plain, edit), { maxLength: 3 }),
  },
  { requiredKeys: ['target'] },
);
const node = fc
  .record({
    region: fc.option(word),
    zone: fc.option(word),
    prefix: fc.constantFrom('eks.amazonaws.com/x', 'y'),
  })
  .map(
    ({ region, zone, prefix }): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'n',
        labels: {
          [prefix]: 'z',
          ...(region === null ? {} : { 'topology.kubernetes.io/region': region }),
          ...(zone === null ? {} : { 'topology.kubernetes.io/zone': zone }),
        },
      },
      status: { capacity: { cpu: '2', memory: '1Gi' } },
    }),
  );
const properties = fc.dictionary(
  fc.constantFrom('colour', 'size', 'other'),
  fc.constantFrom('3', 'red', '12'),
);

it('renders at the hub and at the cluster to the same objects, in 10,000 random cases', () => {
  let rendered = 0;
  fc.assert(
    fc.property(
      fc.array(override as fc.Arbitrary<Override>, { maxLength: 4 }),
      fc.array(node, { maxLength: 3 }),
      fc.constantFrom('v1.33.1', 'v1.30.0-gke.1'),
      properties,
      fc.constantFrom('tunnel', 'aws', 'gcp'),
      fc.option(word),
      fc.constantFrom({}, { tier: 'gold' }, { tier: 'edge', site: 'x' }),
      (overrides, nodes, version, told, type, region, labels) => {
        const spoke = {
          apiVersion: 'core.oam.dev/v1beta1',
          kind: 'SpokeCluster',
          metadata: { name: 'oslo', labels },
          spec: { credential: { type } },
          // What a credential tells of the region, the cluster itself does not know.
          status: { clusterInfo: clusterInfoOf(version, nodes, region ?? undefined), properties: told },
        } as SpokeCluster;
        const clusters = [clusterFactsOf(spoke)];
        const intent = {
          source: { apiVersion: 'a/v1', kind: 'P', namespace: 'shop', name: 'p', uid: 'u', generation: 1 },
          objects,
          placement: { clusterNames: ['oslo'] },
          overrides,
          suspend: false,
          deletionBudget: 0,
        };
        const plan = planIntent(intent, clusters);
        const patches = plan.patches.get('oslo');
        // An override that fails here blocks the cluster: nothing is sent.
        if (!patches) return;
        rendered += 1;
        const atHub = contentOn(objects, plan, 'oslo');
        const travelled = JSON.parse(canonicalJson({ objects, patches })) as {
          objects: KubeObject[];
          patches: typeof patches;
        };
        const there = render(travelled.objects, travelled.patches, ownFactsOf('oslo', version, nodes, told));
        expect(there.problems).toEqual([]);
        expect(atHub.problems).toEqual([]);
        expect(canonicalJson(there.objects)).toBe(canonicalJson(atHub.objects));
      },
    ),
    { numRuns: 10_000 },
  );
  expect(rendered).toBeGreaterThan(2_000);
}, 60_000);
