/**
 * Rules in CEL that a custom resource's schema holds (`x-kubernetes-validations`).
 *
 * {@link definitionRuleErrors} says what is wrong with them when a definition is written: syntax, types, texts, and what they
 * would cost at most by estimate. {@link ruleTree} compiles them, {@link ruleErrors} asks them about an object: within a budget,
 * with the old object for rules about changes, and leaving alone what did not change (ratcheting).
 */
export { definitionRuleErrors } from './check-rules.ts';
export { blockedErrors, ruleErrors } from './evaluate-rules.ts';
export { type RuleNode, ruleTree } from './rule-tree.ts';
