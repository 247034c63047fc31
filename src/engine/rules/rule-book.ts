import {
  BOOL,
  createEnvironment,
  DYN,
  type Environment,
  formatIssues,
  type Program,
  STRING,
  toJson,
} from '../../cel/index.ts';
import { gvkOf, type KubeObject } from '../../kube/object.ts';
import { isObject } from '../../schema/json.ts';
import { compileReferenceRule, type ReferenceRule } from '../closure/index.ts';
import { type Health, type HealthState, notObserved } from '../health/verdict.ts';
import type { AggregateRule } from '../reflect/index.ts';
import { type FieldPath, parseFieldPath, type RetentionMode } from '../retain/index.ts';
import type { FieldDirection, ResourceRuleSpec } from './kind.ts';

/** What rules say of one kind, compiled. */
export interface KindRule {
  readonly replicas: FieldPath | undefined;
  readonly fields: readonly { readonly path: FieldPath; readonly mode: RetentionMode | 'down' }[];
  /** `undefined` where no expression of the rule is true of an object. */
  readonly health: ((object: KubeObject) => Health | undefined) | undefined;
  /** What objects of the kind name. */
  readonly references?: ReferenceRule | undefined;
  /** How their status at the hub is made of those on the clusters. */
  readonly aggregate?: AggregateRule | undefined;
}

/** A rule as it can be used, or all that is wrong with it, each with its place. */
export type CompiledRule =
  | { readonly rule: KindRule; readonly problems?: undefined }
  | { readonly rule?: undefined; readonly problems: readonly string[] };

const MODES: Readonly<Record<FieldDirection, RetentionMode | 'down'>> = {
  Down: 'down',
  Up: 'local',
  Neither: 'local',
  InitialOnly: 'keep',
};
/** Cost units for all expressions about one object: telling its health happens at each of its changes. */
const OBJECT_BUDGET = 100_000;
/** For one about all clusters that have an object. */
const FLEET_BUDGET = 10_000_000;
const MAX_MESSAGE = 1024;

let environment: Environment | undefined;

/** Compiles a rule once; its expressions are then evaluated for each object. Never throws for what a rule holds. */
export function compileRule(spec: ResourceRuleSpec): CompiledRule {
  // Not made before someone has a rule: the libraries take memory.
  environment ??= createEnvironment({ variables: { object: DYN } });
  const problems: string[] = [];
  const pathAt = (text: string, at: string): FieldPath | undefined => {
    const path = parseFieldPath(text);
    if (!path || path[0] === 'status')
      problems.push(`${at}: ${JSON.stringify(text)} is no path of a field below metadata or spec`);
    return path;
  };
  const programAt = (text: string, at: string, type: typeof BOOL | typeof STRING): Program | undefined => {
    const compiled = environment?.compile(text);
    if (!compiled?.program) {
      problems.push(`${at}: ${formatIssues(text, compiled?.issues ?? [])}`);
      return undefined;
    }
    if (compiled.type !== DYN && compiled.type.kind !== type.kind)
      problems.push(`${at}: the expression gives no ${type.kind}`);
    return compiled.program;
  };
  const replicas =
    spec.replicasPath === undefined ? undefined : pathAt(spec.replicasPath, 'spec.replicasPath');
  const fields: { path: FieldPath; mode: RetentionMode | 'down' }[] = [];
  for (const [index, { path: text, direction }] of (spec.fields ?? []).entries()) {
    const path = pathAt(text, `spec.fields[${index}].path`);
    if (path) fields.push({ path, mode: MODES[direction] });
  }
  const cases: HealthCase[] = [];
  for (const [index, given] of (spec.health ?? []).entries()) {
    const at = `spec.health[${index}]`;
    const program = programAt(given.expression, `${at}.expression`, BOOL);
    const message =
      given.message === undefined ? undefined : programAt(given.message, `${at}.message`, STRING);
    if (program) cases.push({ state: given.state, reason: given.reason ?? given.state, program, message });
  }
  const references = spec.references && compileReferenceRule(spec.references);
  for (const problem of references?.problems ?? []) problems.push(`spec.references${problem}`);
  const aggregate =
    spec.status === undefined ? undefined : compileAggregate(spec.status, 'spec.status', problems);
  if (problems.length > 0) return { problems };
  const health =
    cases.length === 0 ? undefined : (object: KubeObject): Health | undefined => judge(cases, object);
  return { rule: { replicas, fields, health, references: references?.rule, aggregate } };
}

let aggregates: Environment | undefined;

function compileAggregate(source: string, at: string, problems: string[]): AggregateRule | undefined {
  aggregates ??= createEnvironment({
    variables: { object: DYN, members: DYN },
    homogeneousLiterals: false,
  });
  const compiled = aggregates.compile(source);
  if (!compiled.program) {
    problems.push(`${at}: ${formatIssues(source, compiled.issues)}`);
    return undefined;
  }
  const { program, type } = compiled;
  if (type !== DYN && type.kind !== 'map') problems.push(`${at}: the expression gives no map`);
  return (object, members) => {
    const seen = members.map(({ cluster, applied, returned }) => ({
      cluster,
      applied,
      healthy: returned?.health === 'Healthy',
      status: returned?.status ?? {},
    }));
    const { value } = program.evaluate({ object, members: seen }, { budget: FLEET_BUDGET });
    const result = value === undefined ? undefined : toJson(value);
    const json = result && 'json' in result ? result.json : undefined;
    return isObject(json) ? json : undefined;
  };
}

interface HealthCase {
  readonly state: HealthState;
  readonly reason: string;
  readonly program: Program;
  readonly message: Program | undefined;
}

function judge(cases: readonly HealthCase[], object: KubeObject): Health | undefined {
  const stale = notObserved(object);
  if (stale) return stale;
  let budget = OBJECT_BUDGET;
  for (const { state, reason, program, message } of cases) {
    const result = program.evaluate({ object }, { budget });
    budget -= result.cost;
    // A field that is not there yet is no error of the object: the case does not hold.
    if (result.error?.reason === 'Failed') continue;
    if (result.error || budget <= 0)
      return {
        state: 'Unknown',
        reason: 'RuleTooCostly',
        message: 'the rule of its kind costs too much to evaluate',
      };
    if (result.value !== true) continue;
    const text = message?.evaluate({ object }, { budget }).value;
    return { state, reason, message: typeof text === 'string' ? text.slice(0, MAX_MESSAGE) : '' };
  }
  return undefined;
}

/** The rules of a cluster, by kind. */
export interface RuleBook {
  of(object: { readonly apiVersion: string; readonly kind: string }): KindRule | undefined;
  /** Why it is not known which fields of a kind belong to its cluster: the rule that says so is not valid. */
  unknownFields(object: { readonly apiVersion: string; readonly kind: string }): string | undefined;
  /** Takes a rule in, or out where it has no spec. Of several for a kind the first by name holds. */
  set(name: string, spec: ResourceRuleSpec | undefined): readonly string[];
}

export function createRuleBook(): RuleBook {
  const rules = new Map<string, { readonly kind: string; readonly rule: KindRule }>();
  let byKind = new Map<string, KindRule>();
  const broken = new Map<string, { readonly kind: string; readonly why: string }>();
  return {
    unknownFields(object): string | undefined {
      if (broken.size === 0) return undefined;
      const { group, kind } = gvkOf(object);
      return [...broken.values()].find((one) => one.kind === `${group}/${kind}`)?.why;
    },
    of(object): KindRule | undefined {
      if (byKind.size === 0) return undefined;
      const { group, kind } = gvkOf(object);
      return byKind.get(`${group}/${kind}`);
    },
    set(name, spec): readonly string[] {
      const compiled = spec && compileRule(spec);
      const kind = `${spec?.target.group ?? ''}/${spec?.target.kind ?? ''}`;
      if (compiled?.rule) rules.set(name, { kind, rule: compiled.rule });
      else rules.delete(name);
      const saysFields = (spec?.fields ?? []).length > 0 || spec?.replicasPath !== undefined;
      if (compiled?.problems && saysFields)
        broken.set(name, {
          kind,
          why: `the ResourceRule ${name} is not valid, so which fields are the cluster's is not known: ${compiled.problems[0]}`,
        });
      else broken.delete(name);
      byKind = new Map(
        [...rules].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, { kind, rule }]) => [kind, rule]),
      );
      return compiled?.problems ?? [];
    },
  };
}
