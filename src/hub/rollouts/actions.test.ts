import { describe, expect, it } from 'vitest';
import type { RolloutEffect, RolloutReason } from '../../engine/rollout/index.ts';
import type { Client } from '../../kube/client.ts';
import { badRequest } from '../../kube/status-error.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { eventOf, followRolloutActions, keyOfTarget, outcomeOf } from './actions.ts';
import { ROLLOUT_ACTIONS, type RolloutAction } from './kinds.ts';

function action(spec: Partial<RolloutAction['spec']>, namespace: string = 'shop'): RolloutAction {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RolloutAction',
    metadata: { name: 'x', namespace },
    spec: { target: { kind: 'Propagation', name: 'web' }, action: 'Pause', ...spec },
  };
}

function recorded(reason: RolloutReason, message: string): RolloutEffect {
  return { type: 'record', reason, message };
}

describe('an action', () => {
  it('is for an object beside it, and in the namespace of the system for one that has none', () => {
    expect(keyOfTarget(action({}))).toBe('Propagation/shop/web');
    expect(
      keyOfTarget(action({ target: { kind: 'ClusterPropagation', name: 'base' } }, 'atoll-system')),
    ).toBe('ClusterPropagation//base');
  });

  it('is by nobody where the API server vouches for nobody', () => {
    const said = action({ action: 'Approve', stage: 's', author: { username: 'ann', groups: ['leads'] } });
    expect(eventOf(said, true)).toEqual({
      type: 'approve',
      stage: 's',
      person: { user: 'ann', groups: ['leads'] },
    });
    expect(eventOf(said, false)).toEqual({ type: 'approve', stage: 's', person: { user: '' } });
  });

  it('is one event to the engine, but for going back to an older revision', () => {
    for (const word of ROLLOUT_ACTIONS)
      expect(eventOf(action({ action: word }), true)?.type).toBe(word.toLowerCase());
    expect(eventOf(action({ action: 'Rollback', revision: 3 }), true)).toBeUndefined();
    expect(eventOf(action({ action: 'Rollback', scope: 'Stage' }), true)).toMatchObject({ scope: 'Stage' });
  });

  it('is answered by what came of it', () => {
    const of = (word: RolloutAction['spec']['action'], ...effects: RolloutEffect[]): object =>
      outcomeOf(action({ action: word }), effects, 'Succeeded');
    expect(of('Pause', recorded('RolloutPaused', 'by ann'))).toEqual({
      state: 'Done',
      message: 'paused by ann',
    });
    expect(of('Approve', recorded('ApprovalRefused', 'ann: needs bob'))).toEqual({
      state: 'Refused',
      message: 'ann: needs bob',
    });
    // What the step led to beside says nothing of what was asked.
    expect(of('Resume', recorded('StageDone', 'one'), recorded('RolloutResumed', 'by ann'))).toEqual({
      state: 'Done',
      message: 'resumed by ann',
    });
    expect(of('Abort', recorded('StageDone', 'one'))).toEqual({
      state: 'Refused',
      message: 'there is nothing to abort now: the rollout is Succeeded',
    });
  });
});

it('that cannot be answered is passed over, and answered later with pauses that grow', async () => {
  const runtime = virtualRuntime(1);
  const { clock } = runtime;
  const said = { ...action({}), metadata: { name: 'x', namespace: 'shop', uid: 'u' } };
  const answers: number[] = [];
  let broken = true;
  const client = {
    list: async () => ({ items: [structuredClone(said)], metadata: { resourceVersion: '1' } }),
    watch: () => new Promise(() => undefined),
    patch: async () => {
      answers.push(clock.monotonic());
      if (broken) throw badRequest('a webhook says no');
      return said;
    },
  } as unknown as Client;
  const heard: string[] = [];
  const actions = followRolloutActions(runtime, client, (key) => heard.push(key));
  const outcome = { state: 'Done', message: 'paused' } as const;
  await clock.advance(10);
  expect(heard.splice(0)).toEqual(['Propagation/shop/web']);
  for (const pause of [1_000, 2_000, 4_000]) {
    expect(await actions.settle(said, outcome)).toBe(false);
    expect(await actions.settle(said, outcome)).toBe(false);
    await clock.advance(pause - 1);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard.splice(0)).toEqual(['Propagation/shop/web']);
  }
  broken = false;
  expect(await actions.settle(said, outcome)).toBe(true);
  expect(answers).toHaveLength(4);
  await clock.advance(3_600_000);
  expect(heard).toEqual([]);
  actions.stop();
});
