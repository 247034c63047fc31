import type { Handler, Request, Response } from '../kube/exchange.ts';
import type { Kubeconfig } from '../kube/kubeconfig.ts';
import type { KeyPair } from '../kube/pki.ts';
import type { Connection } from '../kube/wire/index.ts';
import type { Runtime } from '../runtime/index.ts';
import type { ResolveService, WebhookCaller } from './admission/index.ts';
import type { FrontProxy } from './aggregation/index.ts';
import type { AuditPolicy, AuditSink } from './audit/index.ts';
import type { Authenticator, Authorizer, UserInfo } from './auth/index.ts';
import { NEWEST_RELEASE, type Release } from './catalogue/index.ts';
import type { ClusterOptions } from './clusters/index.ts';
import type { FairQueueOptions } from './fairness/index.ts';
import type { OidcOptions } from './oidc/index.ts';
import type { Outbound } from './outbound/index.ts';
import type { Spaces } from './space.ts';
import type { StorageDriver } from './storage/index.ts';
import type { Store, StoreOptions } from './store/index.ts';

export interface ApiServerOptions {
  readonly runtime: Runtime;
  readonly storage: StorageDriver;
  readonly store?: StoreOptions;
  /**
   * Finds out who asks. Besides, holders of service account tokens and of bootstrap tokens are let in; without either
   * nobody is but through {@link ApiServer.as}.
   */
  readonly authenticate?: Authenticator;
  /** An issuer whose ID tokens are believed as well. */
  readonly oidc?: OidcOptions;
  /** Whether requests without credentials are answered, as `system:anonymous`, where roles allow it. False by default. */
  readonly anonymous?: boolean;
  /** Private key (PEM; P-256 or RSA) that signs service account tokens. By default one that ends with the process. */
  readonly serviceAccountKey?: string;
  /** Who service account tokens say they are from. */
  readonly serviceAccountIssuer?: string;
  /** Role-based access control over the cluster's own objects by default. */
  readonly authorize?: Authorizer;
  readonly audit?: AuditSink;
  /** What of which requests {@link audit} hears. By default one event of each, without bodies. */
  readonly auditPolicy?: AuditPolicy;
  /** `host:port` as clients inside the cluster reach this server, for discovery. */
  readonly address?: string;
  /** PEM of the authority that this server's certificate comes from, for ConfigMap `kube-root-ca.crt`. */
  readonly caCertificate?: string;
  /**
   * The authority whose client certificates {@link authenticate} believes. With it, approved signing requests of the
   * cluster `root` are signed.
   */
  readonly clientCa?: KeyPair;
  /** `gitVersion` of `/version`. By default that of the release. */
  readonly version?: string;
  /** The release of Kubernetes whose built-in resources are served, as if it was the newest. */
  readonly emulatedVersion?: Release;
  /** Whether the garbage collector and the other controllers of this server run. True by default. */
  readonly controllers?: boolean;
  /** What someone else serves, such as a cluster below `/clusters/<name>`. */
  readonly spaces?: Spaces;
  /** Built-in groups that are not served. */
  readonly excludeGroups?: readonly string[];
  /** Whether `metrics.k8s.io` tells what simulated pods and nodes use. False by default. */
  readonly simulatedMetrics?: boolean;
  /** Whether containers may be privileged. True by default. */
  readonly allowPrivileged?: boolean;
  /** Whether logical clusters are managed by objects: Workspaces, their types, exports and bindings of APIs. False by default. */
  readonly workspaces?: boolean;
  /** How many requests are served at once, of all logical clusters and of each. */
  readonly fairness?: FairQueueOptions;
  /** Names of built-in admission plugins that are switched off, such as `ServiceAccount`. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** Finds where a Service that a webhook is behind can be reached. By default the first address of its Endpoints. */
  readonly resolveService?: ResolveService;
  /** Calls webhooks. By default over TLS. */
  readonly callWebhook?: WebhookCaller;
  /** Users of a kubeconfig, named by the webhooks of the cluster `root` to which the server shows itself as them. */
  readonly webhookUsers?: Kubeconfig['users'];
  /** The certificate by which extension API servers believe this one what it says of users, and the authority of it. */
  readonly frontProxy?: FrontProxy;
  /** Calls extension API servers and issuers of tokens. By default over TLS. */
  readonly outbound?: Outbound;
}

/** A Kubernetes-compatible API server as a function from request to response. */
export interface ApiServer {
  /** The whole pipeline: authenticate → authorize → audit → handle. Never rejects. */
  handle(request: Request, connection: Connection): Promise<Response>;
  /** A way in for this process: `user` is believed; authorization and audit are as for anyone. */
  as(user: UserInfo): Handler;
  /**
   * Creates a logical cluster, served below `/clusters/<name>`, which stays over restarts. Does nothing when it exists.
   * Throws 400 for a bad name, 409 while it is being deleted.
   */
  createCluster(name: string, options?: ClusterOptions): Promise<void>;
  /** Removes a logical cluster with all that is in it and ends its watches; whether there was one. */
  deleteCluster(name: string): Promise<boolean>;
  /**
   * Serves the API of a CustomResourceDefinition (`definition` is its name) of one logical cluster in another as well. The
   * objects are the consumer's; whoever may list or watch `<resource>/consumers` in the provider sees those of all consumers
   * below `/clusters/<provider>/consumers/apis/…`. Throws 404 and 409.
   */
  bindApi(binding: { provider: string; definition: string; consumer: string }): Promise<void>;
  /** Ends that; whether it was so. Throws 409 while there are objects. */
  unbindApi(consumer: string, definition: string): Promise<boolean>;
  /** The names of all logical clusters, `root` among them. */
  clusters(): string[];
  readonly store: Store;
  /** False while closing: `/readyz` says so. */
  readonly ready: boolean;
  /** Ends all watches, stops the controllers and closes the storage. */
  close(): Promise<void>;
}

/** The logical cluster without a path prefix. It always exists. */
export const ROOT_CLUSTER = 'root';

/** The `gitVersion` that a server of a release shows. */
export function versionOf(release: Release): string {
  return `v${release}.0+atoll`;
}
export const DEFAULT_VERSION: string = versionOf(NEWEST_RELEASE);
