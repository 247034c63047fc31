import type { Request, Response } from '../../kube/exchange.ts';
import type { Clock } from '../../runtime/index.ts';
import { askedSubprotocols, webSocketHandshake } from './handshake.ts';
import { type WebSocket, webSocketResponse } from './web-socket.ts';

const NEWLINE = 0x0a;

/**
 * Asks `serve` for a watch and gives its answer over a WebSocket: each event is a text message, and the end of the stream
 * closes it. An answer that is no stream is given as it is. Throws 400 for a bad handshake, before anything is asked.
 */
export async function watchOverWebSocket(
  clock: Clock,
  request: Request,
  serve: () => Promise<Response>,
): Promise<Response> {
  // Watches have no subprotocol of their own, but browsers want one that they have asked for.
  const subprotocols = ['', ...askedSubprotocols(request).slice(0, 1)];
  webSocketHandshake(request, subprotocols);
  const response = await serve();
  const { body } = response;
  if (body instanceof Uint8Array) return response;
  return webSocketResponse(
    request,
    subprotocols,
    async (webSocket) => {
      await Promise.all([sendLines(webSocket, body), dropMessages(webSocket)]);
    },
    { clock },
  );
}

async function sendLines(webSocket: WebSocket, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of body)
    for (const data of linesOf(chunk)) {
      if (webSocket.closed) return;
      await webSocket.send({ kind: 'text', data });
    }
  webSocket.close();
}

/** A chunk of a watch holds whole lines. */
function* linesOf(chunk: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  while (start < chunk.byteLength) {
    const end = chunk.indexOf(NEWLINE, start);
    yield chunk.subarray(start, end < 0 ? chunk.byteLength : end);
    if (end < 0) return;
    start = end + 1;
  }
}

/** Who watches has nothing to say. */
async function dropMessages(webSocket: WebSocket): Promise<void> {
  for await (const _message of webSocket.messages) {
    // dropped
  }
}
