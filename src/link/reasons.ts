/** Why a link is up or down. Every reason is one row here; documentation is made from this table. */
export const LINK_REASONS = {
  Connected: 'The spoke answers.',
  ConnectedToPeer: 'The spoke is connected to another replica of the hub, which passes requests on.',
  Polling: 'The spoke comes by at intervals instead of staying connected; requests wait for it.',
  PollMissed: 'The spoke comes by at intervals, and has stayed away for two of them.',
  NeverConnected: 'The spoke has not connected since this hub started.',
  ConnectionClosed: 'The spoke, or something on the way, closed the connection.',
  PingTimeout: 'The spoke left a ping unanswered: the connection is half-open or the spoke is stuck.',
  CertificateExpired: 'The link certificate of the spoke ended and could not be renewed.',
  Disconnected: 'The hub cut the link: the spoke was removed or revoked.',
  ProbeFailed: 'The API server of a direct spoke did not answer its probe.',
  Cut: 'The link was cut on purpose, by a simulation.',
  Stopped: 'This hub stops serving links.',
} as const;

export type LinkReason = keyof typeof LINK_REASONS;

/** Why a hub turned a connection away. The spoke is told code and message. */
export const REFUSALS = {
  NameTaken: 'Another live connection has this name.',
  NotAuthorized: 'The hub does not know this spoke, or no longer trusts it.',
  BadCertificate: 'The link certificate is not one of this hub, has ended, or does not name a spoke.',
  TokenRefused: 'The join token is wrong, used or expired.',
  BadEnrolment: 'What the spoke asked to enrol with cannot be read.',
} as const;

export type Refusal = keyof typeof REFUSALS;
