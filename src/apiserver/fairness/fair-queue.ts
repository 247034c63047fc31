import type { Clock } from '../../runtime/index.ts';

export type RequestKind = 'reading' | 'writing';

export interface FairQueueOptions {
  /** Requests that read and may be served at once. 400 by default. */
  readonly maxReading?: number;
  /** Requests that write and may be served at once. 200 by default. */
  readonly maxWriting?: number;
  /** Requests of either kind that a cluster begins in a turn of the event loop while others are active. 2 by default. */
  readonly startsPerTurn?: number;
  /** The same for a cluster that is alone: what comes from another meanwhile waits for no more. 16 by default. */
  readonly startsPerTurnAlone?: number;
  /** How long a cluster counts as active after its last request. 10 s by default. */
  readonly activeMs?: number;
}

/** Gives the seat of a request back. To be called once. */
export type Leave = () => void;

export interface FairQueue {
  /**
   * Lets a request in, now or when it is its turn; `undefined` when its cluster has as many as it may. The promise never
   * rejects: of a request that was aborted meanwhile, `signal` tells.
   */
  enter(cluster: string, kind: RequestKind, signal?: AbortSignal): Leave | Promise<Leave> | undefined;
  readonly waiting: number;
}

/** The requests of one kind of one cluster. */
interface Lane {
  readonly cluster: string;
  readonly kind: RequestKind;
  readonly queue: ((leave: Leave) => void)[];
  served: number;
}

interface Seats {
  readonly most: number;
  taken: number;
}

const MAX_READING = 400;
const MAX_WRITING = 200;
const STARTS_PER_TURN = 2;
const STARTS_PER_TURN_ALONE = 16;
const ACTIVE_MS = 10_000;

export function fairQueue(
  clock: Pick<Clock, 'defer' | 'monotonic'>,
  options: FairQueueOptions = {},
): FairQueue {
  const {
    startsPerTurn = STARTS_PER_TURN,
    startsPerTurnAlone = STARTS_PER_TURN_ALONE,
    activeMs = ACTIVE_MS,
  } = options;
  const seats: Record<RequestKind, Seats> = {
    reading: { most: options.maxReading ?? MAX_READING, taken: 0 },
    writing: { most: options.maxWriting ?? MAX_WRITING, taken: 0 },
  };
  const lanes = new Map<string, Lane>();
  /** When each cluster came last, the one longest ago first. */
  const active = new Map<string, number>();
  /** Lanes with requests that wait, in the order in which they come next. */
  const ring = new Set<Lane>();
  /** Lanes that have begun something in this turn. */
  const begun = new Set<Lane>();
  /** How much each cluster has begun in this turn: the thread is one, whatever a request does with it. */
  const starts = new Map<string, number>();
  let waiting = 0;
  let turnEnds = false;

  function laneOf(cluster: string, kind: RequestKind): Lane {
    const id = `${kind} ${cluster}`;
    let lane = lanes.get(id);
    if (lane === undefined) {
      lane = { cluster, kind, queue: [], served: 0 };
      lanes.set(id, lane);
    }
    return lane;
  }

  function note(cluster: string): void {
    const now = clock.monotonic();
    active.delete(cluster);
    active.set(cluster, now);
    for (const [other, at] of active) {
      if (now - at <= activeMs) break;
      active.delete(other);
    }
  }

  function mayBegin(lane: Lane): boolean {
    const { most, taken } = seats[lane.kind];
    const mostStarts = active.size < 2 ? startsPerTurnAlone : startsPerTurn;
    return taken < most && lane.served < mostOfOne(most) && (starts.get(lane.cluster) ?? 0) < mostStarts;
  }

  function begin(lane: Lane): Leave {
    seats[lane.kind].taken += 1;
    lane.served += 1;
    starts.set(lane.cluster, (starts.get(lane.cluster) ?? 0) + 1);
    begun.add(lane);
    endTurn();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      seats[lane.kind].taken -= 1;
      lane.served -= 1;
      forget(lane);
      if (ring.size > 0) endTurn();
    };
  }

  function forget(lane: Lane): void {
    if (lane.served === 0 && lane.queue.length === 0 && !begun.has(lane))
      lanes.delete(`${lane.kind} ${lane.cluster}`);
  }

  /** One callback a turn, however many requests it has. */
  function endTurn(): void {
    if (turnEnds) return;
    turnEnds = true;
    clock.defer(() => {
      turnEnds = false;
      const ended = [...begun];
      begun.clear();
      starts.clear();
      for (const lane of ended) forget(lane);
      beginNext();
    });
  }

  /** One request of each lane after the other, as far as they may. */
  function beginNext(): void {
    for (let isMoving = true; isMoving; ) {
      isMoving = false;
      for (const lane of [...ring]) {
        if (!mayBegin(lane)) continue;
        const next = lane.queue.shift();
        ring.delete(lane);
        if (lane.queue.length > 0) ring.add(lane);
        if (next === undefined) continue;
        waiting -= 1;
        isMoving = true;
        next(begin(lane));
      }
    }
  }

  return {
    get waiting() {
      return waiting;
    },
    enter(cluster, kind, signal) {
      note(cluster);
      const lane = laneOf(cluster, kind);
      if (lane.queue.length === 0 && mayBegin(lane)) return begin(lane);
      if (lane.served + lane.queue.length >= seats[kind].most) {
        forget(lane);
        return undefined;
      }
      return new Promise<Leave>((resolve) => {
        lane.queue.push(resolve);
        ring.add(lane);
        waiting += 1;
        signal?.addEventListener(
          'abort',
          () => {
            const at = lane.queue.indexOf(resolve);
            if (at < 0) return;
            lane.queue.splice(at, 1);
            if (lane.queue.length === 0) ring.delete(lane);
            waiting -= 1;
            forget(lane);
            resolve(() => {});
          },
          { once: true },
        );
        if (begun.size > 0) endTurn();
      });
    },
  };
}

/** Whoever waits for slow webhooks with all that they have must leave seats to others, who may come later. */
function mostOfOne(most: number): number {
  return Math.max(1, Math.ceil((most * 3) / 4));
}
