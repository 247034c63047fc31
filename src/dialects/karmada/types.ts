import type { KubeObject } from '../../kube/object.ts';
import type { JsonValue } from '../../schema/json.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';

/** `policy.karmada.io/v1alpha1` OverridePolicy and ClusterOverridePolicy. */
export interface OverridePolicy extends KubeObject {
  readonly spec: OverrideSpec;
}

export interface OverrideSpec extends RuleBody {
  /** All objects that the policy reaches where there are none. */
  readonly resourceSelectors?: readonly PolicySelector[];
  readonly overrideRules?: readonly OverrideRule[];
}

export interface OverrideRule extends RuleBody {
  readonly overriders: Overriders;
}

/** Also the older form: a spec that is one rule itself. */
interface RuleBody {
  readonly targetCluster?: PolicyClusters;
  readonly overriders?: Overriders;
}

export interface PolicySelector {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly labelSelector?: LabelSelector;
}

export interface PolicyClusters {
  readonly labelSelector?: LabelSelector;
  readonly fieldSelector?: {
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: 'In' | 'NotIn';
      readonly values?: readonly string[];
    }[];
  };
  readonly clusterNames?: readonly string[];
  readonly exclude?: readonly string[];
}

type Operator = 'add' | 'remove' | 'replace';

export interface Overriders {
  readonly imageOverrider?: readonly {
    readonly predicate?: { readonly path: string };
    readonly component: 'Registry' | 'Repository' | 'Tag';
    readonly operator: Operator;
    readonly value?: string;
  }[];
  readonly commandOverrider?: readonly WordsOverrider[];
  readonly argsOverrider?: readonly WordsOverrider[];
  readonly labelsOverrider?: readonly EntriesOverrider[];
  readonly annotationsOverrider?: readonly EntriesOverrider[];
  readonly fieldOverrider?: readonly {
    readonly fieldPath: string;
    readonly json?: readonly FieldOperation[];
    readonly yaml?: readonly FieldOperation[];
  }[];
  readonly plaintext?: readonly {
    readonly path: string;
    readonly operator: Operator;
    readonly value?: JsonValue;
  }[];
}

export interface WordsOverrider {
  readonly containerName: string;
  readonly operator: 'add' | 'remove';
  readonly value?: readonly string[];
}

export interface EntriesOverrider {
  readonly operator: Operator;
  readonly value?: Readonly<Record<string, string>>;
}

export interface FieldOperation {
  readonly subPath: string;
  readonly operator: Operator;
  readonly value?: JsonValue;
}
