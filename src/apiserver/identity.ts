import type { Request } from '../kube/exchange.ts';
import type { Runtime } from '../runtime/index.ts';
import { type Authenticator, unionAuthenticator } from './auth/index.ts';
import type { Catalogue } from './catalogue/index.ts';
import { splitCluster } from './request/index.ts';
import type { RestServer } from './rest/scope.ts';
import type { Store } from './store/index.ts';
import {
  bearerAuthenticator,
  bootstrapTokenAuthenticator,
  requestToken,
  type ServiceAccountTokens,
  type SigningKey,
  serviceAccountTokens,
  type TokenReviewer,
} from './tokens/index.ts';

export interface IdentityOptions {
  readonly store: Store;
  readonly catalogue: Catalogue;
  /** Kinds of credentials that the caller knows. */
  readonly authenticate: Authenticator | undefined;
  readonly signingKey: SigningKey | undefined;
  readonly issuer: string | undefined;
  /** The logical cluster whose accounts may ask for something in another: itself, unless somebody else serves it. */
  readonly authorityOf: (cluster: string) => string;
}

/** How a server finds out who somebody is, and what it gives out for that. */
export interface Identity {
  readonly tokens: ServiceAccountTokens;
  readonly authenticate: Authenticator;
  readonly reviewer: TokenReviewer;
  readonly requestToken: NonNullable<RestServer['requestToken']>;
}

/** The caller's credentials together with the tokens that are objects of the clusters. */
export function serverIdentity(runtime: Runtime, options: IdentityOptions): Identity {
  const { store, catalogue, authenticate, authorityOf } = options;
  const tokens = serviceAccountTokens(runtime, {
    store,
    ...(options.signingKey === undefined ? {} : { key: options.signingKey }),
    ...(options.issuer === undefined ? {} : { issuer: options.issuer }),
  });
  const bearers = [tokens.authenticate, bootstrapTokenAuthenticator(store, runtime.clock, tokens.audiences)];
  const clusterOf = (request: Request): string => authorityOf(splitCluster(request.path).cluster);
  const bearer = bearerAuthenticator(bearers, clusterOf, tokens.audiences);
  return {
    tokens,
    authenticate: authenticate ? unionAuthenticator(authenticate, bearer) : bearer,
    reviewer: { authenticators: bearers, other: authenticate, audiences: tokens.audiences },
    requestToken(scope, name, body, write) {
      const type = catalogue.typeOf('authentication.k8s.io', 'v1', 'TokenRequest');
      if (type === undefined) throw new Error('the catalogue does not know TokenRequest');
      return requestToken(tokens, type, scope, name, body, write);
    },
  };
}
