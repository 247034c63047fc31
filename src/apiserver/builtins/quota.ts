import { deepEqual, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityMillis,
} from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import {
  duplicate,
  forbidden,
  goStrings,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  required,
} from './field-errors.ts';
import { ensureObject, objectsOf, strings, text } from './fields.ts';
import { goDump, quantityDump } from './go-dump.ts';
import {
  canonicalResources,
  containerResourceName,
  isExtendedResource,
  notNegativeQuantity,
  resourceName,
  standardProblems,
} from './resource-list.ts';

const COUNTED = [
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
  'services.loadbalancers',
  'services.nodeports',
];
const QUOTA_RESOURCES = [
  ...COUNTED,
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
];
const SCOPES = [
  'BestEffort',
  'CrossNamespacePodAffinity',
  'NotBestEffort',
  'NotTerminating',
  'PriorityClass',
  'Terminating',
  'VolumeAttributesClass',
];

export const resourceQuotaStrategy: Strategy = strategy({
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  defaults(object) {
    for (const [part, keys] of [
      ['spec', ['hard']],
      ['status', ['hard', 'used']],
    ] as const) {
      const holder = objectAt(object, part);
      if (holder) for (const key of keys) canonicalResources(holder, key);
    }
  },
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) =>
    ['hard', 'used'].flatMap((key) => amountProblems(objectAt(object, 'status', key) ?? {}, `status.${key}`)),
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const hard = objectAt(spec, 'hard') ?? {};
    const problems = amountProblems(hard, 'spec.hard');
    problems.push(...scopeProblems(spec, hard));
    return problems;
  },
  validateUpdate(object, old) {
    const now = strings(objectAt(object, 'spec'), 'scopes');
    return deepEqual(now, strings(objectAt(old, 'spec'), 'scopes'))
      ? []
      : [invalidAs('spec.scopes', scopesText(now), IMMUTABLE)];
  },
});

/** Amounts of resources that are counted, at their path. */
function amountProblems(amounts: JsonObject, path: string): Problems {
  const problems: Problems = [];
  for (const name in amounts) {
    const at = `${path}[${name}]`;
    const wrong = resourceName(name, at);
    problems.push(...(wrong.length > 0 ? wrong : standardProblems(name, at)));
    if (!name.includes('/') && !QUOTA_RESOURCES.includes(name) && !/^(requests\.)?hugepages-/.test(name)) {
      problems.push(invalidAs(at, name, 'must be a standard resource for quota'));
    }
    problems.push(...notNegativeQuantity(amounts[name], at));
    const quantity = parseQuantity(amounts[name]);
    const counted = COUNTED.includes(name) || isExtendedResource(name);
    if (counted && quantity !== undefined && quantityMillis(quantity) % 1000n !== 0n) {
      problems.push(invalidAs(at, quantityDump(amounts[name]), 'must be an integer'));
    }
  }
  return problems;
}

function scopeProblems(spec: JsonObject, hard: JsonObject): Problems {
  const scopes = strings(spec, 'scopes');
  const problems: Problems = [];
  const shown = scopesText(scopes);
  for (const scope of scopes) {
    if (!SCOPES.includes(scope)) problems.push(invalidAs('spec.scopes', shown, 'unsupported scope'));
    for (const _ of outsideScope(scope, hard))
      problems.push(invalidAs('spec.scopes', shown, 'unsupported scope applied to resource'));
  }
  const selector = objectAt(spec, 'scopeSelector');
  for (const expression of objectsOf(selector, 'matchExpressions')) {
    const at = 'spec.scopeSelector.matchExpressions';
    const name = text(expression, 'scopeName');
    const operator = text(expression, 'operator');
    const values = strings(expression, 'values');
    if (!SCOPES.includes(name)) problems.push(invalidValue(`${at}.scopeName`, name, 'unsupported scope'));
    for (const _ of outsideScope(name, hard))
      problems.push(
        invalidAs(at, goDump('core.ScopeSelector', selector), 'unsupported scope applied to resource'),
      );
    if (PLAIN_SCOPES.includes(name) && operator !== 'Exists') {
      const plain = PLAIN_SCOPES.map((scope) => `ResourceQuotaScope${scope}`);
      const detail = `must be 'Exists' when scope is any of ${plain.slice(0, -1).join(', ')} or ${plain.at(-1)}`;
      problems.push(invalidValue(`${at}.operator`, operator, detail));
    }
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
        problems.push(required(`${at}.values`, detail));
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0) {
        const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
        problems.push(invalidAs(`${at}.values`, goStrings(values), detail));
      }
    } else problems.push(invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
  }
  for (const pair of [
    ['BestEffort', 'NotBestEffort'],
    ['Terminating', 'NotTerminating'],
  ]) {
    if (pair.every((scope) => scopes.includes(scope))) {
      problems.push(invalidAs('spec.scopes', shown, 'conflicting scopes'));
    }
    const selected = objectsOf(selector, 'matchExpressions').map((item) => text(item, 'scopeName'));
    if (pair.every((scope) => selected.includes(scope))) {
      problems.push(invalidAs('spec.scopeSelector.matchExpressions', shown, 'conflicting scopes'));
    }
  }
  return problems;
}

const COMPUTED = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory'];
/** What can be counted of the objects in a scope. */
const IN_SCOPE: Readonly<Record<string, readonly string[]>> = {
  // Pods that ask for nothing have nothing that could be counted besides.
  BestEffort: ['pods'],
  CrossNamespacePodAffinity: ['pods', ...COMPUTED],
  NotBestEffort: ['pods', ...COMPUTED],
  NotTerminating: ['pods', ...COMPUTED],
  PriorityClass: ['pods', ...COMPUTED],
  Terminating: ['pods', ...COMPUTED],
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};

/** Kubernetes' own resources that are not what a scope is about. */
function outsideScope(scope: string, hard: JsonObject): string[] {
  const inside = IN_SCOPE[scope];
  return inside === undefined
    ? []
    : Object.keys(hard).filter((name) => QUOTA_RESOURCES.includes(name) && !inside.includes(name));
}

const PLAIN_SCOPES: readonly string[] = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'CrossNamespacePodAffinity',
];

function scopesText(scopes: readonly string[]): string {
  if (scopes.length === 0) return '[]core.ResourceQuotaScope(nil)';
  return `[]core.ResourceQuotaScope{${scopes.map((scope) => JSON.stringify(scope)).join(', ')}}`;
}

const LIMIT_TYPES = ['Container', 'PersistentVolumeClaim', 'Pod'];
const LIMIT_KEYS = ['min', 'max', 'default', 'defaultRequest', 'maxLimitRequestRatio'];

export const limitRangeStrategy: Strategy = strategy({
  allowCreateOnUpdate: true,
  defaults(object) {
    for (const item of objectsOf(objectAt(object, 'spec'), 'limits')) {
      for (const key of LIMIT_KEYS) canonicalResources(item, key);
      if (text(item, 'type') === 'Container') defaultContainerLimits(item);
    }
  },
  validate(object) {
    const problems: Problems = [];
    const types = new Set<string>();
    for (const [index, item] of objectsOf(objectAt(object, 'spec'), 'limits').entries()) {
      const at = `spec.limits[${index}]`;
      const type = text(item, 'type');
      const wrong = validateQualifiedName(type);
      problems.push(...invalidEach(`${at}.type`, type, wrong));
      if (wrong.length === 0 && !type.includes('/') && !LIMIT_TYPES.includes(type)) {
        problems.push(invalidValue(`${at}.type`, type, 'must be a standard limit type or fully qualified'));
      }
      if (types.has(type)) problems.push(duplicate(`${at}.type`, type));
      types.add(type);
      problems.push(...limitProblems(item, type, at));
    }
    return problems;
  },
});

/** What a container gets without asking: the most it may have, and to ask for as much as it gets. */
function defaultContainerLimits(item: JsonObject): void {
  const limits = ensureObject(item, 'default');
  const requests = ensureObject(item, 'defaultRequest');
  const most = objectAt(item, 'max') ?? {};
  const least = objectAt(item, 'min') ?? {};
  for (const name in most) limits[name] ??= most[name];
  for (const name in limits) requests[name] ??= limits[name];
  for (const name in least) requests[name] ??= least[name];
  for (const key of ['default', 'defaultRequest']) {
    if (Object.keys(objectAt(item, key) ?? {}).length === 0) delete item[key];
  }
}

function limitProblems(item: JsonObject, type: string, at: string): Problems {
  const problems: Problems = [];
  if (type === 'Pod') {
    for (const key of ['default', 'defaultRequest']) {
      if (Object.keys(objectAt(item, key) ?? {}).length > 0) {
        problems.push(forbidden(`${at}.${key}`, "may not be specified when `type` is 'Pod'"));
      }
    }
  }
  if (
    type === 'PersistentVolumeClaim' &&
    ['min', 'max'].every((key) => objectAt(item, key)?.storage === undefined)
  ) {
    const detail = 'either minimum or maximum storage value is required, but neither was provided';
    problems.push(required(`${at}.limits`, detail));
  }
  const names = new Set(LIMIT_KEYS.flatMap((key) => Object.keys(objectAt(item, key) ?? {})));
  for (const name of names) {
    const nameProblems = type === 'Container' || type === 'Pod' ? containerResourceName : standardProblems;
    for (const key of LIMIT_KEYS) {
      if (objectAt(item, key)?.[name] !== undefined)
        problems.push(...nameProblems(name, `${at}.${key}[${name}]`));
    }
    const of = (key: string): ReturnType<typeof parseQuantity> => parseQuantity(objectAt(item, key)?.[name]);
    const above = (
      low: string,
      high: string,
      path: string,
      shown: string,
      lowText: string,
      highText: string,
    ): void => {
      const left = of(low);
      const right = of(high);
      if (left && right && compareQuantities(left, right) > 0) {
        problems.push(
          invalidAs(
            `${at}.${path}[${name}]`,
            shownQuantity(shown === low ? left : right),
            `${lowText} value ${formatQuantity(left)} is greater than ${highText} value ${formatQuantity(right)}`,
          ),
        );
      }
    };
    above('min', 'max', 'min', 'min', 'min', 'max');
    if (type !== 'Pod') {
      above('min', 'defaultRequest', 'defaultRequest', 'defaultRequest', 'min', 'default request');
      above('defaultRequest', 'max', 'defaultRequest', 'defaultRequest', 'default request', 'max');
      above(
        'defaultRequest',
        'default',
        'defaultRequest',
        'defaultRequest',
        'default request',
        'default limit',
      );
      above('min', 'default', 'default', 'min', 'min', 'default');
      // The most is shown here, of all things.
      above('default', 'max', 'default', 'max', 'default', 'max');
    }
    const ratio = of('maxLimitRequestRatio');
    if (ratio && quantityMillis(ratio) < 1000n) {
      const given = formatQuantity(ratio);
      problems.push(
        invalidAs(
          `${at}.maxLimitRequestRatio[${name}]`,
          shownQuantity(ratio),
          `ratio ${given} is less than 1`,
        ),
      );
    }
    if (ratio) problems.push(...ratioProblems(item, name, ratio, `${at}.maxLimitRequestRatio[${name}]`));
    const limit = of('default');
    const request = of('defaultRequest');
    if (limit && request && /^hugepages-/.test(name) && compareQuantities(limit, request) !== 0)
      problems.push(
        invalidAs(
          `${at}.defaultRequest[${name}]`,
          shownQuantity(request),
          `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`,
        ),
      );
  }
  return problems;
}

function ratioProblems(item: JsonObject, name: string, ratio: Quantity, at: string): Problems {
  const least = parseQuantity(objectAt(item, 'min')?.[name]);
  const most = parseQuantity(objectAt(item, 'max')?.[name]);
  if (!least || !most || least.nanos === 0n) return [];
  const widest = Number(most.nanos) / Number(least.nanos);
  return Number(ratio.nanos) / 1e9 > widest
    ? [
        invalidAs(
          at,
          shownQuantity(ratio),
          `ratio ${formatQuantity(ratio)} is greater than max/min = ${widest.toFixed(6)}`,
        ),
      ]
    : [];
}

function shownQuantity(quantity: Quantity): string {
  const text = formatQuantity(quantity);
  return quantityDump(text, text);
}
