import type { DialerState } from '../../link/index.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { isRejection } from './hub-choice.ts';
import type { JoinedHub } from './join-file.ts';

export interface HubSwitchOptions {
  /** How long the hub that the spoke belongs to must have been out of reach. */
  readonly afterMs: number;
  /** Dials the hub that the spoke belongs to once more. */
  readonly lookForOwner: () => void;
  /** Makes the spoke the hub's. */
  readonly takeOver: (hub: JoinedHub, why: string) => Promise<void>;
}

/**
 * Hands a spoke over by itself, where its owner said so beforehand (`--switch-after`): to the hub that let it in, when the one that it
 * belongs to was out of reach for so long, and still is when it is looked for at the end of that. A hub that answers is there,
 * whatever it answers.
 */
export interface HubSwitch {
  /** Lineage of the hub that the spoke belongs to. */
  owned(by: string | undefined): void;
  /** What the connection to a hub tells. */
  told(hub: JoinedHub, state: DialerState): void;
  dialled(hub: JoinedHub): void;
  close(): void;
}

/** Until another attempt where the spoke's own API could not take the change. */
const RETRY_MS = 15_000;

export function hubSwitch(
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  { afterMs, lookForOwner, takeOver }: HubSwitchOptions,
): HubSwitch {
  let owner: string | undefined;
  /** When it was there last, on the monotonic clock; where it never was, since when it is awaited. */
  let ownerSeenAt = clock.monotonic();
  let ownerIsUp = false;
  let ownerDialledAt: number | undefined;
  let host: JoinedHub | undefined;
  let timer: Timer | undefined;

  function seeOwner(isUp: boolean): void {
    ownerIsUp = isUp;
    ownerSeenAt = clock.monotonic();
  }

  function consider(): void {
    timer?.cancel();
    timer = undefined;
    // Without a way to the owner nobody knows whether it is there.
    if (!host || owner === undefined || ownerIsUp || ownerDialledAt === undefined) return;
    const dueMs = ownerSeenAt + afterMs - clock.monotonic();
    if (dueMs > 0) timer = clock.after(dueMs, consider);
    else if (ownerDialledAt < ownerSeenAt + afterMs) lookForOwner();
    else switchTo(host);
  }

  function switchTo(hub: JoinedHub): void {
    const why = `the spoke itself, which did not reach its hub for ${Math.round(afterMs / 1000)} s (--switch-after),`;
    log.warn('handing the spoke over: its hub was out of reach for too long', { from: owner, to: hub.name });
    takeOver(hub, why).catch((error: unknown) => {
      log.error('the spoke could not be handed over', { to: hub.name, why: errorText(error) });
      timer ??= clock.after(RETRY_MS, consider);
    });
  }

  return {
    owned(by): void {
      if (by === owner) return;
      owner = by;
      ownerDialledAt = undefined;
      // Whose it is now is connected, or has the whole time.
      seeOwner(host !== undefined && host.trust.lineage === by);
      consider();
    },
    dialled(hub): void {
      host = undefined;
      if (hub.trust.lineage === owner) ownerDialledAt = clock.monotonic();
    },
    told(hub, state): void {
      const isOwner = hub.trust.lineage === owner;
      if (state.phase === 'up') {
        host = hub;
        if (isOwner) seeOwner(true);
      } else {
        if (host?.trust.lineage === hub.trust.lineage) host = undefined;
        const answers = state.phase === 'waiting' && isRejection(state.reason);
        if (isOwner && (ownerIsUp || answers)) seeOwner(false);
      }
      consider();
    },
    close(): void {
      timer?.cancel();
      host = undefined;
    },
  };
}
