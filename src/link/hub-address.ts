/** Where a hub listens for spokes. */
export interface HubAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, IPv6 in brackets. Throws for anything else. */
export function parseHubAddress(address: string): HubAddress {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  if (!host) throw new Error(`${JSON.stringify(address)} is not an address of the form host:port`);
  return { host, port: Number(match?.[3]) };
}
