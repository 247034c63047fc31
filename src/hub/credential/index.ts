/**
 * How the hub reaches a spoke: one provider a credential type (spec/kubevela.md, chapter 2.3). A provider makes an endpoint
 * from what the SpokeCluster says and from what the hub's own process is; it stores nothing. `credentials` keeps what was
 * made until it is due again, and lets go of it when the spoke answers 401.
 */
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { checkEndpoint, checkProxy, type Resolve } from '../../kube/cluster-endpoint.ts';
import { errorText } from '../../runtime/log.ts';
import { awsCredential } from './aws.ts';
import { azureCredential } from './azure.ts';
import {
  type Ambient,
  type CredentialContext,
  CredentialError,
  type CredentialProvider,
  type DirectWay,
  type Materialized,
} from './credential.ts';
import { gatewayCredential } from './gateway.ts';
import { gcpCredential } from './gcp.ts';
import { kubeconfigCredential } from './kubeconfig.ts';

export type {
  Ambient,
  CloudRequest,
  CredentialOptions,
  DirectWay,
  GatewayOptions,
  Materialized,
} from './credential.ts';
export { CredentialError } from './credential.ts';

const PROVIDERS: Readonly<Record<string, CredentialProvider>> = {
  kubeconfig: kubeconfigCredential,
  gateway: gatewayCredential,
  tunnel: async () => ({ way: 'tunnel' }),
};
const CLOUD_PROVIDERS: Readonly<Record<string, CredentialProvider>> = {
  aws: awsCredential,
  azure: azureCredential,
  gcp: gcpCredential,
};

export interface Credentials {
  /** Never throws for a bad credential; the message never quotes it. */
  materialize(spoke: SpokeCluster): Promise<Materialized>;
  /** The spoke answered 401: what is kept is made anew next time. */
  evict(spoke: SpokeCluster): void;
  forget(namespace: string, name: string): void;
}

/** Longest time that something made is used without asking again. */
const KEEP_MS = 15 * 60_000;

export function credentials(context: CredentialContext): Credentials {
  const ambient = context.ambient && readable(context.ambient);
  const asked: CredentialContext = { ...context, ...(ambient === undefined ? {} : { ambient }) };
  const kept = new Map<string, { uid: string; generation: number; until: number; made: Materialized }>();

  /** Addresses that were looked up and found good, by cluster. */
  const passed = new Map<string, string>();

  /** Why an endpoint may not be reached. That names cannot be looked up just now closes no way that was good before. */
  async function refusalOf(spoke: SpokeCluster, { endpoint }: DirectWay): Promise<string | undefined> {
    const { url, proxyUrl } = endpoint;
    const key = keyOf(spoke.metadata.namespace ?? '', spoke.metadata.name ?? '');
    const place = [spoke.metadata.uid, url, proxyUrl].join('\n');
    let isUnresolved = false;
    const resolve: Resolve = async (host) => {
      try {
        return await context.resolve(host);
      } catch (error) {
        isUnresolved = true;
        throw error;
      }
    };
    const refused =
      (await checkEndpoint(url, resolve, context.rules)) ??
      (proxyUrl === undefined ? undefined : await checkProxy(proxyUrl, resolve, context.rules));
    if (refused !== undefined && isUnresolved && passed.get(key) === place) return undefined;
    if (refused === undefined) passed.set(key, place);
    else passed.delete(key);
    return refused;
  }

  async function make(spoke: SpokeCluster): Promise<Materialized> {
    const { credential } = spoke.spec;
    const arm = ['kubeconfig', 'aws', 'azure', 'gcp', 'tunnel'].find(
      (name) => name in credential && name !== credential.type,
    );
    if (arm !== undefined)
      return failed(`spec.credential.${arm} must not be set with type ${credential.type}`);
    const provider =
      PROVIDERS[credential.type] ?? (context.ambient ? CLOUD_PROVIDERS[credential.type] : undefined);
    if (!provider)
      return {
        way: 'none',
        reason: 'NoProvider',
        message: `this hub has no provider for credentials of type ${credential.type}; use kubeconfig or tunnel`,
      };
    try {
      const made = await provider(asked, spoke);
      if (made.way !== 'direct') return made;
      const refused = await refusalOf(spoke, made);
      return refused === undefined ? made : failed(refused);
    } catch (error) {
      if (error instanceof CredentialError) return failed(error.message);
      throw error;
    }
  }

  return {
    async materialize(spoke: SpokeCluster): Promise<Materialized> {
      const key = keyOf(spoke.metadata.namespace ?? '', spoke.metadata.name ?? '');
      const { uid = '', generation = 0 } = spoke.metadata;
      const present = kept.get(key);
      const now = context.now();
      if (present?.uid === uid && present.generation === generation && now < present.until)
        return present.made;
      const made = await make(spoke);
      kept.delete(key);
      if (made.way === 'direct' && made.refreshAt !== undefined)
        kept.set(key, { uid, generation, until: Math.min(made.refreshAt, now + KEEP_MS), made });
      return made;
    },
    evict(spoke: SpokeCluster): void {
      kept.delete(keyOf(spoke.metadata.namespace ?? '', spoke.metadata.name ?? ''));
    },
    forget(namespace: string, name: string): void {
      kept.delete(keyOf(namespace, name));
      passed.delete(keyOf(namespace, name));
    },
  };
}

/** Files that cannot be read are the credential's fault, not the hub's. */
function readable(ambient: Ambient): Ambient {
  return {
    ...ambient,
    readFile(path: string): string {
      try {
        return ambient.readFile(path);
      } catch (error) {
        throw new CredentialError(`the hub cannot read ${path}: ${errorText(error)}`);
      }
    },
  };
}

function failed(message: string): Materialized {
  return { way: 'none', reason: 'MaterializeFailed', message };
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
