import type { Authorizer } from '../../auth/index.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { type Evaluation, evaluationOf, type Subject, subjectOf } from './evaluate.ts';
import { matchedResource } from './match.ts';
import { paramsOf } from './params.ts';
import type { Policy } from './policy.ts';
import type { Binding, BoundPolicy } from './stored-policies.ts';

/** A policy that is about a request, by one of its bindings and with one of its parameters; or why it cannot be asked. */
export type Concern<P extends Policy> = {
  readonly policy: P;
  /** `undefined` where the policy itself is at fault. */
  readonly binding: Binding | undefined;
} & (
  | {
      readonly evaluation: Evaluation;
      /** The same over what the object has become. */
      readonly renew: () => Evaluation;
      readonly shown: Resource;
      readonly problem?: undefined;
    }
  | { readonly evaluation?: undefined; readonly problem: string }
);

/** The policies that a request concerns, one after the other: what one has changed the next one sees. */
export function* concernsOf<P extends Policy>(
  policies: readonly BoundPolicy<P>[],
  authorizer: Authorizer,
  request: AdmissionRequest,
): Generator<Concern<P>> {
  // What is seen of a request is made once for all policies that see it alike, as long as the object stays as it is.
  const subjects = new Map<Resource, Subject>();
  const subject = (shown: Resource): Subject => {
    const known = subjects.get(shown) ?? subjectOf(authorizer, request, shown);
    subjects.set(shown, known);
    return known;
  };
  for (const { policy, bindings } of policies) {
    const shown = matchedResource(policy.match, request);
    if (!shown) continue;
    for (const binding of bindings) {
      if (binding.match && !matchedResource(binding.match, request)) continue;
      const params = paramsOf(policy, binding.paramRef, request);
      if ('why' in params) {
        const ofPolicy = params.of === 'policy';
        yield {
          policy,
          binding: ofPolicy ? undefined : binding,
          problem: `failed to configure ${params.of}: ${params.why}`,
        };
        if (ofPolicy) break;
        continue;
      }
      for (const param of params)
        yield {
          policy,
          binding,
          shown,
          evaluation: evaluationOf(policy, subject(shown), param),
          renew: () => evaluationOf(policy, subjectOf(authorizer, request, shown), param),
        };
    }
  }
}
