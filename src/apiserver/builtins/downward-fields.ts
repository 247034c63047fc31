import { parseQuantity } from '../../schema/quantity.ts';
import type { Problems } from './field-checks.ts';
import { invalidValue } from './field-errors.ts';

/** Amounts of a container that pods may read, in variables and in files. */
export const RESOURCE_FIELDS: readonly string[] = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const CPU_UNITS: readonly string[] = ['1m', '1'];
const SIZE_UNITS: readonly string[] = [
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
];

/** The unit in which an amount is told must be one of those of its resource; unset is zero. */
export function divisorProblem(resource: string, divisor: unknown, path: string): Problems {
  const given = parseQuantity(divisor);
  if (given === undefined || given.nanos === 0n) return [];
  const name = resource.slice(resource.indexOf('.') + 1);
  const units = name === 'cpu' ? CPU_UNITS : SIZE_UNITS;
  if (units.some((unit) => parseQuantity(unit)?.nanos === given.nanos)) return [];
  const kind = name.startsWith('hugepages-')
    ? 'hugepages'
    : name === 'ephemeral-storage'
      ? 'local ephemeral storage'
      : name;
  return [
    invalidValue(
      path,
      resource,
      `only divisor's values ${name === 'cpu' ? units.join(' and ') : units.join(', ')} are supported with the ${kind} resource`,
    ),
  ];
}
