import type { Kubeconfig, KubeconfigUser } from '../../../kube/kubeconfig.ts';
import type { KeyPair } from '../../../kube/pki.ts';
import { ROOT_CLUSTER } from '../../server-options.ts';
import type { WebhookTarget } from './webhook-client.ts';

/** How this server proves who it is to a webhook. */
export interface WebhookCredentials {
  /** Value of the header. */
  readonly authorization?: string;
  readonly certificate?: KeyPair;
}

const DEFAULT_PORT = '443';

/**
 * The credentials of a kubeconfig, whose users are named by the webhooks that they are for: a host
 * (`hooks.tools.svc`, with `:port` where that is not 443), one with stars for its first labels (`*.tools.svc`), or `*`. The most
 * exact name counts. They are the operator's, so they are shown to webhooks of the cluster `root` only: anybody may name a
 * Service in a logical cluster of their own. Throws an Error for users that cannot be used: what they have must be inline.
 */
export function webhookCredentials(
  users: Kubeconfig['users'],
): (target: WebhookTarget) => WebhookCredentials | undefined {
  const known = new Map(users.map(({ name, user }) => [name, credentialsOf(name, user)]));
  return (target) => {
    if (target.cluster !== ROOT_CLUSTER) return undefined;
    const { hostname, port } = new URL(target.url);
    for (const name of namesOf(hostname, port === '' || port === DEFAULT_PORT ? '' : `:${port}`)) {
      const found = known.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** What may stand for a host, the most exact name first. */
function* namesOf(host: string, port: string): Generator<string> {
  yield `${host}${port}`;
  const labels = host.split('.');
  for (let stars = 1; stars < labels.length; stars++) yield `*.${labels.slice(stars).join('.')}${port}`;
  yield '*';
}

function credentialsOf(name: string, user: KubeconfigUser): WebhookCredentials {
  const refuse = (field: string): Error =>
    new Error(
      `the credentials for webhooks ${JSON.stringify(name)} use ${field}, which is not supported here`,
    );
  for (const field of ['exec', 'auth-provider', 'tokenFile', 'client-certificate', 'client-key'] as const)
    if (user[field] !== undefined) throw refuse(field);
  const { token, username, password = '' } = user;
  const certificate = user['client-certificate-data'];
  const key = user['client-key-data'];
  if ((certificate === undefined) !== (key === undefined)) throw refuse('a certificate without its key');
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
  return {
    ...(token !== undefined
      ? { authorization: `Bearer ${token}` }
      : username !== undefined
        ? { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
        : {}),
    ...(certificate === undefined || key === undefined
      ? {}
      : { certificate: { certificate: decoded(certificate), key: decoded(key) } }),
  };
}
