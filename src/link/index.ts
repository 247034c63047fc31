/**
 * How a hub reaches its spokes. A {@link Link} is a handler with a state; there are three kinds: a tunnel that the spoke
 * dials ({@link startTunnelDialer} on the spoke, {@link startTunnelListener} on the hub), a direct link over a client of the
 * spoke's API server, and one in memory for simulations.
 *
 * Inside a tunnel every request is the hub's. The spoke's certificate opens the link listener and nothing else; it lives
 * for a day, is made for a key that never leaves the spoke, and is renewed over the connection that proves the old key.
 * Requests on a link that is down reject at once; streams that break off throw.
 */
export { type DirectLink, type DirectLinkOptions, directLink } from './direct-link.ts';
export { type Link, LinkDown, type LinkState } from './link.ts';
export { type MemoryLink, memoryLink } from './memory-link.ts';
export { LINK_REASONS, type LinkReason, REFUSALS, type Refusal } from './reasons.ts';
export { isSpokeName, spokeOfCertificate, spokeSubject } from './spoke-identity.ts';
export {
  type DialerState,
  type KeyStore,
  type LinkCredentials,
  startTunnelDialer,
  type TunnelDialer,
  type TunnelDialerOptions,
} from './tunnel-dialer.ts';
export {
  type SpokeDecision,
  type SpokeIdentity,
  startTunnelListener,
  type TunnelListener,
  type TunnelListenerOptions,
} from './tunnel-listener.ts';
export { TUNNEL_PROTOCOL } from './tunnel-protocol.ts';
