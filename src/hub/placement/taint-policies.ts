import { clusterFactsOf } from '../../dialects/kubevela/cluster-facts.ts';
import type { PolicyTaint, SpokeCluster, SpokeClusterStatus } from '../../dialects/kubevela/types.ts';
import { affinitySchema } from '../../dialects/propagation/placement-schema.ts';
import { allows, type ClusterAffinity, type CompiledAllow, compileAllow } from '../../engine/place/index.ts';
import type { Client } from '../../kube/client.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { integer, list, oneOf, record, text } from '../../schema/schema-of.ts';

/** What a condition of a cluster must say, and for how long it must have said so. */
export interface ClusterConditionRule {
  /** `Ready` stands for `Connected` on clusters that have no such condition. */
  readonly conditionType: string;
  readonly operator: 'In' | 'NotIn';
  readonly statusValues: readonly string[];
  readonly forSeconds?: number;
}

/** Taints that clusters get, and lose, by their conditions. */
export interface ClusterTaintPolicy extends KubeObject {
  readonly spec: {
    readonly targetClusters?: ClusterAffinity;
    readonly addOnConditions: readonly ClusterConditionRule[];
    readonly removeOnConditions?: readonly ClusterConditionRule[];
    readonly taints: readonly Omit<PolicyTaint, 'policy' | 'timeAdded'>[];
  };
}

const rules = (description: string): OpenApiSchema =>
  list(
    record(
      {
        conditionType: text(
          'A type of condition of SpokeClusters: Connected, CredentialValid … Ready stands for Connected.',
          { minLength: 1, maxLength: 316 },
        ),
        operator: oneOf(['In', 'NotIn']),
        statusValues: list(oneOf(['True', 'False', 'Unknown']), undefined, { minItems: 1, maxItems: 3 }),
        forSeconds: integer('For how long it must have been so. 0 by default.', { minimum: 0 }),
      },
      undefined,
      { required: ['conditionType', 'operator', 'statusValues'] },
    ),
    description,
    { maxItems: 16 },
  );

export const CLUSTER_TAINT_POLICY: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'ClusterTaintPolicy',
  plural: 'clustertaintpolicies',
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'Taints that clusters get by their conditions. They are in the status of the SpokeCluster, and go with the policy.',
  spec: record(
    {
      targetClusters: { ...affinitySchema, description: 'Which clusters. All where it is left out.' },
      addOnConditions: {
        ...rules('All must hold for the taints to be set. A condition that is not there holds for nothing.'),
        minItems: 1,
      },
      removeOnConditions: rules(
        'All must hold for the taints to be taken away. Where it is left out they go when addOnConditions hold no longer.',
      ),
      taints: list(
        record(
          {
            key: text(undefined, { minLength: 1, maxLength: 317 }),
            value: text(undefined, { maxLength: 63 }),
            effect: oneOf(
              ['NoSelect', 'NoSelectIfNew', 'PreferNoSelect'],
              'NoSelect sends away what does not tolerate it: failover then moves it, where that is asked for.',
            ),
          },
          undefined,
          { required: ['key', 'effect'] },
        ),
        undefined,
        { minItems: 1, maxItems: 16 },
      ),
    },
    undefined,
    { required: ['addOnConditions', 'taints'] },
  ),
  columns: [
    { name: 'Taints', type: 'string', jsonPath: '.spec.taints[*].key' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export interface TaintPolicies {
  /** The status of a cluster with the taints that policies put there now, and when time alone may change them. */
  apply(spoke: SpokeCluster, status: SpokeClusterStatus): { status: SpokeClusterStatus; dueMs?: number };
  stop(): void;
}

export function followTaintPolicies(runtime: Runtime, client: Client, onChange: () => void): TaintPolicies {
  const { clock } = runtime;
  const policies = startInformer<ClusterTaintPolicy>(runtime, client, resourceIdOf(CLUSTER_TAINT_POLICY));
  const compiled = new WeakMap<ClusterTaintPolicy, CompiledAllow>();
  policies.onChange(onChange);

  function targets(policy: ClusterTaintPolicy, spoke: SpokeCluster): boolean {
    const { targetClusters } = policy.spec;
    if (targetClusters === undefined) return true;
    let match = compiled.get(policy);
    if (!match) {
      match = compileAllow({ name: policy.metadata.name ?? '', clusters: targetClusters });
      compiled.set(policy, match);
    }
    return allows(match, clusterFactsOf(spoke));
  }

  return {
    apply(spoke, status) {
      // Until it is known what policies there are, those that were keep their taints.
      if (!policies.synced) return { status };
      const relevant = policies.list().filter((policy) => targets(policy, spoke));
      if (relevant.length === 0 && status.policyTaints === undefined) return { status };
      return taintByPolicies(relevant, status, clock.now());
    },
    stop: () => policies.stop(),
  };
}

/** Pure: `policies` are those that mean the cluster. `now` in milliseconds, as is `dueMs`. */
export function taintByPolicies(
  policies: readonly ClusterTaintPolicy[],
  status: SpokeClusterStatus,
  now: number,
): { status: SpokeClusterStatus; dueMs?: number } {
  const { policyTaints: before = [], ...rest } = status;
  const conditions = status.conditions ?? [];
  let dueMs = Infinity;
  const allHold = (list: readonly ClusterConditionRule[]): boolean => {
    const from = list.map((rule) => holdsFrom(rule, conditions));
    const latest = Math.max(...from);
    if (latest > now) dueMs = Math.min(dueMs, latest);
    return latest <= now;
  };
  const taints: PolicyTaint[] = [];
  const sorted = [...policies].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  for (const policy of sorted) {
    const name = nameOf(policy);
    const { addOnConditions, removeOnConditions = [], taints: wanted } = policy.spec;
    const standing = before.filter((taint) => taint.policy === name);
    const add = addOnConditions.length > 0 && allHold(addOnConditions);
    // What both sets and takes away is set: a cluster is rather kept away from than lost to a slip.
    const stays =
      add || (removeOnConditions.length > 0 && standing.length > 0 && !allHold(removeOnConditions));
    if (!stays) continue;
    for (const { key, value, effect } of wanted) {
      const same = standing.find(
        (taint) => taint.key === key && taint.value === value && taint.effect === effect,
      );
      const timeAdded = same?.timeAdded ?? formatTime(now);
      taints.push({ key, ...(value === undefined ? {} : { value }), effect, timeAdded, policy: name });
    }
  }
  return {
    status: taints.length === 0 ? rest : { ...rest, policyTaints: taints },
    ...(dueMs === Infinity ? {} : { dueMs }),
  };
}

/** Since when a rule holds, or when it will if nothing changes; never: `Infinity`. */
function holdsFrom(
  { conditionType, operator, statusValues, forSeconds = 0 }: ClusterConditionRule,
  conditions: readonly Condition[],
): number {
  const of = (type: string): Condition | undefined => conditions.find((one) => one.type === type);
  const condition = of(conditionType) ?? (conditionType === 'Ready' ? of('Connected') : undefined);
  if (!condition || statusValues.includes(condition.status) !== (operator === 'In')) return Infinity;
  const since = Date.parse(condition.lastTransitionTime ?? '');
  return Number.isNaN(since) || forSeconds === 0 ? -Infinity : since + forSeconds * 1000;
}

function nameOf({ metadata }: ClusterTaintPolicy): string {
  return metadata.name ?? '';
}
