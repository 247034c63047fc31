import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Tracked } from '../propagate/tracked.ts';

/**
 * Copies on clusters that are no longer chosen, which stay until those that took their place have proven themselves: all chosen
 * clusters seen Ready with the newest content for `retireAfterSeconds`, without a break. What was seen before the hub started, or
 * for another choice, proves nothing: then the time counts anew.
 */
export interface Retirement {
  /** Tells what is seen of the chosen clusters now. */
  seen(item: Tracked, observations: readonly ClusterObservation[]): void;
  /** Whether a copy on a cluster that is not chosen stays for now. */
  keeps(item: Tracked): boolean;
  forget(key: string): void;
  stop(): void;
}

interface Proof {
  /** What is proven: a choice with a content. */
  readonly of: string;
  readonly sinceMs: number;
  readonly timer: Timer;
}

/** `onDue` hears of intents whose old copies may go now. */
export function createRetirement(clock: Clock, onDue: (key: string) => void): Retirement {
  const proofs = new Map<string, Proof>();

  function drop(key: string): void {
    proofs.get(key)?.timer.cancel();
    proofs.delete(key);
  }

  return {
    seen(item, observations): void {
      const { key } = item;
      const seconds = secondsOf(item);
      const of = choiceOf(item);
      const isReady =
        observations.length > 0 && observations.every((one) => summariseCluster(one).word === 'Ready');
      if (seconds === undefined || !isReady) {
        drop(key);
        return;
      }
      if (proofs.get(key)?.of === of) return;
      drop(key);
      const timer = clock.after(seconds * 1000, () => onDue(key));
      proofs.set(key, { of, sinceMs: clock.monotonic(), timer });
    },
    keeps(item): boolean {
      const seconds = secondsOf(item);
      // Where it is placed nowhere there is nobody to wait for.
      if (seconds === undefined || (item.plan?.decision.chosen.length ?? 0) === 0) return false;
      const proof = proofs.get(item.key);
      return proof?.of !== choiceOf(item) || clock.monotonic() - proof.sinceMs < seconds * 1000;
    },
    forget: drop,
    stop(): void {
      for (const key of [...proofs.keys()]) drop(key);
    },
  };
}

function secondsOf({ compiled }: Tracked): number | undefined {
  return compiled?.intent.placement.retireAfterSeconds;
}

function choiceOf({ plan, generation }: Tracked): string {
  return `${generation} ${(plan?.decision.chosen ?? []).join(' ')}`;
}
