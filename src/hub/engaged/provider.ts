import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import type { Handler } from '../../kube/exchange.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** A way to a cluster that is open. */
export interface ClusterConnection {
  readonly handler: Handler;
  /** Which API server it leads to: a way to another one is not a new credential, but another cluster. */
  readonly place: string;
  /** It answers no longer: whoever connects from now on gets another one. */
  abandon?(): void;
  /** Ends all exchanges, watches included, once nobody else uses the connection. */
  close(): void;
}

/** What a provider knows of a cluster: how to get to it, with which rights. */
export interface ClusterAccess {
  /** Of all that the access consists of; another digest is another credential. */
  readonly digest: string;
  /** By which rollouts select it. */
  readonly labels: Readonly<Record<string, string>>;
  /** Throws a CredentialError where the credential is none, or not one that may be used. */
  connect(): Promise<ClusterConnection>;
  /** Where the cluster is a part of what the connection leads to. */
  view?(client: Client): Client;
}

/** Who is told of clusters. No call waits or throws. */
export interface Aware {
  /**
   * The cluster is to be worked with until the signal is aborted. Once more for the same name it is a rotation: the work goes on
   * with the new access, the old connection is closed, and the signal given before means nothing any longer.
   */
  engage(name: ClusterName, access: ClusterAccess, signal: AbortSignal): void;
}

export interface RunningProvider {
  /** Whether all that is there has been told of. */
  synced(): boolean;
  /** Tells of nothing any longer, and disengages all that it told of. */
  stop(): void;
}

/** Tells which clusters there are. What it cannot read it tries again for as long as it runs. */
export interface ClusterProvider {
  /** In log lines and in the view of a cluster: `kubeconfig`, `cluster-api` … */
  readonly kind: string;
  start(runtime: Runtime, aware: Aware): RunningProvider;
}
