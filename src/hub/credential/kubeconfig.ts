import type { ClusterEndpoint, TlsRelaxation } from '../../kube/cluster-endpoint.ts';
import { KubeconfigError } from '../../kube/kubeconfig.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { stringAt } from '../../schema/json.ts';
import { CredentialError, type CredentialProvider, ownSecret } from './credential.ts';
import { credentialEnd, refreshBefore } from './expiry.ts';

/** A kubeconfig in a Secret of the SpokeCluster's own namespace. */
export const kubeconfigCredential: CredentialProvider = async ({ client, now, rules }, spoke) => {
  const { secretRef: ref, disabledTLSValidations = [] } = spoke.spec.credential.kubeconfig ?? {};
  if (!ref)
    throw new CredentialError('spec.credential.kubeconfig.secretRef.name is required with type kubeconfig');
  const unverified = disabledTLSValidations.includes('*');
  if (unverified && rules.allowUnverifiedTls !== true)
    throw new CredentialError(
      'spec.credential.kubeconfig.disabledTLSValidations has *, and this hub reaches no cluster whose certificate nobody checks: its operator can start it with --allow-unverified-tls',
    );
  const key = ref.key ?? 'kubeconfig';
  const data = stringAt(await ownSecret(client, spoke, 'secretRef', ref), 'data', key);
  if (data === undefined)
    throw new CredentialError(`secret ${spoke.metadata.namespace ?? ''}/${ref.name} has no key ${key}`);
  const relaxations = disabledTLSValidations.filter((value): value is TlsRelaxation => value !== '*');
  try {
    const read = endpointFromKubeconfig(Buffer.from(data, 'base64').toString('utf8'), {
      stored: true,
      unverified,
    });
    const endpoint: ClusterEndpoint = {
      ...read,
      ...(unverified ? { insecureSkipTlsVerify: true } : {}),
      ...(relaxations.length === 0 ? {} : { tlsRelaxations: relaxations }),
    };
    const refreshAt = refreshBefore(credentialEnd(endpoint), now());
    return { way: 'direct', endpoint, ...(refreshAt === undefined ? {} : { refreshAt }) };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new CredentialError(error.message);
    throw error;
  }
};
