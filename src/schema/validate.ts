import { childPath, type FieldIssue } from './field-issue.ts';
import { canonicalJson, deepEqual, isObject, type JsonObject, type JsonValue } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { compileRegularExpression } from './regular-expression.ts';
import { memberSchema, propertyOf, resolved } from './schema-lookup.ts';
import { hasFormat } from './string-format.ts';

/** Enough to show what is wrong; an object with more is not read by anyone. */
const MAX_ISSUES = 500;
/**
 * Steps that the validation of one value may take: whoever writes both a schema and the value could keep the process busy for minutes
 * otherwise. What is usual takes less than a hundredth of it.
 */
const MAX_STEPS = 50_000_000;
/** What looking at a value costs, and comparing it with another, where a step of a match costs one. */
const LOOK_STEPS = 20;
const COMPARE_STEPS = 4;
const NO_FIELD = '<nil>';
const MAX_INT64 = 2n ** 63n - 1n;

/** What a validation goes by, and how much it may still do. */
interface Run {
  readonly resolve: TypeSchema['resolve'];
  left: number;
}

/**
 * Validates a value against an OpenAPI v3 schema as Kubernetes does with custom resources: keywords and formats first, then
 * duplicates in lists of type `set` and `map`. Texts and paths are Kubernetes'; the list is empty for a valid value. Unknown
 * fields are not looked at (they are pruned), rules in CEL are another room's.
 */
export function validateValue(value: JsonValue, type: TypeSchema, rootPath = ''): FieldIssue[] {
  const run: Run = { resolve: type.resolve, left: MAX_STEPS };
  const issues: FieldIssue[] = [];
  check(value, type.schema, run, rootPath, issues);
  if (issues.length < MAX_ISSUES) checkLists(value, type.schema, run, rootPath, issues);
  return run.left < 0 ? [tooMuch(rootPath)] : issues.slice(0, MAX_ISSUES);
}

function tooMuch(path: string): FieldIssue {
  return {
    type: 'Invalid',
    path,
    value: '',
    detail: 'is too much to be validated: the patterns and alternatives of its schema take too many steps',
  };
}

/**
 * Validates a value that replaces `old`: what was invalid before may stay as it was, so that a stricter schema does not
 * stand in the way of changes elsewhere. Fields, and items of lists with keys, are compared with what they were.
 */
export function validateChange(
  value: JsonValue,
  old: JsonValue,
  type: TypeSchema,
  rootPath = '',
): FieldIssue[] {
  // Most changes are fine by themselves, and then nothing has to be compared.
  const plain = validateValue(value, type, rootPath);
  if (plain.length === 0) return plain;
  const run: Run = { resolve: type.resolve, left: MAX_STEPS };
  const issues: FieldIssue[] = [];
  check(value, type.schema, run, rootPath, issues, old);
  if (run.left < 0) return [tooMuch(rootPath)];
  if (issues.length >= MAX_ISSUES) return issues.slice(0, MAX_ISSUES);
  const lists: FieldIssue[] = [];
  checkLists(value, type.schema, run, rootPath, lists);
  if (lists.length > 0) {
    const before: FieldIssue[] = [];
    checkLists(old, type.schema, run, rootPath, before);
    if (before.length === 0) issues.push(...lists);
  }
  return issues.slice(0, MAX_ISSUES);
}

/** `old` is what the value was, where that is known. */
function check(
  value: JsonValue,
  written: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
  old?: JsonValue,
): void {
  const known = issues.length;
  run.left -= LOOK_STEPS;
  if (known >= MAX_ISSUES || run.left < 0) return;
  checkAll(value, written, run, path, issues, old);
  if (old !== undefined && issues.length > known && deepEqual(value, old)) issues.length = known;
}

function checkAll(
  value: JsonValue,
  written: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
  old: JsonValue | undefined,
): void {
  const schema = resolved(written, run.resolve);
  if (value === null && schema.nullable) {
    // Where values are listed, null has to be one of them all the same.
    if (schema.enum && !schema.enum.includes(null)) checkEnum(value, schema.enum, path, issues);
    return;
  }
  const type = typeProblem(value, schema);
  // What is said of other types holds nevertheless, as with the API server.
  if (type !== undefined) {
    const found = typeName(value);
    issues.push({
      type: 'TypeInvalid',
      path,
      value: found,
      detail: `${path} in body must be of type ${type}: ${JSON.stringify(found)}`,
    });
  }
  if (schema.enum) {
    run.left -= schema.enum.length * COMPARE_STEPS;
    checkEnum(value, schema.enum, path, issues);
  }
  if (typeof value === 'string') checkString(value, schema, path, issues, run);
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(value, schema, path, issues);
  else if (Array.isArray(value)) checkList(value, schema, run, path, issues, old);
  else if (isObject(value)) checkObject(value, schema, run, path, issues, old);
  if (value !== null) checkJunctors(value, schema, run, path, issues, old);
}

function checkEnum(value: JsonValue, listed: readonly JsonValue[], path: string, issues: FieldIssue[]): void {
  if (listed.some((item) => deepEqual(item, value))) return;
  const supported = listed.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  issues.push({ type: 'NotSupported', path, value: value ?? 'null', detail: '', supported });
}

/** The expected type where the value has another. */
function typeProblem(value: JsonValue, schema: OpenApiSchema): string | undefined {
  if (schema['x-kubernetes-int-or-string']) {
    return typeof value === 'string' || isInteger(value) ? undefined : 'integer,string';
  }
  if (schema.type === undefined) return undefined;
  return hasType(value, schema.type) ? undefined : schema.type;
}

function hasType(value: JsonValue, type: NonNullable<OpenApiSchema['type']>): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return isInteger(value);
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    default:
      return typeof value === type;
  }
}

/** JSON Schema's word for what a value is. */
export function typeName(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || typeof value === 'number') return isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function invalid(issues: FieldIssue[], path: string, value: unknown, problem: string): void {
  issues.push({ type: 'Invalid', path, value, detail: `${path} in body ${problem}` });
}

function checkString(
  value: string,
  schema: OpenApiSchema,
  path: string,
  issues: FieldIssue[],
  run: Run,
): void {
  const { minLength, maxLength, pattern, format } = schema;
  // Of length and pattern, the first problem is told.
  let wrong = false;
  if (minLength !== undefined || maxLength !== undefined) {
    const length = characters(value);
    if (maxLength !== undefined && length > maxLength) {
      issues.push({ type: 'TooLong', path, value, detail: `may not be more than ${maxLength} bytes` });
      wrong = true;
    } else if (minLength !== undefined && length < minLength) {
      invalid(issues, path, value, `should be at least ${minLength} chars long`);
      wrong = true;
    }
  }
  if (pattern !== undefined && !wrong) {
    const problem = patternProblem(value, schema, pattern, run);
    if (problem !== undefined) invalid(issues, path, value, problem);
  }
  if (format !== undefined && !hasFormat(format, value)) {
    issues.push({
      type: 'TypeInvalid',
      path,
      value,
      detail: `${path} in body must be of type ${format}: ${JSON.stringify(value)}`,
    });
  }
}

/** Unicode characters, as length limits count them. */
function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const high = text.charCodeAt(i);
    if (high >= 0xd800 && high <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  }
  return count;
}

/** Compiling costs more than matching: each schema's pattern is compiled once for as long as the schema lives. */
const compiled = new WeakMap<OpenApiSchema, ReturnType<typeof compileRegularExpression>>();

function patternProblem(value: string, schema: OpenApiSchema, pattern: string, run: Run): string | undefined {
  let expression = compiled.get(schema);
  if (!expression) {
    expression = compileRegularExpression(pattern);
    compiled.set(schema, expression);
  }
  if ('error' in expression) return `should match '${pattern}', but pattern is invalid: ${expression.error}`;
  return expression.test(value, run) ? undefined : `should match '${pattern}'`;
}

/** Integers beyond 64 bits are read as numbers with a fraction, and so are those that are written with one. */
function isInteger(value: JsonValue): boolean {
  if (typeof value === 'bigint') return value >= -MAX_INT64 - 1n && value <= MAX_INT64;
  return Number.isSafeInteger(value);
}

function checkNumber(
  value: number | bigint,
  schema: OpenApiSchema,
  path: string,
  issues: FieldIssue[],
): void {
  const { minimum, maximum, multipleOf } = schema;
  if (multipleOf !== undefined) {
    // As the API server has it: integers are compared with the whole part of the factor, which may be nothing.
    const factor = isInteger(value) ? Math.trunc(multipleOf) : multipleOf;
    if (factor <= 0) {
      const detail = `factor MultipleOf declared for ${path} must be positive: ${factor}`;
      issues.push({ type: 'Invalid', path, value: factor, detail });
    } else if (!isMultiple(value, factor)) {
      invalid(issues, path, value, `should be a multiple of ${multipleOf}`);
    }
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum ? value >= maximum : value > maximum) {
      invalid(
        issues,
        path,
        value,
        `should be less than ${schema.exclusiveMaximum ? '' : 'or equal to '}${maximum}`,
      );
    }
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum ? value <= minimum : value < minimum) {
      invalid(
        issues,
        path,
        value,
        `should be greater than ${schema.exclusiveMinimum ? '' : 'or equal to '}${minimum}`,
      );
    }
  }
}

/** `0.3` is a multiple of `0.1` although the remainder in binary is not zero. */
function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint') return value % BigInt(factor) === 0n;
  const times = value / factor;
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

function checkList(
  value: readonly JsonValue[],
  schema: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
  old: JsonValue | undefined,
): void {
  const { minItems, maxItems } = schema;
  if (maxItems !== undefined && value.length > maxItems) {
    issues.push({
      type: 'TooMany',
      path,
      value: value.length,
      detail: `must have at most ${maxItems} items`,
    });
  }
  if (minItems !== undefined && value.length < minItems) {
    invalid(issues, path, value.length, `should have at least ${minItems} items`);
  }
  if (schema.uniqueItems && new Set(value.map(canonicalJson)).size < value.length) {
    invalid(issues, path, value, "shouldn't contain duplicates");
  }
  if (!schema.items) return;
  const before = oldItems(old, schema, run);
  for (const [index, item] of value.entries())
    check(item, schema.items, run, `${path}[${index}]`, issues, before?.(item));
}

/** Finds what an item was before: by its keys, where the list has any. */
function oldItems(
  old: JsonValue | undefined,
  schema: OpenApiSchema,
  run: Run,
): ((item: JsonValue) => JsonValue | undefined) | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const items = schema.items && resolved(schema.items, run.resolve);
  const keyOf = (item: JsonValue): string => canonicalJson(mapKey(item, keys, items, run) ?? null);
  let byKey: Map<string, JsonValue> | undefined;
  return (item) => {
    byKey ??= new Map(old.map((before) => [keyOf(before), before]));
    return byKey.get(keyOf(item));
  };
}

function checkObject(
  value: JsonObject,
  schema: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
  old: JsonValue | undefined,
): void {
  const was = isObject(old) ? old : undefined;
  const { minProperties, maxProperties, required } = schema;
  const keys = Object.keys(value);
  if (maxProperties !== undefined && keys.length > maxProperties) {
    issues.push({
      type: 'TooMany',
      path,
      value: keys.length,
      detail: `must have at most ${maxProperties} items`,
    });
  }
  if (minProperties !== undefined && keys.length < minProperties) {
    invalid(issues, path, keys.length, `should have at least ${minProperties} properties`);
  }
  for (const key of required ?? []) {
    if (!Object.hasOwn(value, key) || value[key] === undefined) {
      issues.push({ type: 'Required', path: childPath(path, key), detail: '' });
    }
  }
  for (const key of keys) {
    const item = value[key];
    if (item === undefined) continue;
    const member = propertyOf(schema, key) ?? schema.additionalProperties;
    if (typeof member === 'object') {
      const before = was !== undefined && Object.hasOwn(was, key) ? was[key] : undefined;
      check(item, member, run, childPath(path, key), issues, before);
    } else if (member === false) {
      const detail = `${childPath(path, key)} in body is a forbidden property`;
      issues.push({ type: 'Invalid', path, value: '', detail });
    }
  }
}

function checkJunctors(
  value: JsonValue,
  schema: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
  old: JsonValue | undefined,
): void {
  const { allOf, anyOf, oneOf, not } = schema;
  const alone = (branch: OpenApiSchema): FieldIssue[] => {
    const found: FieldIssue[] = [];
    check(value, branch, run, path, found);
    return found;
  };
  const against = (branch: OpenApiSchema): FieldIssue[] => {
    const found: FieldIssue[] = [];
    check(value, branch, run, path, found, old);
    return found;
  };
  const complain = (problem: string, found: readonly FieldIssue[] = []): void => {
    issues.push(
      // Upstream's causes of junctors have no field; the text names it.
      { type: 'Invalid', path: NO_FIELD, value: '', detail: `${JSON.stringify(path)} must ${problem}` },
      ...found,
    );
  };
  if (allOf && allOf.length > 0) {
    const found = allOf.map(against);
    const valid = found.filter((branch) => branch.length === 0).length;
    if (valid < allOf.length)
      complain(`validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`, found.flat());
  }
  if (anyOf && anyOf.length > 0) {
    const closest = closestBranch(anyOf, against);
    if (closest.length > 0) complain('validate at least one schema (anyOf)', closest);
  }
  if (oneOf && oneOf.length > 0) {
    // What was invalid before is let be only where that helps: otherwise more than one might be valid.
    const plain = oneOf.map(alone);
    const found =
      old === undefined || plain.some((branch) => branch.length === 0) ? plain : oneOf.map(against);
    const valid = found.filter((branch) => branch.length === 0).length;
    if (valid === 0) {
      complain('validate one and only one schema (oneOf). Found none valid', shortest(found));
    } else if (valid > 1) {
      complain(`validate one and only one schema (oneOf). Found ${valid} valid alternatives`);
    }
  }
  if (not && alone(not).length === 0) complain('not validate the schema (not)');
}

function closestBranch(
  branches: readonly OpenApiSchema[],
  against: (branch: OpenApiSchema) => FieldIssue[],
): readonly FieldIssue[] {
  const found: FieldIssue[][] = [];
  for (const branch of branches) {
    const issues = against(branch);
    if (issues.length === 0) return [];
    found.push(issues);
  }
  return shortest(found);
}

/** The problems with the branch that was missed by the least: most likely the one that was meant. */
function shortest(found: readonly FieldIssue[][]): readonly FieldIssue[] {
  return found.reduce<readonly FieldIssue[]>(
    (best, issues) => (issues.length < best.length ? issues : best),
    found[0] ?? [],
  );
}

/** Duplicates in lists of type `set` and `map`, everywhere below. */
function checkLists(
  value: JsonValue,
  written: OpenApiSchema,
  run: Run,
  path: string,
  issues: FieldIssue[],
): void {
  if (typeof value !== 'object' || value === null) return;
  const schema = resolved(written, run.resolve);
  if (Array.isArray(value)) {
    const listType = schema['x-kubernetes-list-type'];
    if (listType === 'set') findDuplicates(value, (item) => item, path, issues);
    if (listType === 'map') {
      const items = schema.items && resolved(schema.items, run.resolve);
      const keys = schema['x-kubernetes-list-map-keys'] ?? [];
      findDuplicates(value, (item) => mapKey(item, keys, items, run), path, issues);
    }
    if (!schema.items) return;
    for (const [index, item] of value.entries()) {
      checkLists(item, schema.items, run, `${path}[${index}]`, issues);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const item = value[key];
    const member = item === undefined ? undefined : memberSchema(schema, key, run.resolve);
    if (member && item !== undefined) checkLists(item, member, run, childPath(path, key), issues);
  }
}

function findDuplicates(
  list: readonly JsonValue[],
  keyOf: (item: JsonValue) => JsonValue | undefined,
  path: string,
  issues: FieldIssue[],
): void {
  const seen = new Set<string>();
  const reported = new Set<string>();
  for (const [index, item] of list.entries()) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const text = canonicalJson(key);
    if (seen.has(text) && !reported.has(text)) {
      reported.add(text);
      issues.push({ type: 'Duplicate', path: `${path}[${index}]`, value: key, detail: '' });
    }
    seen.add(text);
  }
}

/** The keys of an element; one that is left out has its default, as server-side apply sees it. */
function mapKey(
  item: JsonValue,
  keys: readonly string[],
  schema: OpenApiSchema | undefined,
  run: Run,
): JsonObject | undefined {
  if (!isObject(item)) return undefined;
  const out: JsonObject = {};
  for (const key of keys) {
    const value = item[key] ?? (schema && memberSchema(schema, key, run.resolve)?.default);
    if (value !== undefined) out[key] = value;
  }
  return out;
}
