import { asJson } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { notNegative } from './field-checks.ts';
import { IMMUTABLE, invalidValue, required } from './field-errors.ts';

export const controllerRevisionStrategy: Strategy = strategy({
  validate(object) {
    const json = asJson(object);
    const problems = notNegative(json, '', 'revision');
    if (json.data === undefined || json.data === null) problems.push(required('data', 'data is mandatory'));
    return problems;
  },
  validateUpdate: (object, old) =>
    deepEqual(object.data, old.data) ? [] : [invalidValue('data', object.data, IMMUTABLE)],
});
