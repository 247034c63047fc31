/**
 * SPDY/3.1 as a server has it, over any two-way stream of bytes: what `kubectl exec`, `attach`, `cp` and `port-forward` speak
 * below HTTP, directly or within a WebSocket.
 *
 * A session hands out the streams that the client opens. Sizes and numbers of all that comes from the client are bounded; a
 * client that breaks the rules loses the session. What is not read makes the client wait, and a client that does not read
 * makes `write` wait: by the windows of SPDY where the client counts them, else by those of the connection below.
 */
export { SpdyViolation } from './frame.ts';
export type { Headers } from './header-block.ts';
export { acceptSpdy, type SpdySession, type SpdyStream } from './session.ts';
