import type { Condition, KubeObject } from '../../kube/object.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';

/** What is done with a selected object beside bringing it. Of several that hold for one object flags are ORed, collectors united. */
export interface Modulation {
  /** Make it where it is not there, and never change it. */
  readonly createOnly?: boolean;
  /** Names of StatusCollectors. */
  readonly statusCollectors?: readonly string[];
  /** Copy the status of its one copy to it. */
  readonly wantSingletonReportedState?: boolean;
  /** The same with the statuses of all copies, as one. */
  readonly wantMultiWECReportedState?: boolean;
}

/** Tests of an object, all of which must hold; one that says nothing holds for all. */
export interface ObjectTest {
  /** `''` is the core group; all groups where nothing is said. */
  readonly apiGroup?: string | null;
  /** Plural names in lower case, or `*` alone. */
  readonly resources?: readonly string[];
  /** Names, or `*` alone, which is the only one that objects without a namespace pass. */
  readonly namespaces?: readonly string[];
  /** By labels of the Namespace; objects without one pass `{}` only. */
  readonly namespaceSelectors?: readonly LabelSelector[];
  readonly objectNames?: readonly string[];
  readonly objectSelectors?: readonly LabelSelector[];
}

export interface DownsyncClause extends ObjectTest, Modulation {}

export interface BindingPolicy extends KubeObject {
  readonly spec?: {
    /** A cluster that passes any of them is a destination. */
    readonly clusterSelectors?: readonly LabelSelector[];
    /** An object that passes any of them goes there. */
    readonly downsync?: readonly DownsyncClause[];
  };
  readonly status?: BindingStatus;
}

/** One object of the hub, as a Binding lists it. */
export interface ListedObject extends Modulation {
  readonly group?: string;
  readonly version: string;
  readonly resource: string;
  /** Absent in `clusterScope`. */
  readonly namespace?: string;
  readonly name: string;
  /** Of the object, when its content was looked at. */
  readonly resourceVersion?: string;
}

export interface BindingSpec {
  readonly workload?: {
    readonly clusterScope?: readonly ListedObject[];
    readonly namespaceScope?: readonly ListedObject[];
  };
  readonly destinations?: readonly { readonly clusterId: string }[];
}

export interface Binding extends KubeObject {
  readonly spec?: BindingSpec;
  readonly status?: BindingStatus;
}

/** Of policies and bindings. */
export interface BindingStatus {
  readonly conditions?: readonly BindingCondition[];
  readonly observedGeneration?: number;
  readonly errors?: readonly string[];
}

/** As KubeStellar has it: with a second time, and without a generation. */
export interface BindingCondition extends Omit<Condition, 'observedGeneration'> {
  readonly lastUpdateTime: string;
}

export interface EdgePlacement extends KubeObject {
  readonly spec?: {
    readonly locationSelectors?: readonly LabelSelector[];
    readonly downsync?: readonly (Omit<ObjectTest, 'objectSelectors'> & {
      readonly labelSelectors?: readonly LabelSelector[];
    })[];
    readonly wantSingletonReportedState?: boolean;
    readonly upsync?: readonly object[];
  };
  readonly status?: { readonly specGeneration?: number; readonly matchingLocationCount?: number };
}

export interface Location extends KubeObject {
  readonly spec?: { readonly instanceSelector?: LabelSelector; readonly description?: string };
}

export type SyncTarget = KubeObject;

/** One destination of an EdgePlacement. */
export interface SinglePlacement {
  readonly cluster: string;
  readonly locationName: string;
  readonly syncTargetName: string;
  readonly syncTargetUID: string;
}

export interface SinglePlacementSlice extends KubeObject {
  readonly destinations?: readonly SinglePlacement[];
}
