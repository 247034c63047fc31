// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../../kube/object.ts';
import { type InstanceStep, type Observed, observedObjects, reasonText } from './index.ts';
import type { GraphOwner } from './owner.ts';

export const owner: GraphOwner = { name: 'shop', uid: 'graph-uid', version: '0.0.0' };

export function instance(spec: object, more: object = {}): KubeObject {
  return {
    apiVersion: 'kro.run/v1',
    kind: 'Test',
    metadata: { name: 'one', namespace: 'shop', uid: 'uid-1', generation: 3, ...more },
    spec,
  };
}

export interface World {
  readonly observed: Observed;
  put(object: KubeObject): void;
  all(): KubeObject[];
  delete(ref: ObjectRef): boolean;
  /** What changed. */
  apply(step: InstanceStep): string[];
}

/** A cluster in memory, to which steps are applied. */
export function cluster(...objects: KubeObject[]): World {
  const stored = new Map<string, KubeObject>();
  const digests = new Map<string, string>();
  const put = (object: KubeObject): void => {
    const key = refKey(refOf(object));
    const before = stored.get(key);
    stored.set(key, {
      ...before,
      ...object,
      metadata: { uid: `uid-of-${object.metadata.name}`, ...object.metadata },
    });
  };
  objects.forEach(put);
  const observed: Observed = {
    ...observedObjects([]),
    object: (ref) => stored.get(refKey(ref)) ?? null,
    selected: (query) => observedObjects(stored.values()).selected(query),
    applied: (ref) => digests.get(refKey(ref)),
  };
  return {
    observed,
    put,
    all: () => [...stored.values()],
    delete: (ref: ObjectRef) => stored.delete(refKey(ref)),
    apply: (step: InstanceStep): string[] => {
      const changed = step.objects.filter(({ ref, digest }) => digests.get(refKey(ref)) !== digest);
      for (const { ref, object, digest } of changed) {
        put(object);
        digests.set(refKey(ref), digest);
      }
      return changed.map(({ ref }) => refText(ref));
    },
  };
}

export const states = (step: InstanceStep): string =>
  step.nodes.map(({ id, state }) => `${id}=${state}`).join(' ');
export const reasons = (step: InstanceStep): string =>
  step.nodes.flatMap((node) => node.reasons.map((reason) => `${node.id}: ${reasonText(reason)}`)).join('\n');

export const WEB: string = `
schema: {spec: {name: string, replicas: integer, extra: boolean}, status: {available: "\${web.status.availableReplicas}", where: "at \${config.metadata.name}", spec: "\${schema.spec.name}"}}
resources:
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${schema.spec.name}"}, data: {available: "\${string(web.status.availableReplicas)}"}}
- id: web
  readyWhen: ["\${web.status.availableReplicas == web.spec.replicas}"]
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "\${schema.spec.name}"}, spec: {replicas: "\${schema.spec.replicas}"}}
- id: extra
  includeWhen: ["\${schema.spec.extra}"]
  template: {apiVersion: v1, kind: Secret, metadata: {name: x}}
- id: behind
  template: {apiVersion: v1, kind: Secret, metadata: {name: "\${extra.metadata.name}-2"}}
`;
