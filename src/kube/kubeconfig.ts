import { isObject } from '../schema/json.ts';
import { yamlLibrary } from '../schema/yaml-library.ts';

/** `clientcmd` Config v1, as far as it is used. Fields not named here are kept when a file is parsed and written again. */
export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  clusters: { name: string; cluster: KubeconfigCluster }[];
  users: { name: string; user: KubeconfigUser }[];
  contexts: { name: string; context: KubeconfigContext }[];
  'current-context': string;
  [field: string]: unknown;
}

export interface KubeconfigCluster {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  [field: string]: unknown;
}

export interface KubeconfigUser {
  token?: string;
  tokenFile?: string;
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  username?: string;
  password?: string;
  exec?: unknown;
  'auth-provider'?: unknown;
  as?: string;
  [field: string]: unknown;
}

export interface KubeconfigContext {
  cluster?: string;
  user?: string;
  namespace?: string;
  [field: string]: unknown;
}

/** Why a kubeconfig is of no use: each refusal has a reason of its own, fit for a condition. */
export type KubeconfigReason =
  | 'Malformed'
  | 'NoContext'
  | 'NoServer'
  | 'ExecPlugin'
  | 'AuthProvider'
  | 'BasicAuth'
  | 'Impersonation'
  | 'Proxy'
  | 'InsecureSkipTlsVerify'
  | 'CaFile'
  | 'CaMissing'
  | 'CredentialFile'
  | 'NoCredentials';

export class KubeconfigError extends Error {
  readonly reason: KubeconfigReason;
  constructor(reason: KubeconfigReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'KubeconfigError';
    this.reason = reason;
  }
}

const SIZE_LIMIT = 1024 * 1024;

/** Reads a kubeconfig from YAML or JSON. Throws {@link KubeconfigError} `Malformed`; its message quotes no content. */
export function parseKubeconfig(text: string): Kubeconfig {
  if (text.length > SIZE_LIMIT)
    throw new KubeconfigError('Malformed', `the kubeconfig is larger than ${SIZE_LIMIT} bytes`);
  let value: unknown;
  try {
    value = yamlLibrary().parse(text, { maxAliasCount: 0, logLevel: 'error', prettyErrors: false });
  } catch {
    // The parser's message quotes the text around the mistake, which may be a key or token.
    throw new KubeconfigError('Malformed', 'the kubeconfig is not valid YAML');
  }
  if (!isObject(value)) throw new KubeconfigError('Malformed', 'the kubeconfig is empty or not a map');
  if (value.kind !== undefined && value.kind !== 'Config')
    throw new KubeconfigError('Malformed', 'the kubeconfig has a kind other than Config');
  const named = <T>(field: string, inner: string): T[] => {
    const list = value[field] ?? [];
    const good =
      Array.isArray(list) &&
      list.every((item) => isObject(item) && typeof item.name === 'string' && isObject(item[inner] ?? {}));
    if (!good)
      throw new KubeconfigError('Malformed', `${field} of the kubeconfig is not a list of named entries`);
    return list.map((item) => ({
      ...(item as object),
      [inner]: (item as Record<string, unknown>)[inner] ?? {},
    })) as T[];
  };
  const current = value['current-context'];
  return {
    ...value,
    apiVersion: 'v1',
    kind: 'Config',
    clusters: named('clusters', 'cluster'),
    users: named('users', 'user'),
    contexts: named('contexts', 'context'),
    'current-context': typeof current === 'string' ? current : '',
  };
}

export function formatKubeconfig(config: Kubeconfig): string {
  return yamlLibrary().stringify(config, { lineWidth: 0 });
}

export function emptyKubeconfig(): Kubeconfig {
  return { apiVersion: 'v1', kind: 'Config', clusters: [], users: [], contexts: [], 'current-context': '' };
}

/**
 * `base` with the entries of `added`: those of the same name are replaced. The current context of `base` stays when
 * there is one that still exists.
 */
export function mergeKubeconfigs(base: Kubeconfig, added: Kubeconfig): Kubeconfig {
  const merge = <T extends { name: string }>(left: T[], right: T[]): T[] => {
    const replaced = new Map(right.map((item) => [item.name, item]));
    const kept = left.map((item) => replaced.get(item.name) ?? item);
    const present = new Set(left.map((item) => item.name));
    return [...kept, ...right.filter((item) => !present.has(item.name))];
  };
  const contexts = merge(base.contexts, added.contexts);
  const current = base['current-context'];
  return {
    ...added,
    ...base,
    clusters: merge(base.clusters, added.clusters),
    users: merge(base.users, added.users),
    contexts,
    'current-context': contexts.some((item) => item.name === current) ? current : added['current-context'],
  };
}

/** `config` without the named contexts and the clusters and users that only they used. */
export function withoutContexts(config: Kubeconfig, names: readonly string[]): Kubeconfig {
  const gone = config.contexts.filter((item) => names.includes(item.name));
  const contexts = config.contexts.filter((item) => !names.includes(item.name));
  const only = (field: 'cluster' | 'user'): Set<string> => {
    const set = new Set(gone.map((item) => item.context[field] ?? ''));
    for (const item of contexts) set.delete(item.context[field] ?? '');
    return set;
  };
  const clusters = only('cluster');
  const users = only('user');
  const current = config['current-context'];
  return {
    ...config,
    clusters: config.clusters.filter((item) => !clusters.has(item.name)),
    users: config.users.filter((item) => !users.has(item.name)),
    contexts,
    'current-context': names.includes(current) ? (contexts[0]?.name ?? '') : current,
  };
}
