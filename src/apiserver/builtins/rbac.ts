import { asJson, type KubeObject } from '../../kube/object.ts';
import { deepEqual, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain, validatePathSegmentName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { labelSelector, oneOf, type Problems } from './field-checks.ts';
import { invalidAs, invalidEach, invalidValue, notSupported, required } from './field-errors.ts';
import { defaultWhenEmpty, ensureObject, objectsOf, strings, text } from './fields.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Names of RBAC objects need only fit into a URL: `system:node` is one. */
const SHARED: Partial<Strategy> & { validateTwice: true } = {
  validateTwice: true,
  allowCreateOnUpdate: true,
  validateName: validatePathSegmentName,
};

export const roleStrategy: Strategy = strategy({
  ...SHARED,
  validate: (role) => rulesProblems(role, true),
});

export const clusterRoleStrategy: Strategy = strategy({
  ...SHARED,
  validate: (role) => [...rulesProblems(role, false), ...aggregationProblems(role)],
});

export const roleBindingStrategy: Strategy = strategy({
  ...SHARED,
  defaults: defaultBinding,
  validate: (binding) => bindingProblems(binding, ['Role', 'ClusterRole']),
  validateUpdate: roleRefUnchanged,
});

export const clusterRoleBindingStrategy: Strategy = strategy({
  ...SHARED,
  defaults: defaultBinding,
  validate: (binding) => bindingProblems(binding, ['ClusterRole']),
  validateUpdate: roleRefUnchanged,
});

function defaultBinding(binding: KubeObject): void {
  defaultWhenEmpty(ensureObject(binding, 'roleRef'), 'apiGroup', RBAC_GROUP);
  for (const subject of objectsOf(binding, 'subjects')) {
    const kind = text(subject, 'kind');
    if (kind === 'User' || kind === 'Group') defaultWhenEmpty(subject, 'apiGroup', RBAC_GROUP);
  }
}

function rulesProblems(role: KubeObject, namespaced: boolean): Problems {
  return objectsOf(role, 'rules').flatMap((rule, index) => ruleProblems(rule, namespaced, `rules[${index}]`));
}

function ruleProblems(rule: JsonObject, namespaced: boolean, path: string): Problems {
  const problems: Problems = [];
  if (strings(rule, 'verbs').length === 0) {
    problems.push(required(`${path}.verbs`, 'verbs must contain at least one value'));
  }
  const urls = strings(rule, 'nonResourceURLs');
  if (urls.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) {
      problems.push(invalidValue(at, urls, 'namespaced rules cannot apply to non-resource URLs'));
    }
    if (['apiGroups', 'resources', 'resourceNames'].some((key) => strings(rule, key).length > 0)) {
      problems.push(
        invalidValue(at, urls, 'rules cannot apply to both regular resources and non-resource URLs'),
      );
    }
    return problems;
  }
  if (strings(rule, 'apiGroups').length === 0) {
    problems.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (strings(rule, 'resources').length === 0) {
    problems.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return problems;
}

function aggregationProblems(role: KubeObject): Problems {
  const rule = objectAt(role, 'aggregationRule');
  if (rule === undefined) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = objectsOf(rule, 'clusterRoleSelectors');
  if (selectors.length === 0) {
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, index) => {
    const problems = labelSelector(selector, `${path}[${index}]`);
    if (problems.length > 0) {
      problems.push(invalidAs(`${path}[${index}]`, '"null"', 'invalid label selector.'));
    }
    return problems;
  });
}

function bindingProblems(binding: KubeObject, kinds: readonly string[]): Problems {
  const ref = objectAt(binding, 'roleRef');
  const problems: Problems = [];
  if (text(ref, 'apiGroup') !== RBAC_GROUP) {
    problems.push(notSupported('roleRef.apiGroup', text(ref, 'apiGroup'), [RBAC_GROUP]));
  }
  if (!kinds.includes(text(ref, 'kind'))) {
    problems.push(notSupported('roleRef.kind', text(ref, 'kind'), kinds));
  }
  const name = text(ref, 'name');
  if (name === '') problems.push(required('roleRef.name'));
  else problems.push(...invalidEach('roleRef.name', name, validatePathSegmentName(name)));
  const namespaced = kinds.includes('Role');
  for (const [index, subject] of objectsOf(binding, 'subjects').entries()) {
    problems.push(...subjectProblems(subject, namespaced, `subjects[${index}]`));
  }
  return problems;
}

function subjectProblems(subject: JsonObject, namespaced: boolean, path: string): Problems {
  const problems: Problems = [];
  const name = text(subject, 'name');
  if (name === '') problems.push(required(`${path}.name`));
  switch (text(subject, 'kind')) {
    case 'ServiceAccount':
      if (name !== '') problems.push(...invalidEach(`${path}.name`, name, validateDns1123Subdomain(name)));
      if (text(subject, 'apiGroup') !== '') problems.push(...oneOf(subject, path, 'apiGroup', ['']));
      if (!namespaced && text(subject, 'namespace') === '') problems.push(required(`${path}.namespace`));
      return problems;
    case 'User':
    case 'Group':
      if (text(subject, 'apiGroup') !== RBAC_GROUP) {
        problems.push(notSupported(`${path}.apiGroup`, text(subject, 'apiGroup'), [RBAC_GROUP]));
      }
      return problems;
    default:
      problems.push(notSupported(`${path}.kind`, text(subject, 'kind'), ['ServiceAccount', 'User', 'Group']));
      return problems;
  }
}

/** A binding to another role is another binding: who may bind is checked when it is made. */
function roleRefUnchanged(binding: KubeObject, old: KubeObject): Problems {
  const ref = objectAt(binding, 'roleRef');
  if (deepEqual(ref, asJson(old).roleRef)) return [];
  const value = ['apiGroup', 'kind', 'name']
    .map(
      (key) =>
        `${key === 'apiGroup' ? 'APIGroup' : key === 'kind' ? 'Kind' : 'Name'}:${JSON.stringify(text(ref, key))}`,
    )
    .join(', ');
  return [invalidAs('roleRef', `rbac.RoleRef{${value}}`, 'cannot change roleRef')];
}
