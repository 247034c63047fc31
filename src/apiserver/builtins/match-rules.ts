import type { JsonObject } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import { oneOf, type Problems } from './field-checks.ts';
import {
  duplicate,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from './field-errors.ts';
import { defaultWhenNull, objectsOf, strings, text } from './fields.ts';

/** What webhooks and admission policies have in common: which requests they are about. */

const CONDITIONS_LIMIT = 64;
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

/** Rules match any scope unless they say which. */
export function defaultRules(parent: JsonObject, key: string): void {
  for (const rule of objectsOf(parent, key)) defaultWhenNull(rule, 'scope', '*');
}

/** A rule with operations, of a webhook or of an admission policy. */
export function validateRule(rule: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const check = (key: string, what: string, valueText: (values: string[]) => string | undefined): void => {
    const values = strings(rule, key);
    const at = `${path}.${key}`;
    if (values.length === 0) problems.push(required(at));
    if (values.length < 2 || !values.includes('*')) return;
    const shown = valueText(values);
    const detail = `if '*' is present, must not specify other ${what}`;
    problems.push(shown === undefined ? invalidValue(at, values, detail) : invalidAs(at, shown, detail));
  };
  check('apiGroups', 'API groups', () => undefined);
  check('apiVersions', 'API versions', () => undefined);
  for (const [index, version] of strings(rule, 'apiVersions').entries()) {
    if (version === '') problems.push(required(`${path}.apiVersions[${index}]`));
  }
  problems.push(...resourceProblems(rule, `${path}.resources`));
  check(
    'operations',
    'operations',
    (values) => `[]admissionregistration.OperationType{${values.map((v) => JSON.stringify(v)).join(', ')}}`,
  );
  for (const [index, operation] of strings(rule, 'operations').entries()) {
    if (!OPERATIONS.includes(operation)) {
      problems.push(notSupported(`${path}.operations[${index}]`, operation, OPERATIONS));
    }
  }
  problems.push(...oneOf(rule, path, 'scope', ['*', 'Cluster', 'Namespaced']));
  return problems;
}

/** `*` stands for all resources without subresources, so that `pods/*` beside it says something. */
function resourceProblems(rule: JsonObject, path: string): Problems {
  const resources = strings(rule, 'resources');
  if (resources.length === 0) return [required(path)];
  const problems: Problems = [];
  const all = resources.includes('*/*');
  if (all && resources.length > 1) {
    return [invalidValue(path, resources, "if '*/*' is present, must not specify other resources")];
  }
  const isPlain = (resource: string): boolean => resource !== '*' && !resource.includes('/');
  if (resources.includes('*') && resources.some(isPlain)) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    problems.push(invalidValue(path, resources, detail));
  }
  /** What has been read so far: of what comes later nothing is said. */
  const read = new Set<string>();
  for (const [index, resource] of resources.entries()) {
    const at = `${path}[${index}]`;
    if (resource === '') problems.push(required(at));
    const [name = '', sub] = resource.split('/');
    if (sub === undefined) continue;
    for (const all of [`${name}/*`, `*/${sub}`]) {
      if (read.has(all) && all !== resource)
        problems.push(invalidValue(at, resource, `if '${all}' is present, must not specify ${resource}`));
    }
    read.add(resource);
  }
  return problems;
}

/** The names of match conditions, of webhooks and policies. */
export function validateMatchConditions(parent: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const names = new Set<string>();
  const conditions = objectsOf(parent, 'matchConditions');
  if (conditions.length > CONDITIONS_LIMIT) problems.push(tooMany(path, conditions.length, CONDITIONS_LIMIT));
  for (const [index, condition] of conditions.entries()) {
    const at = `${path}[${index}]`;
    const name = text(condition, 'name');
    if (name === '') problems.push(required(`${at}.name`));
    else problems.push(...invalidEach(`${at}.name`, name, validateQualifiedName(name)));
    if (names.has(name)) problems.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (text(condition, 'expression').trim() === '') problems.push(required(`${at}.expression`));
  }
  return problems;
}
