import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityMillis,
  quantityProblems,
} from '../../schema/quantity.ts';
import type { Problems } from './field-checks.ts';
import { forbidden, invalidAs, invalidEach, invalidValue, required } from './field-errors.ts';
import { quantityDump } from './go-dump.ts';

const NANOS_PER_MILLI = 1_000_000n;
const STANDARD = ['cpu', 'memory', 'ephemeral-storage', 'storage'];
const NOT_NEGATIVE = 'must be greater than or equal to 0';

/** Rewrites the quantities of a resource list canonically (`0.5` as `500m`), rounded up to thousandths. */
export function canonicalResources(parent: JsonObject, key: string): void {
  const list = objectAt(parent, key);
  if (list === undefined) return;
  for (const name in list) {
    const given = list[name];
    const quantity = parseQuantity(given);
    // What is not a quantity is left for validation to tell.
    if (quantity === undefined) continue;
    const fine = quantity.nanos % NANOS_PER_MILLI !== 0n;
    list[name] = formatQuantity(
      fine ? { nanos: quantityMillis(quantity) * NANOS_PER_MILLI, format: quantity.format } : quantity,
    );
  }
}

/** Rewrites one quantity canonically. */
export function canonicalField(parent: JsonObject, key: string): void {
  const quantity = parseQuantity(parent[key]);
  if (quantity !== undefined) parent[key] = formatQuantity(quantity);
}

export function isZeroQuantity(text: string): boolean {
  return parseQuantity(text)?.nanos === 0n;
}

/** A quantity that may not be negative. */
export function notNegativeQuantity(value: unknown, path: string): Problems {
  const quantity = parseQuantity(value);
  if (quantity === undefined)
    return quantityProblems(value).map((detail) => invalidValue(path, value, detail));
  return quantity.nanos < 0n ? [invalidValue(path, formatQuantity(quantity), NOT_NEGATIVE)] : [];
}

/** Limits and requests of a container. */
export function validateResourceRequirements(resources: JsonObject | undefined, path: string): Problems {
  const limits = objectAt(resources, 'limits') ?? {};
  const requests = objectAt(resources, 'requests') ?? {};
  const problems: Problems = [];
  for (const name in limits) {
    const at = `${path}.limits[${name}]`;
    problems.push(...containerResourceName(name, at), ...amountProblems(name, limits[name], at));
  }
  for (const name in requests) {
    const at = `${path}.requests[${name}]`;
    problems.push(...containerResourceName(name, at), ...amountProblems(name, requests[name], at));
    problems.push(...comparedWithLimit(name, requests[name], limits[name], path));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (
    names.some((name) => name.startsWith('hugepages-')) &&
    !names.some((name) => name === 'cpu' || name === 'memory')
  )
    problems.push(forbidden(path, 'HugePages require cpu or memory'));
  return problems;
}

function comparedWithLimit(name: string, request: unknown, limit: unknown, path: string): Problems {
  const quantity = parseQuantity(request);
  if (quantity === undefined) return [];
  const overcommits = allowsOvercommit(name);
  if (limit === undefined) {
    return overcommits
      ? []
      : [required(`${path}.limits`, 'Limit must be set for non overcommitable resources')];
  }
  const most = parseQuantity(limit);
  if (most === undefined) return [];
  const order = compareQuantities(quantity, most);
  const given = formatQuantity(quantity);
  if (!overcommits && order !== 0) {
    return [
      invalidValue(`${path}.requests`, given, `must be equal to ${name} limit of ${formatQuantity(most)}`),
    ];
  }
  return order > 0
    ? [
        invalidValue(
          `${path}.requests`,
          given,
          `must be less than or equal to ${name} limit of ${formatQuantity(most)}`,
        ),
      ]
    : [];
}

function allowsOvercommit(name: string): boolean {
  return (!name.includes('/') || name.startsWith('kubernetes.io/')) && !name.startsWith('hugepages-');
}

/** Whether a resource is nobody's but whoever made it up; such are counted in whole numbers. */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

export function amountProblems(name: string, value: unknown, path: string): Problems {
  const problems = notNegativeQuantity(value, path);
  const quantity = parseQuantity(value);
  const whole = name.includes('/') && !name.startsWith('kubernetes.io/');
  if (whole && quantity !== undefined && quantityMillis(quantity) % 1000n !== 0n) {
    problems.push(invalidAs(path, quantityDump(value), 'must be an integer'));
  }
  const page = name.startsWith('hugepages-') ? parseQuantity(name.slice('hugepages-'.length)) : undefined;
  if (quantity && page && page.nanos > 0n && quantity.nanos % page.nanos !== 0n) {
    const given = formatQuantity(quantity);
    problems.push(invalidValue(path, given, `${given} is not positive integer multiple of ${name}`));
  }
  return problems;
}

/** A resource that containers ask for. `quoted` is for fields that are texts of their own, not keys. */
export function containerResourceName(name: string, path: string, quoted = false): Problems {
  const problems = quoted ? invalidEach(path, name, validateQualifiedName(name)) : resourceName(name, path);
  if (problems.length === 0) problems.push(...standardProblems(name, path));
  if (name.split('/').length > 2) {
    problems.push(invalidAs(path, name, "doesn't follow extended resource name standard"));
  }
  if (!name.includes('/') && !STANDARD.includes(name) && !name.startsWith('hugepages-')) {
    problems.push(invalidAs(path, name, 'must be a standard resource for containers'));
  }
  return problems;
}

const STANDARD_RESOURCES: ReadonlySet<string> = new Set([
  ...STANDARD,
  'configmaps',
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
  'requests.storage',
  'resourcequotas',
  'secrets',
  'services',
  'services.loadbalancers',
  'services.nodeports',
]);

/** A name without a domain must be one of Kubernetes' own. */
export function standardProblems(name: string, path: string): Problems {
  return name.includes('/') ||
    STANDARD_RESOURCES.has(name) ||
    /^(requests\.)?hugepages-/.test(name) ||
    name.startsWith('attachable-volumes-')
    ? []
    : [invalidAs(path, name, 'must be a standard resource type or fully qualified')];
}

/** Resource names are printed without quotes. */
export function resourceName(name: string, path: string): Problems {
  return validateQualifiedName(name).map((message) => invalidAs(path, name, message));
}
