import { findCondition } from '../../kube/conditions.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { type Condition, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import type { Sample } from '../../runtime/metrics.ts';
import { isObject, type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import type { GraphMetrics, LabelsOf } from './metrics.ts';

export interface TransitionOptions {
  readonly metrics: GraphMetrics;
  /** Gate `InstanceConditionEvents`: an Event where Ready changes. */
  readonly events?: EventRecorder;
  /** Gate `InstanceConditionMetrics`: a series for each condition. */
  readonly conditionMetrics?: boolean;
}

/** Tells of changes of an instance's status. */
export interface Transitions {
  /** Before `status` is written. */
  told(resource: string, instance: KubeObject, status: JsonObject): void;
  gone(resource: string, namespace: string, name: string): void;
  /** For how long each condition has been as it is, where the gate is open. */
  conditions(now: number): Iterable<Sample>;
}

interface Held {
  readonly labels: LabelsOf<'instance_condition_current_status_seconds'>;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Conditions that are told of; more than these are those of somebody who makes instances up. */
const MAX_HELD = 10_000;

export function createTransitions({ metrics, events, conditionMetrics }: TransitionOptions): Transitions {
  /** By the instance. */
  const held = new Map<string, readonly Held[]>();
  return {
    told(plural, instance, status) {
      const { group, version } = parseApiVersion(instance.apiVersion);
      const gvr = gvrText({ group, version, resource: plural });
      const [from, to] = [stringAt(instance, 'status', 'state') ?? '', stringAt(status, 'state') ?? ''];
      if (from !== to)
        metrics.count('instance_state_transitions_total', { gvr, from_state: from, to_state: to });
      const conditions = conditionsIn(status);
      if (events) {
        const before = findCondition(conditionsIn(instance['status']), 'Ready')?.status;
        const now = findCondition(conditions, 'Ready');
        if (now && now.status !== (before ?? 'Unknown'))
          events.record(
            instance,
            now.status === 'False' ? 'Warning' : 'Normal',
            now.status === 'True' ? 'Ready' : 'NotReady',
            `Ready is ${now.status}: ${now.reason}: ${now.message}`,
          );
      }
      if (conditionMetrics !== true) return;
      const { namespace = '', name = '' } = instance.metadata;
      const key = `${gvr}\n${namespace}\n${name}`;
      if (held.size * conditions.length >= MAX_HELD && !held.has(key)) return;
      held.set(
        key,
        conditions.map(({ type, status: is, reason, lastTransitionTime }) => ({
          labels: { gvr, namespace, name, condition_type: type, condition_status: is, reason },
          since: Date.parse(lastTransitionTime),
        })),
      );
    },
    gone(gvr, namespace, name) {
      held.delete(`${gvr}\n${namespace}\n${name}`);
    },
    *conditions(now) {
      for (const conditions of held.values())
        for (const { labels, since } of conditions)
          yield { labels, value: Math.max(0, Math.floor((now - since) / 1_000)) };
    },
  };
}

/** `group/version/resource`, as kro writes it. */
export function gvrText({
  group,
  version,
  resource,
}: {
  group: string;
  version: string;
  resource: string;
}): string {
  return `${group}/${version}/${resource}`;
}

function conditionsIn(status: unknown): Condition[] {
  return listAt(status, 'conditions').filter(isObject) as unknown as Condition[];
}
