import { describe, expect, it } from 'vitest';
import type { DialerState } from '../../link/index.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import { chooseHub, type HubChoice } from './hub-choice.ts';
import type { JoinedHub } from './join-file.ts';

function hub(name: string): JoinedHub {
  return {
    name,
    addresses: [`${name}:1`],
    ca: 'PEM',
    trust: { lineage: `lineage of ${name}`, publicKey: name },
    tokens: {},
  };
}

interface Spoke {
  readonly runtime: VirtualRuntime;
  readonly choice: HubChoice;
  /** Hubs in the order in which they were dialled, `-` before those whose connection was given up. */
  readonly log: string[];
  /** What the present connection tells. */
  say(state: DialerState): void;
  owner: string;
}

const up: DialerState = { phase: 'up', message: '' };
const away = (reason: string): DialerState => ({ phase: 'waiting', reason, message: '', retryInMs: 1 });

async function spokeOf(names: readonly string[], owner: string): Promise<Spoke> {
  const runtime = virtualRuntime(1);
  const log: string[] = [];
  let tell: (state: DialerState) => void = () => undefined;
  const spoke: Spoke = {
    runtime,
    log,
    owner,
    say: (state) => tell(state),
    choice: chooseHub(runtime, {
      hubs: names.map(hub),
      owner: async () => `lineage of ${spoke.owner}`,
      dial: ({ name }, onState) => {
        log.push(name);
        let state: DialerState = { phase: 'dialing', message: '' };
        tell = (next) => {
          state = next;
          onState(next);
        };
        return {
          get state(): DialerState {
            return state;
          },
          close: async () => void log.push(`-${name}`),
        };
      },
    }),
  };
  await runtime.clock.advance(1);
  return spoke;
}

describe('a spoke that knows several hubs', () => {
  it('dials the one that it belongs to, and then stays with it', async () => {
    const { log, say, runtime, choice } = await spokeOf(['a', 'b'], 'b');
    say(up);
    await runtime.clock.advance(3_600_000);
    expect(log).toEqual(['b']);
    expect(choice.current?.name).toBe('b');
  });

  it('goes to the next where the first cannot be reached, or does not let it in', async () => {
    const { log, say, runtime } = await spokeOf(['a', 'b', 'c'], 'a');
    say(away('ConnectionFailed'));
    await runtime.clock.advance(14_000);
    expect(log).toEqual(['a']);
    await runtime.clock.advance(2_000);
    expect(log).toEqual(['a', '-a', 'b']);
    say(away('NotAuthorized'));
    await runtime.clock.advance(1);
    expect(log).toEqual(['a', '-a', 'b', '-b', 'c']);
  });

  it('does not run in circles where none lets it in, and tries each of them again', async () => {
    const { log, say, runtime, choice } = await spokeOf(['a', 'b'], 'a');
    for (let times = 0; times < 110; times++) {
      say(away('NotAuthorized'));
      await runtime.clock.advance(300);
    }
    expect(log.filter((name) => !name.startsWith('-'))).toEqual(['a', 'b', 'a', 'b']);
    say(up);
    say(away('NotAuthorized'));
    await runtime.clock.advance(1);
    expect(choice.current?.name).toBe('a');
  });

  it('still goes to the next when it has looked again meanwhile', async () => {
    const { log, say, runtime, choice } = await spokeOf(['a', 'b'], 'a');
    say(away('ConnectionFailed'));
    choice.reconsider();
    await runtime.clock.advance(16_000);
    expect(log).toEqual(['a', '-a', 'b']);
    say(up);
    choice.reconsider([hub('b'), hub('a')]);
    await runtime.clock.advance(1);
    say(up);
    say(away('ConnectionClosed'));
    choice.reconsider();
    await runtime.clock.advance(61_000);
    expect(choice.current?.name).toBe('b');
  });

  it('tries a hub that it comes to know while its own was never there', async () => {
    const { log, say, runtime, choice } = await spokeOf(['a'], 'a');
    say(away('ConnectionFailed'));
    await runtime.clock.advance(60_000);
    choice.reconsider([hub('a'), hub('b')]);
    await runtime.clock.advance(16_000);
    expect(log).toEqual(['a', '-a', 'b']);
  });

  it('waits out a grace before it leaves a hub that was there', async () => {
    const { log, say, runtime } = await spokeOf(['a', 'b'], 'a');
    say(up);
    await runtime.clock.advance(30_000);
    say(away('ConnectionClosed'));
    await runtime.clock.advance(30_000);
    say(up);
    await runtime.clock.advance(60_000);
    say(away('PingTimeout'));
    await runtime.clock.advance(59_000);
    expect(log).toEqual(['a']);
    await runtime.clock.advance(2_000);
    expect(log).toEqual(['a', '-a', 'b']);
  });

  it('looks for its own hub now and then while it is with another', async () => {
    const { log, say, runtime } = await spokeOf(['a', 'b'], 'a');
    say(away('BadCertificate'));
    await runtime.clock.advance(1);
    say(up);
    await runtime.clock.advance(599_000);
    expect(log).toEqual(['a', '-a', 'b']);
    await runtime.clock.advance(2_000);
    expect(log).toEqual(['a', '-a', 'b', '-b', 'a']);
  });

  it('goes to the hub that it is handed over to, and to one that it comes to know', async () => {
    const spoke = await spokeOf(['a'], 'a');
    spoke.say(up);
    spoke.owner = 'b';
    spoke.choice.reconsider([hub('a'), hub('b')]);
    await spoke.runtime.clock.advance(1);
    expect(spoke.log).toEqual(['a', '-a', 'b']);
    await spoke.choice.close();
    expect(spoke.log.at(-1)).toBe('-b');
  });

  it('has nothing to choose with one hub', async () => {
    const { log, say, runtime } = await spokeOf(['a'], 'another');
    say(away('NotAuthorized'));
    await runtime.clock.advance(3_600_000);
    expect(log).toEqual(['a']);
  });
});
