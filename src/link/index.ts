/**
 * How a hub reaches its spokes. A {@link Link} is a handler with a state; there are three kinds: a tunnel that the spoke
 * dials ({@link startTunnelDialer} on the spoke, {@link startTunnelListener} on the hub), a direct link over a client of the
 * spoke's API server, and one in memory for simulations.
 *
 * Inside a tunnel every request is the hub's. The spoke's certificate opens the link listener and nothing else; it lives
 * for a day, is made for a key that never leaves the spoke, and is renewed over the connection that proves the old key.
 * Requests on a link that is down reject at once; streams that break off throw. What asks for another protocol (`exec`,
 * `port-forward`) is a raw stream of the same connection (`link.upgrade`).
 *
 * A tunnel gets out of most networks: by HTTP and SOCKS5 proxies, through load balancers that pass TLS on, in a WebSocket where
 * nothing but HTTP/1.1 passes (the link's own TLS is inside, so whoever ends the outer one sees and changes nothing), by
 * visits where no connection may last. Replicas of a hub reach each other's spokes, in one hop.
 */
export type { AdmissionOptions, SpokeDecision, SpokeIdentity } from './admission.ts';
export { type DirectLink, type DirectLinkOptions, directLink } from './direct-link.ts';
export type { Transport } from './hub-routes.ts';
export { type Link, LinkDown, type LinkState, type LinkStats } from './link.ts';
export { type MemoryLink, type MemoryLinkOptions, memoryLink } from './memory-link.ts';
export type { PeerOptions } from './peers.ts';
export { LINK_REASONS, type LinkReason, REFUSALS, type Refusal } from './reasons.ts';
export type { NamedCertificate } from './server-names.ts';
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
  startTunnelListener,
  type TunnelListener,
  type TunnelListenerOptions,
} from './tunnel-listener.ts';
export { TUNNEL_PROTOCOL } from './tunnel-protocol.ts';
