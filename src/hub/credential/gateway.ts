import { endpointOfGatewaySecret } from '../../dialects/kubevela/gateway-secret.ts';
import { CredentialError, type CredentialProvider, ownSecret } from './credential.ts';
import { credentialEnd, refreshBefore } from './expiry.ts';

/** A Secret of KubeVela's cluster gateway, as `vela cluster join` left it. It is read, and never written. */
export const gatewayCredential: CredentialProvider = async ({ client, now }, spoke) => {
  const ref = spoke.spec.clusterGatewayRef;
  if (!ref) throw new CredentialError('spec.clusterGatewayRef.name is required with type gateway');
  const found = endpointOfGatewaySecret(await ownSecret(client, spoke, 'clusterGatewayRef', ref));
  if ('problem' in found) throw new CredentialError(found.problem);
  const refreshAt = refreshBefore(credentialEnd(found.endpoint), now());
  return { way: 'direct', endpoint: found.endpoint, ...(refreshAt === undefined ? {} : { refreshAt }) };
};
