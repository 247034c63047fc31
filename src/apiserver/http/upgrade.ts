import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { http1Wire, type Wire } from '../../kube/wire/index.ts';

/** The exchange of a request that asks for an upgrade. Any answer but an upgrade ends the connection. */
export function upgradeWire(request: IncomingMessage, socket: Duplex, head: Uint8Array): Wire {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  // It is written to a socket, whatever the type of the event says; `close` of that is `close` of the response.
  response.assignSocket(request.socket);
  // Nobody waits for the client's end: one that never comes would hold the connection for ever.
  response.once('finish', () => request.socket.destroySoon());
  // Read by whoever takes over; until then a failure of the connection must not end the process.
  socket.on('error', () => {});
  return {
    ...http1Wire(request, response),
    reset: () => socket.destroy(),
    async handOver(headers, takeOver) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      await takeOver(socket, head);
      if (!socket.destroyed && !socket.writableEnded) socket.end();
    },
  };
}
