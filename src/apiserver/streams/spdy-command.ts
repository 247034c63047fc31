import type { Request, Response } from '../../kube/exchange.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import { BrokenPipe, discard, noBytes } from './byte-pipe.ts';
import { type CommandRequest, probeClient, type ServeCommand } from './remote-command.ts';
import { acceptSpdy, type SpdyStream } from './spdy/index.ts';
import { agreedProtocol, spdyResponse } from './spdy-upgrade.ts';

/** The subprotocol in which errors are Statuses with exit codes. All clients of the last ten years know it. */
const PROTOCOL = 'v4.channel.k8s.io';
/** How long a client may take to open its streams. */
const STREAMS_MS = 30_000;
/** What comes late from a client that was answered is not waited for longer. */
const CLOSE_MS = 5_000;

/** The answer to `exec` or `attach` over SPDY: a stream each for errors, input, output, and sizes of the terminal. */
export function commandOverSpdy(
  runtime: Runtime,
  request: Request,
  asked: CommandRequest,
  serve: ServeCommand,
): Response {
  agreedProtocol(request, [PROTOCOL]);
  return spdyResponse(PROTOCOL, async (socket, head) => {
    const wanted = ['error', ...(['stdin', 'stdout', 'stderr'] as const).filter((name) => asked[name])];
    if (asked.tty) wanted.push('resize');
    const found = new Map<string, SpdyStream>();
    const gone = new AbortController();
    let complete: (() => void) | undefined;
    const all = new Promise<void>((resolve) => {
      complete = resolve;
    });
    const session = acceptSpdy(socket, head, (stream) => {
      const type = (stream.headers.get('streamtype') ?? '').toLowerCase();
      if (!wanted.includes(type) || found.has(type)) {
        stream.reset();
        return;
      }
      found.set(type, stream);
      if (found.size === wanted.length) complete?.();
    });
    const closed = session.closed.then(
      () => gone.abort(),
      (error: unknown) => {
        runtime.log.debug('a client broke the rules of SPDY', { error: errorText(error) });
        gone.abort();
      },
    );
    const timer = runtime.clock.after(STREAMS_MS, () => socket.destroy());
    await Promise.race([all, closed]);
    timer.cancel();
    const error = found.get('error');
    if (gone.signal.aborted || error === undefined) return;
    const stopProbing = probeClient(runtime.clock, session.ping);
    const signal = request.signal ? AbortSignal.any([request.signal, gone.signal]) : gone.signal;
    try {
      const status = await serve({
        stdin: found.get('stdin') ?? noBytes,
        stdout: found.get('stdout') ?? discard,
        stderr: found.get('stderr') ?? discard,
        sizes: found.get('resize'),
        signal,
      });
      await error.write(Buffer.from(jsonText(status)));
    } catch (cause) {
      if (!(cause instanceof BrokenPipe)) throw cause;
    } finally {
      stopProbing();
      for (const name of ['stdout', 'stderr', 'error']) found.get(name)?.end();
      session.end();
    }
    const late = runtime.clock.after(CLOSE_MS, () => socket.destroy());
    await closed;
    late.cancel();
  });
}
