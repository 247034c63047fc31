import { type FieldPath, parseFieldPath, type RetentionOptions } from '../engine/retain/index.ts';
import type { KindRule } from '../engine/rules/index.ts';
import { gvkOf, type KubeObject, refKey, refOf } from '../kube/object.ts';
import type { Autoscalers } from './autoscalers.ts';
import type { Held } from './held.ts';

const REPLICAS = parseFieldPath('spec.replicas');
const SCALABLE = new Set([
  'apps/Deployment',
  'apps/StatefulSet',
  'apps/ReplicaSet',
  '/ReplicationController',
]);

/** Where an object says how many replicas it has, if it is one that can be scaled. */
export function replicasOf(object: KubeObject, rule: KindRule | undefined): FieldPath | undefined {
  if (rule?.replicas) return rule.replicas;
  const { group, kind } = gvkOf(object);
  return SCALABLE.has(`${group}/${kind}`) ? REPLICAS : undefined;
}

/** All that decides which fields of a wanted object belong to the cluster. */
export function retentionOf(
  current: Held,
  object: KubeObject,
  rule: KindRule | undefined,
  autoscalers: Pick<Autoscalers, 'scales'>,
): RetentionOptions {
  const ref = refOf(object);
  const key = refKey(ref);
  const { retainReplicas, ignoreFields } = current.strategies.get(key) ?? {};
  const replicas = replicasOf(object, rule);
  const overridden = current.accepted.patches
    .filter(({ target }) => refKey(target) === key)
    .flatMap(({ operations }) => operations.map(({ path }) => path));
  return {
    ...(rule ? { rules: rule.fields } : {}),
    ...(ignoreFields ? { ignoreFields } : {}),
    ...(replicas && retainReplicas ? { replicas } : {}),
    ...(replicas && autoscalers.scales(ref) ? { autoscaled: replicas } : {}),
    ...(overridden.length > 0 ? { overridden } : {}),
  };
}
