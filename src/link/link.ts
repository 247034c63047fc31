import type { Handler, Upgrader } from '../kube/exchange.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import type { LinkReason } from './reasons.ts';

export interface LinkState {
  readonly up: boolean;
  readonly reason: LinkReason;
  /** For people. */
  readonly message: string;
  /** Milliseconds since the epoch: when `up` last changed. */
  readonly since: number;
}

/**
 * How the hub reaches one spoke. It stays the same object while connections come and go; a request on a link that is
 * down rejects at once with {@link LinkDown}, and so does what is under way when it goes down.
 */
export interface Link {
  readonly spoke: string;
  readonly handler: Handler;
  /**
   * Requests that ask for another protocol (`exec`, `attach`, `port-forward`). The stream ends with {@link LinkDown} when the
   * link goes down. Absent where the link's maker has none.
   */
  readonly upgrade?: Upgrader;
  /** What went over the link since this process first had it. Absent for links that do not count. */
  readonly stats?: () => LinkStats;
  readonly up: boolean;
  readonly state: LinkState;
  /** Calls `listener` on each change of state. Returns what stops that. */
  onChange(listener: (state: LinkState) => void): () => void;
}

/** Counters of a link, of this process alone. Bytes are those of the connection, encryption left out. */
export interface LinkStats {
  /** From the spoke. */
  readonly bytesIn: number;
  /** To the spoke. */
  readonly bytesOut: number;
  /** Requests and upgraded streams that were begun. */
  readonly streams: number;
  /** Those that are under way. */
  readonly openStreams: number;
  /** Connections of the spoke that were let in. */
  readonly connections: number;
  readonly reconnects: number;
}

/** The request could not be sent, or its answer broke off, because the spoke cannot be reached. */
export class LinkDown extends Error {
  readonly spoke: string;
  readonly reason: LinkReason;
  constructor(spoke: string, reason: LinkReason, message: string) {
    super(`spoke ${JSON.stringify(spoke)} cannot be reached: ${message}`);
    this.name = 'LinkDown';
    this.spoke = spoke;
    this.reason = reason;
  }
}

/** The state of a link and who wants to know of it. */
export interface LinkStatus {
  readonly state: LinkState;
  set(up: boolean, reason: LinkReason, message: string): void;
  onChange(listener: (state: LinkState) => void): () => void;
}

/** A change is told when `up` or the reason differs; a listener that throws is logged and does not stop the others. */
export function linkStatus(runtime: Runtime, spoke: string): LinkStatus {
  const listeners = new Set<(state: LinkState) => void>();
  const status: LinkStatus & { state: LinkState } = {
    state: {
      up: false,
      reason: 'NeverConnected',
      message: 'not connected yet',
      since: runtime.clock.now(),
    },
    set(up, reason, message): void {
      const { state: before } = status;
      if (before.up === up && before.reason === reason) return;
      status.state = { up, reason, message, since: before.up === up ? before.since : runtime.clock.now() };
      for (const listener of [...listeners]) {
        try {
          listener(status.state);
        } catch (error) {
          runtime.log.error('a listener of a link failed', { spoke, error: errorText(error) });
        }
      }
    },
    onChange(listener): () => void {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
  return status;
}
