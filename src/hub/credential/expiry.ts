import { X509Certificate } from 'node:crypto';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import { isObject } from '../../schema/json.ts';

/** A credential is read again this long before it ends. */
const LEAD_MS = 120_000;

/** When an endpoint's credential ends, milliseconds since the epoch; undefined where it does not say. */
export function credentialEnd(endpoint: ClusterEndpoint): number | undefined {
  const ends = [tokenEnd(endpoint.token), certificateEnd(endpoint.clientCertificate)].filter(
    (end) => end !== undefined,
  );
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/**
 * When to read a credential again that ends at `end`: two minutes before; at its end where that is past already;
 * undefined (every time) where it has ended or does not say.
 */
export function refreshBefore(end: number | undefined, now: number): number | undefined {
  if (end === undefined || end <= now) return undefined;
  return end - LEAD_MS > now ? end - LEAD_MS : end;
}

/** The `exp` of a JWT. The token is not verified: it is ours to send, not to believe. */
function tokenEnd(token: string | undefined): number | undefined {
  const payload = token?.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return isObject(claims) && typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : undefined;
  } catch {
    // An opaque token that happens to hold a dot.
    return undefined;
  }
}

function certificateEnd(pem: string | undefined): number | undefined {
  if (pem === undefined) return undefined;
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    // The TLS handshake will say what is wrong with it.
    return undefined;
  }
}
