import { childPath, type FieldIssue } from './field-issue.ts';
import { isObject } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { compileRegularExpression } from './regular-expression.ts';
import { propertyOf } from './schema-lookup.ts';
import { defaultIssues } from './structural-defaults.ts';
import { keywordIssues } from './structural-keywords.ts';

const MAX_ISSUES = 100;
/** Deeper schemas are refused, since everything that walks one calls itself. */
const MAX_DEPTH = 128;

const JUNCTORS = ['allOf', 'anyOf', 'oneOf'] as const;

type Role = 'root' | 'field' | 'item';

/** What the structural core alone may say; in a junctor it must be as if it was not written. */
const CORE_ONLY: readonly (readonly [keyof OpenApiSchema, 'empty' | 'undefined' | 'false'])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
];

/**
 * Checks that a schema of a CustomResourceDefinition is structural: that every value it admits has one type that can be read
 * off the schema without trying alternatives. Pruning, defaulting and server-side apply need that. Empty for a good schema.
 * Paths begin with `path`. First come keywords that no schema may have or that do not fit together; then what is not
 * structural; then fields that only junctors know; and for a schema that has passed so far, its defaults.
 */
export function validateStructural(schema: OpenApiSchema, path: string = ''): FieldIssue[] {
  const deep = tooDeep(schema, path, 0);
  if (deep) return [deep];
  const issues: FieldIssue[] = [];
  const readable = keywordIssues(schema, path, issues);
  if (!readable) return issues.slice(0, MAX_ISSUES);
  const before = issues.length;
  checkNode(issues, schema, path, 'root');
  if (issues.length === before) checkCompleteness(issues, schema, path);
  if (issues.length === before) defaultIssues(schema, path, issues);
  return issues.slice(0, MAX_ISSUES);
}

function tooDeep(schema: OpenApiSchema, path: string, depth: number): FieldIssue | undefined {
  if (depth > MAX_DEPTH)
    return { type: 'Forbidden', path, detail: `nested more than ${MAX_DEPTH} levels deep` };
  const members: [string, OpenApiSchema][] = Object.entries(schema.properties ?? {}).map(([name, child]) => [
    `properties[${name}]`,
    child,
  ]);
  for (const keyword of ['additionalProperties', 'items', 'not'] as const) {
    const child = schema[keyword];
    if (isObject(child)) members.push([keyword, child as OpenApiSchema]);
  }
  for (const junctor of JUNCTORS)
    for (const [index, child] of (schema[junctor] ?? []).entries())
      members.push([`${junctor}[${index}]`, child]);
  for (const [name, child] of members) {
    const found = tooDeep(child, childPath(path, name), depth + 1);
    if (found) return found;
  }
  return undefined;
}

function required(issues: FieldIssue[], path: string, detail: string): void {
  issues.push({ type: 'Required', path, detail });
}

function forbidden(issues: FieldIssue[], path: string, detail: string): void {
  issues.push({ type: 'Forbidden', path, detail });
}

function invalid(issues: FieldIssue[], path: string, value: unknown, detail: string): void {
  issues.push({ type: 'Invalid', path, value, detail });
}

function checkNode(issues: FieldIssue[], schema: OpenApiSchema, path: string, role: Role): void {
  if (issues.length >= MAX_ISSUES) return;
  const { items, additionalProperties } = schema;
  if (isObject(items)) checkNode(issues, items as OpenApiSchema, childPath(path, 'items'), 'item');
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    checkNode(issues, property, childPath(path, `properties[${name}]`), 'field');
  if (additionalProperties !== undefined) {
    const at = childPath(path, 'additionalProperties');
    if (role === 'root') forbidden(issues, at, 'must not be used at the root');
    if (typeof additionalProperties === 'object') checkNode(issues, additionalProperties, at, 'field');
  }
  checkIntOrString(issues, schema, path);
  checkJunctors(issues, schema, path, isIntOrStringPattern(schema.anyOf) && isIntOrString(schema), false);
  checkType(issues, schema, path, role);
  if (role === 'root' || schema['x-kubernetes-embedded-resource']) checkResource(issues, schema, path, role);
}

function checkType(issues: FieldIssue[], schema: OpenApiSchema, path: string, role: Role): void {
  const at = childPath(path, 'type');
  const type: string = schema.type ?? '';
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  if (embedded && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    if (type === '') required(issues, at, detail);
    else invalid(issues, at, type, detail);
  } else if (type === '' && !isIntOrString(schema) && !schema['x-kubernetes-preserve-unknown-fields']) {
    required(
      issues,
      at,
      role === 'root'
        ? 'must not be empty at the root'
        : `must not be empty for specified ${role === 'item' ? 'array items' : 'object fields'}`,
    );
  }
  const additional = childPath(path, 'additionalProperties');
  if (embedded && schema.additionalProperties !== undefined)
    forbidden(issues, additional, 'must not be used if x-kubernetes-embedded-resource is set');
  if (role === 'root' && type !== '' && type !== 'object')
    invalid(issues, at, type, 'must be object at the root');
  if (type === 'array' && schema.items === undefined)
    required(issues, childPath(path, 'items'), 'must be specified');
}

function isIntOrString(schema: OpenApiSchema): boolean {
  return schema['x-kubernetes-int-or-string'] === true;
}

function checkIntOrString(issues: FieldIssue[], schema: OpenApiSchema, path: string): void {
  if (!isIntOrString(schema)) return;
  for (const keyword of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    if (schema[keyword])
      invalid(issues, childPath(path, keyword), true, 'must be false if x-kubernetes-int-or-string is true');
}

/** Resources say of themselves what any resource is; of metadata the outermost schema may only restrict names. */
function checkResource(issues: FieldIssue[], schema: OpenApiSchema, path: string, role: Role): void {
  for (const [key, type] of [
    ['kind', 'string'],
    ['apiVersion', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const property = propertyOf(schema, key);
    if (property && property.type !== type)
      invalid(issues, childPath(path, `properties[${key}].type`), property.type ?? '', `must be ${type}`);
  }
  const metadata = propertyOf(schema, 'metadata');
  if (metadata && role === 'root') {
    const names = Object.keys(metadata.properties ?? {});
    const others = Object.keys(metadata).filter(
      (keyword) => !['type', 'properties', 'default'].includes(keyword),
    );
    if (others.length > 0 || names.some((name) => name !== 'name' && name !== 'generateName'))
      forbidden(
        issues,
        childPath(path, 'properties[metadata]'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
  }
  if (
    schema['x-kubernetes-embedded-resource'] &&
    !schema['x-kubernetes-preserve-unknown-fields'] &&
    Object.keys(schema.properties ?? {}).length === 0
  )
    required(
      issues,
      childPath(path, 'properties'),
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    );
}

/** `anyOf: [{type: integer}, {type: string}]`, directly or in the first of `allOf`, may stand with x-kubernetes-int-or-string. */
function isIntOrStringPattern(branches: readonly OpenApiSchema[] | undefined): boolean {
  const [first, second] = branches ?? [];
  return (
    branches?.length === 2 &&
    branches.every((branch) => Object.keys(branch).length === 1) &&
    first?.type === 'integer' &&
    second?.type === 'string'
  );
}

/** The restrictions of a schema: its pattern, and the branches of its junctors, which restrict what the core has. */
function checkJunctors(
  issues: FieldIssue[],
  schema: OpenApiSchema,
  path: string,
  skipAnyOf: boolean,
  nested: boolean,
): void {
  const first = schema.allOf?.[0];
  const skipFirst = !nested && isIntOrString(schema) && first && Object.keys(first).length === 1;
  for (const junctor of JUNCTORS) {
    if (junctor === 'anyOf' && skipAnyOf) continue;
    for (const [index, branch] of (schema[junctor] ?? []).entries()) {
      const skip = junctor === 'allOf' && index === 0 && skipFirst && isIntOrStringPattern(branch.anyOf);
      checkBranch(issues, branch, childPath(path, `${junctor}[${index}]`), skip === true);
    }
  }
  if (schema.not) checkBranch(issues, schema.not, childPath(path, 'not'), false);
  if (schema.pattern) {
    const expression = compileRegularExpression(schema.pattern);
    if ('error' in expression)
      invalid(
        issues,
        childPath(path, 'pattern'),
        schema.pattern,
        `must be a valid regular expression, but isn't: ${expression.error}`,
      );
  }
}

function checkBranch(issues: FieldIssue[], branch: OpenApiSchema, path: string, skipAnyOf: boolean): void {
  if (issues.length >= MAX_ISSUES) return;
  checkJunctors(issues, branch, path, skipAnyOf, true);
  if (isObject(branch.items))
    checkBranch(issues, branch.items as OpenApiSchema, childPath(path, 'items'), false);
  for (const [name, property] of Object.entries(branch.properties ?? {}))
    checkBranch(issues, property, childPath(path, `properties[${name}]`), false);
  for (const [keyword, state] of CORE_ONLY) {
    const value = branch[keyword];
    if (value === undefined || (state !== 'undefined' && (value === '' || value === false))) continue;
    forbidden(issues, childPath(path, keyword), `must be ${state} to be structural`);
  }
  // Restricting metadata here would get round what may be said of it.
  if (propertyOf(branch, 'metadata'))
    forbidden(issues, childPath(path, 'properties[metadata]'), 'must not be specified in a nested context');
}

/** What a junctor names must be in the core, too. */
function checkCompleteness(issues: FieldIssue[], schema: OpenApiSchema, path: string): void {
  if (issues.length >= MAX_ISSUES) return;
  completeJunctors(issues, schema, schema, path, path);
  if (isObject(schema.items))
    checkCompleteness(issues, schema.items as OpenApiSchema, childPath(path, 'items'));
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    checkCompleteness(issues, property, childPath(path, `properties[${name}]`));
  if (typeof schema.additionalProperties === 'object')
    checkCompleteness(issues, schema.additionalProperties, childPath(path, 'additionalProperties'));
}

function completeJunctors(
  issues: FieldIssue[],
  schema: OpenApiSchema,
  core: OpenApiSchema,
  corePath: string,
  path: string,
): void {
  for (const junctor of JUNCTORS)
    for (const [index, branch] of (schema[junctor] ?? []).entries())
      completeBranch(issues, branch, core, corePath, childPath(path, `${junctor}[${index}]`));
  if (schema.not) completeBranch(issues, schema.not, core, corePath, childPath(path, 'not'));
}

function completeBranch(
  issues: FieldIssue[],
  branch: OpenApiSchema,
  core: OpenApiSchema | undefined,
  corePath: string,
  path: string,
): void {
  if (issues.length >= MAX_ISSUES) return;
  if (core === undefined) {
    required(issues, corePath, `because it is defined in ${path}`);
    return;
  }
  completeJunctors(issues, branch, core, corePath, path);
  if (isObject(branch.items))
    completeBranch(
      issues,
      branch.items as OpenApiSchema,
      isObject(core.items) ? (core.items as OpenApiSchema) : undefined,
      childPath(corePath, 'items'),
      childPath(path, 'items'),
    );
  const values = typeof core.additionalProperties === 'object' ? core.additionalProperties : undefined;
  for (const [name, property] of Object.entries(branch.properties ?? {}))
    completeBranch(
      issues,
      property,
      // A field that the core does not have at all is let be; what is in it is not.
      propertyOf(core, name) ?? values ?? {},
      childPath(corePath, `properties[${name}]`),
      childPath(path, `properties[${name}]`),
    );
}
