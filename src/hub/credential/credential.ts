import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterEndpoint, EndpointRules, Resolve } from '../../kube/cluster-endpoint.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';

/** The way to a spoke that is reached by its endpoint. */
export interface DirectWay {
  readonly way: 'direct';
  readonly endpoint: ClusterEndpoint;
  /** Region that the credential names, for the inventory. */
  readonly region?: string;
  /** When to ask again, milliseconds since the epoch; absent where the credential tells no end: ask every time. */
  readonly refreshAt?: number;
}

/** What a SpokeCluster's credential comes to: the way in, or the reason why there is none. */
export type Materialized =
  | { readonly way: 'tunnel' }
  | DirectWay
  | { readonly way: 'none'; readonly reason: 'NoProvider' | 'MaterializeFailed'; readonly message: string };

/** A bad credential, told to the user. The message never quotes a secret. */
export class CredentialError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CredentialError';
  }
}

/** One request to a cloud. Rejects where no answer comes; it has to bound its own time and the size of the answer. */
export type CloudRequest = (request: {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}) => Promise<{ readonly status: number; readonly body: string }>;

/** What the hub's own process has to prove who it is to a cloud. */
export interface Ambient {
  readonly request: CloudRequest;
  /** A variable of the environment; undefined where it is not set. */
  env(name: string): string | undefined;
  /** The text of a file that a variable of the environment names. */
  readFile(path: string): string;
}

export interface CredentialOptions {
  readonly resolve: Resolve;
  readonly rules: EndpointRules;
  /** Absent: no cloud can be asked, and cloud credentials report NoProvider. */
  readonly ambient?: Ambient;
  /** Registers clusters that are reached by their endpoint with the cluster gateway of KubeVela as well. Nothing is, where absent. */
  readonly gateway?: GatewayOptions;
}

export interface GatewayOptions {
  /** Where the gateway looks for its Secrets: `vela-system` where nothing else was said. */
  readonly namespace: string;
}

export interface CredentialContext extends CredentialOptions {
  /** The hub's own API, for Secrets. */
  readonly client: Client;
  /** Wall time, milliseconds. */
  readonly now: () => number;
}

/** Reads one type of credential (spec chapter 2.3). Throws {@link CredentialError} for a bad one. */
export type CredentialProvider = (context: CredentialContext, spoke: SpokeCluster) => Promise<Materialized>;

/** A field that a credential must have. */
export function required(arm: Readonly<Record<string, unknown>>, type: string, field: string): string {
  const value = arm[field];
  if (typeof value !== 'string' || value === '')
    throw new CredentialError(`spec.credential.${type}.${field} is required with type ${type}`);
  return value;
}

/** What a Secret of the SpokeCluster's own namespace holds. Throws {@link CredentialError} where there is none. */
export async function ownSecret(
  client: Client,
  spoke: SpokeCluster,
  field: string,
  ref: { readonly name: string; readonly namespace?: string },
): Promise<KubeObject> {
  const namespace = spoke.metadata.namespace ?? '';
  // A reference into another namespace would lend its owner's credential to whoever may write here.
  if (ref.namespace !== undefined && ref.namespace !== '' && ref.namespace !== namespace)
    throw new CredentialError(`${field}.namespace must be ${namespace}, the namespace of the SpokeCluster`);
  try {
    return await client.get(secrets, namespace, ref.name);
  } catch (error) {
    if (hasCode(error, 404)) throw new CredentialError(`secret ${namespace}/${ref.name} does not exist`);
    throw error;
  }
}
