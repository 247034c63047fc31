import type { DialerState, TunnelDialer } from '../../link/index.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import type { JoinedHub } from './join-file.ts';

export interface HubChoiceOptions {
  readonly hubs: readonly JoinedHub[];
  /** Lineage of the hub that the spoke belongs to: the first to be dialled. */
  readonly owner: () => Promise<string | undefined>;
  readonly dial: (hub: JoinedHub, onState: (state: DialerState) => void) => TunnelDialer;
  /** How long the hub that was connected may be away before another is dialled; a minute by default. */
  readonly graceMs?: number;
}

/** Keeps a spoke connected to one of the hubs that it knows. */
export interface HubChoice {
  /** The hub that is dialled, or connected. */
  readonly current: JoinedHub | undefined;
  /** Other hubs, or the spoke belongs to another one: looks again which to dial. */
  reconsider(hubs?: readonly JoinedHub[]): void;
  close(): Promise<void>;
}

/** How long a hub that was not reached yet is tried while there are others. */
const PATIENCE_MS = 15_000;
/** A spoke that is with another hub than its own looks for its own that often. */
const RETURN_MS = 600_000;
const REJECTIONS = new Set([
  'NotAuthorized',
  'TokenRefused',
  'BadCertificate',
  'BadEnrolment',
  'NoCredentials',
]);

/**
 * One connection at a time: the hub that the spoke belongs to first, then the next that lets it in. Whom it is connected to
 * says nothing about whose orders it takes: that is what is pinned.
 */
export function chooseHub(runtime: Runtime, options: HubChoiceOptions): HubChoice {
  const { clock } = runtime;
  let { hubs } = options;
  let current: { readonly hub: JoinedHub; readonly dialer: TunnelDialer } | undefined;
  let owner: string | undefined;
  let timer: Timer | undefined;
  let closed = false;
  /** Lineages of hubs that did not let the spoke in, since one did. Where all do not, each is given the time of one that is away. */
  const refusing = new Set<string>();
  /** Changes of the connection come one after the other. */
  let turn: Promise<void> = Promise.resolve();

  function wait(ms: number, next: () => JoinedHub | undefined): void {
    timer?.cancel();
    timer = clock.after(ms, () => {
      timer = undefined;
      move(next);
    });
  }

  function move(next: () => JoinedHub | undefined): void {
    turn = turn
      .then(async () => {
        if (closed) return;
        owner = await options.owner();
        const hub = next();
        if (closed) return;
        if (hub && current && isSameHub(hub, current.hub)) {
          // Whoever stays goes on waiting for what it waited for; it may not have known of another hub before.
          if (hubs.length > 1 && !timer && current.dialer.state.phase !== 'up')
            wait(PATIENCE_MS, () => after(hub));
          return;
        }
        timer?.cancel();
        timer = undefined;
        const before = current;
        current = undefined;
        await before?.dialer.close();
        if (!closed && hub) start(hub);
      })
      .catch((error: unknown) => {
        runtime.log.error('a hub could not be chosen', { why: errorText(error) });
        if (!closed) wait(PATIENCE_MS, next);
      });
  }

  function start(hub: JoinedHub): void {
    let wasUp = false;
    const onState = (state: DialerState): void => {
      if (closed || current?.hub !== hub || hubs.length < 2) return;
      if (state.phase === 'up') {
        wasUp = true;
        refusing.clear();
        timer?.cancel();
        timer = undefined;
        if (owner !== undefined && owner !== hub.trust.lineage && hubs.some(isOwner)) wait(RETURN_MS, first);
      } else if (state.phase === 'waiting' && isRejection(state.reason)) {
        refusing.add(hub.trust.lineage);
        if (hubs.some(({ trust }) => !refusing.has(trust.lineage))) move(() => after(hub));
      } else if (wasUp && state.phase !== 'stopped') {
        wasUp = false;
        wait(options.graceMs ?? 60_000, () => after(hub));
      }
    };
    const dialer = options.dial(hub, onState);
    current = { hub, dialer };
    if (hubs.length > 1) wait(PATIENCE_MS, () => after(hub));
  }

  const isOwner = (hub: JoinedHub): boolean => hub.trust.lineage === owner;
  const first = (): JoinedHub | undefined => hubs.find(isOwner) ?? hubs[0];
  const after = (hub: JoinedHub): JoinedHub | undefined => {
    const index = hubs.findIndex((other) => other.trust.lineage === hub.trust.lineage);
    return hubs[(index + 1) % hubs.length];
  };

  move(first);
  return {
    get current(): JoinedHub | undefined {
      return current?.hub;
    },
    reconsider(next): void {
      if (next) hubs = next;
      refusing.clear();
      move(first);
    },
    async close(): Promise<void> {
      closed = true;
      timer?.cancel();
      await turn;
      await current?.dialer.close();
    },
  };
}

/** Whether a hub that was reached does not let the spoke in. */
export function isRejection(reason: string): boolean {
  return REJECTIONS.has(reason);
}

/** Whether two words for a hub lead to the same place in the same way; the token matters only when it is used. */
export function isSameHub(a: JoinedHub, b: JoinedHub): boolean {
  return deepEqual({ ...a, tokens: {} }, { ...b, tokens: {} });
}
