import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import type { Client } from '../kube/client.ts';
import {
  type ClusterEndpoint,
  checkEndpoint,
  type EndpointRules,
  type Resolve,
} from '../kube/cluster-endpoint.ts';
import { KubeconfigError } from '../kube/kubeconfig.ts';
import { endpointFromKubeconfig } from '../kube/kubeconfig-endpoint.ts';
import { hasCode } from '../kube/status-error.ts';
import { secrets } from '../kube/well-known.ts';
import { stringAt } from '../schema/json.ts';

/** What a SpokeCluster's credential comes to: the way in, or the reason why there is none. */
export type Materialized =
  | { readonly way: 'tunnel' }
  | { readonly way: 'direct'; readonly endpoint: ClusterEndpoint }
  | { readonly way: 'none'; readonly reason: 'NoProvider' | 'MaterializeFailed'; readonly message: string };

export interface CredentialOptions {
  readonly resolve: Resolve;
  readonly rules: EndpointRules;
}

/** Reads a credential (spec chapter 2.3). Never throws for a bad one; the message never quotes it. */
export async function materialize(
  client: Client,
  spoke: SpokeCluster,
  options: CredentialOptions,
): Promise<Materialized> {
  const { credential } = spoke.spec;
  const failed = (message: string): Materialized => ({ way: 'none', reason: 'MaterializeFailed', message });
  const arms = ['kubeconfig', 'aws', 'azure', 'gcp', 'tunnel'].filter(
    (arm) => arm in credential && arm !== credential.type,
  );
  if (arms.length > 0)
    return failed(`spec.credential.${arms[0]} must not be set with type ${credential.type}`);
  if (credential.type === 'tunnel') return { way: 'tunnel' };
  if (credential.type !== 'kubeconfig') {
    return {
      way: 'none',
      reason: 'NoProvider',
      message: `credentials of type ${credential.type} are not supported yet; use kubeconfig or tunnel`,
    };
  }
  const ref = credential.kubeconfig?.secretRef;
  if (!ref) return failed('spec.credential.kubeconfig.secretRef.name is required with type kubeconfig');
  const namespace = spoke.metadata.namespace ?? '';
  // A reference into another namespace would lend its owner's credential to whoever may write here.
  if (ref.namespace !== undefined && ref.namespace !== namespace)
    return failed(`secretRef.namespace must be ${namespace}, the namespace of the SpokeCluster`);
  const key = ref.key ?? 'kubeconfig';
  let text: string;
  try {
    const secret = await client.get(secrets, namespace, ref.name);
    const data = stringAt(secret, 'data', key);
    if (data === undefined) return failed(`secret ${namespace}/${ref.name} has no key ${key}`);
    text = Buffer.from(data, 'base64').toString('utf8');
  } catch (error) {
    if (hasCode(error, 404)) return failed(`secret ${namespace}/${ref.name} does not exist`);
    throw error;
  }
  try {
    const endpoint = endpointFromKubeconfig(text, { stored: true });
    const refused = await checkEndpoint(endpoint.url, options.resolve, options.rules);
    return refused === undefined ? { way: 'direct', endpoint } : failed(refused);
  } catch (error) {
    if (error instanceof KubeconfigError) return failed(error.message);
    throw error;
  }
}
