import {
  createEnvironment,
  type Environment,
  formatIssues,
  type Program,
  schemaType,
  toJson,
} from '../../cel/index.ts';
import type { JsonValue } from '../../schema/json.ts';
import { mapOf, record, text } from '../../schema/schema-of.ts';
import type { ClusterFacts, PatchOperation } from '../intent.ts';

/** What a cluster knows of itself: what it tells its hub as well, so that both see the same. */
export type LocalFacts = Pick<ClusterFacts, 'name' | 'fields' | 'properties' | 'resources'>;

/** What only the hub knows of a cluster. Travels with the patches whose expressions ask for it. */
export interface StatedFacts {
  readonly labels?: Readonly<Record<string, string>>;
  /** The provider and the region that the cluster's credential tells. */
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
}

export type ExpressionValue =
  | { readonly value: JsonValue; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

const MAX_EXPRESSION = 4096;
const BUDGET = 100_000;
/** Programs that are kept; a fleet has few expressions and many clusters. */
const MAX_PROGRAMS = 1000;
/** Fields that the hub may know from a credential where the cluster cannot tell them, or tells another. */
const STATED_FIELDS = ['provider', 'region'] as const;

const clusterSchema = record({
  name: text(),
  labels: mapOf(text()),
  fields: { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true } },
  properties: mapOf(text()),
  resources: record({ allocatable: mapOf(text()) }),
});

let environment: Environment | undefined;
const programs = new Map<string, Program | string>();

/** A program, or what is wrong with its text. */
function programOf(source: string): Program | string {
  const known = programs.get(source);
  if (known !== undefined) return known;
  if (!environment) {
    const type = schemaType(
      { schema: clusterSchema, resolve: () => undefined },
      { name: 'Cluster', unknownFields: 'dyn' },
    );
    // Not made before someone writes an expression: the libraries take memory.
    environment = createEnvironment({
      variables: type === undefined ? {} : { cluster: type },
      limits: { maxLength: MAX_EXPRESSION },
      homogeneousLiterals: false,
    });
  }
  const compiled = environment.compile(source);
  const result = compiled.program ?? formatIssues(source, compiled.issues);
  if (programs.size >= MAX_PROGRAMS) programs.clear();
  programs.set(source, result);
  return result;
}

/** The value that an expression over `cluster` gives. Maps that are not there are empty, so that `in` can be asked of them. */
export function evaluateOnCluster(
  source: string,
  facts: LocalFacts,
  stated: StatedFacts = {},
): ExpressionValue {
  const program = programOf(source);
  if (typeof program === 'string') return { problem: program };
  const cluster = {
    name: facts.name,
    labels: stated.labels ?? {},
    fields: { ...facts.fields, ...stated.fields },
    properties: facts.properties ?? {},
    resources: { allocatable: facts.resources?.allocatable ?? {} },
  };
  const result = program.evaluate({ cluster }, { budget: BUDGET });
  if (result.error) return { problem: result.error.message };
  const { value } = result;
  // JSON holds integers as numbers: what is beyond them is no value of a field.
  if (typeof value === 'bigint') return { value: Number(value) };
  const converted = value === undefined ? { error: 'it gives nothing' } : toJson(value);
  if ('error' in converted) return { problem: converted.error };
  if (converted.json === null) return { problem: 'it gives null; remove the field instead' };
  return { value: converted.json as JsonValue };
}

/** Whether a value of some operations depends on the cluster. */
export function hasExpressions(operations: readonly PatchOperation[]): boolean {
  return operations.some(
    ({ expression, operations: inner }) =>
      expression !== undefined || (inner !== undefined && hasExpressions(inner)),
  );
}

/**
 * What expressions may know of a cluster by its own word, from all that is known of it. Hub and cluster call this with what they
 * have: what the hub may know better is left to {@link statedFactsOf} at both ends.
 */
export function localFactsOf({ name, fields = {}, properties, resources }: ClusterFacts): LocalFacts {
  const { allocatable } = resources ?? {};
  const own = { ...fields };
  for (const field of STATED_FIELDS) delete own[field];
  return {
    name,
    fields: own,
    ...(properties === undefined ? {} : { properties }),
    ...(allocatable === undefined ? {} : { resources: { allocatable } }),
  };
}

/** What has to travel with operations for their expressions to mean on the cluster what they mean at the hub. */
export function statedFactsOf(
  operations: readonly PatchOperation[],
  { labels, fields = {} }: ClusterFacts,
): StatedFacts | undefined {
  const texts = expressionsIn(operations);
  if (texts.length === 0) return undefined;
  // Nobody can ask for labels without naming them; and what is not asked for must not make a new generation.
  const asks = (word: string): boolean => texts.some((source) => source.includes(word));
  const known: Record<string, string | readonly string[]> = {};
  for (const field of STATED_FIELDS) {
    const value = fields[field];
    if (value !== undefined && asks(field)) known[field] = value;
  }
  const stated = {
    ...(asks('labels') ? { labels } : {}),
    ...(Object.keys(known).length === 0 ? {} : { fields: known }),
  };
  return Object.keys(stated).length === 0 ? undefined : stated;
}

function expressionsIn(operations: readonly PatchOperation[]): string[] {
  return operations.flatMap(({ expression, operations: inner = [] }) => [
    ...(expression === undefined ? [] : [expression]),
    ...expressionsIn(inner),
  ]);
}
