import { describe, expect, it } from 'vitest';
import type { DialerState } from '../../link/index.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { chooseHub, type HubChoice } from './hub-choice.ts';
import { type HubSwitch, hubSwitch } from './hub-switch.ts';
import type { JoinedHub } from './join-file.ts';

function hub(name: string): JoinedHub {
  return { name, addresses: [`${name}:1`], ca: 'PEM', trust: { lineage: name, publicKey: name }, tokens: {} };
}

const MINUTE = 60_000;
const up: DialerState = { phase: 'up', message: '' };
const down: DialerState = { phase: 'waiting', reason: 'ConnectionFailed', message: '', retryInMs: 1 };

interface Spoke {
  readonly runtime: VirtualRuntime;
  owner: string;
  /** What was written down of each handover. */
  readonly handovers: string[];
  /** What each hub answers: nothing where it is left out. */
  readonly hubs: Record<string, DialerState>;
  /** Changes what a hub answers, for the connection that there is too. */
  set(name: string, state: DialerState): Promise<void>;
  readonly choice: HubChoice;
}

/** A spoke of hub `a` that knows others, with the choice of hubs as it is, over connections that are made up. */
async function spokeOf(names: readonly string[], options: { fail?: number } = {}): Promise<Spoke> {
  const runtime = virtualRuntime(3);
  let fail = options.fail ?? 0;
  let present: { name: string; tell: (state: DialerState) => void } | undefined;
  const hubs: Record<string, DialerState> = Object.fromEntries(names.map((name) => [name, up]));
  const answer = (): void => present?.tell(hubs[present.name] ?? down);
  const change: HubSwitch = hubSwitch(runtime, {
    afterMs: 10 * MINUTE,
    lookForOwner: () => spoke.choice.reconsider(),
    takeOver: async ({ trust }, why) => {
      if (fail-- > 0) throw new Error('no');
      spoke.owner = trust.lineage;
      spoke.handovers.push(`${trust.lineage}: ${why}`);
      spoke.choice.reconsider();
    },
  });
  const choice = chooseHub(runtime, {
    hubs: names.map(hub),
    owner: async () => {
      change.owned(spoke.owner);
      return spoke.owner;
    },
    dial: (chosen, onState) => {
      change.dialled(chosen);
      const tell = (state: DialerState): void => {
        onState(state);
        change.told(chosen, state);
      };
      present = { name: chosen.name, tell };
      runtime.clock.after(100, answer);
      return { state: up, close: async () => undefined };
    },
  });
  const spoke: Spoke = {
    runtime,
    owner: 'a',
    handovers: [],
    hubs,
    choice,
    async set(name, state): Promise<void> {
      hubs[name] = state;
      if (present?.name === name) answer();
      await runtime.clock.advance(1);
    },
  };
  await runtime.clock.advance(1_000);
  return spoke;
}

describe('a spoke whose owner lets it switch to another hub', () => {
  it('does so when its own was out of reach for as long as that, and not before', async () => {
    const spoke = await spokeOf(['a', 'b']);
    await spoke.set('a', down);
    await spoke.runtime.clock.advance(5 * MINUTE);
    expect(spoke.choice.current?.name).toBe('b');
    await spoke.runtime.clock.advance(4.5 * MINUTE);
    expect(spoke.handovers).toEqual([]);
    await spoke.runtime.clock.advance(2 * MINUTE);
    expect(spoke.handovers).toEqual([
      'b: the spoke itself, which did not reach its hub for 600 s (--switch-after),',
    ]);
    expect(spoke.choice.current?.name).toBe('b');
    // It stays there when the hub before comes back.
    await spoke.set('a', up);
    await spoke.runtime.clock.advance(60 * MINUTE);
    expect([spoke.owner, spoke.handovers.length, spoke.choice.current?.name]).toEqual(['b', 1, 'b']);
  });

  it('looks for its own once more at the end, and goes back where that is there again', async () => {
    const spoke = await spokeOf(['a', 'b']);
    await spoke.set('a', down);
    await spoke.runtime.clock.advance(5 * MINUTE);
    spoke.hubs['a'] = up;
    await spoke.runtime.clock.advance(60 * MINUTE);
    expect([spoke.owner, spoke.handovers.length, spoke.choice.current?.name]).toEqual(['a', 0, 'a']);
  });

  it('has the whole time anew when its own was there in between', async () => {
    const spoke = await spokeOf(['a', 'b']);
    for (let round = 0; round < 4; round += 1) {
      await spoke.set('a', down);
      await spoke.runtime.clock.advance(8 * MINUTE);
      await spoke.set('a', up);
      spoke.choice.reconsider();
      await spoke.runtime.clock.advance(MINUTE);
    }
    expect([spoke.owner, spoke.handovers.length]).toEqual(['a', 0]);
  });

  it('does not leave a hub that answers and does not let it in', async () => {
    const spoke = await spokeOf(['a', 'b']);
    await spoke.set('a', { ...down, reason: 'NotAuthorized' });
    await spoke.runtime.clock.advance(120 * MINUTE);
    expect([spoke.owner, spoke.handovers.length, spoke.choice.current?.name]).toEqual(['a', 0, 'b']);
  });

  it('goes to none that does not let it in', async () => {
    const spoke = await spokeOf(['a', 'b', 'c']);
    await spoke.set('b', { ...down, reason: 'NotAuthorized' });
    await spoke.set('a', down);
    await spoke.runtime.clock.advance(30 * MINUTE);
    expect([spoke.owner, spoke.handovers.length]).toEqual(['c', 1]);
    const alone = await spokeOf(['a', 'b']);
    await alone.set('a', down);
    await alone.set('b', down);
    await alone.runtime.clock.advance(60 * MINUTE);
    expect([alone.owner, alone.handovers.length]).toEqual(['a', 0]);
  });

  it('tries again where its own API could not take the change', async () => {
    const spoke = await spokeOf(['a', 'b'], { fail: 1 });
    await spoke.set('a', down);
    await spoke.runtime.clock.advance(15 * MINUTE);
    expect([spoke.owner, spoke.handovers.length]).toEqual(['b', 1]);
  });
});
