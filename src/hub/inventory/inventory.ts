import type { SpokeFindings } from '../../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import type { PlaneName } from '../../engine/render/cluster-patches.ts';
import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { Link } from '../../link/link.ts';

export interface ClosableLink extends Link {
  close(): void;
}

/** Where links come from. Tunnels are dialled by spokes; direct links are made from credentials. */
export interface LinkSource {
  /** The link of a spoke that dialled, connected or not. */
  tunnel(spoke: string): Link | undefined;
  /** Calls back with the spoke's name whenever a tunnel comes into being. */
  onTunnel(listener: (spoke: string) => void): void;
  /** `token` is asked before each request: tokens end sooner than links. */
  direct(spoke: string, endpoint: ClusterEndpoint, token: () => string | undefined): ClosableLink;
  /** The spoke is no longer of the fleet: its connection is cut and may not come back. */
  forget(spoke: string): void;
}

/** The clusters of the fleet, and the upkeep of their SpokeCluster objects. */
export interface Inventory {
  /** Present clusters: one fact sheet a name. */
  clusters(): readonly ClusterFacts[];
  get(name: string): SpokeCluster | undefined;
  /** Whether a cluster of this name is in the inventory. */
  has(name: string): boolean;
  /** Whether a cluster has been away for longer than a hiccup. */
  unreachable(name: string): boolean;
  /** How a cluster leaves the fleet whose object is being deleted; undefined where it stays. */
  leaving(name: string): 'release' | 'cleanup' | undefined;
  /** Tells who knows whether a cluster still holds anything of this hub. */
  askHolder(holds: (name: string) => boolean): void;
  /** Looks at a cluster again, because something about it changed elsewhere. */
  recheck(name: string): void;
  /** Calls back when clusters come, go, are relabelled or tainted; with `only` where nothing but patches for these intents changed. */
  onChange(listener: (only?: readonly PlaneName[]) => void): void;
  /** Tells who knows what became of the patches of a cluster. */
  askPatches(ask: (spoke: SpokeCluster) => SpokeFindings['patches']): void;
  /** Tells who knows what a cluster says of orders of this hub and cannot show. */
  askClaim(ask: (name: string) => string | undefined): void;
  /** Why it is not known which clusters there are, where they could not be read since this hub started. */
  readonly unread: string | undefined;
  /** Resolves once they were read, or could not be. */
  whenTried(): Promise<void>;
  whenSynced(): Promise<void>;
  stop(): Promise<void>;
}
