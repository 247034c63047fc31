import { Duplex } from 'node:stream';
import { errorText, type Logger } from '../../runtime/index.ts';
import type { WebSocket } from '../websocket/index.ts';

/** The bytes of a WebSocket's messages as one stream in each direction: what is tunnelled does not see the messages. */
export function webSocketDuplex(webSocket: WebSocket, log: Logger): Duplex {
  const messages = webSocket.messages[Symbol.asyncIterator]();
  const duplex = new Duplex({
    read() {
      messages.next().then(
        ({ done, value }) => {
          if (done) duplex.push(null);
          else if (value.data.byteLength === 0) duplex._read(0);
          else duplex.push(value.data);
        },
        (error: unknown) => {
          log.debug('a tunnel broke', { error: errorText(error) });
          duplex.destroy();
        },
      );
    },
    write(chunk: Uint8Array, _encoding, done) {
      if (webSocket.closed) done(new Error('the tunnel is closed'));
      else webSocket.send({ kind: 'binary', data: chunk }).then(() => done(), done);
    },
    final(done) {
      webSocket.close();
      done();
    },
    destroy(error, done) {
      webSocket.close();
      done(error);
    },
  });
  return duplex;
}
