/**
 * The API server's listener: a {@link Handler} with knowledge of its {@link Connection}, over TLS with HTTP/2 and HTTP/1.1.
 * The exchange itself (limits, back-pressure, compression, disconnects) is `kube/wire`.
 */
export {
  type Connection,
  type Http2SessionOptions,
  type ServedSession,
  serveHttp2Session,
} from '../../kube/wire/index.ts';
export { type HttpsOptions, type HttpsServer, serveHttps } from './serve-https.ts';
