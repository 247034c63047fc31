import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/index.ts';
import type { LooseCondition, Pod, PodTemplate } from './kinds.ts';
import { controllerReference, isDeleting } from './owner.ts';

/** Neither ended nor being deleted: such pods count as replicas. */
export function isActive(pod: Pod): boolean {
  return !isDeleting(pod) && !isFinished(pod);
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function conditionOf(
  conditions: readonly LooseCondition[] | undefined,
  type: string,
): LooseCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod.status?.conditions, 'Ready')?.status === 'True';
}

/** Milliseconds until a ready pod has been so for `minReadySeconds`: 0 when it is available, Infinity when not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number {
  const ready = conditionOf(pod.status?.conditions, 'Ready');
  if (ready?.status !== 'True' || isDeleting(pod)) return Number.POSITIVE_INFINITY;
  if (minReadySeconds <= 0) return 0;
  const since = parseTime(ready.lastTransitionTime) ?? now;
  return Math.max(0, since + minReadySeconds * 1_000 - now);
}

export interface PodCounts {
  readonly ready: number;
  readonly available: number;
  /** When the next ready pod becomes available. */
  readonly nextAvailableInMs: number;
}

export function countPods(pods: readonly Pod[], minReadySeconds: number, now: number): PodCounts {
  let ready = 0;
  let available = 0;
  let nextAvailableInMs = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    const inMs = availableInMs(pod, minReadySeconds, now);
    if (isReady(pod)) ready += 1;
    if (inMs === 0) available += 1;
    else nextAvailableInMs = Math.min(nextAvailableInMs, inMs);
  }
  return { ready, available, nextAvailableInMs };
}

/** A pod made from a template, managed by `owner`. */
export function podFromTemplate(
  template: PodTemplate,
  owner: KubeObject,
  identity: { name: string } | { generateName: string },
  labels: Record<string, string> = {},
): Pod {
  const { annotations } = template.metadata ?? {};
  const allLabels = { ...template.metadata?.labels, ...labels };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...identity,
      namespace: owner.metadata.namespace ?? '',
      ...(Object.keys(allLabels).length > 0 ? { labels: allLabels } : {}),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: template.spec,
  };
}

/** The conditions with one set; the list given when nothing changes. Extra fields of the condition are kept. */
export function withCondition(
  conditions: readonly LooseCondition[] | undefined,
  condition: LooseCondition,
  time: string,
): LooseCondition[] {
  const list = (conditions ?? []) as LooseCondition[];
  const index = list.findIndex((each) => each.type === condition.type);
  const old = list[index];
  if (!old) return [...list, { ...condition, lastTransitionTime: time }];
  if (
    old.status === condition.status &&
    (old.reason ?? '') === (condition.reason ?? '') &&
    (old.message ?? '') === (condition.message ?? '')
  )
    return list;
  const { reason: _reason, message: _message, ...kept } = old;
  const lastTransitionTime = old.status === condition.status ? (old.lastTransitionTime ?? time) : time;
  return list.with(index, { ...kept, ...condition, lastTransitionTime });
}

export function withoutCondition(
  conditions: readonly LooseCondition[] | undefined,
  type: string,
): LooseCondition[] {
  const list = (conditions ?? []) as LooseCondition[];
  return list.some((each) => each.type === type) ? list.filter((each) => each.type !== type) : list;
}
