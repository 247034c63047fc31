import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { admissionGate, connectionKey } from './admission-gate.ts';

let ports = 0;
interface Visitor {
  readonly socket: Socket;
  readonly key: string;
  destroyed(): boolean;
}

function visitor(): Visitor {
  let gone = false;
  ports += 1;
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress: '10.0.0.1',
    remotePort: ports,
    destroy(): void {
      if (gone) return;
      gone = true;
      socket.emit('close');
    },
  }) as unknown as Socket;
  return { socket, key: connectionKey(socket) ?? '', destroyed: () => gone };
}

const options = { concurrency: 2, queue: 3, timeoutMs: 10_000, unprovenMs: 1_000 };

describe('admissionGate', () => {
  it('admits a few at a time in the order of arrival, and turns away what is more than may wait', () => {
    const admitted: Socket[] = [];
    const gate = admissionGate(virtualRuntime(1), options, (socket) => admitted.push(socket));
    const all = Array.from({ length: 7 }, visitor);
    for (const { socket } of all) gate.enter(socket);
    expect([gate.active, gate.waiting]).toEqual([2, 3]);
    expect(all.map((each) => each.destroyed())).toEqual([false, false, false, false, false, true, true]);
    gate.leave(all[1]?.key ?? '');
    all[2]?.socket.destroy();
    gate.leave(all[0]?.key ?? '');
    expect(admitted).toEqual(all.slice(0, 5).map((each) => each.socket));
    expect([gate.active, gate.waiting]).toEqual([2, 0]);
  });

  it('forgets who leaves while waiting', () => {
    const admitted: Socket[] = [];
    const gate = admissionGate(virtualRuntime(1), options, (socket) => admitted.push(socket));
    const all = Array.from({ length: 4 }, visitor);
    for (const { socket } of all) gate.enter(socket);
    all[2]?.socket.destroy();
    gate.leave(all[0]?.key ?? '');
    expect(admitted).toHaveLength(3);
    expect(admitted[2]).toBe(all[3]?.socket);
  });

  it('gives the places of those who prove nothing to those who wait, and leaves them alone otherwise', async () => {
    const runtime = virtualRuntime(1);
    const gate = admissionGate(runtime, options, () => {});
    const [first, second, third] = [visitor(), visitor(), visitor()];
    gate.enter(first.socket);
    gate.enter(second.socket);
    gate.proven(first.key);
    await runtime.clock.advance(60_000);
    expect([first.destroyed(), second.destroyed()]).toEqual([false, false]);
    gate.enter(third.socket);
    await runtime.clock.advance(1);
    expect([first.destroyed(), second.destroyed()]).toEqual([false, true]);
    expect([gate.active, gate.waiting]).toEqual([2, 0]);
  });

  it('lets nobody wait for ever', async () => {
    const runtime = virtualRuntime(1);
    const gate = admissionGate(runtime, options, () => {});
    const all = Array.from({ length: 3 }, visitor);
    for (const { socket, key } of all) {
      gate.enter(socket);
      gate.proven(key);
    }
    await runtime.clock.advance(10_000);
    expect(all.map((each) => each.destroyed())).toEqual([false, false, true]);
    expect(runtime.clock.pending()).toBe(0);
  });
});
