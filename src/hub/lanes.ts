import type { Controller, Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Work for spokes, one lane each: a spoke that is slow or hangs costs the others nothing. */
export interface Lanes {
  enqueue(spoke: string, key: string): void;
  /** Ends the lanes of spokes that are gone. */
  keep(has: (spoke: string) => boolean): void;
  stop(): Promise<void>;
}

/** Keys of one spoke that are worked on at the same time. */
const LANE_WIDTH = 4;

export function createLanes(
  runtime: Runtime,
  name: string,
  reconcile: (spoke: string, key: string) => Promise<Result | undefined>,
): Lanes {
  const lanes = new Map<string, Controller>();
  return {
    enqueue(spoke: string, key: string): void {
      let lane = lanes.get(spoke);
      if (!lane) {
        const work = (item: string): Promise<Result | undefined> => reconcile(spoke, item);
        lane = startController(runtime, { name, concurrency: LANE_WIDTH, reconcile: work });
        lanes.set(spoke, lane);
      }
      lane.enqueue(key);
    },
    keep(has: (spoke: string) => boolean): void {
      for (const [spoke, lane] of lanes) {
        if (has(spoke)) continue;
        lanes.delete(spoke);
        lane
          .stop()
          .catch((error: unknown) =>
            runtime.log.error('a lane did not end well', { spoke, why: errorText(error) }),
          );
      }
    },
    async stop(): Promise<void> {
      await Promise.all([...lanes.values()].map((lane) => lane.stop()));
    },
  };
}
