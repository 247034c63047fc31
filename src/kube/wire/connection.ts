/** What is known of the other end of a connection, for authentication. */
export interface Connection {
  /**
   * DER of the client's certificate. Present only when its chain was verified against the authority that the listener
   * trusts for clients: a certificate that was merely presented is not here.
   */
  readonly peerCertificate?: Uint8Array;
  /** IP address of the client, without a port. */
  readonly remoteAddress?: string;
}
