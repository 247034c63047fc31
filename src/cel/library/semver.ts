import { BOOL, INT, opaqueType, STRING, type Type } from '../types/type.ts';
import { MAX_INT, toInt } from '../values/integer.ts';
import { CelError, Opaque, type OpaqueKind, type Value } from '../values/value.ts';
import { nominal, traversal } from './cost.ts';
import { type FunctionDeclaration, globalOverload, type Library, memberOverload } from './function.ts';

const SEMVER: Type = opaqueType('kubernetes.Semver');

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];
  readonly text: string;
}

const SYNTAX =
  /^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const NUMERIC = /^[0-9]+$/;
const MAX_LENGTH = 1024;

function parse(text: string, normalize: boolean): Version | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const match = SYNTAX.exec(normalize ? normalized(text) : text);
  if (!match) return undefined;
  const [major, minor, patch] = match.slice(1, 4).map((part) => BigInt(part ?? '0'));
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  if ([major, minor, patch].some((number) => number > MAX_INT)) return undefined;
  const prerelease = match[4]?.split('.') ?? [];
  if (prerelease.some((part) => NUMERIC.test(part) && part.length > 1 && part[0] === '0')) return undefined;
  return { numbers: [major, minor, patch], prerelease, text: match[0] };
}

/** Takes off a `v`, fills in missing numbers, drops leading zeros. */
function normalized(text: string): string {
  const match = /^v?([0-9.]*)(.*)$/s.exec(text);
  const parts = (match?.[1] ?? '').split('.').map((part) => part.replace(/^0+(?=[0-9])/, ''));
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + (match?.[2] ?? '');
}

function compare(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  // A version before a release comes before it.
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length === b.prerelease.length ? 0 : -1;
}

/** Numbers by amount and before words. */
function compareParts(a: string, b: string): number {
  const [x, y] = [NUMERIC.test(a), NUMERIC.test(b)];
  if (x && y) return BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0;
  if (x !== y) return x ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

const semverKind: OpaqueKind<Version> = {
  type: SEMVER,
  name: 'kubernetes.Semver',
  equals: (a, b) => compare(a, b) === 0,
  toText: (version) => version.text,
};

const held = (value: Value): Version => (value as Opaque<Version>).value;
const order = (a: Value, b: Value): number => compare(held(a), held(b));

function toSemver(text: Value, normalize: Value = false): Value {
  const parsed = parse(text as string, normalize === true);
  return parsed
    ? (new Opaque(semverKind, parsed) as Opaque)
    : new CelError(
        `semver parse error: ${JSON.stringify((text as string).slice(0, 64))} is not a semantic version`,
      );
}
function isSemver(text: Value, normalize: Value = false): Value {
  return parse(text as string, normalize === true) !== undefined;
}

function part(name: string, index: 0 | 1 | 2): FunctionDeclaration {
  return {
    name,
    overloads: [
      memberOverload(`semver_${name}`, [SEMVER], INT, (value) => toInt(held(value).numbers[index]), nominal),
    ],
  };
}
const PAIR = [SEMVER, SEMVER];

export const semverLibrary: Library = {
  name: 'semver',
  functions: [
    {
      name: 'semver',
      overloads: [
        globalOverload('string_to_semver', [STRING], SEMVER, toSemver, traversal(0)),
        globalOverload('string_bool_to_semver', [STRING, BOOL], SEMVER, toSemver, traversal(0)),
      ],
    },
    {
      name: 'isSemver',
      overloads: [
        globalOverload('is_semver_string', [STRING], BOOL, isSemver, traversal(0)),
        globalOverload('is_semver_string_bool', [STRING, BOOL], BOOL, isSemver, traversal(0)),
      ],
    },
    part('major', 0),
    part('minor', 1),
    part('patch', 2),
    {
      name: 'isGreaterThan',
      overloads: [memberOverload('semver_is_greater_than', PAIR, BOOL, (a, b) => order(a, b) > 0, nominal)],
    },
    {
      name: 'isLessThan',
      overloads: [memberOverload('semver_is_less_than', PAIR, BOOL, (a, b) => order(a, b) < 0, nominal)],
    },
    { name: 'compareTo', overloads: [memberOverload('semver_compare_to', PAIR, INT, order, nominal)] },
  ],
};
