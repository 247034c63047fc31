import {
  createEnvironment,
  DYN,
  type Environment,
  formatIssues,
  type Program,
  toJson,
} from '../../cel/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonValue, stringAt } from '../../schema/json.ts';
import type { Reference } from './references.ts';

/** What objects of a kind name, as somebody taught it. */
export type ReferenceRule = (object: KubeObject) => readonly Reference[];

export type CompiledReferenceRule =
  | { readonly rule: ReferenceRule; readonly problems?: undefined }
  | { readonly rule?: undefined; readonly problems: readonly string[] };

const OBJECT_BUDGET = 100_000;
const MAX_REFERENCES = 256;

let environment: Environment | undefined;

/**
 * Compiles expressions over `object` that give lists of `{apiVersion, kind, name}`, with `namespace` where it is another one and
 * `optional`. An expression that fails, for a field that is not there, names nothing.
 */
export function compileReferenceRule(expressions: readonly string[]): CompiledReferenceRule {
  environment ??= createEnvironment({ variables: { object: DYN }, homogeneousLiterals: false });
  const problems: string[] = [];
  const programs: Program[] = [];
  for (const [index, source] of expressions.entries()) {
    const compiled = environment.compile(source);
    if (!compiled.program) problems.push(`[${index}]: ${formatIssues(source, compiled.issues)}`);
    else if (compiled.type.kind !== 'list' && compiled.type !== DYN)
      problems.push(`[${index}]: the expression gives no list`);
    else programs.push(compiled.program);
  }
  if (problems.length > 0) return { problems };
  return { rule: (object) => programs.flatMap((program) => evaluate(program, object)) };
}

function evaluate(program: Program, object: KubeObject): readonly Reference[] {
  const { value } = program.evaluate({ object }, { budget: OBJECT_BUDGET });
  if (value === undefined) return [];
  const result = toJson(value);
  const json = 'json' in result ? result.json : undefined;
  const list: readonly JsonValue[] = Array.isArray(json) ? (json as JsonValue[]) : [];
  return list.slice(0, MAX_REFERENCES).flatMap((item): Reference[] => {
    const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((field) => stringAt(item, field));
    if (apiVersion === undefined || kind === undefined || name === undefined || name === '') return [];
    const namespace = stringAt(item, 'namespace') ?? object.metadata.namespace ?? '';
    const optional = isObject(item) && item['optional'] === true;
    return [{ ref: { apiVersion, kind, namespace, name }, optional, by: 'Workload' }];
  });
}
