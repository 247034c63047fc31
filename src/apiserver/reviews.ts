import type { KubeObject } from '../kube/object.ts';
import { badRequest, StatusError } from '../kube/status-error.ts';
import { stringAt } from '../schema/json.ts';
import {
  type Authenticator,
  localSubjectAccessReview,
  type RbacAuthorizer,
  type ReviewContext,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './auth/index.ts';
import type { Resource } from './resource.ts';

/** Answers creates of kinds that are questions; `undefined` for kinds that are stored. */
export function answerReview(
  authorizer: RbacAuthorizer,
  authenticate: Authenticator | undefined,
  resource: Resource,
  context: ReviewContext,
  body: KubeObject,
): Promise<KubeObject> | undefined {
  const answer = answerOf(authorizer, authenticate, resource, context, body);
  if (answer === undefined) return undefined;
  return Promise.resolve(answer());
}

function answerOf(
  authorizer: RbacAuthorizer,
  authenticate: Authenticator | undefined,
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
        return () => tokenReview(authenticate, body);
      default:
        return undefined;
    }
  return undefined;
}

/** Whose token is this? */
async function tokenReview(authenticate: Authenticator | undefined, body: KubeObject): Promise<KubeObject> {
  const token = stringAt(body, 'spec', 'token') ?? '';
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  try {
    const user = await authenticate?.(
      { method: 'GET', path: '/', headers: { authorization: `Bearer ${token}` } },
      {},
    );
    if (!user) return { ...body, status: { authenticated: false, user: {} } };
    const { name, uid, groups, extra } = user;
    return {
      ...body,
      status: {
        authenticated: true,
        user: {
          username: name,
          ...(uid === undefined ? {} : { uid }),
          groups: [...groups],
          ...(extra === undefined ? {} : { extra }),
        },
      },
    };
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 401) throw error;
    return { ...body, status: { user: {}, error: 'invalid bearer token' } };
  }
}
