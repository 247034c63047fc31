import { constants, type Http2Stream } from 'node:http2';
import { Duplex, duplexPair } from 'node:stream';
import { type Handler, type Response, type Upgraded, type Upgrader, upgradeProtocol } from '../exchange.ts';
import { validateHeaderName, validateHeaderValue } from './header-texts.ts';

/**
 * Joins two streams until both are over: what one sends the other gets, byte by byte and at the reader's pace; the end of
 * one direction ends that direction only; when one breaks, the other is destroyed. Never rejects.
 */
export function joinStreams(a: Duplex, b: Duplex): Promise<void> {
  const follow = (one: Duplex, other: Duplex): Promise<void> =>
    new Promise((resolve) => {
      let failure: Error | undefined;
      const over = (): void => {
        const clean = failure === undefined && one.readableEnded && one.writableFinished;
        if (!clean && !other.destroyed) other.destroy(failure);
        resolve();
      };
      one.on('error', (error) => {
        failure = error;
      });
      if (one.destroyed) over();
      else one.once('close', over);
    });
  const both = Promise.all([follow(a, b), follow(b, a)]);
  if (!a.destroyed && !b.destroyed) {
    a.pipe(b);
    b.pipe(a);
  }
  return both.then(() => undefined);
}

/**
 * An HTTP/2 stream as raw bytes. HTTP/2 tells a clean end from a broken stream by its code only, which Node's stream does
 * not make an error of; here a break is always one (`broken` makes it), and destroying always resets the stream.
 */
export function http2RawStream(stream: Http2Stream, broken: () => Error): Duplex {
  let ended = false;
  const raw = new Duplex({
    allowHalfOpen: true,
    read(): void {
      stream.resume();
    },
    write(chunk: Buffer, _encoding, done): void {
      if (stream.destroyed || stream.closed) done(broken());
      else if (stream.write(chunk)) done();
      else stream.once('drain', done);
    },
    final(done): void {
      if (stream.destroyed || stream.closed) done();
      // Waits until what was written is on its way; a stream that breaks meanwhile says so by closing.
      else stream.end(() => done());
    },
    destroy(error, done): void {
      const finished = error === null && ended && raw.writableFinished;
      if (!finished && !stream.destroyed && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      done(error);
    },
  });
  stream.on('data', (chunk: Buffer) => {
    if (!raw.push(chunk)) stream.pause();
  });
  stream.on('end', () => {
    // A stream that was broken off ends as well, but is closed by then.
    if (stream.closed && !closedWell(stream)) return;
    ended = true;
    raw.push(null);
  });
  stream.on('error', () => raw.destroy(broken()));
  stream.once('close', () => {
    if (raw.destroyed) return;
    if (closedWell(stream) && ended) {
      // The other end may close a stream whose every byte it has; what is written from now on has no reader.
      if (!raw.writableFinished) raw.destroy(broken());
    } else raw.destroy(broken());
  });
  // Whoever reads it sees it close; nobody's listening must not end the process.
  raw.on('error', () => {});
  // Nothing is fetched before somebody reads.
  stream.pause();
  return raw;
}

function closedWell(stream: Http2Stream): boolean {
  return stream.rstCode === constants.NGHTTP2_NO_ERROR || stream.rstCode === undefined;
}

/** The response by which a handler hands an upgraded exchange on: whoever serves it joins the client with the other end. */
export function upgradedResponse(upgraded: Upgraded): Response {
  return {
    status: upgraded.status,
    headers: { connection: 'Upgrade', ...upgraded.headers },
    body: new Uint8Array(),
    async takeOver(socket, head): Promise<void> {
      if (head.byteLength > 0) socket.unshift(head);
      await joinStreams(socket, upgraded.socket);
    },
  };
}

/** The upgrader of a handler that answers upgrades with a `takeOver` response, such as the embedded API server. */
export function handlerUpgrader(handler: Handler): Upgrader {
  return async (request) => {
    if (upgradeProtocol(request) === undefined) return handler(request);
    // The caller's signal ends with the answer; the conversation has one that ends with the stream.
    const conversation = new AbortController();
    const abort = (): void => conversation.abort(request.signal?.reason);
    if (request.signal?.aborted) throw request.signal.reason;
    request.signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await handler({ ...request, signal: conversation.signal });
      if (response.takeOver === undefined) return response;
      const [near, far] = duplexPair();
      near.on('error', () => {});
      far.on('error', () => {});
      near.once('close', () => {
        conversation.abort(new Error('the caller has gone'));
        if (!far.destroyed) far.destroy();
      });
      far.once('close', () => {
        if (!near.destroyed && !(far.writableFinished && far.readableEnded))
          near.destroy(conversationBroke());
      });
      response.takeOver(far, new Uint8Array()).then(
        () => {
          if (!far.destroyed && !far.writableEnded) far.end();
        },
        (error: unknown) => far.destroy(error instanceof Error ? error : new Error(String(error))),
      );
      return { status: 101, headers: response.headers, socket: near };
    } finally {
      request.signal?.removeEventListener('abort', abort);
    }
  };
}

function conversationBroke(): Error {
  return new Error('the server broke the connection off');
}

/** The head of an answer that switches protocols. Throws for headers that cannot be sent. */
export function switchingProtocols(headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ connection: 'Upgrade', ...headers }).map(([name, value]) => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return `${name}: ${value}\r\n`;
  });
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`;
}
