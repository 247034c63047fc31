import { asJson, type KubeObject } from '../../kube/object.ts';
import { deepEqual, stringsAt } from '../../schema/json.ts';
import { validateConfigMapKey } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { forbidden, invalidEach, invalidValue, tooLong } from './field-errors.ts';

/** ConfigMaps and Secrets hold at most 1 MiB. */
export const DATA_LIMIT: number = 1024 * 1024;

export const configMapStrategy: Strategy = strategy({
  validate(object) {
    const data = stringsAt(object, 'data');
    const binary = stringsAt(object, 'binaryData');
    const problems: Problems = [];
    let size = 0;
    for (const key in data) {
      problems.push(...invalidEach(`data[${key}]`, key, validateConfigMapKey(key)));
      if (Object.hasOwn(binary, key)) {
        problems.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
      }
      size += Buffer.byteLength(data[key] ?? '');
    }
    for (const key in binary) {
      problems.push(...invalidEach(`binaryData[${key}]`, key, validateConfigMapKey(key)));
      size += decodedLength(binary[key] ?? '');
    }
    if (size > DATA_LIMIT) problems.push(tooLong('[]', DATA_LIMIT));
    return problems;
  },
  validateUpdate: (object, old) => frozenProblems(object, old, ['data', 'binaryData']),
});

/** An object that was marked `immutable` keeps its content and the mark. */
export function frozenProblems(object: KubeObject, old: KubeObject, keys: readonly string[]): Problems {
  if (old.immutable !== true) return [];
  const text = 'field is immutable when `immutable` is set';
  const problems: Problems = [];
  if (object.immutable !== true) problems.push(forbidden('immutable', text));
  for (const key of keys) {
    if (!deepEqual(asJson(object)[key] ?? {}, asJson(old)[key] ?? {})) problems.push(forbidden(key, text));
  }
  return problems;
}

/** How many bytes a base64 text stands for. */
export function decodedLength(base64: string): number {
  let end = base64.length;
  while (end > 0 && base64[end - 1] === '=') end--;
  return Math.floor((end * 3) / 4);
}
