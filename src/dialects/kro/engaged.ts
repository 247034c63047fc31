import type { ClusterName } from '../../kube/cluster-name.ts';
import type { Informer } from '../../kube/informer.ts';
import type { InstanceTally } from './instance-tally.ts';
import type { GraphRevision, ResourceGraphDefinition } from './types.ts';

/** What a cluster is to have of a definition of the hub. */
export interface AskedDefinition {
  /** As one of its revisions says it, under the hub's UID; as it was deleted, where it is. */
  readonly object: ResourceGraphDefinition;
  /** Whether the cluster is to serve it. Otherwise its instances there are looked after until they are gone. */
  readonly wanted: boolean;
  /** Why nothing new can be served. */
  readonly problem?: string;
}

/** The definitions of a hub, as one cluster that has none itself is to serve them. */
export interface DefinitionSource {
  /** All revisions of the hub. */
  readonly revisions: Pick<Informer<GraphRevision>, 'list' | 'synced'>;
  names(): readonly string[];
  /** `undefined` where there is no such definition, or nothing of it that was ever served. */
  get(name: string): AskedDefinition | undefined;
  /** Before a cluster serves it first: from then on the definition is not gone before the cluster let go of it. */
  hold(name: string): Promise<void>;
  /** Returns how to stop listening. */
  onChange(listener: (name: string) => void): () => void;
  whenSynced(): Promise<void>;
}

/** How one definition is doing on one cluster. */
export interface GraphOnEngaged {
  readonly state: 'Active' | 'Inactive' | 'Leaving';
  readonly revision?: number;
  readonly message: string;
  readonly instances?: InstanceTally;
}

/** How the engine is doing on a cluster. */
export type EngineState =
  | { readonly state: 'Ready' }
  | { readonly state: 'Unreachable'; readonly message: string }
  /** An engine of its own runs there: nothing is touched. */
  | { readonly state: 'EnginePresent'; readonly message: string }
  /** The same cluster is worked on under another name: by this one nothing is touched. */
  | { readonly state: 'AlreadyEngaged'; readonly message: string };

/** What whoever runs graphs on a cluster tells of it. */
export interface EngagedReports {
  /** `undefined`: the cluster has nothing of the definition any longer. */
  graph(name: string, report: GraphOnEngaged | undefined): void;
  state(state: EngineState): void;
}

/** Who is asked to run the graphs of a hub on a cluster. */
export interface EngagedWork {
  readonly cluster: ClusterName;
  /** Who works there, different for each hub. */
  readonly hub: string;
  readonly source: DefinitionSource;
  readonly reports: EngagedReports;
}
