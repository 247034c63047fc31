import type { Response } from '../../kube/exchange.ts';
import { type RequestInfo, textResponse, valueResponse } from '../request/index.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const KEY_SET = '/openid/v1/jwks';
const CACHE_CONTROL = 'public, max-age=3600';

/**
 * What others need to verify service account tokens (OpenID Connect Discovery 1.0); `undefined` for every other path.
 * `address` is where clients reach this server.
 */
export function issuerDocument(
  tokens: ServiceAccountTokens,
  { path, method, cluster }: RequestInfo,
  address: string,
): Response | undefined {
  if (path !== CONFIGURATION && path !== KEY_SET) return undefined;
  if (method !== 'GET' && method !== 'HEAD')
    return textResponse(405, 'Method Not Allowed\n', { allow: 'GET, HEAD' });
  if (path === CONFIGURATION)
    return valueResponse(200, tokens.configuration(cluster, address), {
      headers: { 'cache-control': CACHE_CONTROL },
    });
  return valueResponse(200, tokens.keySet(), {
    headers: { 'content-type': 'application/jwk-set+json', 'cache-control': CACHE_CONTROL },
  });
}
