import { isIP } from 'node:net';

/** Where a Kubernetes API is and how to be let in: all content inline, nothing that must be run or read elsewhere. */
export interface ClusterEndpoint {
  /** `https://host:port`, with a path in front of `/api` where the API has one (`/clusters/hub`). */
  readonly url: string;
  /** PEM. The system's authorities when absent. */
  readonly ca?: string;
  /** The name in the server's certificate where it is not the host of `url`. */
  readonly serverName?: string;
  readonly token?: string;
  /** PEM, with `clientKey`. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /**
   * The proxy that leads to this cluster: `http://`, `https://` (both by CONNECT) or `socks5://`, with `user:password@` where it
   * asks for them. Whoever lets users choose it checks its address as that of an endpoint.
   */
  readonly proxyUrl?: string;
  /** Never set for stored credentials, but where the operator of the hub allows it. */
  readonly insecureSkipTlsVerify?: boolean;
  /** What is left out of the check of the server's certificate. The chain to an authority is always checked. */
  readonly tlsRelaxations?: readonly TlsRelaxation[];
}

/** Whether the certificate holds the server's name; whether it is valid now. */
export type TlsRelaxation = 'SubjectName' | 'ValidityPeriod';

export interface EndpointRules {
  /** Lets loopback addresses pass, for fleets on one machine. */
  allowLoopback?: boolean;
  /** Lets a cluster be reached whose certificate nobody checks: whoever is on the way can take its token. False by default. */
  allowUnverifiedTls?: boolean;
}

/** Finds the addresses of a name. It has to bound its own time, and may reject. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

const PROXY_PROTOCOLS = new Set(['http:', 'https:', 'socks5:', 'socks5h:']);
const DENIED_NAMES = new Set(['metadata', 'metadata.google.internal', 'kubernetes', 'kubernetes.default']);
const DENIED_SUFFIXES = ['.svc', '.cluster.local'];
const DENIED_ADDRESSES: Readonly<Record<string, string>> = {
  '168.63.129.16': 'the metadata service of a cloud',
  '100.100.100.200': 'the metadata service of a cloud',
  'fd00:ec2:0:0:0:0:0:254': 'the metadata service of a cloud',
};

/**
 * Whether the hub may connect to an address that a user gave it: the text says why not, `undefined` means yes. Names
 * are resolved and each of their addresses is checked, so that a name cannot lead to what its address may not. Private
 * addresses (RFC 1918) pass: clusters live there.
 */
export async function checkEndpoint(
  url: string,
  resolve: Resolve,
  rules: EndpointRules = {},
): Promise<string | undefined> {
  if (!URL.canParse(url)) return 'the endpoint is not a URL';
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:')
    return `the endpoint must be https, not ${parsed.protocol.replace(/:$/, '')}`;
  if (parsed.username !== '' || parsed.password !== '')
    return 'the endpoint must not hold a user or password';
  if (parsed.search !== '' || parsed.hash !== '') return 'the endpoint must not hold a query or fragment';
  return checkHost(parsed, resolve, rules);
}

/**
 * The same for the address of a proxy: `http`, `https` or `socks5`, with user and password where it wants them. Neither is in
 * the text.
 */
export async function checkProxy(
  url: string,
  resolve: Resolve,
  rules: EndpointRules = {},
): Promise<string | undefined> {
  if (!URL.canParse(url)) return 'the address of the proxy is not a URL';
  const parsed = new URL(url);
  if (!PROXY_PROTOCOLS.has(parsed.protocol))
    return `a proxy is http, https or socks5, not ${parsed.protocol.replace(/:$/, '')}`;
  const why = await checkHost(parsed, resolve, rules);
  return why === undefined ? undefined : `the proxy may not be used: ${why}`;
}

async function checkHost(parsed: URL, resolve: Resolve, rules: EndpointRules): Promise<string | undefined> {
  const host = parsed.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (isIP(host) !== 0) return deniedAddress(host, rules);
  const name = deniedName(host, rules);
  if (name !== undefined) return name;
  let addresses: readonly string[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    return `the name ${host} cannot be resolved: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (addresses.length === 0) return `the name ${host} has no address`;
  for (const address of addresses) {
    const why = deniedAddress(address, rules);
    if (why !== undefined) return `the name ${host} leads to a denied address: ${why}`;
  }
  return undefined;
}

function deniedName(host: string, rules: EndpointRules): string | undefined {
  if (host === 'localhost' || host.endsWith('.localhost'))
    return rules.allowLoopback === true ? undefined : `${host} is this machine`;
  if (DENIED_NAMES.has(host) || DENIED_SUFFIXES.some((suffix) => host.endsWith(suffix)))
    return `${host} is a name inside a cluster or cloud`;
  return undefined;
}

/** Why nothing may be reached at an address; `undefined` where it may. */
export function deniedAddress(address: string, rules: EndpointRules): string | undefined {
  if (address.includes('%')) return `${address} is link-local`;
  switch (isIP(address)) {
    case 4:
      return deniedIpv4(address, rules);
    case 6:
      return deniedIpv6(address, rules);
    default:
      return `${address} is not an address`;
  }
}

function deniedIpv4(address: string, rules: EndpointRules): string | undefined {
  const [a = 0, b = 0] = address.split('.').map(Number);
  const special = DENIED_ADDRESSES[address];
  if (special !== undefined) return `${address} is ${special}`;
  if (a === 127) return rules.allowLoopback === true ? undefined : `${address} is this machine (loopback)`;
  if (a === 169 && b === 254) return `${address} is link-local`;
  if (a === 0) return `${address} is unspecified`;
  if (a >= 224) return `${address} is multicast or reserved`;
  return undefined;
}

function deniedIpv6(address: string, rules: EndpointRules): string | undefined {
  const groups = ipv6Groups(address);
  const text = groups.map((group) => group.toString(16)).join(':');
  const special = DENIED_ADDRESSES[text];
  if (special !== undefined) return `${address} is ${special}`;
  if (groups.every((group) => group === 0)) return `${address} is unspecified`;
  if (groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1)
    return rules.allowLoopback === true ? undefined : `${address} is this machine (loopback)`;
  const first = groups[0] ?? 0;
  if ((first & 0xffc0) === 0xfe80) return `${address} is link-local`;
  if ((first & 0xff00) === 0xff00) return `${address} is multicast or reserved`;
  const embedded = embeddedIpv4(groups);
  return embedded === undefined ? undefined : deniedIpv4(embedded, rules);
}

/** The IPv4 address that a mapped, compatible, NAT64 or 6to4 address leads to. */
function embeddedIpv4(groups: readonly number[]): string | undefined {
  const zero = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  const last = dotted(groups[6] ?? 0, groups[7] ?? 0);
  if (zero(0, 5) && (groups[5] === 0xffff || groups[5] === 0)) return last;
  if (groups[0] === 0x64 && groups[1] === 0xff9b && zero(2, 6)) return last;
  if (groups[0] === 0x2002) return dotted(groups[1] ?? 0, groups[2] ?? 0);
  return undefined;
}

/** The eight groups of a valid IPv6 address. */
function ipv6Groups(address: string): number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) => {
    const high = (Number(a) << 8) | Number(b);
    const low = (Number(c) << 8) | Number(d);
    return `${high.toString(16)}:${low.toString(16)}`;
  });
  const [head = '', tail] = hex.split('::');
  const part = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const left = part(head);
  if (tail === undefined) return left;
  const right = part(tail);
  return [...left, ...new Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}
