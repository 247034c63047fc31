import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validatePathSegmentName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { autoscalerToV1, autoscalerToV2, METRICS_ANNOTATION } from './autoscaler-conversion.ts';
import { keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { labelSelector, notNegative, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidEach, invalidValue, notSupported, required } from './field-errors.ts';
import { assign, defaultWhenNull, ensureObject, integer, isSet, objectsOf, text } from './fields.ts';

const WINDOW_LIMIT = 3600;
const PERIOD_LIMIT = 1800;
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
  validate,
});

/** Version 1 knows the share of cpu only, and keeps the rest in annotations. What is wrong is said of version 2's fields. */
export const horizontalPodAutoscalerV1Strategy: Strategy = {
  ...horizontalPodAutoscalerStrategy,
  storedForm: { to: autoscalerToV2, from: autoscalerToV1 },
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'minReplicas', 1);
    if (object.metadata.annotations?.[METRICS_ANNOTATION] === undefined)
      defaultWhenNull(spec, 'targetCPUUtilizationPercentage', DEFAULT_UTILIZATION);
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
  const target = objectAt(spec, 'scaleTargetRef');
  for (const key of ['kind', 'name']) {
    const value = text(target, key);
    const path = `spec.scaleTargetRef.${key}`;
    if (value === '') problems.push(required(path));
    else problems.push(...invalidEach(path, value, validatePathSegmentName(value)));
  }
  for (const [index, metric] of objectsOf(spec, 'metrics').entries()) {
    problems.push(...metricProblems(metric, `spec.metrics[${index}]`));
  }
  for (const key of ['scaleUp', 'scaleDown']) {
    const rules = objectAt(spec, 'behavior', key);
    if (rules) problems.push(...rulesProblems(rules, `spec.behavior.${key}`));
  }
  return problems;
}

function metricProblems(metric: JsonObject, path: string): Problems {
  const type = text(metric, 'type');
  if (type === '') return [required(`${path}.type`, 'must specify a metric source type')];
  if (!METRIC_TYPES.includes(type)) return [notSupported(`${path}.type`, type, METRIC_TYPES)];
  const key = `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`;
  const source = objectAt(metric, key);
  const problems: Problems = [];
  if (source === undefined) {
    return [required(`${path}.${key}`, 'must populate information for the given metric source')];
  }
  for (const other of ['containerResource', 'external', 'object', 'pods', 'resource']) {
    if (other !== key && isObject(metric[other])) {
      problems.push(forbidden(`${path}.${other}`, 'must populate the given metric source only'));
    }
  }
  const at = `${path}.${key}`;
  if (type === 'Resource' || type === 'ContainerResource') {
    if (text(source, 'name') === '') problems.push(required(`${at}.name`, 'must specify a resource name'));
    if (type === 'ContainerResource' && text(source, 'container') === '') {
      problems.push(required(`${at}.container`, 'must specify a container name'));
    }
  } else {
    const named = objectAt(source, 'metric');
    if (text(named, 'name') === '')
      problems.push(required(`${at}.metric.name`, 'must specify a metric name'));
    problems.push(...labelSelector(named?.selector, `${at}.metric.selector`));
  }
  const target = objectAt(source, 'target');
  if (target === undefined) return [...problems, required(`${at}.target`, 'must specify a metric target')];
  problems.push(...oneOf(target, `${at}.target`, 'type', ['Utilization', 'Value', 'AverageValue']));
  if (!['averageUtilization', 'averageValue', 'value'].some((item) => isSet(target[item]))) {
    problems.push(
      required(
        `${at}.target.averageUtilization`,
        'must set either a target raw value or a target utilization',
      ),
    );
  }
  const share = integer(target, 'averageUtilization');
  if (share !== undefined && share < 1) {
    problems.push(invalidValue(`${at}.target.averageUtilization`, share, 'must be greater than 0'));
  }
  return problems;
}

function rulesProblems(rules: JsonObject, path: string): Problems {
  const problems = notNegative(rules, path, 'stabilizationWindowSeconds');
  const window = integer(rules, 'stabilizationWindowSeconds') ?? 0;
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
