import type { KubeObject } from '../../../kube/object.ts';
import { matchesSelector } from '../../../schema/label-selector.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest, ResourceLookup, Scope } from '../../rest/scope.ts';
import { objectKey } from '../../store/key.ts';
import { ADMISSION_GROUP, type Rule, type Webhook } from './configurations.ts';

/** Kinds that no webhook is asked about: else one could lock everybody out, itself included. */
const EXEMPT: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
]);

export function isExempt({ group, resource }: Resource): boolean {
  return group === ADMISSION_GROUP && EXEMPT.has(resource);
}

function has(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

export function matchesRule(rule: Rule, operation: string, resource: Resource, subresource: string): boolean {
  return (
    has(rule.operations, operation) &&
    has(rule.apiGroups, resource.group) &&
    has(rule.apiVersions, resource.version) &&
    (rule.scope === '*' || rule.scope === (resource.namespaced ? 'Namespaced' : 'Cluster')) &&
    rule.resources.some((pattern) => {
      const [name, sub = ''] = pattern.split('/');
      return (name === '*' || name === resource.resource) && (sub === '*' || sub === subresource);
    })
  );
}

/** Of each lookup, which stays the same until a definition changes. */
const equivalentsIn = new WeakMap<ResourceLookup, Map<Resource, readonly Resource[]>>();

/** The other resources that show the same stored objects. */
export function equivalents({ server, cluster, resource }: Scope): readonly Resource[] {
  const lookup = server.resources(cluster);
  let known = equivalentsIn.get(lookup);
  if (!known) {
    known = new Map();
    equivalentsIn.set(lookup, known);
  }
  let found = known.get(resource);
  if (!found) {
    const groupOf = (one: Resource): string => one.storageGroup ?? one.group;
    found = lookup.all.filter(
      (other) =>
        other !== resource && other.resource === resource.resource && groupOf(other) === groupOf(resource),
    );
    known.set(resource, found);
  }
  return found;
}

/**
 * The resource as which a webhook wants to see a request: what was asked for where a rule names that, else, where the
 * webhook takes equivalents, another group or version of it that a rule names. `undefined` when it is not concerned.
 */
export function concernedResource(
  webhook: Webhook,
  { operation, scope }: AdmissionRequest,
): Resource | undefined {
  const subresource = scope.subresource?.name ?? '';
  const matches = (resource: Resource): boolean =>
    webhook.rules.some((rule) => matchesRule(rule, operation, resource, subresource));
  if (matches(scope.resource)) return scope.resource;
  return webhook.matchesEquivalent ? equivalents(scope).find(matches) : undefined;
}

/** Namespaces are judged by their own labels, what is in one by those of the namespace; all else passes. */
export function matchesNamespace(
  webhook: Pick<Webhook, 'namespaceSelector'>,
  request: AdmissionRequest,
): boolean {
  const { namespaceSelector } = webhook;
  if (namespaceSelector.nothing !== true && namespaceSelector.requirements.length === 0) return true;
  const { scope, object, old } = request;
  const { resource, server, cluster } = scope;
  if (!resource.namespaced) {
    if (resource.group !== '' || resource.resource !== 'namespaces') return true;
    return matchesSelector(namespaceSelector, (object ?? old)?.metadata.labels);
  }
  const name = object?.metadata.namespace ?? old?.metadata.namespace ?? scope.namespace;
  const namespace = server.store.get(objectKey('', 'namespaces', cluster, '', name));
  return matchesSelector(namespaceSelector, namespace?.object.metadata.labels);
}

/** Whether the object, as it is or as it was, has the labels that the webhook asks for. */
export function matchesObject(
  webhook: Pick<Webhook, 'objectSelector'>,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
): boolean {
  const { objectSelector } = webhook;
  if (objectSelector.nothing !== true && objectSelector.requirements.length === 0) return true;
  return [object, old].some(
    (one) => one !== undefined && matchesSelector(objectSelector, one.metadata.labels),
  );
}
