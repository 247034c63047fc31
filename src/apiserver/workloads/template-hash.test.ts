import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { clone } from '../../schema/json.ts';
import type { ControllerRevision, PodTemplate } from './kinds.ts';
import { syncRevisions } from './revision.ts';
import { POD_TEMPLATE_HASH, sameTemplate } from './template-hash.ts';
import type { World } from './world.ts';

interface Amounts {
  readonly size: string;
  readonly divisor: string;
  readonly memory: string;
}

/** As a version that wrote amounts as they came stored it, and as this one does. */
const BEFORE: Amounts = { size: '1000Mi', divisor: '1000m', memory: '0.5Gi' };
const NOW: Amounts = { size: '1048576000', divisor: '1', memory: '512Mi' };

function template({ size, divisor, memory }: Amounts, labels: Record<string, string> = {}): PodTemplate {
  const resourceFieldRef = { resource: 'limits.cpu', divisor };
  return {
    metadata: { labels: { app: 'web', ...labels }, annotations: { sizeLimit: '1000Mi' } },
    spec: {
      nodeSelector: { divisor: '1000m' },
      overhead: { memory },
      containers: [
        {
          name: 'main',
          image: 'web',
          resources: { limits: { memory, cpu: divisor } },
          env: [{ name: 'CPUS', valueFrom: { resourceFieldRef } }],
        },
      ],
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: size } },
        { name: 'facts', downwardAPI: { items: [{ path: 'cpus', resourceFieldRef }] } },
        {
          name: 'all',
          projected: { sources: [{ downwardAPI: { items: [{ path: 'c', resourceFieldRef }] } }] },
        },
      ],
    },
  } as unknown as PodTemplate;
}

describe('pod templates', () => {
  it('are the same however their amounts are written, and not where these differ', () => {
    expect(sameTemplate(template(BEFORE, { [POD_TEMPLATE_HASH]: 'x' }), template(NOW))).toBe(true);
    for (const [field, other] of [
      ['size', '1001Mi'],
      ['divisor', '10m'],
      ['memory', '513Mi'],
    ] as const)
      expect(sameTemplate(template(BEFORE), template({ ...NOW, [field]: other }))).toBe(false);
  });

  it('are not the same where what differs only looks like an amount', () => {
    for (const change of [
      (spec: Record<string, unknown>) => Object.assign(spec['nodeSelector'] as object, { divisor: '1' }),
      (spec: Record<string, unknown>) => Object.assign(spec, { hostNetwork: true }),
      (spec: Record<string, unknown>) => delete spec['overhead'],
    ]) {
      const changed = clone(template(NOW));
      change(changed.spec as unknown as Record<string, unknown>);
      expect(sameTemplate(template(NOW), changed)).toBe(false);
      expect(sameTemplate(changed, template(NOW))).toBe(false);
    }
    const annotated = clone(template(NOW));
    Object.assign(annotated.metadata?.annotations ?? {}, { sizeLimit: '1048576000' });
    expect(sameTemplate(template(NOW), annotated)).toBe(false);
  });

  it('that a version before wrote otherwise have the revision that they had', async () => {
    const stored: ControllerRevision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'db-x', namespace: 'shop', labels: { 'controller-revision-hash': 'x' } },
      revision: 1,
      data: { spec: { template: { ...template(BEFORE), $patch: 'replace' } } },
    };
    const made: ControllerRevision[] = [];
    const controllerRevisions = {
      ownedBy: () => [stored],
      create: async (revision: ControllerRevision) => {
        made.push(revision);
        return revision;
      },
    };
    const owner = (of: Amounts): KubeObject & { spec: { template: PodTemplate } } => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'shop', uid: 'u' },
      spec: { template: template(of) },
    });
    const world = { controllerRevisions } as unknown as World;
    expect((await syncRevisions(world, owner(NOW))).hash).toBe('x');
    expect(made).toEqual([]);
    const { update } = await syncRevisions(world, owner({ ...NOW, memory: '1Gi' }));
    expect(update.revision).toBe(2);
    expect(made).toHaveLength(1);
  });
});
