import { neverPropagated } from '../../engine/select/index.ts';
import type { ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';

/** What clusters make for themselves, and what places things. */
const GROUPS: ReadonlySet<string> = new Set([
  'flowcontrol.apiserver.k8s.io',
  'discovery.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'events.k8s.io',
  'metrics.k8s.io',
  'atoll.dev',
]);
/** Whose objects place others. */
const PLACING = /(^|[.])(kubestellar|kcp|kubefed|karmada)[.]io$/;
const RESOURCES: ReadonlySet<string> = new Set([
  'events',
  'nodes',
  'csistoragecapacities',
  'csinodes',
  'endpoints',
  'componentstatuses',
]);
/** Groups whose definitions are the engine's own, on every cluster. */
const OWN_GROUPS: ReadonlySet<string> = new Set([
  'atoll.dev',
  'kro.run',
  'internal.kro.run',
  'core.federation.k8s.io',
]);
const OWN_DEFINITIONS: ReadonlySet<string> = new Set(['spokeclusters.core.oam.dev', 'clusters.core.oam.dev']);

/** Whether objects of a kind are never selected, whatever a clause says. */
export function isNeverListed({ group, resource }: Pick<ResourceId, 'group' | 'resource'>): boolean {
  return GROUPS.has(group) || PLACING.test(group) || RESOURCES.has(resource);
}

/** Why an object is never selected; `undefined` where it may be. */
export function neverListed(object: KubeObject): string | undefined {
  const reason = neverPropagated(object);
  if (reason !== undefined) return reason;
  const { name = '' } = object.metadata;
  if (object.kind === 'CustomResourceDefinition') {
    const group = stringAt(object, 'spec', 'group') ?? '';
    if (OWN_DEFINITIONS.has(name) || OWN_GROUPS.has(group) || PLACING.test(group))
      return 'every cluster of the fleet has its own';
  }
  if (name.startsWith('atoll.dev') || name.startsWith('atoll:')) return 'the hub keeps it for itself';
  return undefined;
}
