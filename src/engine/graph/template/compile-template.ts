// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { BOOL, childrenOf, type Expr } from '../../../cel/index.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import type { OpenApiSchema, TypeSchema } from '../../../schema/open-api-schema.ts';
import { propertyOf, resolved, valuesOf } from '../../../schema/schema-lookup.ts';
import {
  article,
  compileExpression,
  DEFER_FUNCTION,
  type Expression,
  type ExpressionScope,
  isWild,
  mismatch,
  OMIT_FUNCTION,
  someOf,
  takesAnything,
  takesIntOrString,
  unwrapped,
  wantedText,
} from '../expression/index.ts';
import type { GraphIssue, Place } from '../issue.ts';
import { type FieldPath, joinedPath } from './field-path.ts';
import { mayHoldExpressions, scanTemplate } from './scan.ts';
import type { Template, TemplateField } from './template.ts';

export interface TemplateOptions {
  readonly scope: ExpressionScope;
  readonly place: Place;
  readonly issues: GraphIssue[];
  /** Where the references of schemas lead. */
  readonly resolve: TypeSchema['resolve'];
  /** Paths at which no expression may stand, and why. */
  readonly refuses?: (path: FieldPath) => string | undefined;
  /** Paths that must not be omitted. */
  readonly needed?: (path: FieldPath) => boolean;
  readonly omit: 'allowed' | 'refused';
  /** Whether fields may be deferred. Off by default. */
  readonly defers?: boolean;
  /** Whether keys of maps may hold expressions. Off by default. */
  readonly keys?: boolean;
}

interface Walk extends TemplateOptions {
  readonly fields: TemplateField[];
}

const MAX_DEPTH = 100;

/** Compiles all texts of a value against its schema, and checks everything else against it. Without a schema anything may stand there. */
export function compileTemplate<T extends JsonValue>(
  value: T,
  schema: OpenApiSchema | undefined,
  options: TemplateOptions,
): Template<T> {
  const fields: TemplateField[] = [];
  visit({ ...options, fields }, value, schema, []);
  return { value, fields };
}

function visit(walk: Walk, value: JsonValue, written: OpenApiSchema | undefined, path: FieldPath): void {
  const schema = written && resolved(written, walk.resolve);
  if (path.length > MAX_DEPTH) {
    report(walk, path, `it nests more than ${MAX_DEPTH} levels deep`);
    return;
  }
  if (typeof value === 'string' && mayHoldExpressions(value)) {
    visitText(walk, value, schema, path);
    return;
  }
  if (value === null) return;
  const known = schema && !takesAnything(schema) ? schema : undefined;
  const problem = schema && literalProblem(value, schema, walk.resolve);
  if (schema && problem !== undefined) {
    report(walk, path, problem, wantedText(schema, walk.resolve));
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(walk, item, known?.items, [...path, index]);
  } else if (isObject(value)) visitObject(walk, value, known, path);
}

function visitObject(
  walk: Walk,
  value: JsonObject,
  schema: OpenApiSchema | undefined,
  path: FieldPath,
): void {
  const values = schema && valuesOf(schema);
  const open =
    !schema ||
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    schema.additionalProperties === true ||
    (!schema.properties && !values);
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const inner = [...path, key];
    const computed = mayHoldExpressions(key);
    if (computed && walk.keys !== true)
      report(walk, path, `the key "${key}" holds an expression`, 'expressions in values only');
    else if (computed && !open && !values) {
      report(
        walk,
        path,
        `the key "${key}" holds an expression`,
        `one of ${someOf(Object.keys(schema?.properties ?? {}))}`,
      );
      continue;
    } else if (computed) visitKey(walk, key, inner);
    const member = schema && (propertyOf(schema, key) ?? values);
    if (!member && !open && !isTypeMeta(schema, key)) {
      report(
        walk,
        inner,
        `there is no field "${key}"`,
        `one of ${someOf(Object.keys(schema?.properties ?? {}))}`,
      );
    } else visit(walk, item, member, inner);
  }
}

function visitKey(walk: Walk, key: string, path: FieldPath): void {
  const place: Place = { ...walk.place, path: joinedPath(walk.place.path, path) };
  const parts = compileText(walk, key, path);
  if (!parts || !checkTextParts(walk, parts, undefined, place)) return;
  const special = parts.find(
    (part) => typeof part !== 'string' && callsAny(part.program.ast.expr, [OMIT_FUNCTION, DEFER_FUNCTION]),
  );
  if (special) report(walk, path, 'a key can be neither omitted nor deferred');
  else walk.fields.push({ path, parts, standalone: false, key: true });
}

/** What objects within objects say of themselves. */
function isTypeMeta(schema: OpenApiSchema | undefined, key: string): boolean {
  return (
    schema?.['x-kubernetes-embedded-resource'] === true && ['apiVersion', 'kind', 'metadata'].includes(key)
  );
}

function report(walk: Walk, path: FieldPath, message: string, expected?: string): void {
  walk.issues.push({
    ...walk.place,
    path: joinedPath(walk.place.path, path),
    message,
    ...(expected === undefined ? {} : { expected }),
  });
}

/** What is wrong with the kind of a value that is written out. */
function literalProblem(
  value: JsonValue,
  schema: OpenApiSchema,
  resolve: TypeSchema['resolve'],
): string | undefined {
  if (value === null) return undefined;
  if (takesIntOrString(schema)) {
    return typeof value === 'string' || isInteger(value) ? undefined : `found ${literalText(value)}`;
  }
  if (schema.type === undefined) {
    const branches = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].filter((branch) => branch.type);
    const fits = branches.some(
      (branch) => literalProblem(value, resolved(branch, resolve), resolve) === undefined,
    );
    if (branches.length > 0 && !fits) return `found ${literalText(value)}`;
    return schema.properties && !isObject(value) ? `found ${literalText(value)}` : undefined;
  }
  return hasType(value, schema.type) ? undefined : `found ${literalText(value)}`;
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

function isInteger(value: JsonValue): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

function literalText(value: JsonValue): string {
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 60))}`;
  return `the ${typeof value === 'boolean' ? 'bool' : 'number'} ${String(value)}`;
}

function visitText(walk: Walk, text: string, schema: OpenApiSchema | undefined, path: FieldPath): void {
  const refused = walk.refuses?.(path);
  if (refused !== undefined) {
    report(walk, path, refused);
    return;
  }
  const parts = compileText(walk, text, path);
  if (!parts) return;
  const [only] = parts;
  const standalone = parts.length === 1 && typeof only === 'object';
  const place: Place = { ...walk.place, path: joinedPath(walk.place.path, path) };
  for (const part of parts) {
    if (typeof part === 'string') continue;
    const { expr } = part.program.ast;
    const omits = callsAny(expr, [OMIT_FUNCTION]);
    if (omits && !checkOmit(walk, part, place, path, standalone)) return;
    if (callsAny(expr, [DEFER_FUNCTION]) && !checkDefer(walk, part, place, path, standalone)) return;
  }
  if (standalone) {
    const problem = schema && mismatch(only.type, schema, walk.resolve);
    if (schema && problem !== undefined) {
      walk.issues.push({
        ...place,
        expression: only.source,
        message: problem,
        expected: wantedText(schema, walk.resolve),
      });
      return;
    }
  } else if (!checkTextParts(walk, parts, schema, place)) return;
  const deferred = standalone && isDeferred(only.program.ast.expr);
  walk.fields.push({ path, parts, standalone, ...(deferred && { deferred }) });
}

/** The segments of a text with their expressions compiled; `undefined` after reporting what is wrong. */
function compileText(walk: Walk, text: string, path: FieldPath): (string | Expression)[] | undefined {
  const scan = scanTemplate(text);
  if (!scan.segments) {
    report(walk, path, scan.problem, scan.expected);
    return undefined;
  }
  const place: Place = { ...walk.place, path: joinedPath(walk.place.path, path) };
  const parts: (string | Expression)[] = [];
  let failed = false;
  for (const segment of scan.segments) {
    if ('text' in segment) {
      parts.push(segment.text);
      continue;
    }
    const expression = compileExpression(walk.scope, segment.expression, place, walk.issues);
    if (expression) parts.push(expression);
    else failed = true;
  }
  return failed ? undefined : parts;
}

function checkTextParts(
  walk: Walk,
  parts: readonly (string | Expression)[],
  schema: OpenApiSchema | undefined,
  place: Place,
): boolean {
  let good = true;
  for (const part of parts) {
    if (typeof part === 'string') continue;
    const type = unwrapped(part.type);
    if (isWild(type) || type.kind === 'string') continue;
    const hint = type.kind === 'bytes' ? 'base64.encode() or string()' : 'string()';
    walk.issues.push({
      ...place,
      expression: part.source,
      message: `within a text the expression gives ${article(type)}`,
      expected: `a string; ${hint} makes one`,
    });
    good = false;
  }
  const problem = schema && mismatch({ kind: 'string' }, schema, walk.resolve);
  if (schema && problem !== undefined) {
    walk.issues.push({
      ...place,
      message: 'a text with expressions in it is a string',
      expected: wantedText(schema, walk.resolve),
    });
    good = false;
  }
  return good;
}

function checkOmit(
  walk: Walk,
  { source }: Expression,
  place: Place,
  path: FieldPath,
  standalone: boolean,
): boolean {
  let message: string | undefined;
  if (walk.omit === 'refused')
    message = 'omit() is switched off; the feature gate CELOmitFunction switches it on';
  else if (!standalone) message = 'omit() cannot be a part of a text';
  else if (walk.needed?.(path) === true) message = 'this field cannot be omitted';
  if (message === undefined) return true;
  walk.issues.push({ ...place, expression: source, message });
  return false;
}

function checkDefer(
  walk: Walk,
  { source, program }: Expression,
  place: Place,
  path: FieldPath,
  standalone: boolean,
): boolean {
  const { expr } = program.ast;
  let message: string | undefined;
  let expected: string | undefined;
  if (walk.defers !== true) message = 'defer() cannot be used here';
  else if (
    !standalone ||
    !isDeferred(expr) ||
    childrenOf(expr).some((part) => callsAny(part, [DEFER_FUNCTION]))
  ) {
    message = 'defer() must be around all of the expression';
    expected = '${defer(…)} as the whole value of a field';
  } else if (walk.needed?.(path) === true) message = 'this field cannot be deferred';
  if (message === undefined) return true;
  walk.issues.push({ ...place, expression: source, message, ...(expected !== undefined && { expected }) });
  return false;
}

function isDeferred(expr: Expr): boolean {
  return expr.kind === 'call' && expr.function === DEFER_FUNCTION && !expr.target;
}

function callsAny(expr: Expr, functions: readonly string[]): boolean {
  if (expr.kind === 'call' && functions.includes(expr.function) && !expr.target) return true;
  return childrenOf(expr).some((child) => callsAny(child, functions));
}

/** Compiles a text that must be one expression and nothing else. */
export function compileStandalone(
  text: JsonValue | undefined,
  scope: ExpressionScope,
  place: Place,
  issues: GraphIssue[],
): Expression | undefined {
  const expected = 'one expression, ${…}, and nothing else';
  if (typeof text !== 'string') {
    issues.push({ ...place, message: 'found no text', expected });
    return undefined;
  }
  const scan = scanTemplate(text.trim());
  if (!scan.segments) {
    issues.push({ ...place, message: scan.problem, expected: scan.expected ?? expected });
    return undefined;
  }
  const [only] = scan.segments;
  if (scan.segments.length !== 1 || !only || !('expression' in only)) {
    issues.push({ ...place, message: `found "${text}"`, expected });
    return undefined;
  }
  return compileExpression(scope, only.expression, place, issues);
}

/** Compiles `readyWhen` and the like: one expression that gives a bool. */
export function compileCondition(
  text: JsonValue | undefined,
  scope: ExpressionScope,
  place: Place,
  issues: GraphIssue[],
): Expression | undefined {
  const expression = compileStandalone(text, scope, place, issues);
  if (!expression) return undefined;
  const type = unwrapped(expression.type);
  if (type.kind === BOOL.kind || isWild(type)) return expression;
  issues.push({
    ...place,
    expression: expression.source,
    message: `the expression gives ${article(type)}`,
    expected: 'a bool',
  });
  return undefined;
}
