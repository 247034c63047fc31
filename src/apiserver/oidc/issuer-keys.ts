import { readBody } from '../../kube/exchange.ts';
import type { Clock } from '../../runtime/index.ts';
import { parseJsonBody } from '../../schema/decode.ts';
import { isObject, type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import type { Outbound } from '../outbound/index.ts';
import { type IssuerKey, issuerKey } from './verify-signature.ts';

/** The keys of an issuer, as it publishes them. */
export interface IssuerKeys {
  /** Keys that a token with this key id can be signed with. Rejects when the issuer cannot be asked. */
  find(keyId: string | undefined): Promise<readonly IssuerKey[]>;
}

/** An unknown key makes the issuer be asked again, but not more often than this: anybody may make up key ids. */
const ASK_AGAIN_MS = 10_000;
/** Keys are asked for again after this. */
const FRESH_MS = 10 * 60_000;
/** Keys that an issuer has withdrawn are good no longer than this, also while it is away. */
const KEEP_MS = 60 * 60_000;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
const MAX_KEYS = 100;

/** Reads keys by OpenID Connect Discovery: they are fetched when first asked for, and kept. */
export function issuerKeys(
  clock: Clock,
  outbound: Outbound,
  issuer: string,
  caBundle: string | undefined,
): IssuerKeys {
  let keys: readonly IssuerKey[] = [];
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function document(url: string, signal: AbortSignal): Promise<JsonObject> {
    const response = await outbound.send(
      { url, ...(caBundle === undefined ? {} : { caBundle }) },
      { method: 'GET', headers: ['accept', 'application/json, application/jwk-set+json'], signal },
    );
    const body = await readBody(response, MAX_BYTES);
    if (response.status !== 200) throw new Error(`${url} answered with status ${response.status}`);
    const decoded = parseJsonBody(body, { maxBytes: MAX_BYTES });
    if (!decoded.ok || !isObject(decoded.value)) throw new Error(`${url} is no JSON object`);
    return decoded.value;
  }

  async function fetchKeys(): Promise<void> {
    const timeout = new AbortController();
    const timer = clock.after(TIMEOUT_MS, () =>
      timeout.abort(new Error('the issuer took too long to answer')),
    );
    try {
      const discovery = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const configuration = await document(discovery, timeout.signal);
      if (configuration.issuer !== issuer)
        throw new Error(`${discovery} is of the issuer ${JSON.stringify(configuration.issuer)}`);
      const set = await document(stringAt(configuration, 'jwks_uri') ?? '', timeout.signal);
      keys = listAt(set, 'keys')
        .slice(0, MAX_KEYS)
        .filter(isObject)
        .map(issuerKey)
        .filter((key) => key !== undefined);
      fetchedAt = clock.monotonic();
    } finally {
      timer.cancel();
    }
  }

  function ask(): Promise<void> {
    if (asking === undefined) {
      askedAt = clock.monotonic();
      asking = fetchKeys().finally(() => {
        asking = undefined;
      });
    }
    return asking;
  }

  const age = (): number => clock.monotonic() - fetchedAt;

  function matching(keyId: string | undefined): readonly IssuerKey[] {
    return keys.filter((key) => keyId === undefined || key.keyId === undefined || key.keyId === keyId);
  }

  return {
    async find(keyId) {
      const mayAsk = asking !== undefined || clock.monotonic() - askedAt >= ASK_AGAIN_MS;
      if (mayAsk && (age() > FRESH_MS || matching(keyId).length === 0))
        try {
          await ask();
        } catch (error) {
          // What is known holds on while the issuer is away.
          if (age() > KEEP_MS) throw error;
        }
      if (age() > KEEP_MS) throw new Error('the issuer could not be asked a moment ago');
      return matching(keyId);
    },
  };
}
