import {
  createEnvironment,
  Double,
  type Environment,
  formatIssues,
  type Program,
  schemaType,
  Uint,
  type Value,
} from '../../cel/index.ts';
import { list, mapOf, record, text } from '../../schema/schema-of.ts';
import type { FleetEntry } from './fleet-index.ts';
import type { ClusterFacts } from './placement.ts';

/** Cost units for one expression about one cluster: a fleet has many, and a decision waits for all. */
const CLUSTER_BUDGET = 10_000;
const MAX_EXPRESSION = 4096;
const MAX_TEXT = 80;

const clusterSchema = record({
  name: text(),
  labels: mapOf(text()),
  fields: { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true } },
  properties: mapOf(text()),
  taints: list(record({ key: text(), value: text(), effect: text() })),
  resources: record({ allocatable: mapOf(text()), allocated: mapOf(text()) }),
  scores: mapOf(mapOf({ type: 'number' })),
});

let shared: Environment | undefined;

function environment(): Environment {
  if (shared) return shared;
  const type = schemaType(
    { schema: clusterSchema, resolve: () => undefined },
    { name: 'Cluster', unknownFields: 'dyn' },
  );
  // Not made before someone writes an expression: the libraries take memory.
  shared = createEnvironment({
    variables: type === undefined ? {} : { cluster: type },
    limits: { maxLength: MAX_EXPRESSION },
  });
  return shared;
}

/** What an expression gives for a cluster. What fails gives a text that says why. */
export type ClusterExpression<T> = (entry: FleetEntry) => T | string;

export type CompiledClusterExpression<T> =
  | { readonly evaluate: ClusterExpression<T>; readonly problem?: undefined }
  | { readonly evaluate?: undefined; readonly problem: string };

/** An expression over `cluster` that says yes or no. Results are kept as long as the entry of a cluster is. */
export function compileClusterTest(source: string): CompiledClusterExpression<boolean> {
  return compile(source, ['bool', 'dyn'], 'true or false', (value) =>
    typeof value === 'boolean' ? value : undefined,
  );
}

/** An expression over `cluster` that gives a score. */
export function compileClusterScore(source: string): CompiledClusterExpression<number> {
  return compile(source, ['int', 'uint', 'double', 'dyn'], 'a number', numberOf);
}

function compile<T>(
  source: string,
  kinds: readonly string[],
  wanted: string,
  read: (value: Value) => T | undefined,
): CompiledClusterExpression<T> {
  const compiled = environment().compile(source);
  if (!compiled.program) return { problem: formatIssues(source, compiled.issues) };
  if (!kinds.includes(compiled.type.kind)) return { problem: `it does not give ${wanted}` };
  const { program } = compiled;
  const known = new WeakMap<FleetEntry, T | string>();
  return {
    evaluate: (entry) => {
      let result = known.get(entry);
      if (result === undefined) {
        result = evaluate(program, entry, wanted, read);
        known.set(entry, result);
      }
      return result;
    },
  };
}

function evaluate<T>(
  program: Program,
  { facts }: FleetEntry,
  wanted: string,
  read: (value: Value) => T | undefined,
): T | string {
  const result = program.evaluate({ cluster: bindingOf(facts) }, { budget: CLUSTER_BUDGET });
  if (result.error) return result.error.message.slice(0, MAX_TEXT);
  return (result.value === undefined ? undefined : read(result.value)) ?? `it does not give ${wanted}`;
}

function numberOf(value: Value): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  return value instanceof Double || value instanceof Uint ? Number(value.value) : undefined;
}

/** Maps that are not there are empty: `'x' in cluster.properties` must not fail. */
function bindingOf(facts: ClusterFacts): Record<string, unknown> {
  const { name, labels, fields = {}, properties = {}, taints = [], resources, scores = {} } = facts;
  return {
    name,
    labels,
    fields,
    properties,
    taints: taints.map(({ key, value = '', effect }) => ({ key, value, effect })),
    resources: { allocatable: resources?.allocatable ?? {}, allocated: resources?.allocated ?? {} },
    scores: Object.fromEntries(Object.entries(scores).map(([source, { values }]) => [source, values])),
  };
}
