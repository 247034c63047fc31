import type { Request, Response } from '../../kube/exchange.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import { type WebSocket, WebSocketViolation, webSocketResponse } from '../websocket/index.ts';
import { BrokenPipe, type ByteSink, bytePipe, discard, noBytes } from './byte-pipe.ts';
import { type CommandRequest, probeClient, type ServeCommand } from './remote-command.ts';

/** `v5` is `v4` with a way to say that the input has ended. */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The answer to `exec` or `attach` over a WebSocket: the first byte of each message says which stream the rest is of. */
export function commandOverWebSocket(
  runtime: Runtime,
  request: Request,
  asked: CommandRequest,
  serve: ServeCommand,
): Response {
  const { clock, log } = runtime;
  return webSocketResponse(
    request,
    PROTOCOLS,
    async (webSocket) => {
      const stdin = bytePipe();
      const sizes = bytePipe();
      const gone = new AbortController();
      const signal = request.signal ? AbortSignal.any([request.signal, gone.signal]) : gone.signal;
      const received = receive(webSocket, asked.stdin ? stdin : undefined, sizes)
        .catch((error: unknown) => {
          if (!(error instanceof WebSocketViolation)) throw error;
          log.debug('a client broke the rules of WebSockets', { error: errorText(error) });
        })
        .finally(() => {
          gone.abort();
          stdin.end();
          sizes.end();
        });
      const sayNothing = (): Promise<void> =>
        send(webSocket, asked.stdout ? CHANNELS.stdout : CHANNELS.error, new Uint8Array());
      // Tells the client that it is through, before anything is said.
      await sayNothing();
      const stopProbing = probeClient(clock, () => {
        if (webSocket.closed) gone.abort();
        else void sayNothing();
      });
      try {
        const status = await serve({
          stdin: asked.stdin ? stdin : noBytes,
          stdout: asked.stdout ? channel(webSocket, CHANNELS.stdout) : discard,
          stderr: asked.stderr ? channel(webSocket, CHANNELS.stderr) : discard,
          sizes: asked.tty ? sizes : undefined,
          signal,
        });
        await send(webSocket, CHANNELS.error, Buffer.from(jsonText(status)));
      } finally {
        stopProbing();
        webSocket.close();
        stdin.cancel();
        sizes.cancel();
      }
      await received;
    },
    { clock },
  );
}

function send(webSocket: WebSocket, number: number, data: Uint8Array): Promise<void> {
  return webSocket.send({ kind: 'binary', data: Buffer.concat([Uint8Array.of(number), data]) });
}

const MAX_MESSAGE = 64 * 1024;

function channel(webSocket: WebSocket, number: number): ByteSink {
  return {
    async write(chunk) {
      for (let start = 0; start < chunk.byteLength; start += MAX_MESSAGE) {
        if (webSocket.closed) throw new BrokenPipe();
        await send(webSocket, number, chunk.subarray(start, start + MAX_MESSAGE));
      }
    },
    end: () => {},
  };
}

async function receive(webSocket: WebSocket, stdin: ByteSink | undefined, sizes: ByteSink): Promise<void> {
  for await (const { data } of webSocket.messages) {
    const [number] = data;
    const rest = data.subarray(1);
    if (number === CHANNELS.close) {
      if (rest[0] === CHANNELS.stdin) stdin?.end();
      continue;
    }
    const sink = number === CHANNELS.stdin ? stdin : number === CHANNELS.resize ? sizes : undefined;
    try {
      await sink?.write(rest);
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error; // nobody reads it any more
    }
  }
}
