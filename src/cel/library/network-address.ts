/** An IPv4 or IPv6 address as a number. */
export interface NetworkAddress {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** An address and how many of its first bits name the network. */
export interface NetworkPrefix {
  readonly address: NetworkAddress;
  readonly length: number;
}

type Parsed<T> = T | { readonly error: string };

/** As strict as Kubernetes: no zones, no leading zeros, no IPv4 dressed up as IPv6. */
export function parseAddress(text: string): Parsed<NetworkAddress> {
  const shown = JSON.stringify(text.slice(0, 64));
  if (text.includes('%'))
    return {
      error: `IP Address ${shown} parse error during conversion from string: IP address with zone value is not allowed`,
    };
  const bits = text.includes(':') ? parseV6(text) : parseV4(text);
  if (bits === undefined) {
    return {
      error: `IP Address ${shown} parse error during conversion from string: ParseAddr(${shown}): unable to parse IP`,
    };
  }
  const family = text.includes(':') ? 6 : 4;
  if (family === 6 && bits >> 32n === 0xffffn) {
    return {
      error: `IP Address ${shown} parse error during conversion from string: IPv4-mapped IPv6 address is not allowed`,
    };
  }
  return { family, bits };
}

function parseV4(text: string): bigint | undefined {
  const match = /^([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$/.exec(text);
  let bits = 0n;
  for (const part of match?.slice(1) ?? []) {
    if (Number(part) > 255 || (part.length > 1 && part[0] === '0')) return undefined;
    bits = (bits << 8n) | BigInt(part);
  }
  return match ? bits : undefined;
}

const GROUPS = 8;

function parseV6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (text.length > 45 || halves.length > 2) return undefined;
  const [before, after] = halves.map((half, index) => groups(half, index === halves.length - 1));
  if (!before || (halves.length === 2 && !after)) return undefined;
  const missing = GROUPS - before.length - (after?.length ?? 0);
  // `::` stands for at least one group.
  if (after ? missing < 1 : missing !== 0) return undefined;
  let bits = 0n;
  for (const group of [...before, ...new Array<bigint>(missing).fill(0n), ...(after ?? [])])
    bits = (bits << 16n) | group;
  return bits;
}

function groups(half: string, last: boolean): bigint[] | undefined {
  if (half === '') return [];
  const out: bigint[] = [];
  const parts = half.split(':');
  for (const [index, part] of parts.entries()) {
    if (part.includes('.')) {
      const v4 = last && index === parts.length - 1 ? parseV4(part) : undefined;
      if (v4 === undefined) return undefined;
      out.push(v4 >> 16n, v4 & 0xffffn);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      out.push(BigInt(`0x${part}`));
    }
  }
  return out;
}

/** The canonical text: lower case, the longest run of zero groups as `::`. */
export function formatAddress({ family, bits }: NetworkAddress): string {
  const part = (index: number, width: bigint, count: number): bigint =>
    (bits >> (width * BigInt(count - 1 - index))) & ((1n << width) - 1n);
  if (family === 4) return [0, 1, 2, 3].map((index) => part(index, 8n, 4)).join('.');
  const all = Array.from({ length: GROUPS }, (_, index) => part(index, 16n, GROUPS).toString(16));
  let [start, longest] = [-1, 1];
  for (let from = 0; from < GROUPS; from++) {
    let to = from;
    while (to < GROUPS && all[to] === '0') to++;
    if (to - from > longest) [start, longest] = [from, to - from];
  }
  if (start < 0) return all.join(':');
  return `${all.slice(0, start).join(':')}::${all.slice(start + longest).join(':')}`;
}

export function parsePrefix(text: string): Parsed<NetworkPrefix> {
  const slash = text.lastIndexOf('/');
  const invalid = {
    error: `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text.slice(0, 64))}): no valid prefix`,
  };
  const digits = text.slice(slash + 1);
  if (slash < 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(digits)) return invalid;
  const address = parseAddress(text.slice(0, slash));
  if ('error' in address)
    return address.error.includes('not allowed')
      ? { error: address.error.replace('IP Address', 'CIDR') }
      : invalid;
  const length = Number(digits);
  return length > widthOf(address) ? invalid : { address, length };
}

export function widthOf(address: NetworkAddress): number {
  return address.family === 4 ? 32 : 128;
}

export function maskPrefix({ address, length }: NetworkPrefix): NetworkPrefix {
  const host = BigInt(widthOf(address) - length);
  return { address: { family: address.family, bits: (address.bits >> host) << host }, length };
}

export function prefixContains(prefix: NetworkPrefix, address: NetworkAddress): boolean {
  if (prefix.address.family !== address.family) return false;
  const host = BigInt(widthOf(address) - prefix.length);
  return prefix.address.bits >> host === address.bits >> host;
}

export function formatPrefix({ address, length }: NetworkPrefix): string {
  return `${formatAddress(address)}/${length}`;
}

function within(
  address: NetworkAddress,
  v4: readonly [bigint, bigint],
  v6: readonly [bigint, bigint],
): boolean {
  const [value, length] = address.family === 4 ? v4 : v6;
  return address.bits >> (BigInt(widthOf(address)) - length) === value;
}

export function isUnspecified({ bits }: NetworkAddress): boolean {
  return bits === 0n;
}
export function isLoopback(address: NetworkAddress): boolean {
  return address.family === 6 ? address.bits === 1n : address.bits >> 24n === 127n;
}
export function isLinkLocalUnicast(address: NetworkAddress): boolean {
  return within(address, [0xa9fen, 16n], [0xfe80n >> 6n, 10n]);
}
export function isLinkLocalMulticast(address: NetworkAddress): boolean {
  if (address.family === 4) return address.bits >> 8n === 0xe00000n;
  return (address.bits >> 112n) % 16n === 2n && address.bits >> 120n === 0xffn;
}
function isMulticast(address: NetworkAddress): boolean {
  return within(address, [0xen, 4n], [0xffn, 8n]);
}
/** What Go calls global: everything but the special ranges, private ones included. */
export function isGlobalUnicast(address: NetworkAddress): boolean {
  const broadcast = address.family === 4 && address.bits === 0xffffffffn;
  return (
    !isUnspecified(address) &&
    !isLoopback(address) &&
    !isMulticast(address) &&
    !isLinkLocalUnicast(address) &&
    !broadcast
  );
}
