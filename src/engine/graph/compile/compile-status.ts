import { childrenOf, type Type } from '../../../cel/index.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import {
  article,
  CONDITION_TYPE,
  conditionCalls,
  conditionLibraries,
  type Expression,
  expressionScope,
  graphEnvironment,
  graphLibraries,
  isWild,
} from '../expression/index.ts';
import type { GraphIssue } from '../issue.ts';
import { compileStandalone, compileTemplate, joinedPath, type Template, valueAt } from '../template/index.ts';
import { inferSchema } from './infer-schema.ts';

/** Conditions that the engine computes for every instance. */
export const ENGINE_CONDITIONS = ['Ready', 'InstanceManaged', 'GraphResolved', 'ResourcesReady'] as const;

/** An expression of the author's that gives a condition, or a list of them. */
export interface AuthorCondition {
  readonly expression: Expression;
  /** Types that are written out; it may give others, which it computes. */
  readonly types: readonly string[];
}

export interface CompiledStatus {
  readonly template: Template<JsonObject>;
  readonly conditions: readonly AuthorCondition[];
  /** Of the fields of the author. */
  readonly schema: OpenApiSchema;
}

/** Compiles the projections of a status and infers its schema from what they give. */
export function compileStatus(
  status: JsonObject,
  variables: Readonly<Record<string, Type>>,
  issues: GraphIssue[],
): CompiledStatus {
  const { conditions: written, ...fields } = status;
  const scope = expressionScope(
    'status',
    graphEnvironment(variables, graphLibraries),
    Object.keys(variables),
  );
  const place = { path: 'schema.status' };
  const template = compileTemplate(fields, undefined, {
    scope,
    place,
    issues,
    resolve: () => undefined,
    omit: 'refused',
  });
  const compiled = new Set(template.fields.map((field) => JSON.stringify(field.path)));
  const before = issues.length;
  reportConstants(fields, compiled, before > 0, issues);
  for (const field of template.fields) {
    const references = field.parts.flatMap((part) => (typeof part === 'string' ? [] : part.references));
    if (references.length > 0) continue;
    issues.push({
      path: joinedPath(place.path, field.path),
      message: 'it depends on nothing',
      expected: 'an expression that uses schema or a node',
    });
  }
  const schemas = new Map(
    template.fields.map((field) => {
      const [only] = field.parts;
      const schema: OpenApiSchema =
        field.standalone && typeof only === 'object' ? inferSchema(only.type) : { type: 'string' };
      return [JSON.stringify(field.path), schema] as const;
    }),
  );
  return {
    template,
    conditions: compileConditions(written, variables, issues),
    schema: schemaOf(fields, [], schemas),
  };
}

/** What is no expression says nothing of an instance. */
function reportConstants(
  root: JsonObject,
  compiled: ReadonlySet<string>,
  failed: boolean,
  issues: GraphIssue[],
): void {
  const visit = (value: JsonValue | undefined, path: readonly (string | number)[]): void => {
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, [...path, index]);
    else if (isObject(value)) for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    else if (
      !compiled.has(JSON.stringify(path)) &&
      !(failed && typeof value === 'string' && value.includes('${'))
    )
      issues.push({
        path: joinedPath('schema.status', path),
        message: `found the constant ${JSON.stringify(valueAt(root, path) ?? null)}`,
        expected: 'an expression that uses schema or a node',
      });
  };
  visit(root, []);
}

function schemaOf(
  value: JsonValue | undefined,
  path: readonly (string | number)[],
  schemas: ReadonlyMap<string, OpenApiSchema>,
): OpenApiSchema {
  const own = schemas.get(JSON.stringify(path));
  if (own) return own;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => schemaOf(item, [...path, index], schemas));
    const [first] = items;
    const alike = items.every((item) => JSON.stringify(item) === JSON.stringify(first));
    return {
      type: 'array',
      items: first && alike ? first : { 'x-kubernetes-preserve-unknown-fields': true },
    };
  }
  if (!isObject(value)) return { 'x-kubernetes-preserve-unknown-fields': true };
  const properties: Record<string, OpenApiSchema> = {};
  for (const key of Object.keys(value).sort())
    properties[key] = schemaOf(value[key], [...path, key], schemas);
  return { type: 'object', properties };
}

function compileConditions(
  written: JsonValue | undefined,
  variables: Readonly<Record<string, Type>>,
  issues: GraphIssue[],
): AuthorCondition[] {
  if (written === undefined) return [];
  const path = 'schema.status.conditions';
  if (!Array.isArray(written)) {
    issues.push({ path, message: 'it is no list', expected: 'a list of expressions' });
    return [];
  }
  const environment = graphEnvironment(variables, conditionLibraries);
  const scope = expressionScope('conditions', environment, Object.keys(variables));
  const conditions: AuthorCondition[] = [];
  const types = new Map<string, number>();
  for (const [index, item] of written.entries()) {
    const place = { path: `${path}[${index}]` };
    const expression = compileStandalone(item, scope, place, issues);
    if (!expression) continue;
    const given = expression.type;
    const type = given.kind === 'list' ? given.element : given;
    if (!isWild(type) && !(type.kind === 'object' && type.name === CONDITION_TYPE.name)) {
      issues.push({
        ...place,
        expression: expression.source,
        message: `the expression gives ${article(given)}`,
        expected: 'a condition, or a list of them; runtime.newCondition({type: …, status: …}) makes one',
      });
      continue;
    }
    const calls = conditionCalls(expression.program.ast.expr, childrenOf);
    for (const call of calls) {
      if (call.problem !== undefined)
        issues.push({
          ...place,
          expression: expression.source,
          message: `runtime.newCondition: ${call.problem}`,
        });
      const engines: readonly string[] = ENGINE_CONDITIONS;
      if (
        call.function === 'condition' &&
        call.object === 'schema' &&
        call.type !== undefined &&
        !engines.includes(call.type)
      )
        issues.push({
          ...place,
          expression: expression.source,
          message: `the engine computes no condition "${call.type}" of an instance`,
          expected: `one of ${engines.join(', ')}`,
        });
    }
    const made = new Set(
      calls.flatMap((call) =>
        call.function === 'newCondition' && call.type !== undefined ? [call.type] : [],
      ),
    );
    for (const name of made) {
      const other = types.get(name);
      if (other === undefined) types.set(name, index);
      else
        issues.push({
          ...place,
          expression: expression.source,
          message: `conditions[${other}] gives a condition "${name}", too`,
          expected: 'each type once',
        });
    }
    conditions.push({ expression, types: [...made] });
  }
  return conditions;
}
