import { fixed, plus, scale, TEXT_FACTOR, UNKNOWN_SIZE } from '../check/cost-range.ts';
import { BOOL, INT, opaqueType, STRING, type Type } from '../types/type.ts';
import { costSize } from '../values/size.ts';
import { CelError, Opaque, type OpaqueKind, TypeValue, type Value } from '../values/value.ts';
import { nominal, traversal } from './cost.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';
import {
  formatAddress,
  formatPrefix,
  isGlobalUnicast,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  maskPrefix,
  type NetworkAddress,
  type NetworkPrefix,
  parseAddress,
  parsePrefix,
  prefixContains,
  widthOf,
} from './network-address.ts';

const IP: Type = opaqueType('net.IP');
const CIDR: Type = opaqueType('net.CIDR');

const ipKind: OpaqueKind<NetworkAddress> = {
  type: IP,
  name: 'net.IP',
  equals: (a, b) => a.family === b.family && a.bits === b.bits,
  toText: formatAddress,
  size: (address) => widthOf(address) / 8,
};
const cidrKind: OpaqueKind<NetworkPrefix> = {
  type: CIDR,
  name: 'net.CIDR',
  equals: (a, b) => a.length === b.length && ipKind.equals(a.address, b.address),
  toText: formatPrefix,
  size: ({ length }) => Math.ceil(length / 8),
};

const ipOf = (value: Value): NetworkAddress => (value as Opaque<NetworkAddress>).value;
const cidrOf = (value: Value): NetworkPrefix => (value as Opaque<NetworkPrefix>).value;

function toIp(text: Value): Value {
  const parsed = parseAddress(text as string);
  return 'error' in parsed ? new CelError(parsed.error) : (new Opaque(ipKind, parsed) as Opaque);
}
function toCidr(text: Value): Value {
  const parsed = parsePrefix(text as string);
  return 'error' in parsed ? new CelError(parsed.error) : (new Opaque(cidrKind, parsed) as Opaque);
}
function isCanonical(text: Value): Value {
  const parsed = parseAddress(text as string);
  return 'error' in parsed ? new CelError(parsed.error) : formatAddress(parsed) === text;
}

function contains(prefix: NetworkPrefix, inner: NetworkPrefix): boolean {
  return inner.length >= prefix.length && prefixContains(prefix, inner.address);
}

function declare(name: string, ...overloads: Overload[]): FunctionDeclaration {
  return { name, overloads };
}
function addressTest(
  name: string,
  id: string,
  test: (address: NetworkAddress) => boolean,
): FunctionDeclaration {
  return declare(
    name,
    memberOverload(id, [IP], BOOL, (value) => test(ipOf(value)), nominal),
  );
}

const BYTES_OF_ADDRESS = { min: 4, max: 16 };

/** Comparing bytes up to the length of the prefix; for a whole network also masking it, and for a text also reading it. */
function comparing(network: boolean, text: boolean): Required<Pick<Overload, 'cost' | 'estimate'>> {
  const parts = (size: number): number =>
    Math.ceil(2 * size * TEXT_FACTOR) + (network ? Math.ceil(size * TEXT_FACTOR) + 1 : 0);
  return {
    cost: ([prefix, other]) =>
      parts(costSize(prefix ?? null)) + (text ? Math.ceil(costSize(other ?? null) * TEXT_FACTOR) : 0),
    estimate: ([, other]) => ({
      cost: plus(
        { min: 0, max: parts(BYTES_OF_ADDRESS.max) },
        text ? scale(other?.size ?? UNKNOWN_SIZE, TEXT_FACTOR) : fixed(0),
      ),
    }),
  };
}

export const ipLibrary: Library = {
  name: 'ip',
  functions: [
    declare('ip', globalOverload('string_to_ip', [STRING], IP, toIp, traversal(0))),
    declare(
      'isIP',
      globalOverload(
        'is_ip',
        [STRING],
        BOOL,
        (text) => !('error' in parseAddress(text as string)),
        traversal(0),
      ),
    ),
    declare(
      'ip.isCanonical',
      globalOverload('ip_is_canonical', [STRING], BOOL, isCanonical, traversal(0, 2)),
    ),
    declare(
      'string',
      globalOverload('ip_to_string', [IP], STRING, (value) => formatAddress(ipOf(value))),
    ),
    declare(
      'family',
      memberOverload('ip_family', [IP], INT, (value) => ipOf(value).family, nominal),
    ),
    addressTest('isUnspecified', 'ip_is_unspecified', isUnspecified),
    addressTest('isLoopback', 'ip_is_loopback', isLoopback),
    addressTest('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
    addressTest('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
    addressTest('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
  ],
  constants: [{ name: 'net.IP', type: { kind: 'type', of: IP }, value: new TypeValue('net.IP') }],
};

export const cidrLibrary: Library = {
  name: 'cidr',
  functions: [
    declare('cidr', globalOverload('string_to_cidr', [STRING], CIDR, toCidr, traversal(0))),
    declare(
      'isCIDR',
      globalOverload(
        'is_cidr',
        [STRING],
        BOOL,
        (text) => !('error' in parsePrefix(text as string)),
        traversal(0),
      ),
    ),
    declare(
      'string',
      globalOverload('cidr_to_string', [CIDR], STRING, (value) => formatPrefix(cidrOf(value))),
    ),
    declare(
      'ip',
      memberOverload(
        'cidr_ip',
        [CIDR],
        IP,
        (value) => new Opaque(ipKind, cidrOf(value).address) as Opaque,
        nominal,
      ),
    ),
    declare(
      'masked',
      memberOverload(
        'cidr_masked',
        [CIDR],
        CIDR,
        (value) => new Opaque(cidrKind, maskPrefix(cidrOf(value))) as Opaque,
        nominal,
      ),
    ),
    declare(
      'prefixLength',
      memberOverload('cidr_prefix_length', [CIDR], INT, (value) => cidrOf(value).length, nominal),
    ),
    declare(
      'containsIP',
      memberOverload(
        'cidr_contains_ip_string',
        [CIDR, STRING],
        BOOL,
        (prefix, text) => {
          const parsed = parseAddress(text as string);
          return 'error' in parsed ? new CelError(parsed.error) : prefixContains(cidrOf(prefix), parsed);
        },
        comparing(false, true),
      ),
      memberOverload(
        'cidr_contains_ip_ip',
        [CIDR, IP],
        BOOL,
        (prefix, ip) => prefixContains(cidrOf(prefix), ipOf(ip)),
        comparing(false, false),
      ),
    ),
    declare(
      'containsCIDR',
      memberOverload(
        'cidr_contains_cidr_string',
        [CIDR, STRING],
        BOOL,
        (prefix, text) => {
          const parsed = parsePrefix(text as string);
          return 'error' in parsed ? new CelError(parsed.error) : contains(cidrOf(prefix), parsed);
        },
        comparing(true, true),
      ),
      memberOverload(
        'cidr_contains_cidr',
        [CIDR, CIDR],
        BOOL,
        (prefix, inner) => contains(cidrOf(prefix), cidrOf(inner)),
        comparing(true, false),
      ),
    ),
  ],
  constants: [{ name: 'net.CIDR', type: { kind: 'type', of: CIDR }, value: new TypeValue('net.CIDR') }],
};
