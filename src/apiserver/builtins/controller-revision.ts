import { asJson } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { notNegative } from './field-checks.ts';
import { IMMUTABLE, invalidAs, required } from './field-errors.ts';

export const controllerRevisionStrategy: Strategy = strategy({
  validate(object) {
    const json = asJson(object);
    const problems = notNegative(json, '', 'revision');
    if (json.data === undefined || json.data === null) problems.push(required('data', 'data is mandatory'));
    return problems;
  },
  validateUpdate: (object, old) =>
    deepEqual(object.data, old.data) ? [] : [invalidAs('data', rawDump(object.data), IMMUTABLE)],
});

/** Data of no known type is shown as its bytes. */
function rawDump(data: unknown): string {
  if (data === undefined || data === null)
    return 'runtime.RawExtension{Raw:[]uint8(nil), Object:runtime.Object(nil)}';
  const bytes = [...Buffer.from(JSON.stringify(data))].map((byte) => `0x${byte.toString(16)}`);
  return `runtime.RawExtension{Raw:[]uint8{${bytes.join(', ')}}, Object:runtime.Object(nil)}`;
}
