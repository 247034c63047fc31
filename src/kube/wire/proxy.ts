import { BlockList, isIP } from 'node:net';

/** A proxy on the way to a server. */
export interface ForwardProxy {
  /** `http` and `https` are asked by CONNECT; the latter is itself spoken to over TLS. */
  readonly kind: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  /** PEM of the authority of an `https` proxy; the system's when absent. */
  readonly ca?: string;
}

/** How to get out of a network. */
export interface ProxySettings {
  /** `http://`, `https://` or `socks5://`, with `user:password@` where the proxy asks for them. */
  readonly url: string;
  /**
   * Hosts that are reached without it, as in the variable NO_PROXY: `*`, names (which mean their subdomains as well; a leading
   * dot or `*.` the subdomains only), addresses, CIDR blocks, each with `:port` if it is for that port only; split by commas.
   */
  readonly noProxy?: string;
  /** PEM of the authority of an `https` proxy; the system's when absent. */
  readonly ca?: string;
}

const DEFAULT_PORTS = { http: 80, https: 443, socks5: 1080 } as const;

/** Reads a proxy's URL. Throws for one that cannot be used; the message never holds the password. */
export function parseProxy(url: string, ca?: string): ForwardProxy {
  if (!URL.canParse(url)) throw new Error('the address of the proxy is not a URL');
  const parsed = new URL(url);
  const kind = kindOf(parsed.protocol);
  if (kind === undefined) {
    throw new Error(
      `a proxy is http, https or socks5, not ${JSON.stringify(parsed.protocol.replace(/:$/, ''))}`,
    );
  }
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  if (host === '') throw new Error('the address of the proxy names no host');
  if ((parsed.pathname !== '' && parsed.pathname !== '/') || parsed.search !== '' || parsed.hash !== '')
    throw new Error('the address of a proxy has no path, query or fragment');
  const user = decoded(parsed.username, 'user');
  const password = decoded(parsed.password, 'password');
  return {
    kind,
    host,
    port: parsed.port === '' ? DEFAULT_PORTS[kind] : Number(parsed.port),
    ...(user === '' ? {} : { user }),
    ...(password === '' ? {} : { password }),
    ...(ca === undefined ? {} : { ca }),
  };
}

/** The proxy for a destination; `undefined` where the settings say that it is reached without. */
export function proxyFor(
  settings: ProxySettings | undefined,
  destination: { readonly host: string; readonly port: number },
): ForwardProxy | undefined {
  if (settings === undefined || settings.url === '') return undefined;
  const excluded = (settings.noProxy ?? '').split(',').some((rule) => matches(rule.trim(), destination));
  return excluded ? undefined : parseProxy(settings.url, settings.ca);
}

function kindOf(protocol: string): ForwardProxy['kind'] | undefined {
  switch (protocol) {
    case 'http:':
      return 'http';
    case 'https:':
      return 'https';
    // curl's name for SOCKS5 with names resolved by the proxy, which is what happens here in any case.
    case 'socks5:':
    case 'socks5h:':
      return 'socks5';
    default:
      return undefined;
  }
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error(`the ${what} in the address of the proxy is not percent-encoded`, { cause: error });
  }
}

function matches(rule: string, destination: { readonly host: string; readonly port: number }): boolean {
  if (rule === '') return false;
  if (rule === '*') return true;
  const host = destination.host.toLowerCase().replace(/\.$/, '');
  const family = isIP(host);
  const block = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(rule);
  if (block !== null) return family !== 0 && inBlock(host, family, block[1] ?? '', Number(block[2]));
  const { name, port } = splitPort(rule.toLowerCase());
  if (port !== undefined && port !== destination.port) return false;
  if (family !== 0) return isIP(name) === family && inBlock(host, family, name, family === 4 ? 32 : 128);
  const subdomainsOnly = name.startsWith('.') || name.startsWith('*.');
  const bare = name.replace(/^\*?\./, '').replace(/\.$/, '');
  if (bare === '') return false;
  return host.endsWith(`.${bare}`) || (!subdomainsOnly && host === bare);
}

function splitPort(rule: string): { name: string; port?: number } {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(rule);
  if (bracketed !== null)
    return {
      name: bracketed[1] ?? '',
      ...(bracketed[2] === undefined ? {} : { port: Number(bracketed[2]) }),
    };
  if (isIP(rule) === 6) return { name: rule };
  const match = /^(.*):(\d{1,5})$/.exec(rule);
  return match === null ? { name: rule } : { name: match[1] ?? '', port: Number(match[2]) };
}

function inBlock(address: string, family: number, network: string, bits: number): boolean {
  if (isIP(network) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, bits, type);
  return list.check(address, type);
}
