import { adapterOf, NONE, Optional, type Value } from '../../../cel/index.ts';
import type { FieldError } from '../../../kube/status-error.ts';
import { deepEqual, isObject, type JsonValue } from '../../../schema/json.ts';
import { fieldPathSteps, REASONS, type ValidationRule } from './rule.ts';
import type { CompiledRule, RuleNode } from './rule-tree.ts';

/** Cost units that the rules of one object may use up together. */
const OBJECT_BUDGET = 10_000_000;
const MAX_MESSAGE = 5 * 1024;

interface Run {
  readonly errors: FieldError[];
  /** What is broken by values that are as they were: told, not refused. */
  readonly lasting: FieldError[];
  budget: number;
}

interface Pair {
  readonly value: JsonValue;
  /** `undefined` on create, and where no old value belongs to this one. */
  readonly old: JsonValue | undefined;
  /** Nothing changed here or below: rules that held before need not hold now. */
  readonly same: boolean;
}

/**
 * What an object breaks of the rules of its schema. `old` is `undefined` on create. Rules that a part breaks which is as it was are
 * told to `warn`.
 */
export function ruleErrors(
  tree: RuleNode,
  value: JsonValue,
  old: JsonValue | undefined,
  warn?: (error: FieldError) => void,
): FieldError[] {
  const run: Run = { errors: [], lasting: [], budget: OBJECT_BUDGET };
  visit(tree, pair(value, old, false), '', run);
  if (warn) for (const error of run.lasting) warn(error);
  return run.errors;
}

function pair(value: JsonValue, old: JsonValue | undefined, same: boolean): Pair {
  return { value, old, same: same || (old !== undefined && deepEqual(value, old)) };
}

function visit(node: RuleNode, given: Pair, path: string, run: Run): void {
  const { value, old, same } = given;
  if (value === null || run.budget < 0) return;
  for (const rule of node.rules) {
    evaluateRule(node, rule, given, path, run);
    if (run.budget < 0) return;
  }
  if (Array.isArray(value)) {
    const { items } = node;
    if (!items) return;
    const before = oldItems(node, old);
    for (const [index, item] of value.entries()) {
      // Items that no key tells apart are as they were where the whole list is.
      visit(items, pair(item, before(item), same), `${path}[${index}]`, run);
    }
    return;
  }
  if (!isObject(value)) return;
  const was = isObject(old) ? old : undefined;
  for (const key of Object.keys(value).sort()) {
    const inner = value[key];
    const property = node.properties.get(key);
    const child = property ?? node.values;
    if (!child || inner === undefined) continue;
    const at = property ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    visit(child, pair(inner, was && Object.hasOwn(was, key) ? was[key] : undefined, same), at, run);
  }
}

/** Finds the old item that an item stands for, which only lists with keys can tell. */
function oldItems(node: RuleNode, old: JsonValue | undefined): (item: JsonValue) => JsonValue | undefined {
  const keys = node.schema['x-kubernetes-list-map-keys'];
  if (node.schema['x-kubernetes-list-type'] !== 'map' || !keys || !Array.isArray(old)) return () => undefined;
  const keyOf = (item: JsonValue): string =>
    JSON.stringify(keys.map((key) => (isObject(item) ? (item[key] ?? null) : null)));
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => byKey.get(keyOf(item));
}

function evaluateRule(node: RuleNode, compiled: CompiledRule, given: Pair, path: string, run: Run): void {
  const { rule, expression, isTransition } = compiled;
  const { program } = expression;
  // Definitions with rules that do not compile are refused; one from before is not applied.
  if (!program) return;
  if (isTransition && given.old === undefined && rule.optionalOldSelf !== true) return;
  const errors = !isTransition && given.same ? run.lasting : run.errors;
  const bindings = { self: given.value, oldSelf: oldSelf(node, rule, given.old) };
  const result = program.evaluate(bindings);
  run.budget -= result.cost;
  if (run.budget < 0) {
    const detail =
      'validation failed due to running out of cost budget, no further validation rules will be run';
    run.errors.push(invalidValue(node, path, detail));
    return;
  }
  if (result.value === true) return;
  if (result.error) {
    const shown = (rule.message ?? '').trim() || rule.rule.trim();
    const { reason, message } = result.error;
    const detail =
      reason === 'BudgetExceeded'
        ? `call cost exceeds limit for rule: ${shown}`
        : message.startsWith('no such overload')
          ? `${message}: call arguments did not match a supported operator, function or macro signature for rule: ${shown}`
          : `${message} evaluating rule: ${shown}`;
    errors.push(invalidValue(node, path, detail));
    return;
  }
  errors.push(broken(node, rule, path, messageOf(compiled, bindings, run)));
}

function oldSelf(
  node: RuleNode,
  rule: ValidationRule,
  old: JsonValue | undefined,
): JsonValue | Value | undefined {
  if (rule.optionalOldSelf !== true) return old;
  return old === undefined ? NONE : new Optional(adapterOf(node.type)(old));
}

/** What the rule's own expression says, where that is a fit message; else its message, else the rule itself. */
function messageOf(
  { rule, message }: CompiledRule,
  bindings: Readonly<Record<string, unknown>>,
  run: Run,
): string {
  const result = message?.program?.evaluate(bindings);
  if (result) run.budget -= result.cost;
  const text = typeof result?.value === 'string' ? result.value.trim() : '';
  if (text !== '' && text.length <= MAX_MESSAGE && !/[\r\n]/.test(text)) return text;
  return (rule.message ?? '').trim() || `failed rule: ${rule.rule.trim()}`;
}

function broken(node: RuleNode, rule: ValidationRule, path: string, detail: string): FieldError {
  const type = REASONS[rule.reason ?? ''] ?? 'Invalid';
  const steps = rule.fieldPath === undefined ? undefined : fieldPathSteps(rule.fieldPath, node.schema);
  const at = `${path}${steps?.join('') ?? ''}`.replace(/^\./, '');
  const error = invalidValue(node, at, detail);
  // What is there twice is not explained.
  return type === 'Duplicate' ? { ...error, type, detail: '' } : { ...error, type };
}

/** Values are not shown, their types are. */
function invalidValue(node: RuleNode, path: string, detail: string): FieldError {
  const shown = path === '' ? '<nil>' : path;
  return { type: 'Invalid', path: shown, value: node.schema.type ?? '', detail };
}

const BLOCKING: ReadonlySet<FieldError['type']> = new Set([
  'NotSupported',
  'Required',
  'TooLong',
  'TooMany',
  'TypeInvalid',
]);

/** Rules are not asked about an object whose form is wrong, and the answer says so. */
export function blockedErrors(schemaErrors: readonly FieldError[]): FieldError[] {
  if (!schemaErrors.some((error) => BLOCKING.has(error.type))) return [];
  return [
    {
      type: 'Invalid',
      path: '<nil>',
      value: null,
      detail:
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    },
  ];
}
