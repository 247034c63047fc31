// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { planIntent } from '../../engine/plan/plan.ts';
import { applyPatches } from '../../engine/render/render.ts';
import { compileDistribution, type DistributionContext, revisionFor } from './distribute.ts';
import { distributionCondition, graphOnClusters } from './distribution-report.ts';
import { countsIn, tallyCondition } from './instance-tally.ts';
import type { GraphRollout } from './rollout.ts';
import { withTargets } from './target.ts';
import type { GraphRevision, ResourceGraphDefinition } from './types.ts';

const SPEC = (colour: string): ResourceGraphDefinition['spec'] => ({
  schema: { kind: 'Shop', apiVersion: 'v1alpha1', spec: { colour } },
  resources: [],
});

function definition(
  status: ResourceGraphDefinition['status'] = { state: 'Active', lastIssuedRevision: 2 },
  metadata: object = {},
): ResourceGraphDefinition {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'shop', uid: 'u', generation: 3, resourceVersion: '9', ...metadata },
    spec: SPEC('string'),
    status,
  };
}

function revision(number: number, spec = SPEC('string'), more: object = {}): GraphRevision {
  const condition = { type: 'GraphVerified', status: 'True', reason: 'Verified', message: '' } as const;
  return {
    apiVersion: 'internal.kro.run/v1alpha1',
    kind: 'GraphRevision',
    metadata: {
      name: `shop-${number}`,
      ownerReferences: [{ apiVersion: '', kind: '', name: 'shop', uid: 'u' }],
      ...more,
    },
    spec: { revision: number, snapshot: { name: 'shop', generation: number, spec } },
    status: { conditions: [{ ...condition, lastTransitionTime: '' }] },
  };
}

function rollout(spec: object, name = 'one', creationTimestamp = '2026-01-01T00:00:00Z'): GraphRollout {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RGDRollout',
    metadata: { name, creationTimestamp },
    spec: { graph: 'shop', ...spec },
  };
}

function compiled(
  object: ResourceGraphDefinition,
  context: Partial<DistributionContext> = {},
): ReturnType<typeof compileDistribution> {
  return compileDistribution(object, {
    revisions: [revision(1, SPEC('string | default=red')), revision(2)],
    rollouts: [],
    begun: false,
    ...context,
  });
}

const MARK = 'atoll.dev/distributed-revision';
const clusters = ['a', 'b'].map((name) => ({ name, labels: { site: name } }));

describe('the intent of a definition', () => {
  it("is the newest revision that the hub serves, without what is the hub's own", () => {
    const annotations = {
      note: 'x',
      'atoll.dev/author': 'someone',
      'atoll.dev/kind-removal': 'AfterInstances',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    };
    const { intent, problems } = compiled(
      definition(undefined, { annotations, finalizers: ['f'], labels: { team: 't' } }),
    );
    expect(problems).toEqual([]);
    expect(intent.objects).toEqual([
      {
        apiVersion: 'kro.run/v1alpha1',
        kind: 'ResourceGraphDefinition',
        metadata: {
          name: 'shop',
          labels: { team: 't' },
          annotations: { note: 'x', 'atoll.dev/kind-removal': 'AfterInstances', [MARK]: '2' },
        },
        spec: SPEC('string'),
      },
    ]);
    expect(intent.placement).toEqual({ clusterSelector: {} });
  });

  it('waits until the hub serves it; what went out before stays as the last revision has it', () => {
    const inactive = definition({ state: 'Inactive', lastIssuedRevision: 2 });
    expect(compiled(inactive).problems).toEqual(['the hub does not serve it yet']);
    expect(compiled(inactive, { begun: true }).problems).toEqual([]);
    expect(compiled(definition({ state: 'Active', lastIssuedRevision: 0 })).problems).toEqual([
      'there is no revision of shop that can be served',
    ]);
  });

  it('is not a revision that its status does not name yet, nor one of a definition of before', () => {
    const revisions = [revision(2), revision(3), revision(1, SPEC('string'), { ownerReferences: [] })];
    expect(compiled(definition(), { revisions }).revision).toBe(2);
    const gone = compiled(definition(undefined, { annotations: { 'atoll.dev/graph-revision': '1' } }), {
      revisions,
    });
    expect(gone.problems).toEqual(['there is no revision 1 of shop; there are 2, 3']);
  });

  it('goes nowhere with the label, or with targets', () => {
    const local = compiled(definition(undefined, { labels: { 'kro.run/distribute': 'false' } }));
    expect(local.intent.placement).toEqual({ clusterNames: [] });
    const object = definition();
    const targeted = { ...object, spec: { ...object.spec, target: { cluster: { name: 'a' } } } };
    expect(compiled(targeted).intent.placement).toEqual({ clusterNames: [] });
  });

  it('gives clusters with a pin their revision, the first pin that means them', () => {
    const pins = [
      { clusterNames: ['b'], revision: 1 },
      { clusterSelector: {}, revision: 2 },
    ];
    const result = compiled(definition(), { rollouts: [rollout({ pins })] });
    const [object] = result.intent.objects;
    const plan = planIntent(result.intent, clusters);
    const [onA, onB] = clusters.map(({ name }) => {
      const patched = applyPatches(object!, plan.patches.get(name) ?? []);
      return 'object' in patched ? patched.object : undefined;
    });
    expect([onA, onB].map((item) => item?.metadata.annotations?.[MARK])).toEqual(['2', '1']);
    expect(onB?.['spec']).toEqual(SPEC('string | default=red'));
    expect(clusters.map((cluster) => revisionFor(result, cluster))).toEqual([2, 1]);
  });

  it('is held where a pin names no revision, or one of which the kind could not serve both', () => {
    const none = compiled(definition(), { rollouts: [rollout({ pins: [{ revision: 7 }] })] });
    expect(none.problems).toEqual(['there is no revision 7 of shop; there are 1, 2']);
    const revisions = [revision(1, SPEC('integer')), revision(2)];
    const both = compiled(definition(), { revisions, rollouts: [rollout({ revision: 1 })] });
    expect(both.problems).toEqual([
      'revisions 2 and 1 do not fit under one kind: spec.colour is string in one and integer in another',
    ]);
  });

  it('goes by the oldest of several rollouts, and where that says', () => {
    const rollouts = [
      rollout({ clusters: { clusterNames: ['b'] } }, 'young', '2026-01-02T00:00:00Z'),
      rollout({ clusters: { clusterNames: ['a'] }, strategy: { maxConcurrency: 1 } }, 'old'),
    ];
    const { intent, rollout: inForce } = compiled(definition(), { rollouts });
    expect(inForce?.metadata.name).toBe('old');
    expect(intent.placement).toEqual({ clusterNames: ['a'] });
    expect(intent.rollout).toEqual({ maxConcurrency: 1 });
  });
});

describe('what is told of it', () => {
  const applied = (cluster: string, conditions: object[]): Parameters<typeof graphOnClusters>[0][number] => ({
    cluster,
    live: true,
    wantedGeneration: 4,
    status: {
      position: { lineage: 'l', epoch: 0, generation: 4 },
      appliedGeneration: 4,
      conditions: [],
      objects: [],
      returned: [
        {
          ref: { apiVersion: '', kind: 'ResourceGraphDefinition', namespace: '', name: 'shop' },
          health: 'Healthy',
          status: { conditions: conditions as never },
        },
      ],
    },
  });
  const selection = { ok: true, reason: '', message: '' };

  it('counts instances as clusters tell them', () => {
    const told = tallyCondition({ total: 3, active: 3, revision: 2 });
    const rows = graphOnClusters([applied('a', [told])], compiled(definition()), new Map());
    expect(rows).toEqual([
      {
        cluster: 'a',
        wanted: 2,
        revision: 2,
        instances: 3,
        active: 3,
        state: 'Ready',
        message: 'revision 2: 3 of 3 instances are active',
      },
    ]);
    const condition = distributionCondition({
      generation: 3,
      compiled: compiled(definition()),
      rows,
      selection,
      leaving: [],
    });
    expect(condition).toMatchObject({ status: 'True', message: '1 of 1 clusters are ready; revision 2' });
  });

  it('says nothing where there is no cluster, and what keeps it back where something does', () => {
    const found = { generation: 1, compiled: compiled(definition()), rows: [], selection, leaving: [] };
    expect(distributionCondition(found)).toBeUndefined();
    expect(distributionCondition({ ...found, leaving: ['a'] })).toMatchObject({ reason: 'TakingBack' });
    const held = { ok: false, reason: 'X', message: 'y' };
    expect(distributionCondition({ ...found, selection: held })).toMatchObject({
      status: 'False',
      reason: 'X',
    });
  });

  it('reads its own numbers back, and no other text', () => {
    const first = { name: 'default/one', state: 'ERROR', message: 'no room' };
    const condition = tallyCondition({ total: 2, active: 1, revision: 7, first });
    expect(condition).toEqual({
      type: 'InstancesReady',
      status: 'False',
      reason: 'InstancesFailed',
      message: 'revision 7: 1 of 2 instances is active; default/one is ERROR: no room',
    });
    expect(countsIn(condition.message)).toEqual({ revision: 7, instances: 2, active: 1 });
    expect(countsIn(tallyCondition({ total: 0, active: 0 }).message)).toEqual({ instances: 0, active: 0 });
    expect(countsIn('instances are served')).toBeUndefined();
  });
});

describe('targets of nodes', () => {
  const node = (more: object = {}): never =>
    ({
      id: 'n',
      template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } },
      ...more,
    }) as never;
  const problems: string[] = [];
  const wrong = (path: string, message: string): void => void problems.push(`${path}: ${message}`);

  it('are those of the definition for nodes that have none and a template', () => {
    const external = { id: 'e', externalRef: {} } as never;
    const own = node({ target: { cluster: { name: '${schema.spec.b}' } } });
    const [first, second, third] = withTargets([node(), own, external], { cluster: { name: 'a' } }, wrong);
    expect(first?.['template']).toMatchObject({
      metadata: { annotations: { 'atoll.dev/target-cluster': 'a' } },
    });
    expect(second?.['template']).toMatchObject({
      metadata: { annotations: { 'atoll.dev/target-cluster': '${schema.spec.b}' } },
    });
    expect(third).toBe(external);
    expect(problems).toEqual([]);
  });

  it('make what is external a template that is not written', () => {
    const externalRef = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } };
    const [read] = withTargets(
      [{ id: 'e', externalRef, target: { cluster: { name: 'a' } } } as never],
      undefined,
      wrong,
    );
    expect(read).toMatchObject({
      id: 'e',
      reads: true,
      template: { kind: 'Secret', metadata: { name: 'x', annotations: { 'atoll.dev/target-cluster': 'a' } } },
    });
    expect(read).not.toHaveProperty('externalRef');
    expect(problems).toEqual([]);
  });

  it('need a name, a template, and annotations that instances cannot write as a whole', () => {
    const target = { cluster: { name: 'a' } };
    withTargets(
      [
        node({ target: { cluster: {} } }),
        { id: 'e', externalRef: { metadata: { selector: {} } }, target } as never,
        { id: 'd', def: {}, target } as never,
        node({ target: { cluster: { name: 'Not One' } } }),
        node({ target, template: { metadata: { name: 'x', annotations: '${schema.spec.annotations}' } } }),
      ],
      undefined,
      wrong,
    );
    expect(problems).toEqual([
      'resources[0].target.cluster.name: it is missing',
      'resources[1].externalRef.metadata: on another cluster objects are read by name only',
      'resources[2].target: only a node with a template or an externalRef can have a target',
      'resources[3].target.cluster.name: "Not One" can be the name of no cluster',
      'resources[4].template.metadata: with a target, metadata and its annotations cannot be expressions as a whole',
    ]);
  });
});
