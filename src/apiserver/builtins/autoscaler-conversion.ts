import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject, type JsonObject, type JsonValue, objectAt } from '../../schema/json.ts';
import { isSet, objectsOf } from './fields.ts';

/** Where autoscaling/v1 keeps what it has no field for, so that writing it back loses nothing. */
const PREFIX = 'autoscaling.alpha.kubernetes.io/';
export const METRICS_ANNOTATION: string = `${PREFIX}metrics`;
const BEHAVIOR = `${PREFIX}behavior`;
const CONDITIONS = `${PREFIX}conditions`;
const CURRENT_METRICS = `${PREFIX}current-metrics`;
export const AUTOSCALER_ANNOTATIONS: readonly string[] = [
  METRICS_ANNOTATION,
  BEHAVIOR,
  CONDITIONS,
  CURRENT_METRICS,
];
const DEFAULT_UTILIZATION = 80;

/** An autoscaler of `autoscaling/v1` in the form of v2, in which all are stored. Leaves its argument as it is. */
export function autoscalerToV2(object: KubeObject): KubeObject {
  const out = clone(object);
  const kept = takeAnnotations(out);
  const spec = objectAt(out, 'spec');
  if (spec) {
    const metrics = listIn(kept.get(METRICS_ANNOTATION)).map((metric) => metricToV2(metric, 'target'));
    const share = spec.targetCPUUtilizationPercentage;
    delete spec.targetCPUUtilizationPercentage;
    if (typeof share === 'number') metrics.push(cpuMetric(share));
    spec.metrics = metrics.length > 0 ? metrics : [cpuMetric(DEFAULT_UTILIZATION)];
    const behavior = parsed(kept.get(BEHAVIOR));
    if (isObject(behavior)) spec.behavior = withoutNulls(recased(behavior, lowerFirst));
  }
  const status = objectAt(out, 'status');
  if (status) {
    const share = status.currentCPUUtilizationPercentage;
    delete status.currentCPUUtilizationPercentage;
    const current = listIn(kept.get(CURRENT_METRICS)).map((metric) => metricToV2(metric, 'current'));
    if (current.length === 0 && typeof share === 'number')
      current.push({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: share } } });
    status.currentMetrics = current.length > 0 ? current : null;
    const conditions = listIn(kept.get(CONDITIONS));
    if (conditions.length > 0) status.conditions = conditions;
    if (status.currentReplicas === 0) delete status.currentReplicas;
  }
  return out;
}

/** An autoscaler of v2 as autoscaling/v1 shows it. May change its argument. */
export function autoscalerToV1(stored: KubeObject): KubeObject {
  const keep = new Map<string, JsonValue>();
  const spec = objectAt(stored, 'spec');
  if (spec) {
    const others: JsonObject[] = [];
    const metrics = objectsOf(spec, 'metrics');
    const behavior = objectAt(spec, 'behavior');
    delete spec.metrics;
    delete spec.behavior;
    for (const metric of metrics) {
      const share = cpuShare(metric);
      if (share !== undefined && spec.targetCPUUtilizationPercentage === undefined)
        spec.targetCPUUtilizationPercentage = share;
      else others.push(metricToV1(metric, 'target'));
    }
    if (others.length > 0) keep.set(METRICS_ANNOTATION, others);
    if (behavior) keep.set(BEHAVIOR, recased(withAllRules(behavior), upperFirst));
  }
  const status = objectAt(stored, 'status');
  if (status) {
    const current = objectsOf(status, 'currentMetrics');
    const conditions = objectsOf(status, 'conditions');
    delete status.currentMetrics;
    delete status.conditions;
    status.currentReplicas ??= 0;
    for (const metric of current) {
      const share = objectAt(metric, 'resource', 'current')?.averageUtilization;
      if (metric.type === 'Resource' && objectAt(metric, 'resource')?.name === 'cpu' && isSet(share))
        status.currentCPUUtilizationPercentage = share as number;
    }
    if (current.length > 0)
      keep.set(
        CURRENT_METRICS,
        current.map((metric) => metricToV1(metric, 'current')),
      );
    if (conditions.length > 0) keep.set(CONDITIONS, conditions);
  }
  if (keep.size > 0) {
    const annotations = { ...stored.metadata.annotations };
    for (const [name, value] of keep) annotations[name] = JSON.stringify(value);
    stored.metadata.annotations = annotations;
  }
  return stored;
}

/** The annotation says of what is unset that it is. */
function withAllRules(behavior: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const direction of ['scaleUp', 'scaleDown']) {
    const rules = objectAt(behavior, direction);
    out[direction] = rules
      ? { stabilizationWindowSeconds: null, selectPolicy: null, policies: null, ...rules }
      : null;
  }
  return out;
}

function withoutNulls(value: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    if (item !== null && item !== undefined) out[key] = isObject(item) ? withoutNulls(item) : item;
  return out;
}

function takeAnnotations(object: KubeObject): Map<string, string> {
  const kept = new Map<string, string>();
  const { annotations } = object.metadata;
  if (!annotations) return kept;
  for (const name of AUTOSCALER_ANNOTATIONS) {
    const value = annotations[name];
    if (value === undefined) continue;
    kept.set(name, value);
    delete annotations[name];
  }
  if (Object.keys(annotations).length === 0) delete object.metadata.annotations;
  return kept;
}

/** What an annotation holds; anyone may have written it, so what cannot be read is as if it was not there. */
function parsed(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Takes away annotations of which nothing would be kept. */
export function dropUnreadable(object: KubeObject): void {
  const { annotations } = object.metadata;
  if (!annotations) return;
  for (const name of AUTOSCALER_ANNOTATIONS) {
    const value = annotations[name];
    const kept = name === BEHAVIOR ? isObject(parsed(value)) : listIn(value).length > 0;
    if (!kept) delete annotations[name];
  }
  if (Object.keys(annotations).length === 0) delete object.metadata.annotations;
}

function listIn(text: string | undefined): JsonObject[] {
  const value = parsed(text);
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function cpuMetric(averageUtilization: number): JsonObject {
  return {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
  };
}

function cpuShare(metric: JsonObject): number | undefined {
  const resource = objectAt(metric, 'resource');
  const share = objectAt(resource ?? {}, 'target')?.averageUtilization;
  return metric.type === 'Resource' && resource?.name === 'cpu' && typeof share === 'number'
    ? share
    : undefined;
}

/** How v1 calls the three values of a target (`target…`) or of what was measured (`current…`). */
type Side = 'target' | 'current';

const SOURCES = ['containerResource', 'external', 'object', 'pods', 'resource'] as const;

function metricToV1(metric: JsonObject, side: Side): JsonObject {
  const out: JsonObject = { type: metric.type ?? '' };
  for (const key of SOURCES) {
    const source = objectAt(metric, key);
    if (!source) continue;
    const values = objectAt(source, side) ?? {};
    const named = objectAt(source, 'metric') ?? {};
    const old: JsonObject = {};
    const put = (name: string, value: JsonValue | undefined): void => {
      if (isSet(value)) old[name] = value as JsonValue;
    };
    put('target', source.describedObject);
    put('name', source.name);
    put('metricName', named.name);
    put(key === 'external' ? 'metricSelector' : 'selector', named.selector);
    put(`${side}AverageUtilization`, values.averageUtilization);
    put(key === 'object' ? 'averageValue' : `${side}AverageValue`, values.averageValue);
    put(`${side}Value`, values.value);
    put('container', source.container);
    out[key] = old;
  }
  return out;
}

function metricToV2(metric: JsonObject, side: Side): JsonObject {
  const out: JsonObject = { type: metric.type ?? '' };
  for (const key of SOURCES) {
    const old = objectAt(metric, key);
    if (!old) continue;
    const source: JsonObject = {};
    const values: JsonObject = {};
    const named: JsonObject = {};
    const put = (into: JsonObject, name: string, value: JsonValue | undefined): void => {
      if (isSet(value)) into[name] = value as JsonValue;
    };
    put(source, 'describedObject', old.target);
    put(source, 'name', old.name);
    put(source, 'container', old.container);
    put(named, 'name', old.metricName);
    put(named, 'selector', key === 'external' ? old.metricSelector : old.selector);
    put(values, 'averageUtilization', old[`${side}AverageUtilization`]);
    put(values, 'averageValue', key === 'object' ? old.averageValue : old[`${side}AverageValue`]);
    put(values, 'value', old[`${side}Value`]);
    if (Object.keys(named).length > 0) source.metric = named;
    source[side] = side === 'target' ? { type: targetType(values), ...values } : values;
    out[key] = source;
  }
  return out;
}

function targetType(values: JsonObject): string {
  if (isSet(values.averageUtilization)) return 'Utilization';
  return isSet(values.averageValue) ? 'AverageValue' : 'Value';
}

/** The annotation holds the behaviour with the names of the fields in upper case (`ScaleUp`). */
function recased(value: JsonObject, recase: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [recase(name), recasedValue(item, recase)]),
  );
}

function recasedValue(value: JsonValue | undefined, recase: (name: string) => string): JsonValue {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map((item) => recasedValue(item, recase));
  return isObject(value) ? recased(value, recase) : value;
}

function upperFirst(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

function lowerFirst(name: string): string {
  return `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
}
