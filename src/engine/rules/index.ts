/**
 * What people teach the engine of kinds that it does not know: a ResourceRule names a kind, its health in expressions, the
 * direction of its fields and the place of its replicas. Expressions are compiled once and have a budget; what is wrong with
 * a rule is said on the rule, and a rule that is wrong is as good as none.
 */
export { type FieldDirection, RESOURCE_RULE, type ResourceRule, type ResourceRuleSpec } from './kind.ts';
export { type CompiledRule, compileRule, createRuleBook, type KindRule, type RuleBook } from './rule-book.ts';
