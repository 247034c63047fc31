import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1035Label, validatePathSegmentName, validateQualifiedName } from '../../schema/names.ts';
import type { PolicyExpression } from '../admission/policies/expression.ts';
import {
  compileConditions,
  mutatingPolicy,
  type NamedExpression,
  type Policy,
  validatingPolicy,
} from '../admission/policies/policy.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { conditionProblems } from './conditions.ts';
import { dns1123Subdomain, labelSelector, oneOf, type Problems } from './field-checks.ts';
import {
  duplicate,
  forbidden,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from './field-errors.ts';
import { defaultWhenNull, ensureObject, objectsOf, strings, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { defaultRules, validateMatchConditions, validateRule } from './match-rules.ts';

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
/** Words of the language of expressions, which name no variables. */
const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);
const ACTIONS = ['Audit', 'Deny', 'Warn'];

/** Admission policies: their form, and that their expressions compile. */
export const validatingAdmissionPolicyStrategy: Strategy = strategy({
  generation: 'spec',
  allowUnconditionalUpdate: false,
  resetFields: statusResetFields('spec', 'metadata'),
  defaults: (object) => defaultPolicy(ensureObject(object, 'spec')),
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) => [
    ...conditionProblems(objectAt(object, 'status'), 'status.conditions'),
    ...objectsOf(objectAt(object, 'status', 'typeChecking'), 'expressionWarnings').flatMap((warning, index) =>
      ['fieldRef', 'warning']
        .filter((key) => text(warning, key) === '')
        .map((key) => required(`status.typeChecking.expressionWarnings[${index}].${key}`)),
    ),
  ],
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = policyProblems(spec);
    const validations = objectsOf(spec, 'validations');
    const audits = objectsOf(spec, 'auditAnnotations');
    if (validations.length === 0 && audits.length === 0) {
      const text = 'validations or auditAnnotations must contain at least one item';
      problems.push(required('spec.validations', text), required('spec.auditAnnotations', text));
    }
    for (const [index, validation] of validations.entries()) {
      problems.push(...validationProblems(validation, `spec.validations[${index}]`));
    }
    const keys = new Set<string>();
    for (const [index, audit] of audits.entries()) {
      const at = `spec.auditAnnotations[${index}]`;
      const key = text(audit, 'key');
      // Keys are those of annotations of audit events, in the policy's own domain.
      const qualified = `${object.metadata.name ?? ''}/${key}`;
      problems.push(...invalidEach(`${at}.key`, qualified, validateQualifiedName(qualified)));
      if (keys.has(key)) problems.push(duplicate(`${at}.key`, key));
      keys.add(key);
      if (text(audit, 'valueExpression').trim() === '') {
        problems.push(required(`${at}.valueExpression`, 'valueExpression is not specified'));
      }
    }
    const compiled = validatingPolicy(object);
    problems.push(...commonExpressionProblems(compiled));
    for (const [index, validation] of compiled.validations.entries()) {
      const at = `spec.validations[${index}]`;
      problems.push(...expressionProblems(validation.expression, `${at}.expression`));
      if (validation.messageExpression)
        problems.push(...expressionProblems(validation.messageExpression, `${at}.messageExpression`));
    }
    problems.push(...namedProblems(compiled.auditAnnotations, 'spec.auditAnnotations', 'valueExpression'));
    return problems;
  },
});

export const mutatingAdmissionPolicyStrategy: Strategy = strategy({
  generation: 'spec',
  allowUnconditionalUpdate: false,
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultPolicy(spec);
    defaultWhenNull(spec, 'reinvocationPolicy', 'Never');
  },
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = policyProblems(spec);
    const mutations = objectsOf(spec, 'mutations');
    if (mutations.length === 0) {
      problems.push(required('spec.mutations', 'mutations must contain at least one item'));
    }
    for (const [index, mutation] of mutations.entries()) {
      const at = `spec.mutations[${index}]`;
      const type = text(mutation, 'patchType');
      const key = type === 'ApplyConfiguration' ? 'applyConfiguration' : 'jsonPatch';
      if (type === '') problems.push(required(`${at}.patchType`));
      else if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') {
        problems.push(notSupported(`${at}.patchType`, type, ['ApplyConfiguration', 'JSONPatch']));
      } else if (text(objectAt(mutation, key), 'expression').trim() === '') {
        problems.push(required(`${at}.${key}.expression`));
      }
    }
    problems.push(...oneOf(spec, 'spec', 'reinvocationPolicy', ['IfNeeded', 'Never']));
    const compiled = mutatingPolicy(object);
    problems.push(...commonExpressionProblems(compiled));
    for (const [index, { type, expression }] of compiled.mutations.entries()) {
      const key = type === 'ApplyConfiguration' ? 'applyConfiguration' : 'jsonPatch';
      problems.push(...expressionProblems(expression, `spec.mutations[${index}].${key}.expression`));
    }
    return problems;
  },
});

/** What is wrong with an expression; one that is not there at all has been said to be missing. */
function expressionProblems({ source, problem }: PolicyExpression, path: string): Problems {
  return problem === undefined || source.trim() === '' ? [] : [invalidValue(path, source, problem)];
}

function namedProblems(expressions: readonly NamedExpression[], path: string, key: string): Problems {
  return expressions.flatMap(({ expression }, index) =>
    expressionProblems(expression, `${path}[${index}].${key}`),
  );
}

function commonExpressionProblems({ matchConditions, variables }: Policy): Problems {
  return [
    ...namedProblems(matchConditions, 'spec.matchConditions', 'expression'),
    ...namedProblems(variables, 'spec.variables', 'expression'),
  ];
}

/** What is wrong with the conditions of a webhook, at its path. */
export function webhookConditionProblems(webhook: JsonObject, path: string): Problems {
  const conditions = compileConditions(webhook, { hasParams: false });
  return namedProblems(conditions, `${path}.matchConditions`, 'expression');
}

export const validatingAdmissionPolicyBindingStrategy: Strategy = bindingStrategy(true);
export const mutatingAdmissionPolicyBindingStrategy: Strategy = bindingStrategy(false);

function bindingStrategy(validating: boolean): Strategy {
  return strategy({
    generation: 'spec',
    allowUnconditionalUpdate: false,
    defaults(object) {
      const spec = ensureObject(object, 'spec');
      const match = objectAt(spec, 'matchResources');
      if (match) defaultMatch(match);
    },
    validate(object) {
      const spec = objectAt(object, 'spec') ?? {};
      const problems: Problems = [];
      const policy = text(spec, 'policyName');
      if (policy === '') problems.push(required('spec.policyName'));
      else problems.push(...dns1123Subdomain(policy, 'spec.policyName'));
      const actions = strings(spec, 'validationActions');
      if (validating && actions.length === 0)
        problems.push(required('spec.validationActions', 'at least one validation action is required'));
      for (const [index, action] of actions.entries()) {
        const at = `spec.validationActions[${index}]`;
        if (!ACTIONS.includes(action)) problems.push(notSupported(at, action, ACTIONS));
        else if (actions.indexOf(action) < index) problems.push(duplicate(at, action));
      }
      if (actions.includes('Deny') && actions.includes('Warn')) {
        problems.push(
          invalidAs(
            'spec.validationActions',
            goDump('[]admissionregistration.ValidationAction', actions),
            'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
          ),
        );
      }
      const param = objectAt(spec, 'paramRef');
      if (param) problems.push(...paramRefProblems(param, 'spec.paramRef'));
      const match = objectAt(spec, 'matchResources');
      if (match) problems.push(...matchProblems(match, 'spec.matchResources'));
      return problems;
    },
  });
}

function defaultPolicy(spec: JsonObject): void {
  defaultWhenNull(spec, 'failurePolicy', 'Fail');
  const match = objectAt(spec, 'matchConstraints');
  if (match) defaultMatch(match);
}

function defaultMatch(match: JsonObject): void {
  defaultWhenNull(match, 'matchPolicy', 'Equivalent');
  defaultWhenNull(match, 'namespaceSelector', {});
  defaultWhenNull(match, 'objectSelector', {});
  defaultRules(match, 'resourceRules');
  defaultRules(match, 'excludeResourceRules');
}

function policyProblems(spec: JsonObject): Problems {
  const problems = oneOf(spec, 'spec', 'failurePolicy', ['Fail', 'Ignore']);
  const param = objectAt(spec, 'paramKind');
  if (param) problems.push(...paramKindProblems(param, 'spec.paramKind'));
  const match = objectAt(spec, 'matchConstraints');
  if (match === undefined) problems.push(required('spec.matchConstraints'));
  else {
    problems.push(...matchProblems(match, 'spec.matchConstraints'));
    if (objectsOf(match, 'resourceRules').length === 0) {
      problems.push(required('spec.matchConstraints.resourceRules'));
    }
  }
  problems.push(...validateMatchConditions(spec, 'spec.matchConditions'));
  for (const [index, variable] of objectsOf(spec, 'variables').entries()) {
    const at = `spec.variables[${index}]`;
    const name = text(variable, 'name');
    if (name === '') problems.push(required(`${at}.name`, 'name is not specified'));
    else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
      problems.push(invalidValue(`${at}.name`, name, 'name is not a valid CEL identifier'));
    }
    if (text(variable, 'expression').trim() === '') {
      problems.push(required(`${at}.expression`, 'expression is not specified'));
    }
  }
  return problems;
}

function paramKindProblems(param: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const version = text(param, 'apiVersion');
  if (version === '') problems.push(required(`${path}.apiVersion`));
  else if (version.split('/').length > 2) {
    problems.push(invalidValue(`${path}.apiVersion`, version, `unexpected GroupVersion string: ${version}`));
  } else {
    const [group = '', name = ''] = version.includes('/') ? version.split('/') : ['', version];
    if (group !== '') problems.push(...dns1123Subdomain(group, `${path}.apiVersion`));
    problems.push(...invalidEach(`${path}.apiVersion`, name, validateDns1035Label(name)));
  }
  const kind = text(param, 'kind');
  if (kind === '') problems.push(required(`${path}.kind`));
  else {
    const wrong = validateDns1035Label(kind.toLowerCase());
    if (wrong.length > 0)
      problems.push(
        invalidValue(
          `${path}.kind`,
          kind,
          `may have mixed case, but should otherwise match: ${wrong.join(',')}`,
        ),
      );
  }
  return problems;
}

/** Which objects parameters come from: one by its name, or all that a selector finds. */
function paramRefProblems(param: JsonObject, path: string): Problems {
  const name = text(param, 'name');
  const selector = objectAt(param, 'selector');
  const problems: Problems =
    name === '' ? [] : invalidEach(`${path}.name`, name, validatePathSegmentName(name));
  problems.push(...labelSelector(selector, `${path}.selector`));
  if (name !== '' && selector) {
    const detail = 'name and selector are mutually exclusive';
    problems.push(forbidden(`${path}.name`, detail), forbidden(`${path}.selector`, detail));
  }
  if (name === '' && !selector) problems.push(required(path, 'one of name or selector must be specified'));
  const action = text(param, 'parameterNotFoundAction');
  if (action === '') problems.push(required(`${path}.parameterNotFoundAction`));
  else if (!NOT_FOUND_ACTIONS.includes(action))
    problems.push(notSupported(`${path}.parameterNotFoundAction`, action, NOT_FOUND_ACTIONS));
  return problems;
}

const NOT_FOUND_ACTIONS: readonly string[] = ['Deny', 'Allow'];

function matchProblems(match: JsonObject, path: string): Problems {
  const problems = oneOf(match, path, 'matchPolicy', ['Equivalent', 'Exact']);
  problems.push(
    ...labelSelector(match.namespaceSelector, `${path}.namespaceSelector`),
    ...labelSelector(match.objectSelector, `${path}.objectSelector`),
  );
  for (const key of ['resourceRules', 'excludeResourceRules']) {
    for (const [index, rule] of objectsOf(match, key).entries()) {
      const at = `${path}.${key}[${index}]`;
      problems.push(...validateRule(rule, at));
      const names = strings(rule, 'resourceNames');
      for (const [i, name] of names.entries()) {
        problems.push(...invalidEach(`${at}.resourceNames[${i}]`, name, validatePathSegmentName(name)));
        if (names.indexOf(name) < i) problems.push(duplicate(`${at}.resourceNames[${i}]`, name));
      }
    }
  }
  return problems;
}

function validationProblems(validation: JsonObject, at: string): Problems {
  const problems: Problems = [];
  if (text(validation, 'expression').trim() === '') {
    problems.push(required(`${at}.expression`, 'expression is not specified'));
  }
  const message = text(validation, 'message');
  if (/[\r\n]/.test(message)) {
    problems.push(invalidValue(`${at}.message`, message, 'message must not contain line breaks'));
  } else if (message !== '' && message.trim() === '') {
    problems.push(invalidValue(`${at}.message`, message, 'message must be non-empty if specified'));
  }
  problems.push(...oneOf(validation, at, 'reason', REASONS));
  return problems;
}
