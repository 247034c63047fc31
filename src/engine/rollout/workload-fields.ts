import { asJson, gvkOf, type KubeObject } from '../../kube/object.ts';
import { scaledValue } from '../../schema/int-or-percent.ts';
import { at, isObject, type JsonObject, type JsonValue, numberAt, stringAt } from '../../schema/json.ts';
import type { UpdateMove } from './workload-update.ts';

/** Longer than anything lasts, and still a number of seconds to every Kubernetes: pods that never count as available. */
const NEVER_SECONDS = 2_000_000_000;

/** A field of a workload that holds its update, by its path. */
type Field = readonly string[];

const DEPLOYMENT: readonly Field[] = [
  ['spec', 'minReadySeconds'],
  ['spec', 'progressDeadlineSeconds'],
  ['spec', 'strategy', 'rollingUpdate', 'maxSurge'],
  ['spec', 'strategy', 'rollingUpdate', 'maxUnavailable'],
];
const STATEFUL_SET: readonly Field[] = [['spec', 'updateStrategy', 'rollingUpdate', 'partition']];
const DAEMON_SET: readonly Field[] = [
  ['spec', 'updateStrategy', 'rollingUpdate', 'maxSurge'],
  ['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable'],
];

const FIELDS = new Map<string, readonly Field[]>([
  ['apps/Deployment', DEPLOYMENT],
  ['apps/StatefulSet', STATEFUL_SET],
  ['apps/DaemonSet', DAEMON_SET],
]);

/** The fields that hold an update of a kind; `undefined` for what is no workload with a pod template that changes. */
export function heldFields(object: KubeObject): readonly Field[] | undefined {
  const { group, kind } = gvkOf(object);
  return FIELDS.get(`${group}/${kind}`);
}

/** Whether a number of its pods can be held back: not where old and new must never be there together, or someone deletes pods. */
export function isStepwise(object: KubeObject): boolean {
  const { kind } = gvkOf(object);
  if (kind === 'Deployment') return stringAt(object, 'spec', 'strategy', 'type') !== 'Recreate';
  return kind === 'StatefulSet' && stringAt(object, 'spec', 'updateStrategy', 'type') !== 'OnDelete';
}

/** Whether a Deployment holds back pods. A partition tells nothing: it may be anybody's. */
export function isHeld(live: KubeObject): boolean {
  return at(asJson(live), 'spec', 'minReadySeconds') === NEVER_SECONDS;
}

/** What the fields say in the spec that is wanted, or else on the cluster: what holds when nothing is held. */
export function ownFields(wanted: KubeObject, live: KubeObject): Record<string, JsonValue> {
  const own: Record<string, JsonValue> = {};
  const theirs = isHeld(live) ? undefined : asJson(live);
  for (const path of heldFields(wanted) ?? []) {
    const value = at(asJson(wanted), ...path) ?? at(theirs, ...path);
    if (value !== undefined && value !== null) own[path.join('.')] = value;
  }
  return own;
}

/** What Kubernetes says where nobody does. */
const DEFAULTS = new Map<string, JsonValue>([
  ['spec.minReadySeconds', 0],
  ['spec.progressDeadlineSeconds', 600],
  ['spec.strategy.rollingUpdate.maxSurge', '25%'],
  ['spec.strategy.rollingUpdate.maxUnavailable', '25%'],
  ['spec.updateStrategy.rollingUpdate.partition', 0],
  ['spec.updateStrategy.rollingUpdate.maxSurge', 0],
  ['spec.updateStrategy.rollingUpdate.maxUnavailable', 1],
]);

/** The part of a spec that gives fields back that others had set and a wanted object does not state. */
export function givenBack(
  own: { readonly [field: string]: JsonValue },
  wanted?: KubeObject,
): JsonObject | undefined {
  let patch: JsonObject | undefined;
  for (const [field, value] of Object.entries(own)) {
    const path = field.split('.');
    if (wanted && (value === DEFAULTS.get(field) || at(asJson(wanted), ...path) !== undefined)) continue;
    patch = withField(patch ?? {}, path, value);
  }
  return patch;
}

/** The wanted object as it is to be written, so that its controller goes as far as it may and not further. */
export function holding(
  wanted: KubeObject,
  move: UpdateMove,
  replicas: number,
  own: { readonly [field: string]: JsonValue },
): KubeObject {
  const { kind } = gvkOf(wanted);
  const { limit, settled, atOnce = false } = move;
  let fields: JsonValue[] = [];
  if (kind === 'Deployment' && limit !== undefined)
    fields = [NEVER_SECONDS, NEVER_SECONDS + 1, ...surgeFor(replicas, limit, settled, own)];
  else if (kind === 'StatefulSet' && limit !== undefined)
    fields = [Math.max(replicas - limit, Number(own['spec.updateStrategy.rollingUpdate.partition'] ?? 0))];
  else if (kind === 'Deployment' && atOnce && isStepwise(wanted)) {
    const surge = [undefined, undefined, 0, '100%'] as const;
    return withFields(wanted, DEPLOYMENT, surge);
  } else if (
    kind === 'DaemonSet' &&
    atOnce &&
    stringAt(wanted, 'spec', 'updateStrategy', 'type') !== 'OnDelete'
  )
    fields = [0, '100%'];
  return fields.length === 0 ? wanted : withFields(wanted, heldFields(wanted) ?? [], fields);
}

function withFields(
  object: KubeObject,
  paths: readonly Field[],
  values: readonly (JsonValue | undefined)[],
): KubeObject {
  let out = asJson(object);
  paths.forEach((path, index) => {
    const value = values[index];
    if (value !== undefined) out = withField(out, path, value);
  });
  return out as unknown as KubeObject;
}

function withField(
  object: JsonObject,
  [step = '', ...rest]: readonly string[],
  value: JsonValue,
): JsonObject {
  const inner = object[step];
  return {
    ...object,
    [step]: rest.length === 0 ? value : withField(isObject(inner) ? inner : {}, rest, value),
  };
}

/**
 * With pods that never count as available a Deployment comes to rest with `replicas - maxUnavailable` old pods and
 * `maxSurge + maxUnavailable` new ones. So these two say how many of each there are, at every moment, and nobody needs to look on.
 * They grow no faster than its own bounds allow, by the pods that are available in truth.
 */
function surgeFor(
  replicas: number,
  limit: number,
  settled: number,
  own: { readonly [field: string]: JsonValue },
): readonly [number, number] {
  const surge = scaledValue(own['spec.strategy.rollingUpdate.maxSurge'] ?? '25%', replicas, 'up') ?? 0;
  const asked =
    scaledValue(own['spec.strategy.rollingUpdate.maxUnavailable'] ?? '25%', replicas, 'down') ?? 0;
  const unavailable = surge === 0 && asked === 0 ? 1 : asked;
  const old = Math.max(replicas - limit, replicas - unavailable - settled, 0);
  const fresh = Math.min(limit, replicas + surge - old);
  const maxUnavailable = replicas - old;
  const maxSurge = Math.max(0, fresh - maxUnavailable);
  // Both zero is no strategy that Kubernetes takes.
  return maxSurge === 0 && maxUnavailable === 0 ? [1, 0] : [maxSurge, maxUnavailable];
}

/** Seconds that a pod must have been ready, as the workload itself has it. Stateful sets count that themselves. */
export function minReadyOf(wanted: KubeObject, own: { readonly [field: string]: JsonValue }): number {
  if (gvkOf(wanted).kind !== 'Deployment') return 0;
  const seconds = Number(own['spec.minReadySeconds'] ?? 0);
  return Number.isFinite(seconds) && seconds < NEVER_SECONDS ? seconds : 0;
}

/** How many pods there will be: the wanted number, or the one of the cluster where that has the say. */
export function replicasWanted(wanted: KubeObject, live: KubeObject, retained: boolean): number {
  const here = numberAt(live, 'spec', 'replicas') ?? 1;
  return retained ? here : (numberAt(wanted, 'spec', 'replicas') ?? here);
}

/** Pods of the new template, and those of them that are ready. `newest` is the ReplicaSet of a Deployment's template. */
export function countsOf(
  live: KubeObject,
  newest: KubeObject | undefined,
): { readonly updated: number; readonly ready: number } {
  const updated = numberAt(live, 'status', 'updatedReplicas') ?? 0;
  if (gvkOf(live).kind === 'Deployment')
    return { updated, ready: Math.min(updated, numberAt(newest, 'status', 'readyReplicas') ?? 0) };
  const replicas = numberAt(live, 'spec', 'replicas') ?? 1;
  const available = numberAt(live, 'status', 'availableReplicas') ?? 0;
  // It changes one pod after another and waits for each: what is not available may be a new one.
  return { updated, ready: Math.max(0, updated - Math.max(0, replicas - available)) };
}
