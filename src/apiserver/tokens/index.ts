/**
 * Tokens: who holds one, who issues them. Service accounts get signed JWTs (`serviceaccounts/token`, Secrets of type
 * `kubernetes.io/service-account-token`), joining members come with bootstrap tokens.
 *
 * A signature alone is never enough: the account, and the pod, secret or node that a token is bound to, must still be
 * there with the same uid. Each logical cluster is an issuer of its own, so a token of one is no credential in another.
 * Whoever verifies elsewhere finds the issuer's configuration and keys at `/.well-known/openid-configuration` and
 * `/openid/v1/jwks`. A bad token is a 401, as for every authenticator.
 */
export {
  BOOTSTRAP_TOKEN_TYPE,
  type BootstrapToken,
  bootstrapTokenAuthenticator,
  bootstrapTokenOf,
  isBootstrapTokenName,
  isExpired,
} from './bootstrap-token.ts';
export { issuerDocument } from './issuer-documents.ts';
export { readClaims, readHeader } from './jwt.ts';
export { mentions, sameSecret, secretText } from './secret-data.ts';
export {
  ACCOUNT_NAME,
  ACCOUNT_UID,
  DEFAULT_ISSUER,
  LEGACY_TOKEN_TYPE,
  type ObjectIdentity,
  type ServiceAccountTokenOptions,
  type ServiceAccountTokens,
  serviceAccountTokens,
  type TokenSubject,
} from './service-account-tokens.ts';
export { generateSigningKey, type SigningKey, signingKey } from './signing-key.ts';
export {
  bearerAuthenticator,
  identify,
  type TokenAuthenticator,
  type TokenIdentity,
} from './token-authenticator.ts';
export { requestToken } from './token-request.ts';
export { type TokenReviewer, tokenReview } from './token-review.ts';
