/**
 * Who asks, and may they: authentication, impersonation, role-based access control, access reviews.
 *
 * Order of use: {@link authenticate} → {@link impersonate} → `authorize` → handle. Only
 * {@link isPublicPath} is answered to someone unknown. Failures are the `StatusError`s (401, 403) that the client gets.
 * Deciding is synchronous and pure but for an index of bindings, which `invalidate` drops.
 */
export {
  localSubjectAccessReview,
  type ReviewContext,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './access-review.ts';
export {
  type AuthorizationDecision,
  type Authorizer,
  denialText,
  forbidden,
  forbiddenBecause,
  pathAttributes,
  type RequestAttributes,
  resourceAttributes,
} from './attributes.ts';
export {
  type Authenticator,
  authenticate,
  bearerToken,
  clientCertificateAuthenticator,
  isPublicPath,
  type StaticToken,
  spacedToken,
  staticTokenAuthenticator,
  unauthorized,
  unionAuthenticator,
} from './authenticator.ts';
export { bindingEscalation, escalationText, roleEscalation } from './escalation.ts';
export { type Impersonated, impersonate, impersonates, UnnamedImpersonation } from './impersonation.ts';
export { compactRules, coversRules, type PolicyRule, ruleText, uncoveredRules } from './policy-rule.ts';
export { createRbacAuthorizer, type RbacAuthorizer, type RbacSource } from './rbac-authorizer.ts';
export {
  aggregateRules,
  type RoleRef,
  roleRefOf,
  rulesOf,
  type Subject,
  subjectsOf,
} from './rbac-objects.ts';
export {
  ANONYMOUS_USER,
  AUTHENTICATED_GROUP,
  isMaster,
  MASTERS_GROUP,
  parseServiceAccount,
  serviceAccountGroups,
  serviceAccountName,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from './user.ts';
