import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import type { SpokeCluster } from './types.ts';

/**
 * Secrets by which the cluster gateway of KubeVela knows clusters (spec chapter 4.1): one a cluster, named like it, as
 * `vela cluster join` makes them.
 */
export const CREDENTIAL_TYPE_LABEL = 'cluster.core.oam.dev/cluster-credential-type';
export const ENDPOINT_TYPE_LABEL = 'cluster.core.oam.dev/cluster-endpoint-type';
/** Which SpokeCluster a Secret was made for, `namespace/name`. One without it was made by hand. */
export const OWNER_ANNOTATION = 'spokecluster.core.oam.dev/owner';
/** What becomes of it when the SpokeCluster goes, also one that is deleted by force. */
export const POLICY_ANNOTATION = 'spokecluster.core.oam.dev/deletion-policy';

export function gatewayOwner({ metadata }: SpokeCluster): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/**
 * The Secret that registers a cluster, or why there can be none: what the gateway makes of it must be what the SpokeCluster
 * says, certificates checked.
 */
export function gatewaySecretOf(
  spoke: SpokeCluster,
  endpoint: ClusterEndpoint,
  namespace: string,
): { readonly secret: KubeObject } | { readonly problem: string } {
  const { url, ca, serverName, token, clientCertificate, clientKey, proxyUrl } = endpoint;
  const { name = '', uid = '' } = spoke.metadata;
  if (name === 'local') return { problem: 'the name local is that of the hub itself: choose another' };
  if (serverName !== undefined && serverName !== new URL(url).hostname)
    return {
      problem: `the cluster gateway checks certificates for the host of the endpoint, and cannot check this one's for ${serverName}`,
    };
  if (ca === undefined)
    return { problem: 'the cluster gateway checks no certificate without an authority: give the authority' };
  if ((endpoint.tlsRelaxations ?? []).length > 0)
    return { problem: 'the cluster gateway cannot leave out a part of the check of certificates only' };
  const isCertificate = clientCertificate !== undefined && clientKey !== undefined;
  if (!isCertificate && token === undefined)
    return { problem: 'the credential holds neither a token nor a client certificate' };
  const data: Record<string, string> = {
    endpoint: url,
    'ca.crt': ca,
    ...(isCertificate ? { 'tls.crt': clientCertificate, 'tls.key': clientKey } : { token: token ?? '' }),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
  };
  const policy = spoke.spec.deletionPolicy ?? 'detach';
  const isOwned = policy !== 'orphan' && spoke.metadata.namespace === namespace;
  return {
    secret: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace,
        labels: {
          [CREDENTIAL_TYPE_LABEL]: isCertificate ? 'X509Certificate' : 'ServiceAccountToken',
          [ENDPOINT_TYPE_LABEL]: 'Const',
        },
        annotations: { [OWNER_ANNOTATION]: gatewayOwner(spoke), [POLICY_ANNOTATION]: policy },
        ownerReferences: isOwned ? [{ apiVersion: spoke.apiVersion, kind: spoke.kind, name, uid }] : [],
      },
      type: 'Opaque',
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    },
  };
}

/** The endpoint that such a Secret tells of, or why the hub does not use it. No message quotes what is in it. */
export function endpointOfGatewaySecret(
  secret: KubeObject,
): { readonly endpoint: ClusterEndpoint } | { readonly problem: string } {
  const { name = '', labels = {} } = secret.metadata;
  const value = (key: string): string | undefined => {
    const encoded = stringAt(secret, 'data', key);
    return encoded ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
  };
  const refuse = (problem: string): { problem: string } => ({ problem: `secret ${name} ${problem}` });
  const type = labels[CREDENTIAL_TYPE_LABEL];
  const way = labels[ENDPOINT_TYPE_LABEL] ?? 'Const';
  if (type === undefined) return refuse(`has no label ${CREDENTIAL_TYPE_LABEL}: it joins no cluster`);
  if (type === 'Dynamic') return refuse('runs a program for its credential: give a token or certificate');
  if (type !== 'X509Certificate' && type !== 'ServiceAccountToken')
    return refuse(`has a credential of type ${JSON.stringify(type)}, which is not known`);
  if (way !== 'Const') return refuse(`is reached by ${JSON.stringify(way)}: let the cluster dial the hub`);
  const url = value('endpoint')?.trim();
  if (url === undefined) return refuse('names no endpoint');
  const ca = value('ca.crt') ?? value('ca');
  if (ca === undefined)
    return refuse('has no authority (ca.crt), so that nobody would check the certificate of the cluster');
  const proxyUrl = value('proxy-url')?.trim();
  const base = { url, ca, ...(proxyUrl === undefined ? {} : { proxyUrl }) };
  if (type === 'ServiceAccountToken') {
    const token = value('token')?.trim();
    return token === undefined ? refuse('has no token') : { endpoint: { ...base, token } };
  }
  const clientCertificate = value('tls.crt');
  const clientKey = value('tls.key');
  if (clientCertificate === undefined || clientKey === undefined)
    return refuse('has no client certificate with its key (tls.crt, tls.key)');
  return { endpoint: { ...base, clientCertificate, clientKey } };
}
