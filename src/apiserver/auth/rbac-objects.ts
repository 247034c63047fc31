import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, listAt, objectAt, stringAt } from '../../schema/json.ts';
import type { PolicyRule } from './policy-rule.ts';

export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  /** For service accounts. */
  readonly namespace: string;
}

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/** The rules of a Role or ClusterRole. Anything that is not of its schema grants nothing. */
export function rulesOf(role: KubeObject): PolicyRule[] {
  return listAt(role, 'rules').flatMap((rule) => {
    if (!isObject(rule)) return [];
    return [
      {
        verbs: strings(rule.verbs),
        apiGroups: strings(rule.apiGroups),
        resources: strings(rule.resources),
        resourceNames: strings(rule.resourceNames),
        nonResourceURLs: strings(rule.nonResourceURLs),
      },
    ];
  });
}

/** The subjects of a binding; those of an unknown kind are left out. */
export function subjectsOf(binding: KubeObject): Subject[] {
  return listAt(binding, 'subjects').flatMap((subject) => {
    const kind = stringAt(subject, 'kind');
    const name = stringAt(subject, 'name') ?? '';
    if (name === '' || (kind !== 'User' && kind !== 'Group' && kind !== 'ServiceAccount')) return [];
    return [{ kind, name, namespace: stringAt(subject, 'namespace') ?? '' }];
  });
}

export function roleRefOf(binding: KubeObject): RoleRef {
  return {
    kind: stringAt(binding, 'roleRef', 'kind') ?? '',
    name: stringAt(binding, 'roleRef', 'name') ?? '',
  };
}

/**
 * The rules that an aggregated cluster role has: those of every other role that one of its selectors picks, in order of
 * name, each rule once. `undefined` when the role is not aggregated and keeps its own.
 */
export function aggregateRules(role: KubeObject, all: Iterable<KubeObject>): PolicyRule[] | undefined {
  if (objectAt(role, 'aggregationRule') === undefined) return undefined;
  const selectors = listAt(role, 'aggregationRule', 'clusterRoleSelectors');
  const picked = [...all]
    .filter((other) => other.metadata.name !== role.metadata.name)
    .filter((other) => selectors.some((selector) => selects(selector, other.metadata.labels ?? {})))
    .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const other of picked) {
    for (const rule of listAt(other, 'rules')) {
      if (isObject(rule)) rules.set(textOf(rule), rule as unknown as PolicyRule);
    }
  }
  return [...rules.values()];
}

/** Rules are told apart by their text, again at every change of any role. */
const texts = new WeakMap<JsonObject, string>();

function textOf(rule: JsonObject): string {
  let text = texts.get(rule);
  if (text === undefined) {
    text = JSON.stringify(rule);
    texts.set(rule, text);
  }
  return text;
}

/** `metav1.LabelSelector`. An unknown operator selects nothing: aggregation must not grant by mistake. */
function selects(selector: JsonValue, labels: Record<string, string>): boolean {
  const wanted = objectAt(selector, 'matchLabels') ?? {};
  for (const key in wanted) if (labels[key] !== wanted[key]) return false;
  return listAt(selector, 'matchExpressions').every((expression) => {
    const value = labels[stringAt(expression, 'key') ?? ''];
    const values = strings(listAt(expression, 'values'));
    switch (stringAt(expression, 'operator')) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return false;
    }
  });
}

function strings(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
