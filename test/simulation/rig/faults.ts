import {
  contentsOf,
  memoryDriver,
  type StorageDriver,
  type StoredContents,
} from '../../../src/apiserver/storage/index.ts';
import type { Handler, Request, Response } from '../../../src/kube/exchange.ts';
import { type Runtime, sleep } from '../../../src/runtime/index.ts';

/** Storage that may fail: full, or cut off in the middle of what its process was doing. */
export interface FaultyStorage extends StorageDriver {
  full: boolean;
  /** The process dies after so many more commits: none of those that follow is made. */
  crashAfter(commits: number): void;
  readonly crashed: boolean;
  /** The process starts anew. */
  revive(): void;
  /** What is stored now, to be restored later. */
  backUp(): Promise<void>;
  readonly hasBackup: boolean;
  restore(): void;
}

export function faultyStorage(contents?: StoredContents): FaultyStorage {
  let inner = memoryDriver(contents);
  let backup: StoredContents | undefined;
  let commitsLeft = Number.POSITIVE_INFINITY;
  let crashed = false;
  return {
    full: false,
    get crashed() {
      return crashed;
    },
    get hasBackup() {
      return backup !== undefined;
    },
    open: () => inner.open(),
    load: () => inner.load(),
    changesSince: (revision) => inner.changesSince(revision),
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
    async commit(changes) {
      if (crashed || commitsLeft <= 0) {
        crashed = true;
        throw new Error('the process has died');
      }
      if (this.full) throw new Error('database or disk is full');
      commitsLeft -= 1;
      await inner.commit(changes);
    },
    crashAfter(commits): void {
      commitsLeft = commits;
    },
    revive(): void {
      commitsLeft = Number.POSITIVE_INFINITY;
      crashed = false;
    },
    async backUp(): Promise<void> {
      backup = await contentsOf(inner);
    },
    restore(): void {
      if (backup) inner = memoryDriver(backup);
      backup = undefined;
    },
  };
}

/** What the network does to the requests of one spoke. */
export interface FaultyNetwork {
  readonly lost: 'requests' | 'answers' | 'nothing';
  /** What was waiting when nothing is lost any more is broken off: pings have found out, or the peer resets. */
  lose(what: FaultyNetwork['lost']): void;
  /** Each request and each answer takes up to this long, on its own: they overtake each other. */
  longestMs: number;
  duplicate: boolean;
}

export function faultyNetwork(runtime: Runtime): { state: FaultyNetwork; over(handler: Handler): Handler } {
  const stuck = new Set<(error: Error) => void>();
  let lost: FaultyNetwork['lost'] = 'nothing';
  const state: FaultyNetwork = {
    longestMs: 0,
    duplicate: false,
    get lost() {
      return lost;
    },
    lose(what): void {
      lost = what;
      if (what !== 'nothing') return;
      for (const reject of stuck) reject(new Error('the connection was reset'));
      stuck.clear();
    },
  };
  /** An answer that does not come. */
  const never = (request: Request): Promise<never> =>
    new Promise((_resolve, reject) => {
      stuck.add(reject);
      request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
      if (request.signal?.aborted) reject(request.signal.reason);
    });
  const travel = async (request: Request): Promise<void> => {
    if (state.longestMs > 0)
      await sleep(runtime.clock, Math.floor(runtime.random.next() * state.longestMs), request.signal);
  };
  return {
    state,
    over: (handler) => async (request) => {
      await travel(request);
      if (state.lost === 'requests') return never(request);
      if (state.duplicate && request.method !== 'GET') await handler(request);
      const response = await handler(request);
      if (state.lost === 'answers') return never(request);
      if (!(response.body instanceof Uint8Array))
        return { ...response, body: stalling(state, response, () => never(request)) };
      await travel(request);
      return response;
    },
  };
}

/** A stream of which nothing arrives while answers are lost; what was lost is not told later, either. */
async function* stalling(
  state: FaultyNetwork,
  response: Response,
  stall: () => Promise<never>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body instanceof Uint8Array) return;
  for await (const chunk of response.body) {
    // A stream that lost a part is broken: TCP would not go on behind a gap.
    if (state.lost === 'answers') await stall();
    yield chunk;
  }
}
