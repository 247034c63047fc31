/**
 * WebSockets (RFC 6455, without extensions) as a server has them, over a socket that an HTTP/1.1 connection gives away.
 *
 * A handler answers an upgrade with {@link webSocketResponse}: status 101 and a `takeOver` that is handed the socket after the
 * pipeline has let the request through and the head was sent. (Other protocols make such a response themselves; within a
 * `takeOver`, {@link acceptWebSocket} makes a WebSocket of its socket.) Only requests that can be upgraded arrive with the
 * header `upgrade`. Frames, messages and texts of clients are checked and bounded; a client that breaks the rules is told
 * by a close frame, and a slow one makes `send` wait.
 */
export { CLOSE_CODES, WebSocketViolation } from './frame.ts';
export { browserRequest, type Handshake, isWebSocketRequest, webSocketHandshake } from './handshake.ts';
export { watchOverWebSocket } from './watch-messages.ts';
export {
  acceptWebSocket,
  type WebSocket,
  type WebSocketMessage,
  type WebSocketOptions,
  webSocketResponse,
} from './web-socket.ts';
