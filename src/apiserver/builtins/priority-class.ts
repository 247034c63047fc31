import { asJson, type KubeObject } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { oneOf, type Problems } from './field-checks.ts';
import { forbidden, IMMUTABLE, invalidValue, required } from './field-errors.ts';
import { defaultWhenNull, integer } from './fields.ts';
import { SYSTEM_PRIORITIES } from './pod-admission.ts';

const USER_LIMIT = 1_000_000_000;
const SYSTEM_PREFIX = 'system-';

export const priorityClassStrategy: Strategy = strategy({
  // Its value never changes, so that the generation stays what it is at first.
  prepareForCreate(object) {
    object.metadata.generation = 1;
  },
  prepareForUpdate(object, old) {
    if (old.metadata.generation !== undefined) object.metadata.generation = old.metadata.generation;
  },
  defaults: (object) => defaultWhenNull(asJson(object), 'preemptionPolicy', 'PreemptLowerPriority'),
  // An update changes nothing of it.
  validateCreate(object) {
    const json = asJson(object);
    const problems = nameProblems(object);
    const value = integer(json, 'value') ?? 0;
    if (value > USER_LIMIT && !object.metadata.name?.startsWith(SYSTEM_PREFIX)) {
      problems.push(forbidden('value', `maximum allowed value of a user defined priority is ${USER_LIMIT}`));
    }
    if (json.preemptionPolicy === '') problems.push(required('preemptionPolicy'));
    else problems.push(...oneOf(json, '', 'preemptionPolicy', ['PreemptLowerPriority', 'Never']));
    return problems;
  },
  validateUpdate(object, old) {
    const problems: Problems = [];
    if ((object.value ?? 0) !== (old.value ?? 0)) {
      problems.push(forbidden('value', 'may not be changed in an update.'));
    }
    if (!deepEqual(object.preemptionPolicy, old.preemptionPolicy)) {
      problems.push(invalidValue('preemptionPolicy', object.preemptionPolicy, IMMUTABLE));
    }
    return problems;
  },
});

function isSystem(object: KubeObject): boolean {
  return Object.hasOwn(SYSTEM_PRIORITIES, object.metadata.name ?? '');
}

function nameProblems(object: KubeObject): Problems {
  const name = object.metadata.name ?? '';
  if (!name.startsWith(SYSTEM_PREFIX)) return [];
  const why = "priority class names with 'system-' prefix are reserved for system use only. error: ";
  if (!isSystem(object)) {
    return [forbidden('metadata.name', `${why}${name} is not a known system priority class`)];
  }
  const expected = SYSTEM_PRIORITIES[name];
  return object.value === expected
    ? []
    : [forbidden('metadata.name', `${why}value of ${name} PriorityClass must be ${expected}`)];
}
