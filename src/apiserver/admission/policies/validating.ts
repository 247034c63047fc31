import { typeNameOf } from '../../../cel/index.ts';
import type { StatusError } from '../../../kube/status-error.ts';
import type { Authorizer } from '../../auth/index.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import type { AdmissionPlugin } from '../plugin.ts';
import { concernsOf } from './concern.ts';
import { type Evaluation, POLICY_BUDGET } from './evaluate.ts';
import { isPolicyResource } from './match.ts';
import type { ValidatingPolicy, Validation } from './policy.ts';
import { policyRefusal } from './refusal.ts';
import type { Binding, StoredPolicies } from './stored-policies.ts';

const MAX_MESSAGE = 5 * 1024;
const MAX_AUDIT_VALUE = 10 * 1024;
const FAILURE_ANNOTATION = 'validation.policy.admission.k8s.io/validation_failure';

/** A validation that does not hold, or that could not be asked. */
interface Denial {
  readonly message: string;
  readonly reason: string;
  /** Among the policy's validations. */
  readonly index: number;
}

interface Failed {
  readonly message: string;
  readonly policy: string;
  readonly binding: string;
  readonly expressionIndex: number;
  readonly validationActions: readonly string[];
}

/** ValidatingAdmissionPolicies: rules over writes in expressions that the cluster holds. */
export function validatingAdmissionPolicies(
  policies: StoredPolicies,
  authorizer: Authorizer,
): AdmissionPlugin {
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(request): void {
      const validating = policies.of(request.scope.cluster)?.validating ?? [];
      if (validating.length === 0 || isPolicyResource(request.scope.resource)) return;
      let refusal: StatusError | undefined;
      const failed: Failed[] = [];
      const audit = new Map<string, Set<string>>();
      for (const { policy, binding, evaluation, problem } of concernsOf(validating, authorizer, request)) {
        if (!evaluation) {
          if (!policy.ignoresFailure)
            refusal ??= denied(request, policy.name, binding, { message: problem, reason: '', index: 0 });
          continue;
        }
        const matches = evaluation.conditionsHold();
        if (matches === false) continue;
        const denials = matches === true ? denialsOf(policy, evaluation) : unknown(policy, matches);
        for (const denial of denials) {
          const actions = binding?.actions ?? [];
          if (actions.includes('Deny')) refusal ??= denied(request, policy.name, binding, denial);
          if (actions.includes('Warn'))
            request.scope.warn(
              `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding?.name ?? ''}': ${denial.message}`,
            );
          if (actions.includes('Audit'))
            failed.push({
              message: denial.message,
              policy: policy.name,
              binding: binding?.name ?? '',
              expressionIndex: denial.index,
              validationActions: actions,
            });
        }
        if (matches !== true) continue;
        const broken = annotate(policy, evaluation, audit);
        if (broken !== undefined && !policy.ignoresFailure)
          refusal ??= denied(request, policy.name, binding, { message: broken, reason: '', index: 0 });
      }
      for (const [key, values] of audit) request.scope.annotate?.(key, [...values].join(', '));
      if (failed.length > 0) request.scope.annotate?.(FAILURE_ANNOTATION, JSON.stringify(failed));
      if (refusal) throw refusal;
    },
  };
}

/** What is made of an error: nothing where the policy says to ignore failures. */
function unknown({ ignoresFailure }: ValidatingPolicy, message: string, index: number = 0): Denial[] {
  return ignoresFailure ? [] : [{ message, reason: '', index }];
}

function denialsOf(policy: ValidatingPolicy, evaluation: Evaluation): Denial[] {
  evaluation.grant(POLICY_BUDGET);
  const denials: Denial[] = [];
  for (const [index, validation] of policy.validations.entries()) {
    const { value, error, spent } = evaluation.evaluate(validation.expression);
    // Without budget nothing can be said of any.
    if (spent) return unknown(policy, error);
    if (error !== undefined) denials.push(...unknown(policy, error, index));
    else if (value !== true) {
      const message = messageOf(validation, evaluation);
      if ('problem' in message) denials.push(...unknown(policy, message.problem, index));
      else denials.push({ message: message.text, reason: validation.reason, index });
    }
  }
  return denials;
}

/** What the validation's own expression says, where that is a fit message; else its message, else the rule itself. */
function messageOf(
  { messageExpression, message, expression }: Validation,
  { evaluate }: Evaluation,
): { text: string } | { problem: string } {
  const outcome = messageExpression && evaluate(messageExpression);
  if (outcome?.spent) return { problem: `failed messageExpression: ${outcome.error}` };
  const said = typeof outcome?.value === 'string' ? outcome.value.trim() : '';
  if (said !== '' && Buffer.byteLength(said) <= MAX_MESSAGE && !said.includes('\n')) return { text: said };
  return { text: message || `failed expression: ${expression.source.trim()}` };
}

/** Collects what the policy wants in the audit. Returns what went wrong. */
function annotate(
  policy: ValidatingPolicy,
  evaluation: Evaluation,
  audit: Map<string, Set<string>>,
): string | undefined {
  evaluation.grant(POLICY_BUDGET);
  let problem: string | undefined;
  for (const { name, expression } of policy.auditAnnotations) {
    const { value, error, spent } = evaluation.evaluate(expression);
    if (error !== undefined) problem ??= error;
    else if (typeof value === 'string') {
      if (value.trim() === '') continue;
      const key = `${policy.name}/${name}`;
      const text = value.length > MAX_AUDIT_VALUE ? value.slice(0, MAX_AUDIT_VALUE) : value;
      audit.set(key, (audit.get(key) ?? new Set()).add(text));
    } else if (value !== null)
      problem ??= `valueExpression '${expression.source}' resulted in unsupported return type: ${typeNameOf(value)}. Return type must be either string or null.`;
    if (spent) break;
  }
  return problem;
}

function denied(
  { scope, name }: AdmissionRequest,
  policy: string,
  binding: Binding | undefined,
  denial: Denial,
): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding.name}'`;
  const why = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${denial.message}`;
  // Of a collection nobody is told which object it was.
  return policyRefusal(scope.resource, name || 'Unknown', denial.reason || 'Invalid', why);
}
