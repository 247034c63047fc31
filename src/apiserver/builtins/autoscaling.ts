import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validatePathSegmentName } from '../../schema/names.ts';
import { formatQuantity, parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import {
  AUTOSCALER_ANNOTATIONS,
  autoscalerToV1,
  autoscalerToV2,
  dropUnreadable,
  METRICS_ANNOTATION,
} from './autoscaler-conversion.ts';
import { keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { dns1123Label, notNegative, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidAs, invalidEach, invalidValue, notSupported, required } from './field-errors.ts';
import { assign, defaultWhenNull, ensureObject, integer, objectsOf, text } from './fields.ts';
import { quantityDump } from './go-dump.ts';
import { containerResourceName } from './resource-list.ts';

const WINDOW_LIMIT = 3600;
const PERIOD_LIMIT = 1800;
const TARGET_TYPES = ['Utilization', 'Value', 'AverageValue'];
const METRIC_TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
const DEFAULT_UTILIZATION = 80;

/** Version 2, in which all are stored: lists of metrics. */
export const horizontalPodAutoscalerStrategy: Strategy = strategy({
  resetFields: statusResetFields('spec'),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'minReplicas', 1);
    if (objectsOf(spec, 'metrics').length === 0) {
      spec.metrics = [
        {
          type: 'Resource',
          resource: {
            name: 'cpu',
            target: { type: 'Utilization', averageUtilization: DEFAULT_UTILIZATION },
          },
        },
      ];
    }
    const behavior = objectAt(spec, 'behavior');
    if (behavior) defaultBehavior(behavior);
  },
  prepareForCreate(object) {
    assign(object, 'status', { desiredReplicas: 0, currentMetrics: null });
  },
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) =>
    notNegative(objectAt(object, 'status'), 'status', 'currentReplicas', 'desiredReplicas'),
  validate,
});

/** Version 1 knows the share of cpu only, and keeps the rest in annotations. What is wrong is said of version 2's fields. */
export const horizontalPodAutoscalerV1Strategy: Strategy = {
  ...horizontalPodAutoscalerStrategy,
  storedForm: { to: autoscalerToV2, from: autoscalerToV1 },
  derivedAnnotations: AUTOSCALER_ANNOTATIONS,
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'minReplicas', 1);
    if (object.metadata.annotations?.[METRICS_ANNOTATION] === undefined)
      defaultWhenNull(spec, 'targetCPUUtilizationPercentage', DEFAULT_UTILIZATION);
    dropUnreadable(object);
  },
  prepareForCreate(object) {
    assign(object, 'status', { currentReplicas: 0, desiredReplicas: 0 });
  },
  validate: (object) => validate(autoscalerToV2(object)),
};

/** What is said of a direction is filled up; a behaviour that is not given at all stays unset. */
function defaultBehavior(behavior: JsonObject): void {
  const up = ensureObject(behavior, 'scaleUp');
  defaultWhenNull(up, 'selectPolicy', 'Max');
  defaultWhenNull(up, 'stabilizationWindowSeconds', 0);
  defaultWhenNull(up, 'policies', [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ]);
  const down = ensureObject(behavior, 'scaleDown');
  defaultWhenNull(down, 'selectPolicy', 'Max');
  defaultWhenNull(down, 'policies', [{ type: 'Percent', value: 100, periodSeconds: 15 }]);
}

function validate(object: KubeObject): Problems {
  const spec = objectAt(object, 'spec') ?? {};
  const problems: Problems = [];
  const least = integer(spec, 'minReplicas');
  const most = integer(spec, 'maxReplicas') ?? 0;
  if (least !== undefined && least < 1) {
    problems.push(invalidValue('spec.minReplicas', least, 'must be greater than or equal to 1'));
  }
  if (most < 1) problems.push(invalidValue('spec.maxReplicas', most, 'must be greater than 0'));
  if (least !== undefined && most < least) {
    problems.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  }
  problems.push(...referenceProblems(objectAt(spec, 'scaleTargetRef'), 'spec.scaleTargetRef'));
  const metrics = objectsOf(spec, 'metrics');
  if (least === 0 && !metrics.some((metric) => isObject(metric.object) || isObject(metric.external))) {
    const detail = 'must specify at least one Object or External metric to support scaling to zero replicas';
    problems.push(forbidden('spec.metrics', detail));
  }
  for (const [index, metric] of metrics.entries()) {
    problems.push(...metricProblems(metric, `spec.metrics[${index}]`));
  }
  for (const key of ['scaleUp', 'scaleDown']) {
    const rules = objectAt(spec, 'behavior', key);
    if (rules) problems.push(...rulesProblems(rules, `spec.behavior.${key}`));
  }
  return problems;
}

/** What is scaled, or what a metric is about. */
function referenceProblems(reference: JsonObject | undefined, path: string): Problems {
  return ['kind', 'name'].flatMap((key) => {
    const value = text(reference, key);
    const at = `${path}.${key}`;
    return value === '' ? [required(at)] : invalidEach(at, value, validatePathSegmentName(value));
  });
}

const SOURCES = ['object', 'external', 'pods', 'resource', 'containerResource'];

function metricProblems(metric: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const type = text(metric, 'type');
  if (type === '') problems.push(required(`${path}.type`, 'must specify a metric source type'));
  if (!METRIC_TYPES.includes(type)) problems.push(notSupported(`${path}.type`, type, METRIC_TYPES));
  const expected = type === '' ? '' : `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`;
  // Of several sources only the first is looked at: there may be no others.
  const first = SOURCES.find((key) => isObject(metric[key]));
  if (first) problems.push(...sourceProblems(first, objectAt(metric, first) ?? {}, `${path}.${first}`));
  if (!SOURCES.includes(expected)) problems.push(notSupported(`${path}.type`, type, METRIC_TYPES));
  else if (!isObject(metric[expected])) {
    problems.push(required(`${path}.${expected}`, 'must populate information for the given metric source'));
  }
  const given = SOURCES.filter((key) => isObject(metric[key]));
  // One that is not the expected is not told of: that the expected is missing has been.
  for (const other of given.length === 1 ? [] : given) {
    if (other !== expected) {
      problems.push(forbidden(`${path}.${other}`, 'must populate the given metric source only'));
    }
  }
  return problems;
}

function sourceProblems(key: string, source: JsonObject, path: string): Problems {
  const problems: Problems = [];
  if (key === 'resource' || key === 'containerResource') {
    const name = text(source, 'name');
    if (name === '') problems.push(required(`${path}.name`, 'must specify a resource name'));
    else if (key === 'containerResource') problems.push(...containerResourceName(name, `${path}.name`, true));
    if (key === 'containerResource') {
      const container = text(source, 'container');
      if (container === '') problems.push(required(`${path}.container`, 'must specify a container'));
      else problems.push(...dns1123Label(container, `${path}.container`));
    }
  } else {
    if (key === 'object') {
      problems.push(...referenceProblems(objectAt(source, 'describedObject'), `${path}.describedObject`));
    }
    const metric = objectAt(source, 'metric');
    const name = text(metric, 'name');
    if (name === '') problems.push(required(`${path}.metric.name`, 'must specify a metric name'));
    else problems.push(...invalidEach(`${path}.metric.name`, name, validatePathSegmentName(name)));
  }
  const target = objectAt(source, 'target') ?? {};
  problems.push(
    ...targetProblems(target, `${path}.target`),
    ...amountProblems(target, key, `${path}.target`),
  );
  return problems;
}

function targetProblems(target: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const type = text(target, 'type');
  if (type === '') problems.push(required(`${path}.type`, 'must specify a metric target type'));
  if (!TARGET_TYPES.includes(type)) {
    problems.push(invalidValue(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  const share = integer(target, 'averageUtilization');
  if (share !== undefined && share < 1) {
    problems.push(invalidValue(`${path}.averageUtilization`, share, 'must be greater than 0'));
  }
  for (const key of ['value', 'averageValue']) {
    const quantity = parseQuantity(target[key]);
    if (quantity !== undefined && quantity.nanos <= 0n) {
      const shown = formatQuantity(quantity);
      problems.push(invalidAs(`${path}.${key}`, quantityDump(shown, shown), 'must be positive'));
    }
  }
  return problems;
}

/** Which amounts a target must have, and may not have, by the source of its metric. */
function amountProblems(target: JsonObject, source: string, path: string): Problems {
  const has = (key: string): boolean => target[key] !== undefined;
  const both = (one: string, other: string, detail: string): Problems =>
    has(one) && has(other) ? [forbidden(`${path}.${one}`, detail)] : [];
  switch (source) {
    case 'resource':
    case 'containerResource':
      if (!has('averageUtilization') && !has('averageValue')) {
        const detail = 'must set either a target raw value or a target utilization';
        return [required(`${path}.averageUtilization`, detail)];
      }
      return has('averageUtilization') && has('averageValue')
        ? [forbidden(`${path}.averageValue`, 'may not set both a target raw value and a target utilization')]
        : [];
    case 'external':
      if (!has('value') && !has('averageValue')) {
        const detail = 'must set either a target value for metric or a per-pod target';
        return [required(`${path}.averageValue`, detail)];
      }
      return both('value', 'averageValue', 'may not set both a target value for metric and a per-pod target');
    case 'object':
      return has('value') || has('averageValue')
        ? []
        : [required(`${path}.averageValue`, 'must set either a target value or averageValue')];
    default:
      return has('averageValue')
        ? []
        : [required(`${path}.averageValue`, 'must specify a positive target averageValue')];
  }
}

function rulesProblems(rules: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const window = integer(rules, 'stabilizationWindowSeconds') ?? 0;
  if (window < 0) {
    const detail = 'must be greater than or equal to zero';
    problems.push(invalidValue(`${path}.stabilizationWindowSeconds`, window, detail));
  }
  if (window > WINDOW_LIMIT) {
    problems.push(
      invalidValue(
        `${path}.stabilizationWindowSeconds`,
        window,
        `must be less than or equal to ${WINDOW_LIMIT}`,
      ),
    );
  }
  problems.push(...oneOf(rules, path, 'selectPolicy', ['Disabled', 'Max', 'Min']));
  const policies = objectsOf(rules, 'policies');
  if (policies.length === 0) problems.push(required(`${path}.policies`, 'must specify at least one Policy'));
  for (const [index, policy] of policies.entries()) {
    const at = `${path}.policies[${index}]`;
    problems.push(...oneOf(policy, at, 'type', ['Percent', 'Pods']));
    const value = integer(policy, 'value') ?? 0;
    if (value <= 0) problems.push(invalidValue(`${at}.value`, value, 'must be greater than zero'));
    const period = integer(policy, 'periodSeconds') ?? 0;
    if (period <= 0) problems.push(invalidValue(`${at}.periodSeconds`, period, 'must be greater than zero'));
    else if (period > PERIOD_LIMIT) {
      problems.push(
        invalidValue(`${at}.periodSeconds`, period, `must be less than or equal to ${PERIOD_LIMIT}`),
      );
    }
  }
  return problems;
}
