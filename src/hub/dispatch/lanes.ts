import type { Controller, Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/**
 * Work for spokes, one lane each: a spoke that is slow or hangs costs the others nothing. A lane is there while it has work: most
 * spokes are at rest.
 */
export interface Lanes {
  enqueue(spoke: string, key: string): void;
  /**
   * The same for work that most likely finds nothing to do, such as after a start, when there is one of it for each order that
   * stands. It is done bit by bit, the spokes in turn, so that new work need not wait for all of it.
   */
  enqueueLater(spoke: string, key: string): void;
  /** Ends the lanes of spokes that are gone. */
  keep(has: (spoke: string) => boolean): void;
  stop(): Promise<void>;
}

/** Keys of one spoke that are worked on at the same time. */
const LANE_WIDTH = 4;
/** How much of what is for later is begun in a turn of the event loop, which takes about a millisecond. */
const LATER_AT_ONCE = 8;

interface Lane {
  readonly work: Controller;
  readonly later: Set<string>;
}

export function createLanes(
  runtime: Runtime,
  name: string,
  reconcile: (spoke: string, key: string) => Promise<Result | undefined>,
): Lanes {
  const lanes = new Map<string, Lane>();
  /** Those that have something for later, the one whose turn it is first. */
  const waiting = new Set<Lane>();
  let scheduled = false;

  function laneOf(spoke: string): Lane {
    let lane = lanes.get(spoke);
    if (!lane) {
      const work = (item: string): Promise<Result | undefined> => reconcile(spoke, item);
      const later = new Set<string>();
      const onIdle = (): void => {
        if (later.size === 0) lanes.delete(spoke);
      };
      lane = {
        work: startController(runtime, { name, concurrency: LANE_WIDTH, reconcile: work, onIdle }),
        later,
      };
      lanes.set(spoke, lane);
    }
    return lane;
  }

  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    runtime.clock.defer(() => {
      scheduled = false;
      for (let count = 0; count < LATER_AT_ONCE; count++) beginNext();
      schedule();
    });
  }

  function beginNext(): void {
    const [lane] = waiting;
    if (!lane) return;
    waiting.delete(lane);
    const [key] = lane.later;
    if (key === undefined) return;
    lane.later.delete(key);
    lane.work.enqueue(key);
    if (lane.later.size > 0) waiting.add(lane);
  }

  return {
    enqueue(spoke: string, key: string): void {
      const lane = laneOf(spoke);
      lane.later.delete(key);
      lane.work.enqueue(key);
    },
    enqueueLater(spoke: string, key: string): void {
      const lane = laneOf(spoke);
      lane.later.add(key);
      waiting.add(lane);
      schedule();
    },
    keep(has: (spoke: string) => boolean): void {
      for (const [spoke, lane] of lanes) {
        if (has(spoke)) continue;
        lanes.delete(spoke);
        waiting.delete(lane);
        lane.work
          .stop()
          .catch((error: unknown) =>
            runtime.log.error('a lane did not end well', { spoke, why: errorText(error) }),
          );
      }
    },
    async stop(): Promise<void> {
      waiting.clear();
      await Promise.all([...lanes.values()].map((lane) => lane.work.stop()));
    },
  };
}
