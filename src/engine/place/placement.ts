import type { LabelSelector } from '../../schema/label-selector.ts';
import type { ClusterPatch } from '../render/cluster-patches.ts';

/** Clusters that are meant. All that is given must hold; a match that gives nothing means no cluster. */
export interface ClusterMatch {
  readonly clusterNames?: readonly string[];
  /** By the labels of the SpokeCluster; `{}` means all. */
  readonly clusterSelector?: LabelSelector;
  /** By what is known of the cluster: provider, region, zone, version and the like. */
  readonly clusterFields?: readonly FieldRequirement[];
  /** CEL over `cluster`; each must be true. */
  readonly clusterExpressions?: readonly string[];
}

/** `InRange` reads its values as ranges of versions, `>=1.30 <1.33`; one of them must hold. */
export interface FieldRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'InRange' | 'NotInRange';
  readonly values?: readonly string[];
}

/** Clusters that are meant, without those that are not. */
export interface ClusterAffinity extends ClusterMatch {
  /** A cluster that one of these means is out, whatever else holds. */
  readonly exclude?: readonly ClusterMatch[];
}

/** One of several groups of clusters, of which the first that can take the intent is used. */
export interface AffinityGroup extends ClusterAffinity {
  readonly name: string;
  readonly overflow?: readonly ClusterAffinity[];
}

/** Where an intent shall be. Nothing given places nothing: a blast radius is never a default. */
export interface Placement extends ClusterAffinity {
  /** One of these must hold, beside what else is given. */
  readonly anyOf?: readonly ClusterMatch[];
  /** In order of preference. */
  readonly groups?: readonly AffinityGroup[];
  /** Whether a better group is gone back to when it can be used again (`Automatic`, the default). */
  readonly failBack?: 'Automatic' | 'Never';
  /** How long a better group must have been usable before it is gone back to; 600 by default. */
  readonly failBackAfterSeconds?: number;
  /** More clusters, tier by tier, for what those above cannot take. */
  readonly overflow?: readonly ClusterAffinity[];
  readonly tolerations?: readonly Toleration[];
  readonly spread?: readonly SpreadConstraint[];
  /** How many of the clusters that fit; all where nothing is said. */
  readonly numberOfClusters?: number;
  /** Which clusters are better than others, where not all are taken. */
  readonly scores?: readonly ScoreTerm[];
  /** Workloads with the same value of this label go to the same clusters. */
  readonly affinityByLabel?: string;
  /** Workloads with the same value of this label go to different clusters. */
  readonly antiAffinityByLabel?: string;
  /** Only clusters that serve all kinds of what is placed, as far as that is known of them; what is there stays. */
  readonly requireApis?: boolean;
  /**
   * Copies on clusters that are no longer chosen stay until all that are chosen have been Ready for so long; they go at once where
   * nothing is said.
   */
  readonly retireAfterSeconds?: number;
  /** Who decides. With a name other than {@link OWN_SCHEDULER} somebody else does, and nothing of the above is looked at. */
  readonly schedulerName?: string;
}

export const OWN_SCHEDULER = 'atoll';

/**
 * `NoSelect` keeps intents away and sends those away that are there, `NoSelectIfNew` only keeps away, `PreferNoSelect` is a
 * wish. The words of nodes mean the same: `NoExecute`, `NoSchedule`, `PreferNoSchedule`.
 */
export type TaintEffect =
  | 'NoSelect'
  | 'NoSelectIfNew'
  | 'PreferNoSelect'
  | 'NoExecute'
  | 'NoSchedule'
  | 'PreferNoSchedule';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
  /** RFC 3339. From then the seconds of tolerations count. */
  readonly timeAdded?: string;
}

export interface Toleration {
  /** Every key where nothing is said, which needs the operator `Exists`. */
  readonly key?: string;
  /** `Equal` by default. */
  readonly operator?: 'Equal' | 'Exists';
  readonly value?: string;
  /** Every effect where nothing is said. */
  readonly effect?: TaintEffect;
  /** How long an intent stays that is there already. Nothing new is placed on such a cluster. */
  readonly tolerationSeconds?: number;
}

/** Clusters fall into groups by a label or a field; `cluster` makes each a group of its own. */
export interface SpreadConstraint {
  /** `cluster`, `region`, `zone`, `provider` or another field. */
  readonly field?: string;
  readonly label?: string;
  /** Fewer groups place nothing new. */
  readonly minGroups?: number;
  /** No limit where it is 0 or absent. */
  readonly maxGroups?: number;
  /** By how many clusters groups may differ. */
  readonly maxSkew?: number;
  readonly whenUnsatisfiable?: 'DoNotSchedule' | 'ScheduleAnyway';
}

/** One reason to prefer clusters: a score from -100 to 100, times a weight (1 by default). */
export interface ScoreTerm extends ClusterMatch {
  readonly type: 'Affinity' | 'Balance' | 'Steady' | 'Property' | 'Resource' | 'External' | 'Expression';
  readonly weight?: number;
  /** The property, or the resource, that is compared. */
  readonly name?: string;
  /** Which end of a property or a resource is better; `Descending`, the larger, by default. */
  readonly order?: 'Ascending' | 'Descending';
  /** `External`: the object that scores come from, and which of its scores. */
  readonly source?: string;
  /** CEL over `cluster` that gives a number. */
  readonly expression?: string;
}

/** What placement may know of a cluster. Keep the object as long as nothing in it changes: what is computed of it is kept with it. */
export interface ClusterFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `provider`, `region`, `zone` (one or several), `version`, `platform`; others may follow. */
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
  /** Claims: what the cluster says of itself. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Cordoned: nothing new is placed, what is there stays. */
  readonly unschedulable?: boolean;
  /** RFC 3339. From then nothing stays. */
  readonly evictAfter?: string;
  /** Quantities. */
  readonly resources?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly allocated?: Readonly<Record<string, string>>;
  };
  /** What the cluster serves, `apps/v1/Deployment`. Absent, or not complete, means: not known. */
  readonly apis?: { readonly kinds: readonly string[]; readonly complete: boolean };
  /** Scores that others gave it, by the object that holds them. */
  readonly scores?: Readonly<Record<string, ExternalScores>>;
  /** Not for placement: what is there is taken over, where an intent does not say otherwise. */
  readonly adopts?: true;
  /** Not for placement: what is changed of what goes there. */
  readonly patches?: readonly ClusterPatch[];
}

export interface ExternalScores {
  readonly values: Readonly<Record<string, number>>;
  /** RFC 3339. They count for nothing after it. */
  readonly validUntil?: string;
}
