import { at, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { autoscalerToV2 } from '../builtins/autoscaler-conversion.ts';
import {
  age,
  type Cells,
  countAt,
  nameOf,
  objectsAt,
  scalarAt,
  textAt,
  UNKNOWN,
  UNSET,
} from './cell-text.ts';

/** How many metrics are written out. */
const SHOWN = 2;

/** The field of `autoscaling/v2` metrics that holds each type's details. */
const DETAILS: Readonly<Record<string, string>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
};

export const autoscalerCells: Cells = (object, now) => {
  const target = at(object, 'spec', 'scaleTargetRef');
  return [
    nameOf(object),
    `${textAt(target, 'kind')}/${textAt(target, 'name')}`,
    targets(object.apiVersion === 'autoscaling/v1' ? autoscalerToV2(object) : object),
    scalarAt(object, UNSET, 'spec', 'minReplicas'),
    countAt(object, 'spec', 'maxReplicas'),
    countAt(object, 'status', 'currentReplicas'),
    age(object, now),
  ];
};

function percent(value: JsonValue | undefined): string {
  return typeof value === 'number' ? `${value}%` : UNKNOWN;
}

function targets(object: unknown): string {
  const metrics = objectsAt(object, 'spec', 'metrics');
  if (metrics.length === 0) return '<none>';
  const current = objectsAt(object, 'status', 'currentMetrics');
  const texts = metrics.slice(0, SHOWN).map((metric, index) => metricText(metric, current[index]));
  const more = metrics.length > SHOWN ? ` + ${metrics.length - SHOWN} more...` : '';
  return `${texts.join(', ')}${more}`;
}

function metricText(metric: JsonObject, status: JsonObject | undefined): string {
  const type = textAt(metric, 'type');
  const field = DETAILS[type];
  if (field === undefined) return '<unknown type>';
  const target = at(metric, field, 'target');
  // Statuses are in the order of the spec, but the list may be shorter or older.
  const current = status?.type === type ? at(status, field, 'current') : undefined;
  const name =
    type === 'Resource' || type === 'ContainerResource' ? `${textAt(metric, field, 'name')}: ` : '';
  const average = scalarAt(target, '', 'averageValue');
  if (average !== '') {
    const suffix = type === 'Object' || type === 'External' ? ' (avg)' : '';
    return `${name}${scalarAt(current, UNKNOWN, 'averageValue')}/${average}${suffix}`;
  }
  if (name !== '') {
    const wanted = isObject(target) ? target.averageUtilization : undefined;
    return `${name}${percent(at(current, 'averageUtilization'))}/${typeof wanted === 'number' ? `${wanted}%` : '<auto>'}`;
  }
  return `${scalarAt(current, UNKNOWN, 'value')}/${scalarAt(target, UNKNOWN, 'value')}`;
}
