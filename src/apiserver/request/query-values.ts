import { badRequest, type FieldError } from '../../kube/status-error.ts';
import type { JsonValue } from '../../schema/json.ts';

/** A boolean of a query: whatever is there, but for `false` in any case and `0`, is true. */
export function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  return value !== '0' && value.toLowerCase() !== 'false';
}

const MAX_INT64 = 2n ** 63n;

/** An integer of a query. Throws 400 for what is none. */
export function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const problem = (why: string): Error =>
    badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
  if (!/^[+-]?\d{1,1024}$/.test(value)) throw problem('invalid syntax');
  const parsed = BigInt(value.replace(/^\+/, ''));
  if (parsed >= MAX_INT64 || parsed < -MAX_INT64) throw problem('value out of range');
  return Number(parsed);
}

/** What is wrong with the values of `dryRun`, of which there is only `All`. */
export function dryRunProblems(values: readonly JsonValue[]): FieldError[] {
  if (values.every((value) => value === 'All')) return [];
  return [
    {
      type: 'NotSupported',
      path: 'dryRun',
      valueText: `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`,
      detail: '',
      supported: ['All'],
    },
  ];
}
