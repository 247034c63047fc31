import type { Socket } from 'node:net';
import type { Runtime, Timer } from '../runtime/index.ts';

export interface AdmissionGateOptions {
  /** Connections that are admitted at a time. */
  readonly concurrency: number;
  /** Connections that may wait for their turn; more are closed at once. */
  readonly queue: number;
  /** How long one may wait, and how long its admission may take. */
  readonly timeoutMs: number;
  /** An admission that others wait for is given up when it has proven nothing for that long. */
  readonly unprovenMs: number;
}

/**
 * Lets connections in at a bounded pace: when a hub comes back, all of its spokes dial at once, and their handshakes must
 * not starve the links that are up. Who connects and then says nothing holds a place only while nobody else wants it.
 */
export interface AdmissionGate {
  /** `admit` is called when it is this socket's turn. */
  enter(socket: Socket): void;
  /** The other end has proven who it is: it is no longer given up for others. */
  proven(key: string): void;
  /** The admission is over, whatever came of it. */
  leave(key: string): void;
  /** Connections that wait. */
  readonly waiting: number;
  /** Connections that are being admitted. */
  readonly active: number;
  close(): void;
}

interface Visitor {
  readonly socket: Socket;
  readonly key: string;
  since: number;
  proven: boolean;
}

/** Names a connection for as long as it is open. `undefined` once the socket is closed. */
export function connectionKey(socket: Socket): string | undefined {
  return socket.remotePort === undefined ? undefined : `${socket.remoteAddress}|${socket.remotePort}`;
}

export function admissionGate(
  runtime: Runtime,
  options: AdmissionGateOptions,
  admit: (socket: Socket) => void,
): AdmissionGate {
  const { clock } = runtime;
  const active = new Map<string, Visitor>();
  const queue = new Map<string, Visitor>();
  let timer: Timer | undefined;

  function start(visitor: Visitor): void {
    visitor.since = clock.monotonic();
    active.set(visitor.key, visitor);
    admit(visitor.socket);
  }

  function next(): void {
    for (const visitor of queue.values()) {
      if (active.size >= options.concurrency) break;
      queue.delete(visitor.key);
      start(visitor);
    }
    watch();
  }

  /** One timer, for the oldest of each kind: both maps are in the order of arrival. */
  function watch(): void {
    timer?.cancel();
    timer = undefined;
    const now = clock.monotonic();
    let earliest = Number.POSITIVE_INFINITY;
    const [first] = queue.values();
    if (first !== undefined) {
      earliest = first.since + options.timeoutMs;
      for (const visitor of active.values()) {
        if (visitor.proven) continue;
        earliest = Math.min(earliest, visitor.since + options.unprovenMs);
        break;
      }
    }
    if (earliest === Number.POSITIVE_INFINITY) return;
    timer = clock.after(Math.max(0, earliest - now), expire);
  }

  function expire(): void {
    const now = clock.monotonic();
    for (const visitor of queue.values()) {
      if (visitor.since + options.timeoutMs > now) break;
      visitor.socket.destroy();
    }
    let wanted = queue.size;
    for (const visitor of active.values()) {
      if (wanted === 0 || visitor.since + options.unprovenMs > now) break;
      if (visitor.proven) continue;
      wanted -= 1;
      leave(visitor.key);
      visitor.socket.destroy();
    }
    watch();
  }

  function leave(key: string): void {
    const wasActive = active.delete(key);
    if (queue.delete(key) || wasActive) next();
  }

  return {
    enter(socket): void {
      const key = connectionKey(socket);
      if (key === undefined || queue.size >= options.queue) {
        socket.destroy();
        return;
      }
      socket.on('close', () => leave(key));
      const visitor: Visitor = { socket, key, since: clock.monotonic(), proven: false };
      if (active.size < options.concurrency) start(visitor);
      else {
        queue.set(key, visitor);
        watch();
      }
    },
    proven(key): void {
      const visitor = active.get(key);
      if (visitor !== undefined) visitor.proven = true;
    },
    leave,
    get waiting(): number {
      return queue.size;
    },
    get active(): number {
      return active.size;
    },
    close(): void {
      timer?.cancel();
      for (const visitor of queue.values()) visitor.socket.destroy();
      queue.clear();
    },
  };
}
