import type { KubeObject } from '../kube/object.ts';
import {
  localSubjectAccessReview,
  type RbacAuthorizer,
  type ReviewContext,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './auth/index.ts';
import type { Resource } from './resource.ts';
import { type TokenReviewer, tokenReview } from './tokens/index.ts';

/** Answers creates of kinds that are questions; `undefined` for kinds that are stored. */
export function answerReview(
  authorizer: RbacAuthorizer,
  reviewer: TokenReviewer,
  resource: Resource,
  context: ReviewContext,
  body: KubeObject,
): Promise<KubeObject> | undefined {
  const answer = answerOf(authorizer, reviewer, resource, context, body);
  if (answer === undefined) return undefined;
  return Promise.resolve(answer());
}

function answerOf(
  authorizer: RbacAuthorizer,
  reviewer: TokenReviewer,
  resource: Resource,
  context: ReviewContext,
  body: KubeObject,
): (() => KubeObject | Promise<KubeObject>) | undefined {
  if (resource.group === 'authorization.k8s.io')
    switch (resource.resource) {
      case 'selfsubjectaccessreviews':
        return () => selfSubjectAccessReview(authorizer, context, body);
      case 'subjectaccessreviews':
        return () => subjectAccessReview(authorizer, context, body);
      case 'localsubjectaccessreviews':
        return () => localSubjectAccessReview(authorizer, context, body);
      case 'selfsubjectrulesreviews':
        return () => selfSubjectRulesReview(authorizer, context, body);
      default:
        return undefined;
    }
  if (resource.group === 'authentication.k8s.io')
    switch (resource.resource) {
      case 'selfsubjectreviews':
        return () => selfSubjectReview(context, body);
      case 'tokenreviews':
        return () => tokenReview(reviewer, context.cluster, body);
      default:
        return undefined;
    }
  return undefined;
}
