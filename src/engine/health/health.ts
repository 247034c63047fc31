import { gvkOf, type KubeObject } from '../../kube/object.ts';
import { CLUSTER_RULES } from './cluster-kinds.ts';
import { healthByConditions } from './conditions.ts';
import { GRAPH_RULES } from './graphs.ts';
import { type Health, progressing } from './verdict.ts';
import { WORKLOAD_RULES } from './workloads.ts';

export type { Health, HealthState } from './verdict.ts';

/** By group and kind. A map, since kinds are names of other people's choice: `constructor` is one. */
const RULES = new Map(Object.entries({ ...WORKLOAD_RULES, ...CLUSTER_RULES, ...GRAPH_RULES }));

/**
 * Health by kind; kinds without a rule of their own are judged by their conditions, and by their existence where they
 * have none. Fields and their meaning are those that `kubectl rollout status` and `kubectl wait` go by. `own` is a rule that
 * the owner of the cluster gave for the kind: it has the first word, and says nothing where it does not know.
 */
export function healthOf(object: KubeObject, own?: (object: KubeObject) => Health | undefined): Health {
  if (object.metadata.deletionTimestamp !== undefined) {
    const holders = object.metadata.finalizers ?? [];
    const why = holders.length === 0 ? '' : `; it waits for ${holders.join(', ')}`;
    return progressing('Terminating', `it is being deleted${why}`);
  }
  const { group, kind } = gvkOf(object);
  return own?.(object) ?? (RULES.get(`${group}/${kind}`) ?? healthByConditions)(object);
}
