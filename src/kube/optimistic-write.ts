import type { Result } from './controller.ts';
import { hasCode } from './status-error.ts';

/** Until a copy shows what somebody else wrote. */
const CATCH_UP_MS = 40;

/**
 * A write that holds for what was read only (it names the resourceVersion): where somebody else wrote in between it is made again
 * from what is there then, and where the object is gone there is nothing to write.
 */
export async function optimisticWrite(write: Promise<unknown>): Promise<Result | undefined> {
  try {
    await write;
  } catch (error) {
    if (hasCode(error, 409)) return { requeueAfterMs: CATCH_UP_MS };
    if (!hasCode(error, 404)) throw error;
  }
  return undefined;
}
