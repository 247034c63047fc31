import type { KubeObject } from '../../../kube/object.ts';
import { deepEqual, isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';

/** One difference between two definitions of a kind. */
export interface DefinitionChange {
  /** `v1alpha1: spec.replicas`. */
  readonly path: string;
  readonly message: string;
  /** Instances that were valid, or clients that worked, may not be any longer. */
  readonly breaking: boolean;
}

export interface CompatibilityReport {
  readonly changes: readonly DefinitionChange[];
  readonly breaking: readonly DefinitionChange[];
  /** Anything at all that is served differs, also columns, names and labels. */
  readonly differs: boolean;
}

/** Compares the CustomResourceDefinition that is there with the one that shall be. */
export function compareDefinitions(before: KubeObject, after: KubeObject): CompatibilityReport {
  const changes: DefinitionChange[] = [];
  const report = (path: string, message: string, breaking: boolean): void => {
    changes.push({ path, message, breaking });
  };
  const scope = [stringAt(before, 'spec', 'scope'), stringAt(after, 'spec', 'scope')];
  if (scope[0] !== scope[1]) report('scope', `changes from ${scope[0]} to ${scope[1]}`, true);
  const versions = versionsOf(after);
  for (const [name, old] of versionsOf(before)) {
    const version = versions.get(name);
    if (!version) {
      report(name, 'the version is gone', true);
      continue;
    }
    if (old['served'] === true && version['served'] !== true)
      report(name, 'the version is served no longer', true);
    const status = [old, version].map((item) => objectAt(item, 'subresources', 'status') !== undefined);
    if (status[0] === true && status[1] === false)
      report(name, 'the status is no subresource any longer', true);
    if (!deepEqual(objectAt(old, 'subresources', 'scale'), objectAt(version, 'subresources', 'scale')))
      report(`${name}: subresources.scale`, 'changes', false);
    compareSchemas(schemaOf(old), schemaOf(version), { at: name, path: '', report });
    for (const field of ['additionalPrinterColumns', 'selectableFields'])
      if (!deepEqual(old[field] ?? [], version[field] ?? [])) report(`${name}: ${field}`, 'changes', false);
  }
  for (const name of versions.keys())
    if (!versionsOf(before).has(name)) report(name, 'the version is new', false);
  for (const field of ['shortNames', 'categories']) {
    const lists = [before, after].map((item) => listAt(item, 'spec', 'names', field));
    if (!deepEqual(lists[0], lists[1])) report(`names.${field}`, 'change', false);
  }
  for (const field of ['labels', 'annotations'] as const) {
    const wanted = after.metadata[field] ?? {};
    const there = before.metadata[field] ?? {};
    for (const key of Object.keys(wanted))
      if (wanted[key] !== there[key]) report(`metadata.${field}["${key}"]`, 'changes', false);
  }
  return { changes, breaking: changes.filter((change) => change.breaking), differs: changes.length > 0 };
}

const SHOWN = 3;

/** The breaking changes in one text, the first three of them by name. */
export function breakingText({ breaking }: CompatibilityReport): string {
  const shown = breaking.slice(0, SHOWN).map(({ path, message }) => `${path}: ${message}`);
  const more = breaking.length > SHOWN ? `; and ${breaking.length - SHOWN} more` : '';
  return `${shown.join('; ')}${more}`;
}

function versionsOf(definition: KubeObject): Map<string, JsonObject> {
  return new Map(
    listAt(definition, 'spec', 'versions')
      .filter(isObject)
      .map((version) => [stringAt(version, 'name') ?? '', version]),
  );
}

function schemaOf(version: JsonObject): OpenApiSchema {
  return (objectAt(version, 'schema', 'openAPIV3Schema') ?? {}) as OpenApiSchema;
}

interface Comparison {
  /** The version. */
  readonly at: string;
  readonly path: string;
  readonly report: (path: string, message: string, breaking: boolean) => void;
}

const OPEN = 'x-kubernetes-preserve-unknown-fields';

/** Keywords that say how small something must not be, and how large. */
const LOWER = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const UPPER = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;

function compareSchemas(before: OpenApiSchema, after: OpenApiSchema, comparison: Comparison): void {
  const say = (message: string, breaking: boolean): void => {
    const { at, path, report } = comparison;
    report(path === '' ? at : `${at}: ${path}`, message, breaking);
  };
  if (kindOf(before) !== kindOf(after)) {
    say(`the type changes from ${kindOf(before)} to ${kindOf(after)}`, true);
    return;
  }
  compareRequired(before, after, say);
  compareEnum(before, after, say);
  comparePattern(before, after, say);
  for (const keyword of LOWER) compareBound(keyword, before[keyword], after[keyword], 1, say);
  for (const keyword of UPPER) compareBound(keyword, before[keyword], after[keyword], -1, say);
  if (!deepEqual(before.default, after.default)) say('the default changes', false);
  if (before.description !== after.description) say('the description changes', false);
  if (before[OPEN] === true && after[OPEN] !== true) say('unknown fields are kept no longer', true);
  const [oldList, nowList] = [before, after].map((schema) => schema['x-kubernetes-list-type'] ?? 'atomic');
  // A list that is atomic takes every list that a set or a map took.
  if (oldList !== nowList) say('x-kubernetes-list-type changes', nowList !== 'atomic');
  else if (!deepEqual(before['x-kubernetes-list-map-keys'], after['x-kubernetes-list-map-keys']))
    say('x-kubernetes-list-map-keys changes', true);
  if (before['x-kubernetes-map-type'] !== after['x-kubernetes-map-type'])
    say('x-kubernetes-map-type changes', true);
  compareRules(before, after, say);
  compareProperties(before, after, comparison);
}

type Say = (message: string, breaking: boolean) => void;

function kindOf(schema: OpenApiSchema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'int-or-string';
  return schema.type ?? 'any';
}

function compareRequired(before: OpenApiSchema, after: OpenApiSchema, say: Say): void {
  const [old, now] = [new Set(before.required ?? []), new Set(after.required ?? [])];
  for (const name of now) {
    if (old.has(name)) {
      const had = before.properties?.[name]?.default !== undefined;
      if (had && after.properties?.[name]?.default === undefined)
        say(`the required field ${name} has a default no longer`, true);
    } else if (before.properties?.[name] !== undefined) say(`the field ${name} becomes required`, true);
    else say(`the required field ${name} is new`, after.properties?.[name]?.default === undefined);
  }
  for (const name of old)
    if (!now.has(name) && after.properties?.[name] !== undefined)
      say(`the field ${name} is required no longer`, false);
}

function compareEnum(before: OpenApiSchema, after: OpenApiSchema, say: Say): void {
  const [old, now] = [before.enum, after.enum];
  if (deepEqual(old, now)) return;
  if (!now || !old) {
    say(now ? 'only some values are allowed now' : 'any value is allowed now', now !== undefined);
    return;
  }
  const gone = old.filter((value) => !now.some((other) => deepEqual(value, other)));
  if (gone.length > 0)
    say(`${gone.map((value) => JSON.stringify(value)).join(', ')} is not allowed any longer`, true);
  else say('more values are allowed', false);
}

function comparePattern(before: OpenApiSchema, after: OpenApiSchema, say: Say): void {
  if (before.pattern === after.pattern) return;
  if (after.pattern === undefined) say('the pattern is gone', false);
  else say(before.pattern === undefined ? 'a pattern is added' : 'the pattern changes', true);
}

/** `direction` 1: a larger bound allows less. */
function compareBound(
  keyword: string,
  before: number | undefined,
  after: number | undefined,
  direction: 1 | -1,
  say: Say,
): void {
  if (before === after) return;
  if (after === undefined) say(`${keyword} is gone`, false);
  else if (before === undefined) say(`${keyword}=${after} is added`, true);
  else say(`${keyword} changes from ${before} to ${after}`, (after - before) * direction > 0);
}

function compareRules(before: OpenApiSchema, after: OpenApiSchema, say: Say): void {
  const rules = (schema: OpenApiSchema): string[] =>
    (schema['x-kubernetes-validations'] ?? []).map((rule) => stringAt(rule, 'rule') ?? '');
  const [old, now] = [rules(before), rules(after)];
  // Whether a rule allows less than before cannot be told; it holds for what is written from now on.
  if (!deepEqual(old, now)) say('the validation rules change', false);
}

function compareProperties(before: OpenApiSchema, after: OpenApiSchema, comparison: Comparison): void {
  const inner = (name: string): Comparison => ({
    ...comparison,
    path: comparison.path === '' ? name : `${comparison.path}${name.startsWith('[') ? '' : '.'}${name}`,
  });
  const say = ({ at, path, report }: Comparison, message: string, breaking: boolean): void =>
    report(`${at}: ${path}`, message, breaking);
  for (const [name, property] of Object.entries(before.properties ?? {})) {
    const now = after.properties?.[name];
    if (now) compareSchemas(property, now, inner(name));
    else say(inner(name), 'the field is gone', true);
  }
  const required = new Set(after.required ?? []);
  // A required one was told with what is required.
  for (const [name] of Object.entries(after.properties ?? {}))
    if (!before.properties?.[name] && !required.has(name)) say(inner(name), 'the field is new', false);
  if (before.items && after.items) compareSchemas(before.items, after.items, inner('[]'));
  else if (before.items) say(inner('[]'), 'the elements are not described any longer', true);
  const [old, now] = [before.additionalProperties, after.additionalProperties];
  if (typeof old === 'object' && typeof now === 'object') compareSchemas(old, now, inner('*'));
  else if (old !== undefined && now === undefined) {
    const open = after[OPEN] === true;
    say(inner('*'), open ? 'anything is allowed now' : 'other keys are not allowed any longer', !open);
  }
}
