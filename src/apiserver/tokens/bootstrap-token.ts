import type { KubeObject } from '../../kube/object.ts';
import { type Clock, parseTime } from '../../runtime/index.ts';
import { stringAt } from '../../schema/json.ts';
import { objectKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { sameSecret, secretText } from './secret-data.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

export const BOOTSTRAP_TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
const NAMESPACE = 'kube-system';
const NAME_PREFIX = 'bootstrap-token-';
const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const GROUP = 'system:bootstrappers';
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** A bootstrap token as its Secret tells it. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** Milliseconds since the epoch; `undefined` for one that does not expire, 0 for a time that cannot be read. */
  readonly expiresAt: number | undefined;
  readonly authenticates: boolean;
  readonly signs: boolean;
  /** `undefined` when one of the names is not allowed. */
  readonly groups: readonly string[] | undefined;
}

/** Whether a Secret of this place can be a bootstrap token at all. */
export function isBootstrapTokenName(namespace: string, name: string): boolean {
  return namespace === NAMESPACE && name.startsWith(NAME_PREFIX);
}

/** Reads a Secret; `undefined` when it is no well-formed bootstrap token. */
export function bootstrapTokenOf(secret: KubeObject): BootstrapToken | undefined {
  const { name = '', namespace = '' } = secret.metadata;
  if (!isBootstrapTokenName(namespace, name) || stringAt(secret, 'type') !== BOOTSTRAP_TOKEN_TYPE)
    return undefined;
  const id = secretText(secret, 'token-id') ?? '';
  const value = secretText(secret, 'token-secret') ?? '';
  if (name !== NAME_PREFIX + id || !TOKEN.test(`${id}.${value}`)) return undefined;
  const expiration = secretText(secret, 'expiration');
  const extra = (secretText(secret, 'auth-extra-groups') ?? '').split(',').filter((group) => group !== '');
  return {
    id,
    secret: value,
    // A time that nobody can read must not make a token live for ever.
    expiresAt: expiration === undefined ? undefined : (parseTime(expiration) ?? 0),
    authenticates: secretText(secret, 'usage-bootstrap-authentication') === 'true',
    signs: secretText(secret, 'usage-bootstrap-signing') === 'true',
    groups: extra.every((group) => EXTRA_GROUP.test(group)) ? [GROUP, ...extra] : undefined,
  };
}

export function isExpired(token: BootstrapToken, now: number): boolean {
  return token.expiresAt !== undefined && token.expiresAt <= now;
}

/**
 * Tokens of Secrets `kube-system/bootstrap-token-<id>`, by which new members of a cluster introduce themselves. They name
 * no audience: they are for this server, whose audiences `own` tells.
 */
export function bootstrapTokenAuthenticator(
  store: Store,
  clock: Clock,
  own: (cluster: string) => readonly string[],
): TokenAuthenticator {
  return (text, cluster, asked) => {
    const [, id, value] = TOKEN.exec(text) ?? [];
    if (id === undefined || value === undefined) return undefined;
    const audiences = asked.filter((audience) => own(cluster).includes(audience));
    if (audiences.length === 0) return undefined;
    const secret = store.get(objectKey('', 'secrets', cluster, NAMESPACE, NAME_PREFIX + id))?.object;
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
    const token = bootstrapTokenOf(secret);
    if (token === undefined || !sameSecret(token.secret, value)) return undefined;
    if (!token.authenticates || token.groups === undefined || isExpired(token, clock.now())) return undefined;
    const user = { name: `system:bootstrap:${id}`, groups: token.groups, within: cluster };
    return { user, audiences };
  };
}
