/**
 * Users of an OpenID Connect issuer: {@link oidcAuthenticator} believes its ID tokens, whose keys it learns by discovery. The
 * issuer names users and groups; what begins with `system:` it cannot give. An issuer that is away lets nobody in whose key is
 * not known yet, and nobody else waits for it.
 */
export { type OidcOptions, oidcAuthenticator } from './oidc-authenticator.ts';
