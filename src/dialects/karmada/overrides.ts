import type { ImagePartOverride, Override, PatchOperation, PolicyOrigin } from '../../engine/intent.ts';
import type { ClusterMatch } from '../../engine/place/index.ts';
import { type KubeObject, parseApiVersion, refOf } from '../../kube/object.ts';
import type { JsonValue } from '../../schema/json.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type {
  EntriesOverrider,
  OverridePolicy,
  OverrideRule,
  Overriders,
  PolicyClusters,
  PolicySelector,
  WordsOverrider,
} from './types.ts';

/** How closely a policy means an object; the closest is carried out last, and so wins. */
const CLOSENESS = ['All', 'Labels', 'Name'] as const;
type Closeness = (typeof CLOSENESS)[number];

/** `ClusterOverridePolicy mirror`, `OverridePolicy shop/blue`. */
export function policyText({ kind, metadata }: KubeObject): string {
  const { namespace = '', name = '' } = metadata;
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** How a policy means an object; `undefined` where it does not. A namespaced one reaches the objects of its namespace only. */
export function closeness({ metadata, spec }: OverridePolicy, object: KubeObject): Closeness | undefined {
  const own = metadata.namespace ?? '';
  if (own !== '' && object.metadata.namespace !== own) return undefined;
  const { resourceSelectors = [] } = spec;
  if (resourceSelectors.length === 0) return 'All';
  let best: Closeness | undefined;
  for (const selector of resourceSelectors) {
    const found = closenessOf(selector, object, own === '');
    if (found !== undefined && (best === undefined || CLOSENESS.indexOf(found) > CLOSENESS.indexOf(best)))
      best = found;
  }
  return best;
}

function closenessOf(
  { apiVersion, kind, namespace = '', name = '', labelSelector }: PolicySelector,
  object: KubeObject,
  byNamespace: boolean,
): Closeness | undefined {
  if (object.kind !== kind || parseApiVersion(object.apiVersion).group !== parseApiVersion(apiVersion).group)
    return undefined;
  if (byNamespace && namespace !== '' && namespace !== object.metadata.namespace) return undefined;
  if (name !== '') return name === object.metadata.name ? 'Name' : undefined;
  if (labelSelector === undefined) return 'All';
  const { selector, issues } = selectorFromObject(labelSelector);
  return issues.length === 0 && matchesSelector(selector, object.metadata.labels ?? {})
    ? 'Labels'
    : undefined;
}

/**
 * What policies make of the objects of an intent, in the order in which it is carried out: cluster-scoped policies before
 * namespaced ones, and within each those that mean an object more closely later, then by name. `objects` is what each policy
 * may change; nothing else is touched.
 */
export function overridesOfPolicies(
  policies: readonly { readonly policy: OverridePolicy; readonly objects: readonly KubeObject[] }[],
): readonly Override[] {
  const sorted = [...policies].sort((a, b) => compareNames(a.policy, b.policy));
  const out: Override[] = [];
  for (const isNamespaced of [false, true])
    for (const level of CLOSENESS)
      for (const { policy, objects } of sorted) {
        if ((policy.metadata.namespace !== undefined) !== isNamespaced) continue;
        const meant = objects.filter((object) => closeness(policy, object) === level);
        if (meant.length > 0) out.push(...overridesOf(policy, meant));
      }
  return out;
}

function compareNames({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}

function overridesOf(policy: OverridePolicy, objects: readonly KubeObject[]): Override[] {
  const { overrideRules = [], targetCluster, overriders } = policy.spec;
  // With rules the older form beside them is not looked at.
  const single = overriders && { overriders, ...(targetCluster === undefined ? {} : { targetCluster }) };
  const rules: readonly OverrideRule[] = overrideRules.length > 0 || !single ? overrideRules : [single];
  const name = policyText(policy);
  const refs = objects.map(refOf);
  return rules.flatMap((rule) => {
    const { exclude = [] } = rule.targetCluster ?? {};
    const origin: PolicyOrigin = {
      name,
      objects: refs,
      ...(exclude.length === 0 ? {} : { exceptOn: exclude }),
    };
    const where = clusterMatch(rule.targetCluster ?? {});
    return partsOf(rule.overriders).map((part): Override => ({ ...where, policy: origin, ...part }));
  });
}

function clusterMatch({ labelSelector, fieldSelector, clusterNames = [] }: PolicyClusters): ClusterMatch {
  const { matchExpressions = [] } = fieldSelector ?? {};
  return {
    ...(clusterNames.length === 0 ? {} : { clusterNames }),
    ...(labelSelector === undefined ? {} : { clusterSelector: labelSelector }),
    ...(matchExpressions.length === 0 ? {} : { clusterFields: matchExpressions }),
  };
}

/** One override for each thing that a rule does, so that what comes later sees what came before. */
function partsOf(overriders: Overriders): Omit<Override, 'policy'>[] {
  const { imageOverrider = [], commandOverrider = [], argsOverrider = [] } = overriders;
  const { labelsOverrider = [], annotationsOverrider = [], fieldOverrider = [], plaintext = [] } = overriders;
  const patch = [
    ...fieldOverrider.flatMap(({ fieldPath, json = [], yaml = [] }): PatchOperation[] => [
      ...edit(fieldPath, 'json', json),
      ...edit(fieldPath, 'yaml', yaml),
    ]),
    ...plaintext.map(({ path, operator, value }) => operation(operator, path, value)),
  ];
  return [
    ...imageOverrider.map(({ predicate, component, operator, value }) => {
      const change: ImagePartOverride = {
        part: component,
        op: operator,
        ...(value === undefined ? {} : { value }),
        ...(predicate === undefined ? {} : { path: predicate.path }),
      };
      return { imageParts: [change] };
    }),
    ...(commandOverrider.length === 0 ? [] : [{ command: commandOverrider.map(wordsOf) }]),
    ...(argsOverrider.length === 0 ? [] : [{ args: argsOverrider.map(wordsOf) }]),
    ...labelsOverrider.map((entries) => ({ labels: entriesOf(entries) })),
    ...annotationsOverrider.map((entries) => ({ annotations: entriesOf(entries) })),
    ...(patch.length === 0 ? [] : [{ patch }]),
  ];
}

function wordsOf({ containerName, operator, value = [] }: WordsOverrider): {
  container: string;
  add?: readonly string[];
  remove?: readonly string[];
} {
  return { container: containerName, [operator]: value };
}

function entriesOf({ operator, value = {} }: EntriesOverrider): NonNullable<Override['labels']> {
  return operator === 'remove' ? { remove: Object.keys(value) } : { [operator]: value };
}

function edit(
  path: string,
  format: 'json' | 'yaml',
  changes: NonNullable<NonNullable<Overriders['fieldOverrider']>[number]['json']>,
): PatchOperation[] {
  const operations = changes.map(({ subPath, operator, value }) => operation(operator, subPath, value));
  return operations.length === 0 ? [] : [{ op: 'edit', path, format, operations }];
}

function operation(
  op: 'add' | 'remove' | 'replace',
  path: string,
  value: JsonValue | undefined,
): PatchOperation {
  return op === 'remove' ? { op, path } : { op, path, value: value ?? null };
}
