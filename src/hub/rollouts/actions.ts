import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Person, RolloutEffect, RolloutEvent, RolloutReason } from '../../engine/rollout/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode } from '../../kube/status-error.ts';
import { createAlarm } from '../../runtime/alarm.ts';
import { formatTime } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { ROLLOUT_ACTION, type RolloutAction } from './kinds.ts';

/** What became of an action. */
export interface ActionOutcome {
  readonly state: 'Done' | 'Refused';
  readonly message: string;
}

/** What people said to rollouts and what is still to be heard, oldest first. */
export interface RolloutActions {
  readonly synced: boolean;
  /** Those of one intent that nobody heard yet. */
  pending(key: string): readonly RolloutAction[];
  /**
   * Tells the person: whether that is done, and durable. Old ones of the same intent go. Where the hub does not take it, the rollout goes
   * on, and its key is heard of again later.
   */
  settle(action: RolloutAction, outcome: ActionOutcome): Promise<boolean>;
  stop(): void;
}

const ACTIONS = resourceIdOf(ROLLOUT_ACTION);
/** Actions of one intent that stay on record after they were heard. */
const REMEMBERED = 20;
const UNTOLD_MS = { first: 1_000, longest: 600_000 };

/** `onAction` hears of keys with something to be heard. */
export function followRolloutActions(
  runtime: Runtime,
  client: Client,
  onAction: (key: string) => void,
): RolloutActions {
  const informer: Informer<RolloutAction> = startInformer<RolloutAction>(runtime, client, ACTIONS);
  const byKey = new Map<string, Map<string, RolloutAction>>();
  /** Actions whose persons could not be told what became of them, by uid. */
  const untold = new Map<string, { readonly key: string; readonly times: number; readonly until: number }>();
  const alarm = createAlarm(runtime.clock, () => {
    const now = runtime.clock.monotonic();
    for (const { key, until } of untold.values())
      if (until <= now) onAction(key);
      else alarm.within(until - now);
  });

  function passOver(action: RolloutAction, error: unknown): void {
    const { uid = '', name = '', namespace = '' } = action.metadata;
    const times = (untold.get(uid)?.times ?? 0) + 1;
    const pause = Math.min(UNTOLD_MS.first * 2 ** (times - 1), UNTOLD_MS.longest);
    untold.set(uid, { key: keyOfTarget(action), times, until: runtime.clock.monotonic() + pause });
    alarm.within(pause);
    runtime.log.warn('what became of an action cannot be told; the rollout goes on without', {
      action: `${namespace}/${name}`,
      why: errorText(error),
      times,
    });
  }

  informer.onChange(({ type, object }) => {
    const key = keyOfTarget(object);
    const { uid = '' } = object.metadata;
    if (type === 'deleted' || object.status?.state !== undefined) untold.delete(uid);
    const ofKey = byKey.get(key) ?? new Map<string, RolloutAction>();
    byKey.set(key, ofKey);
    if (type === 'deleted') ofKey.delete(uid);
    else ofKey.set(uid, object);
    if (ofKey.size === 0) byKey.delete(key);
    if (type !== 'deleted' && object.status?.state === undefined) onAction(key);
  });

  function all(key: string): RolloutAction[] {
    return [...(byKey.get(key)?.values() ?? [])].sort(compareAges);
  }

  async function dropOld(key: string): Promise<void> {
    const heard = all(key).filter(({ status }) => status?.state !== undefined);
    for (const { metadata } of heard.slice(0, Math.max(0, heard.length - REMEMBERED))) {
      try {
        await client.delete(ACTIONS, metadata.namespace ?? '', metadata.name ?? '');
      } catch (error) {
        if (!hasCode(error, 404))
          runtime.log.warn('an old action stays', { action: metadata.name ?? '', why: errorText(error) });
      }
    }
  }

  return {
    get synced() {
      return informer.synced;
    },
    pending: (key) => all(key).filter(({ status }) => status?.state === undefined),
    async settle(action, { state, message }): Promise<boolean> {
      const { namespace = '', name = '', uid = '' } = action.metadata;
      if ((untold.get(uid)?.until ?? 0) > runtime.clock.monotonic()) return false;
      const status = { state, message, at: formatTime(runtime.clock.now()) };
      try {
        await client.patch(ACTIONS, namespace, name, 'merge', { status }, { subresource: 'status' });
      } catch (error) {
        if (!hasCode(error, 404)) {
          passOver(action, error);
          return false;
        }
      }
      untold.delete(uid);
      await dropOld(keyOfTarget(action));
      return true;
    },
    stop(): void {
      alarm.cancel();
      informer.stop();
    },
  };
}

/** The key of the intent that an action is for: that of its object, `kind/namespace/name`. */
export function keyOfTarget({ metadata, spec }: RolloutAction): string {
  const namespace = metadata.namespace === SYSTEM_NAMESPACE ? '' : (metadata.namespace ?? '');
  return `${spec.target.kind}/${namespace}/${spec.target.name}`;
}

function compareAges(a: RolloutAction, b: RolloutAction): number {
  const [one, other] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ''} `) as [
    string,
    string,
  ];
  if (one !== other) return one < other ? -1 : 1;
  // Within a second the order of writing decides; where versions are no numbers, the names.
  const [first, second] = [a, b].map(({ metadata }) => Number(metadata.resourceVersion)) as [number, number];
  if (first !== second && !Number.isNaN(first) && !Number.isNaN(second)) return first - second;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** What an action is to the engine; undefined for what is no matter of one rollout (going back to an older revision). */
export function eventOf({ spec }: RolloutAction, believed: boolean): RolloutEvent | undefined {
  const { action, stage = '', cluster = '', scope, message } = spec;
  // Where the API server vouches for nobody, nobody is somebody.
  const author = believed ? spec.author : undefined;
  const by = author?.username ?? 'somebody';
  const person: Person = {
    user: author?.username ?? '',
    ...(author?.groups === undefined ? {} : { groups: author.groups }),
  };
  const said = message === undefined ? {} : { message };
  switch (action) {
    case 'Approve':
      return { type: 'approve', stage, person, ...said };
    case 'Reject':
      return { type: 'reject', stage, person, ...said };
    case 'Skip':
      return { type: 'skip', cluster, by };
    case 'Rollback':
      return spec.revision === undefined
        ? { type: 'rollback', by, ...(scope === undefined ? {} : { scope }) }
        : undefined;
    case 'Pause':
      return { type: 'pause', by, ...said };
    case 'Resume':
      return { type: 'resume', by, ...said };
    case 'Abort':
      return { type: 'abort', by, ...said };
    case 'Promote':
      return { type: 'promote', by, ...said };
    case 'Retry':
      return { type: 'retry', by, ...said };
    case 'Emergency':
      return { type: 'emergency', by, ...said };
  }
}

/** By what the engine records it is seen that it did as it was told. */
const SIGNS: Readonly<Record<RolloutAction['spec']['action'], readonly RolloutReason[]>> = {
  Approve: ['ApprovalRefused', 'StageApproved'],
  Reject: ['ApprovalRefused', 'RolloutFailed'],
  Pause: ['RolloutPaused'],
  Resume: ['RolloutResumed'],
  Abort: ['RolloutAborted'],
  Promote: ['RolloutPromoted'],
  Retry: ['RolloutRetried'],
  Rollback: ['RollbackStarted'],
  Skip: ['ClusterSkipped'],
  Emergency: ['EmergencyDeclared'],
};

/** What was done, where the engine only records by whom. */
const DONE: Readonly<Partial<Record<RolloutAction['spec']['action'], string>>> = {
  Pause: 'paused',
  Resume: 'resumed',
  Abort: 'ended',
  Promote: 'promoted',
  Retry: 'tried again',
  Emergency: 'an emergency is declared',
};

/** What to tell the person, from what the engine did. */
export function outcomeOf(
  { spec }: RolloutAction,
  effects: readonly RolloutEffect[],
  phase: string,
): ActionOutcome {
  for (const effect of effects) {
    if (effect.type !== 'record' || !SIGNS[spec.action].includes(effect.reason)) continue;
    if (effect.reason === 'ApprovalRefused') return { state: 'Refused', message: effect.message };
    const done = DONE[spec.action];
    return { state: 'Done', message: done === undefined ? effect.message : `${done} ${effect.message}` };
  }
  return {
    state: 'Refused',
    message: `there is nothing to ${spec.action.toLowerCase()} now: the rollout is ${phase}`,
  };
}
