import { errorText } from '../runtime/log.ts';
import type { ClusterEndpoint } from './cluster-endpoint.ts';
import {
  type KubeconfigCluster,
  KubeconfigError,
  type KubeconfigReason,
  type KubeconfigUser,
  parseKubeconfig,
} from './kubeconfig.ts';
import { parseProxy } from './wire/proxy.ts';

export interface KubeconfigEndpointOptions {
  /** The current context by default; a stored kubeconfig always uses that. */
  context?: string;
  /**
   * Whether the kubeconfig is a credential kept for others (in a Secret), not the user's own file. Then nothing may be
   * run, no file may be read and TLS must be verified against an inline CA.
   */
  stored: boolean;
  /** Nothing is verified, so no authority has to be given. */
  unverified?: boolean;
  /** Reads a file that the user's own kubeconfig names. Without it files are refused. */
  readFile?: (path: string) => string;
}

function refuse(reason: KubeconfigReason, message: string, cause?: unknown): never {
  throw new KubeconfigError(reason, message, cause === undefined ? {} : { cause });
}

/** The endpoint of a kubeconfig's context. Throws {@link KubeconfigError}, with a reason for each refusal. */
export function endpointFromKubeconfig(text: string, options: KubeconfigEndpointOptions): ClusterEndpoint {
  if (options.stored && isTangled(text))
    throw new KubeconfigError('Malformed', 'the kubeconfig has more entries than one for a cluster can need');
  const config = parseKubeconfig(text);
  const contextName = (options.stored ? undefined : options.context) ?? config['current-context'];
  if (contextName === '') refuse('NoContext', 'the kubeconfig has no current-context');
  const context = config.contexts.find((item) => item.name === contextName)?.context;
  if (!context) refuse('NoContext', `the kubeconfig has no context "${contextName}"`);
  const cluster = config.clusters.find((item) => item.name === context.cluster)?.cluster;
  if (!cluster) refuse('NoContext', `the kubeconfig has no cluster "${context.cluster ?? ''}"`);
  const user = config.users.find((item) => item.name === context.user)?.user ?? {};
  return { ...serverPart(cluster, options), ...userPart(user, options) };
}

function serverPart(
  cluster: KubeconfigCluster,
  options: KubeconfigEndpointOptions,
): Pick<ClusterEndpoint, 'url' | 'ca' | 'serverName' | 'proxyUrl' | 'insecureSkipTlsVerify'> {
  const url = cluster.server ?? '';
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    refuse('NoServer', 'the kubeconfig names no server, or one that is not an http(s) URL');
  const proxyUrl = cluster['proxy-url'] || undefined;
  if (proxyUrl !== undefined) checkProxyUrl(proxyUrl);
  const insecure = cluster['insecure-skip-tls-verify'] === true;
  if (insecure && options.stored)
    refuse(
      'InsecureSkipTlsVerify',
      'the kubeconfig sets insecure-skip-tls-verify: give the certificate authority',
    );
  const caFile = cluster['certificate-authority'];
  const caData = cluster['certificate-authority-data'];
  if (caFile !== undefined && caFile !== '' && !caData && options.stored)
    refuse(
      'CaFile',
      'the kubeconfig names a file as certificate authority: put it inline (certificate-authority-data)',
    );
  const ca = caData
    ? decode(caData, 'certificate-authority-data')
    : caFile
      ? readCredential(caFile, 'certificate-authority', options)
      : undefined;
  if (ca === undefined && options.stored && options.unverified !== true)
    refuse('CaMissing', 'the kubeconfig holds no certificate authority (certificate-authority-data)');
  const serverName = cluster['tls-server-name'];
  return {
    url,
    ...(ca === undefined ? {} : { ca }),
    ...(serverName ? { serverName } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(insecure ? { insecureSkipTlsVerify: true } : {}),
  };
}

function checkProxyUrl(url: string): void {
  try {
    parseProxy(url);
  } catch (error) {
    refuse('Proxy', `the kubeconfig has a proxy-url that cannot be used: ${errorText(error)}`, error);
  }
}

function userPart(
  user: KubeconfigUser,
  options: KubeconfigEndpointOptions,
): Pick<ClusterEndpoint, 'token' | 'clientCertificate' | 'clientKey'> {
  if (user.exec !== undefined && user.exec !== null)
    refuse(
      'ExecPlugin',
      'the kubeconfig runs an exec plugin for its credentials: give a token or certificate',
    );
  if (user['auth-provider'] !== undefined && user['auth-provider'] !== null)
    refuse('AuthProvider', 'the kubeconfig uses an auth-provider plugin: give a token or certificate');
  if (user.username !== undefined || user.password !== undefined)
    refuse('BasicAuth', 'the kubeconfig uses a user name and password: give a token or certificate');
  if (user.as !== undefined)
    refuse('Impersonation', 'the kubeconfig impersonates another user: give credentials of that user');
  const files = ['tokenFile', 'client-certificate', 'client-key'] as const;
  for (const field of files) {
    if (user[field] && options.stored)
      refuse('CredentialFile', `the kubeconfig names a file as credential (${field}): put it inline`);
  }
  const token =
    user.token || (user.tokenFile ? readCredential(user.tokenFile, 'tokenFile', options).trim() : '');
  const inline = (data: 'client-certificate' | 'client-key'): string => {
    const value = user[`${data}-data`];
    if (value) return decode(value, `${data}-data`);
    const file = user[data];
    return file ? readCredential(file, data, options) : '';
  };
  const clientCertificate = inline('client-certificate');
  const clientKey = inline('client-key');
  if ((clientCertificate === '') !== (clientKey === ''))
    refuse('NoCredentials', 'the kubeconfig has a client certificate or key without the other');
  if (token === '' && clientCertificate === '' && options.stored)
    refuse('NoCredentials', 'the kubeconfig holds neither a token nor a client certificate');
  return {
    ...(token === '' ? {} : { token }),
    ...(clientCertificate === '' ? {} : { clientCertificate, clientKey }),
  };
}

function readCredential(path: string, field: string, options: KubeconfigEndpointOptions): string {
  const reason = field === 'certificate-authority' ? 'CaFile' : 'CredentialFile';
  if (!options.readFile)
    return refuse(reason, `the kubeconfig names a file (${field}), and none may be read here`);
  try {
    return options.readFile(path);
  } catch (error) {
    return refuse(reason, `the kubeconfig names a file (${field}) that cannot be read: ${path}`, error);
  }
}

function decode(base64: string, field: string): string {
  if (typeof base64 !== 'string' || !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(base64))
    refuse('Malformed', `${field} of the kubeconfig is not base64`);
  return Buffer.from(base64, 'base64').toString('utf8');
}

const MARKS_LIMIT = 3_000;
/** Whatever parts of YAML may begin with, or be apart by. A kubeconfig has some thirty for each cluster. */
const MARKS = /\s+|[,[{&!*]/g;

/** Whether whoever stored it could keep the parser busy: its time grows with the square of keys in a map, and of depth. */
function isTangled(text: string): boolean {
  if (text.length <= MARKS_LIMIT) return false;
  let marks = 0;
  for (const _mark of text.matchAll(MARKS)) {
    marks += 1;
    if (marks > MARKS_LIMIT) return true;
  }
  return false;
}
