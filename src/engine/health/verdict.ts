import type { KubeObject } from '../../kube/object.ts';
import { isObject, listAt, numberAt, objectAt, stringAt } from '../../schema/json.ts';

/** How one object is doing, judged from itself alone. */
export interface Health {
  readonly state: HealthState;
  readonly reason: string;
  readonly message: string;
}

export const HEALTH_STATES = ['Healthy', 'Progressing', 'Degraded', 'Unknown'] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

export type Assess = (object: KubeObject) => Health;

export const healthy = (message: string = ''): Health => ({ state: 'Healthy', reason: 'Ready', message });
export const progressing = (reason: string, message: string): Health => ({
  state: 'Progressing',
  reason,
  message,
});
export const degraded = (reason: string, message: string): Health => ({ state: 'Degraded', reason, message });

/** The command that tells more, for the end of a message. */
export function lookAt(object: KubeObject): string {
  const { name = '', namespace = '' } = object.metadata;
  const where = namespace === '' ? '' : ` -n ${namespace}`;
  return `see: kubectl${where} describe ${object.kind.toLowerCase()} ${name}`;
}

/** Whether the controller of an object has not seen its spec yet. `needsStatus` for kinds that always get a status. */
export function notObserved(object: KubeObject, needsStatus: boolean = false): Health | undefined {
  const { generation } = object.metadata;
  if (generation === undefined) return undefined;
  if (needsStatus && objectAt(object, 'status') === undefined)
    return progressing('NotObserved', 'its controller has not seen it yet');
  const observed = numberAt(object, 'status', 'observedGeneration');
  if (observed === undefined || observed >= generation) return undefined;
  return progressing('NotObserved', `its controller has seen generation ${observed} of ${generation}`);
}

export interface ConditionView {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(object: KubeObject, type: string): ConditionView | undefined {
  for (const condition of listAt(object, 'status', 'conditions')) {
    if (!isObject(condition) || condition['type'] !== type) continue;
    return {
      status: stringAt(condition, 'status') ?? 'Unknown',
      reason: stringAt(condition, 'reason') ?? '',
      message: stringAt(condition, 'message') ?? '',
    };
  }
  return undefined;
}
