/**
 * {@link Handler}s over sockets: exchanges served to a connection (HTTP/1.1 and HTTP/2) and exchanges asked of one.
 *
 * A response's stream is read only as fast as the client takes it, so a slow client costs one chunk. A client that goes
 * away aborts `request.signal`. Nothing that a peer sends can make a server throw: it becomes a Status, or the exchange
 * is reset. The asking side rejects with {@link ExchangeError} when no answer could be had, and its body throws it when
 * the answer broke off.
 */
export type { Connection } from './connection.ts';
export { type Destination, type DialLimits, dial, dialTls, hostPort } from './dial.ts';
export {
  DEFAULT_BODY_LIMIT,
  type ExchangeLimits,
  type ExchangeServer,
  exchangeServer,
  type Wire,
} from './exchange-server.ts';
export { gatherBytes } from './gathered-bytes.ts';
export { type HttpHead, readHttpHead, statusOf } from './http-head.ts';
export { http1Wire } from './http1-server.ts';
export { http1Upgrader, serveHttp1Upgrade } from './http1-upgrade.ts';
export {
  connectHttp2,
  ExchangeError,
  http2Handler,
  http2Upgrader,
  type SessionClientOptions,
  type StreamCounts,
} from './http2-client.ts';
export {
  closeSession,
  type Http2SessionOptions,
  IDLE_SESSION_MS,
  MAX_HEADER_BYTES,
  openSession,
  type ServedSession,
  serveHttp2Session,
} from './http2-server.ts';
export { type ForwardProxy, type ProxySettings, parseProxy, proxyFor } from './proxy.ts';
export {
  handlerUpgrader,
  http2RawStream,
  joinStreams,
  switchingProtocols,
  upgradedResponse,
} from './raw-stream.ts';
