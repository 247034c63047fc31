import { readFileSync } from 'node:fs';
import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js';
import { tests as comprehension } from '@bufbuild/cel-spec/testdata/comprehension.js';
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js';
import { type FunctionDeclaration, globalOverload, memberOverload } from '../library/function.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  NULL,
  type ObjectType,
  opaqueType,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from '../types/type.ts';
import { equalValues } from '../values/equality.ts';
import { toInt } from '../values/integer.ts';
import { List } from '../values/list.ts';
import { CelMap, mapOf } from '../values/map.ts';
import { parseDuration, parseTimestamp } from '../values/time.ts';
import { CelError, Double, TypeValue, Uint, type Value } from '../values/value.ts';

/** A test of the language's own suite, in the JSON form of its protocol buffer. */
export interface SuiteTest {
  readonly path: string;
  readonly expr: string;
  readonly container: string;
  readonly disableCheck: boolean;
  readonly checkOnly: boolean;
  readonly typeEnv: readonly SpecDeclaration[];
  readonly bindings: Readonly<Record<string, { readonly value?: SpecValue }>>;
  readonly value: SpecValue | undefined;
  readonly fails: boolean;
  readonly deducedType: SpecType | undefined;
  /** As the reference implementation prints it. */
  readonly ast: string | undefined;
  readonly type: string | undefined;
  readonly referenceError: string | undefined;
}

export type SpecValue = Readonly<Record<string, unknown>>;
export type SpecType = Readonly<Record<string, unknown>>;
interface SpecOverload {
  readonly overloadId: string;
  readonly params?: SpecType[];
  readonly resultType: SpecType;
  readonly isInstanceFunction?: boolean;
}
interface SpecDeclaration {
  readonly name: string;
  readonly ident?: { readonly type: SpecType; readonly value?: SpecValue };
  readonly function?: { readonly overloads: readonly SpecOverload[] };
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly {
    original: Record<string, unknown>;
    ast?: string;
    type?: string;
    error?: string;
  }[];
}

function flatten(suite: Suite, prefix: string): SuiteTest[] {
  const path = prefix === '' ? suite.name : `${prefix}/${suite.name}`;
  const own = (suite.tests ?? []).map(({ original, ast, type, error }, index): SuiteTest => {
    const typed = original['typedResult'] as { result?: SpecValue; deducedType?: SpecType } | undefined;
    return {
      path: `${path}/${(original['name'] as string | undefined) ?? index}`,
      expr: original['expr'] as string,
      container: (original['container'] as string | undefined) ?? '',
      disableCheck: original['disableCheck'] === true,
      checkOnly: original['checkOnly'] === true,
      typeEnv: (original['typeEnv'] as SpecDeclaration[] | undefined) ?? [],
      bindings: (original['bindings'] as SuiteTest['bindings'] | undefined) ?? {},
      value: (original['value'] as SpecValue | undefined) ?? typed?.result,
      fails: original['evalError'] !== undefined || original['anyEvalErrors'] !== undefined,
      deducedType: typed?.deducedType,
      ast,
      type,
      referenceError: error,
    };
  });
  return [...own, ...(suite.suites ?? []).flatMap((inner) => flatten(inner, path))];
}

export const suites: Readonly<Record<'conformance' | 'parsing' | 'checking' | 'comprehension', SuiteTest[]>> =
  {
    conformance: flatten(conformance as Suite, ''),
    parsing: flatten(parsing as Suite, ''),
    checking: flatten(checking as Suite, ''),
    comprehension: flatten(comprehension as Suite, ''),
  };

/** What is left out of a kind of tests, mostly for protocol buffer messages, which this implementation does not have: reason → suite → names. */
export function leftOut(kind: 'conformance' | 'checking'): ReadonlyMap<string, string> {
  const file = new URL(`../testdata/${kind}-left-out.json`, import.meta.url);
  const reasons = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, string[]>>;
  const out = new Map<string, string>();
  for (const [reason, groups] of Object.entries(reasons)) {
    for (const [suite, names] of Object.entries(groups)) {
      for (const name of names)
        out.set(suite === '' ? `${kind}/${name}` : `${kind}/${suite}/${name}`, reason);
    }
  }
  return out;
}

export function specValue(spec: SpecValue | undefined): Value {
  const [kind, raw] = Object.entries(spec ?? { nullValue: null })[0] ?? ['nullValue', null];
  switch (kind) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'stringValue':
      return raw as boolean | string;
    case 'int64Value':
      return toInt(BigInt(raw as string));
    case 'uint64Value':
      return new Uint(BigInt(raw as string));
    case 'doubleValue':
      return new Double(Number(raw === '-Infinity' || raw === 'Infinity' ? raw : raw));
    case 'bytesValue':
      return Uint8Array.from(Buffer.from(raw as string, 'base64'));
    case 'typeValue':
      return new TypeValue(raw as string);
    case 'listValue':
      return new List(((raw as { values?: SpecValue[] }).values ?? []).map(specValue));
    case 'mapValue': {
      const entries = (raw as { entries?: { key: SpecValue; value: SpecValue }[] }).entries ?? [];
      return (
        mapOf(entries.map(({ key, value }) => [specValue(key), specValue(value)] as const)) ??
        new CelError('bad map')
      );
    }
    case 'objectValue': {
      const object = raw as { '@type': string; value: string };
      if (object['@type'].endsWith('.Duration')) return parseDuration(object.value);
      if (object['@type'].endsWith('.Timestamp')) return parseTimestamp(object.value);
      return new CelError(`a message: ${object['@type']}`);
    }
    default:
      return new CelError(`not supported: ${kind}`);
  }
}

const PRIMITIVES: Readonly<Record<string, Type>> = {
  BOOL,
  INT64: INT,
  UINT64: UINT,
  DOUBLE,
  STRING,
  BYTES,
};

const ANY: Type = { kind: 'any' };
const nullable = (of: Type): Type => ({ kind: 'wrapper', of });

function messageType(name: string, fields: Readonly<Record<string, Type>>): ObjectType {
  return {
    kind: 'object',
    name,
    field: (field) => {
      const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
      return type && { type };
    },
    fieldNames: () => Object.keys(fields),
  };
}

/** The message that the suite's own tests of types are about, as a type with the fields that they name. */
function testAllTypes(version: 'proto2' | 'proto3'): ObjectType {
  const name = `google.expr.${version}.test.TestAllTypes`;
  const nested = messageType(`${name}.NestedMessage`, { bb: INT });
  return messageType(name, {
    single_int32: INT,
    single_int64: INT,
    single_string: STRING,
    single_any: ANY,
    single_value: DYN,
    single_struct: mapType(STRING, DYN),
    list_value: listType(DYN),
    single_timestamp: TIMESTAMP,
    single_duration: DURATION,
    single_nested_message: nested,
    repeated_nested_message: listType(nested),
    nestedgroup: messageType(`${name}.NestedGroup`, { nested_id: INT }),
    repeated_int32: listType(INT),
    repeated_int64: listType(INT),
    map_string_string: mapType(STRING, STRING),
    map_int64_nested_type: mapType(INT, messageType(`google.expr.${version}.test.NestedTestAllTypes`, {})),
    single_bool_wrapper: nullable(BOOL),
    single_bytes_wrapper: nullable(BYTES),
    single_double_wrapper: nullable(DOUBLE),
    single_float_wrapper: nullable(DOUBLE),
    single_int32_wrapper: nullable(INT),
    single_int64_wrapper: nullable(INT),
    single_uint32_wrapper: nullable(UINT),
    single_uint64_wrapper: nullable(UINT),
    single_string_wrapper: nullable(STRING),
  });
}

export const messageTypes: readonly ObjectType[] = [testAllTypes('proto2'), testAllTypes('proto3')];

const MESSAGES: Readonly<Record<string, Type>> = {
  ...Object.fromEntries(messageTypes.map((type) => [type.name, type])),
  'google.protobuf.Struct': mapType(STRING, DYN),
  'google.protobuf.ListValue': listType(DYN),
  'google.protobuf.Value': DYN,
  'google.protobuf.Int32Value': nullable(INT),
};

export function specType(spec: SpecType): Type {
  const [kind, raw] = Object.entries(spec)[0] ?? ['dyn', null];
  switch (kind) {
    case 'primitive':
      return PRIMITIVES[raw as string] ?? DYN;
    case 'wrapper':
      return { kind: 'wrapper', of: PRIMITIVES[raw as string] ?? DYN };
    case 'null':
      return NULL;
    case 'listType':
      return listType(specType((raw as { elemType?: SpecType }).elemType ?? {}));
    case 'mapType': {
      const { keyType, valueType } = raw as { keyType?: SpecType; valueType?: SpecType };
      return mapType(specType(keyType ?? {}), specType(valueType ?? {}));
    }
    case 'wellKnown':
      return raw === 'TIMESTAMP' ? TIMESTAMP : raw === 'DURATION' ? DURATION : ANY;
    case 'messageType':
      return MESSAGES[raw as string] ?? DYN;
    case 'typeParam':
      return typeParam(raw as string);
    case 'type':
      return {
        kind: 'type',
        of: Object.keys(raw as object).length > 0 ? specType(raw as SpecType) : undefined,
      };
    case 'abstractType': {
      const { name, parameterTypes } = raw as { name: string; parameterTypes?: SpecType[] };
      return opaqueType(name, ...(parameterTypes ?? []).map(specType));
    }
    default:
      return DYN;
  }
}

export function declaredVariables(test: SuiteTest): Record<string, Type> {
  const out: Record<string, Type> = {};
  for (const name of Object.keys(test.bindings)) out[name] = DYN;
  for (const { name, ident } of test.typeEnv) if (ident) out[name] = specType(ident.type);
  return out;
}

export function declaredFunctions(test: SuiteTest): FunctionDeclaration[] {
  return test.typeEnv.flatMap(({ name, function: declared }) => {
    if (!declared) return [];
    const overloads = declared.overloads.map(({ overloadId, params = [], resultType, isInstanceFunction }) =>
      (isInstanceFunction === true ? memberOverload : globalOverload)(
        overloadId,
        params.map(specType),
        specType(resultType),
        () => new CelError('declared only'),
      ),
    );
    return [{ name, overloads }];
  });
}

export function bindingsOf(test: SuiteTest): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(test.bindings).map(([name, { value }]) => [name, specValue(value)]),
  );
}

/** Equal as the suite means it: of the same kind all the way down, and NaN equals NaN. */
export function sameResult(found: Value, wanted: Value): boolean {
  if (found instanceof Double && wanted instanceof Double)
    return Object.is(found.value, wanted.value) || found.value === wanted.value;
  if (found instanceof List && wanted instanceof List) {
    return (
      found.size === wanted.size &&
      found.toArray().every((item, index) => sameResult(item, wanted.get(index)))
    );
  }
  if (found instanceof CelMap && wanted instanceof CelMap) {
    return (
      found.size === wanted.size &&
      [...found.entries()].every(([key, value]) => sameResult(value, wanted.get(key) ?? null))
    );
  }
  const kind = (value: Value): string =>
    typeof value === 'object' ? (value?.constructor.name ?? 'null') : typeof value;
  if (
    kind(found) !== kind(wanted) &&
    !(['number', 'bigint'].includes(kind(found)) && ['number', 'bigint'].includes(kind(wanted)))
  )
    return false;
  return equalValues(found, wanted);
}
