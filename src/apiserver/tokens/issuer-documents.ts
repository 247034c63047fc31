import type { Response } from '../../kube/exchange.ts';
import { checkTypes, methodNotAllowed, type RequestInfo, valueResponse } from '../request/index.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const KEY_SET = '/openid/v1/jwks';
const CACHE_CONTROL = 'public, max-age=3600';

/**
 * What others need to verify service account tokens (OpenID Connect Discovery 1.0); `undefined` for every other path.
 * `address` is where clients reach this server. Throws 405 and 406.
 */
export function issuerDocument(
  tokens: ServiceAccountTokens,
  { path, method, cluster }: RequestInfo,
  headers: Readonly<Record<string, string>>,
  address: string,
): Response | undefined {
  const document = path.endsWith('/') ? path.slice(0, -1) : path;
  if (document !== CONFIGURATION && document !== KEY_SET) return undefined;
  if (method !== 'GET') throw methodNotAllowed();
  const type = document === CONFIGURATION ? 'application/json' : 'application/jwk-set+json';
  checkTypes(headers, [type]);
  return valueResponse(
    200,
    document === CONFIGURATION ? tokens.configuration(cluster, address) : tokens.keySet(),
    { headers: { 'content-type': type, 'cache-control': CACHE_CONTROL } },
  );
}
