import { type CompileResult, formatIssues } from '../../../cel/index.ts';
import { type FieldError, goQuote } from '../../../kube/status-error.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import { ruleErrors } from './evaluate-rules.ts';
import { fieldPathSteps, REASONS, type ValidationRule } from './rule.ts';
import { type CompiledRule, type RuleNode, ruleTree } from './rule-tree.ts';

/** Cost units by estimate: of one expression, and of all in a schema. */
const EXPRESSION_LIMIT = 10_000_000;
const SCHEMA_LIMIT = 100_000_000;
const SHOWN_EXPENSIVE = 4;

interface Totals {
  total: number;
  readonly expensive: { readonly path: string; readonly cost: number }[];
}

/** What is wrong with the rules of a schema, at the given path of it. */
export function definitionRuleErrors(schema: OpenApiSchema, path: string): FieldError[] {
  const tree = ruleTree(schema, path);
  if (!tree) return [];
  const errors: FieldError[] = [];
  const totals: Totals = { total: 0, expensive: [] };
  visit(tree, errors, totals);
  if (errors.length === 0) errors.push(...defaultErrors(schema, path));
  if (totals.total > SCHEMA_LIMIT) {
    totals.expensive.sort((a, b) => b.cost - a.cost);
    for (const { path: at } of totals.expensive.slice(0, SHOWN_EXPENSIVE)) {
      const detail =
        'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
      errors.push({ type: 'Forbidden', path: at, detail });
    }
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    errors.push({ type: 'Forbidden', path, detail: exceeds(what, totals.total / SCHEMA_LIMIT) });
  }
  return errors;
}

/** Defaults must keep to the rules of what they stand for. */
function defaultErrors(schema: OpenApiSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { default: fallback, properties = {}, items, additionalProperties } = schema;
  if (fallback !== undefined && fallback !== null) {
    const tree = ruleTree(schema, path);
    for (const error of tree ? ruleErrors(tree, fallback, undefined) : [])
      errors.push({ ...error, path: `${path}.default${error.path === '<nil>' ? '' : `.${error.path}`}` });
  }
  for (const [name, property] of Object.entries(properties))
    errors.push(...defaultErrors(property, `${path}.properties[${name}]`));
  if (items) errors.push(...defaultErrors(items, `${path}.items`));
  if (typeof additionalProperties === 'object')
    errors.push(...defaultErrors(additionalProperties, `${path}.additionalProperties`));
  return errors;
}

function exceeds(what: string, factor: number): string {
  const times =
    factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${times} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

function visit(node: RuleNode, errors: FieldError[], totals: Totals): void {
  if (node.rules.length > 0 && isUntyped(node)) {
    const detail =
      'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';
    errors.push({ type: 'Internal', path: `${node.path}.x-kubernetes-validations`, detail });
    return;
  }
  for (const [index, rule] of node.rules.entries()) {
    checkRule(node, rule, `${node.path}.x-kubernetes-validations[${index}]`, errors, totals);
  }
  for (const property of node.properties.values()) visit(property, errors, totals);
  if (node.values) visit(node.values, errors, totals);
  if (node.items) visit(node.items, errors, totals);
}

/** Whether nothing can be said of the values that rules would be about. */
function isUntyped({ schema }: RuleNode): boolean {
  return schema.type === undefined && schema['x-kubernetes-int-or-string'] !== true;
}

function checkRule(
  node: RuleNode,
  compiled: CompiledRule,
  path: string,
  errors: FieldError[],
  totals: Totals,
): void {
  const { rule, expression, message } = compiled;
  if (rule.rule.trim() === '') {
    errors.push({ type: 'Required', path: `${path}.rule`, detail: 'rule is not specified' });
    return;
  }
  errors.push(...textErrors(node, rule, path));
  const invalid = (field: string, detail: string): void => {
    errors.push({ type: 'Invalid', path: `${path}.${field}`, valueText: goRule(rule), detail });
  };
  checkExpression(expression, rule.rule, 'bool', (detail) => invalid('rule', detail));
  // Whatever its value: the field is for rules that look at the old object, which one that does not compile does not.
  if (rule.optionalOldSelf !== undefined && !(expression.program && compiled.isTransition)) {
    const detail = 'may not be set if oldSelf is not used in rule';
    errors.push({
      type: 'Invalid',
      path: `${path}.optionalOldSelf`,
      value: rule.optionalOldSelf,
      detail,
    });
  }
  if (compiled.isTransition && node.uncorrelatable !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${node.uncorrelatable}`;
    errors.push({ type: 'Invalid', path: `${path}.rule`, value: rule.rule, detail });
  }
  checkCost(node, expression, 'rule', `${path}.rule`, errors, totals);
  if (message && rule.messageExpression !== undefined && rule.messageExpression.trim() !== '') {
    checkExpression(message, rule.messageExpression, 'string', (detail) =>
      invalid('messageExpression', detail),
    );
    checkCost(node, message, 'messageExpression', `${path}.messageExpression`, errors, totals);
  }
}

function checkExpression(
  compiled: CompileResult,
  source: string,
  wanted: 'bool' | 'string',
  fail: (detail: string) => void,
): void {
  const kind = wanted === 'bool' ? 'cel expression' : 'messageExpression';
  const prefix = wanted === 'bool' ? '' : 'messageExpression ';
  if (!compiled.program) fail(`${prefix}compilation failed: ${formatIssues(source, compiled.issues)}`);
  else if (compiled.type.kind !== wanted && compiled.type.kind !== 'dyn')
    fail(`${kind} must evaluate to a ${wanted}`);
}

function checkCost(
  node: RuleNode,
  compiled: CompileResult,
  what: string,
  path: string,
  errors: FieldError[],
  totals: Totals,
): void {
  if (!compiled.program) return;
  const cost = compiled.estimate().max * node.count;
  totals.total += cost;
  if (cost <= EXPRESSION_LIMIT) return;
  totals.expensive.push({ path, cost });
  errors.push({
    type: 'Forbidden',
    path,
    detail: exceeds(`estimated ${what} cost`, cost / EXPRESSION_LIMIT),
  });
}

function textErrors(node: RuleNode, rule: ValidationRule, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const invalid = (field: 'message' | 'messageExpression' | 'fieldPath', detail: string): void => {
    errors.push({ type: 'Invalid', path: `${path}.${field}`, value: rule[field] ?? '', detail });
  };
  const { message, messageExpression, reason, fieldPath } = rule;
  if (message !== undefined && message !== '') {
    if (message.trim() === '') invalid('message', 'message must be non-empty if specified');
    else if (/[\r\n]/.test(message.trim())) invalid('message', 'message must not contain line breaks');
  } else if (/[\r\n]/.test(rule.rule.trim()) && messageExpression === undefined) {
    errors.push({
      type: 'Required',
      path: `${path}.message`,
      detail: 'message must be specified if rule contains line breaks',
    });
  }
  if (messageExpression !== undefined && messageExpression !== '' && messageExpression.trim() === '') {
    errors.push({
      type: 'Required',
      path: `${path}.messageExpression`,
      detail: 'messageExpression must be non-empty if specified',
    });
  }
  if (reason !== undefined && REASONS[reason] === undefined) {
    errors.push({
      type: 'NotSupported',
      path: `${path}.reason`,
      value: reason,
      detail: '',
      supported: Object.keys(REASONS).sort(),
    });
  }
  if (fieldPath !== undefined && fieldPath !== '') {
    if (fieldPath.trim() === '') invalid('fieldPath', 'fieldPath must be non-empty if specified');
    else if (/[\r\n]/.test(fieldPath)) invalid('fieldPath', 'fieldPath must not contain line breaks');
    if (fieldPath.trim() !== '' && fieldPathSteps(fieldPath, node.schema) === undefined)
      invalid('fieldPath', 'fieldPath must be a valid path');
  }
  return errors;
}

/** A rule as Go prints the type that holds it; pointers show no more than whether they lead somewhere. */
function goRule(rule: ValidationRule): string {
  const text = (value: string | undefined): string => goQuote(value ?? '');
  const reason = `(*apiextensions.FieldValueErrorReason)(${rule.reason === undefined ? 'nil' : '0xc000000000'})`;
  const optional = `(*bool)(${rule.optionalOldSelf === undefined ? 'nil' : '0xc000000000'})`;
  return `apiextensions.ValidationRule{Rule:${text(rule.rule)}, Message:${text(rule.message)}, MessageExpression:${text(rule.messageExpression)}, Reason:${reason}, FieldPath:${text(rule.fieldPath)}, OptionalOldSelf:${optional}}`;
}
