import { authorizerValue, type CompileResult, resourceCheckValue } from '../../../cel/index.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { JsonObject } from '../../../schema/json.ts';
import { type Authorizer, pathAttributes, resourceAttributes } from '../../auth/index.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { policyEnvironment } from '../policies/expression.ts';
import type { Webhook } from './configurations.ts';

/** Cost units that the conditions of one webhook may use up together. */
const BUDGET = 2_500_000;

/** What conditions may look at. */
export interface Subject {
  readonly request: JsonObject;
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
}

/** Whether all conditions of a webhook hold; the text is what went wrong where that cannot be said. */
export type ConditionCheck = (
  webhook: Webhook,
  asked: AdmissionRequest,
  subject: () => Subject,
) => boolean | string;

export function conditionCheck(authorizer: Authorizer): ConditionCheck {
  const compiled = new WeakMap<Webhook, readonly { name: string; result: CompileResult }[]>();

  function conditionsOf(webhook: Webhook): readonly { name: string; result: CompileResult }[] {
    let known = compiled.get(webhook);
    if (!known) {
      const { compile } = policyEnvironment({ hasParams: false });
      known = webhook.matchConditions.map(({ name, expression }) => ({ name, result: compile(expression) }));
      compiled.set(webhook, known);
    }
    return known;
  }

  return (webhook, asked, subject) => {
    if (webhook.matchConditions.length === 0) return true;
    const { request, object, old } = subject();
    const { scope } = asked;
    const authorize = authorizeAs(authorizer, asked);
    const bindings = {
      request,
      object: object ?? null,
      oldObject: old ?? null,
      namespaceObject: null,
      authorizer: authorizerValue(authorize),
      'authorizer.requestResource': resourceCheckValue(authorize, {
        group: scope.resource.group,
        resource: scope.resource.resource,
        namespace: scope.namespace,
        name: asked.name,
        ...(scope.subresource ? { subresource: scope.subresource.name } : {}),
      }),
    };
    let budget = BUDGET;
    const problems: string[] = [];
    for (const { name, result } of conditionsOf(webhook)) {
      if (!result.program) {
        problems.push(
          `compilation of match condition ${JSON.stringify(name)} failed: ${result.issues[0]?.message ?? ''}`,
        );
        continue;
      }
      const { value, error, cost } = result.program.evaluate(bindings, { budget });
      budget -= cost;
      // One that does not hold decides, whatever is wrong with others.
      if (value === false) return false;
      if (error)
        problems.push(`expression '${conditionText(webhook, name)}' resulted in error: ${error.message}`);
      else if (value !== true) problems.push(`expression '${conditionText(webhook, name)}' is not a bool`);
      if (budget <= 0) {
        problems.push(
          'validation failed due to running out of cost budget, no further validation rules will be run',
        );
        break;
      }
    }
    return problems.length === 0 ? true : problems.join(', ');
  };
}

function conditionText({ matchConditions }: Webhook, name: string): string {
  return matchConditions.find((condition) => condition.name === name)?.expression ?? '';
}

/** Answers what an expression asks of the authorizer, for who made the request. */
export function authorizeAs(
  authorizer: Authorizer,
  { scope }: AdmissionRequest,
): Parameters<typeof authorizerValue>[0] {
  return ({ verb, serviceAccount, path, ...asked }) => {
    const user =
      serviceAccount === undefined
        ? scope.user
        : {
            name: `system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`,
            groups: ['system:serviceaccounts', `system:serviceaccounts:${serviceAccount.namespace}`],
          };
    if (path !== undefined) return authorizer.authorize(pathAttributes(user, scope.cluster, verb, path));
    return authorizer.authorize(
      resourceAttributes(user, scope.cluster, {
        verb,
        group: asked.group ?? '',
        version: '*',
        resource: asked.resource ?? '',
        subresource: asked.subresource ?? '',
        name: asked.name ?? '',
        namespace: asked.namespace ?? '',
      }),
    );
  };
}
