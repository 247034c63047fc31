import { KubeconfigError } from '../../kube/kubeconfig.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { hasCode } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { stringAt } from '../../schema/json.ts';
import { CredentialError, type CredentialProvider } from './credential.ts';
import { credentialEnd, refreshBefore } from './expiry.ts';

/** A kubeconfig in a Secret of the SpokeCluster's own namespace. */
export const kubeconfigCredential: CredentialProvider = async ({ client, now }, spoke) => {
  const ref = spoke.spec.credential.kubeconfig?.secretRef;
  if (!ref)
    throw new CredentialError('spec.credential.kubeconfig.secretRef.name is required with type kubeconfig');
  const namespace = spoke.metadata.namespace ?? '';
  // A reference into another namespace would lend its owner's credential to whoever may write here.
  if (ref.namespace !== undefined && ref.namespace !== namespace)
    throw new CredentialError(`secretRef.namespace must be ${namespace}, the namespace of the SpokeCluster`);
  const key = ref.key ?? 'kubeconfig';
  let data: string | undefined;
  try {
    data = stringAt(await client.get(secrets, namespace, ref.name), 'data', key);
  } catch (error) {
    if (hasCode(error, 404)) throw new CredentialError(`secret ${namespace}/${ref.name} does not exist`);
    throw error;
  }
  if (data === undefined) throw new CredentialError(`secret ${namespace}/${ref.name} has no key ${key}`);
  try {
    const endpoint = endpointFromKubeconfig(Buffer.from(data, 'base64').toString('utf8'), { stored: true });
    const refreshAt = refreshBefore(credentialEnd(endpoint), now());
    return { way: 'direct', endpoint, ...(refreshAt === undefined ? {} : { refreshAt }) };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new CredentialError(error.message);
    throw error;
  }
};
