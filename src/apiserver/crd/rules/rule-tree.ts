import {
  boundOf,
  type CompileResult,
  createEnvironment,
  DYN,
  type Environment,
  optionalType,
  schemaType,
  type Type,
} from '../../../cel/index.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { rulesOf, type ValidationRule } from './rule.ts';

/** A rule with what its expressions compile to. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly expression: CompileResult;
  readonly message: CompileResult | undefined;
  /** It speaks of the old value, so it is about changes. */
  readonly isTransition: boolean;
}

/** The part of a schema that has rules, or has them somewhere below. */
export interface RuleNode {
  readonly schema: OpenApiSchema;
  /** As in causes: `…properties[spec].items`. */
  readonly path: string;
  readonly type: Type;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly values: RuleNode | undefined;
  readonly items: RuleNode | undefined;
  /** How many such values an object can have at most. */
  readonly count: number;
  /** The list without keys below which no old value can be told for a value, by its path. */
  readonly uncorrelatable: string | undefined;
}

const noDefinitions = (): undefined => undefined;

/** `undefined` for a schema without rules. */
export function ruleTree(schema: OpenApiSchema, path: string): RuleNode | undefined {
  return build(schema, { path, name: 'object', count: 1, uncorrelatable: undefined, root: true });
}

interface Place {
  readonly path: string;
  /** Of the type, unique within the schema. */
  readonly name: string;
  readonly count: number;
  readonly uncorrelatable: string | undefined;
  readonly root: boolean;
}

function hasRules(schema: OpenApiSchema): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true;
  if (schema.items && hasRules(schema.items)) return true;
  if (typeof schema.additionalProperties === 'object' && hasRules(schema.additionalProperties)) return true;
  return Object.values(schema.properties ?? {}).some(hasRules);
}

function build(schema: OpenApiSchema, place: Place): RuleNode | undefined {
  if (!hasRules(schema)) return undefined;
  const type =
    schemaType({ schema, resolve: noDefinitions }, { name: place.name, resource: place.root }) ?? DYN;
  const own = rulesOf(schema);
  const below = (path: string, correlatable: boolean, times: number): Place => ({
    path: `${place.path}${path}`,
    name: `${place.name}${path}`,
    count: place.count * times,
    uncorrelatable: place.uncorrelatable ?? (correlatable ? undefined : place.path),
    root: false,
  });
  const properties = new Map<string, RuleNode>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const node = build(property, below(`.properties[${name}]`, true, 1));
    if (node) properties.set(name, node);
  }
  const most = boundOf(type) ?? 1;
  const { items, additionalProperties } = schema;
  const isKeyed = schema['x-kubernetes-list-type'] === 'map';
  return {
    schema,
    path: place.path,
    type,
    rules: own.length === 0 ? [] : compileRules(own, type),
    properties,
    values:
      typeof additionalProperties === 'object'
        ? build(additionalProperties, below('.additionalProperties', true, most))
        : undefined,
    items: items && build(items, below('.items', isKeyed, most)),
    count: place.count,
    uncorrelatable: place.uncorrelatable,
  };
}

/** All expressions of a value share its types. */
function compileRules(rules: readonly ValidationRule[], self: Type): CompiledRule[] {
  const environments = new Map<boolean, Environment>();
  const environment = (optional: boolean): Environment => {
    let env = environments.get(optional);
    if (!env) {
      env = createEnvironment({ variables: { self, oldSelf: optional ? optionalType(self) : self } });
      environments.set(optional, env);
    }
    return env;
  };
  return rules.map((rule) => {
    const env = environment(rule.optionalOldSelf === true);
    const expression = env.compile(rule.rule);
    const message = rule.messageExpression ? env.compile(rule.messageExpression) : undefined;
    const usesOld = expression.program?.variables().includes('oldSelf') === true;
    return { rule, expression, message, isTransition: usesOld };
  });
}
