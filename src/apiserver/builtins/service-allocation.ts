import { isIP } from 'node:net';
import type { KubeObject } from '../../kube/object.ts';
import { type FieldError, internalError, invalid } from '../../kube/status-error.ts';
import { type JsonObject, objectAt } from '../../schema/json.ts';
import type { AllocationLookup } from '../resource.ts';
import { invalidValue } from './field-errors.ts';
import { ensureObject, integer, isSet, objectsOf, strings, text } from './fields.ts';
import { needsHealthCheckPort } from './service-defaults.ts';

/** Cluster addresses are those of kubeadm, `10.96.0.0/12`, and are given out of its first /16; `.0.1` is the API server's own and `.0.10` the DNS server's by custom. */
const NETWORK = '10.96';
const FIRST_ADDRESS = 256;
const LAST_ADDRESS = 0xfffe;
const RESERVED = new Set([`${NETWORK}.0.1`, `${NETWORK}.0.10`]);
const NODE_PORTS: { readonly first: number; readonly last: number } = { first: 30000, last: 32767 };
/** The first port that a dry run is given. */
const DRY_RUN_PORTS = NODE_PORTS.last + 2;

/**
 * Gives a Service the addresses and node ports that its type calls for. The choice starts at a hash of the Service's
 * place and name, so that the same Services get the same addresses in any order of creation, and steps to the next
 * free one. What is given already stays, unless it is taken: that throws a StatusError.
 */
export function allocateService(
  service: KubeObject,
  old: KubeObject | undefined,
  lookup: AllocationLookup,
): void {
  const spec = ensureObject(service, 'spec');
  const type = text(spec, 'type');
  if (type !== 'ClusterIP' && type !== 'NodePort' && type !== 'LoadBalancer') return;
  // More addresses without a first one: validation tells.
  if (text(spec, 'clusterIP') === '' && strings(spec, 'clusterIPs').length > 0) return;
  allocateFamilies(spec);
  const seed = hash(`${service.metadata.namespace ?? ''}/${service.metadata.name ?? ''}`);
  const needsAddress = text(spec, 'clusterIP') === '';
  const headless = text(spec, 'clusterIP') === 'None';
  const ports =
    type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false)
      ? objectsOf(spec, 'ports').filter((port) => !isSet(port.nodePort))
      : [];
  const needsHealth = needsHealthCheckPort(spec) && !isSet(spec.healthCheckNodePort);
  const chosen =
    !needsAddress ||
    isSet(spec.healthCheckNodePort) ||
    objectsOf(spec, 'ports').some((port) => isSet(port.nodePort));
  if (!needsAddress && ports.length === 0 && !needsHealth && !chosen) return;
  const used = usedBy(service, lookup);
  if (chosen) refuseTaken(service, objectAt(old, 'spec'), used, lookup.dryRun === true);
  if (needsAddress && !headless) {
    const address = freeAddress(seed, used.addresses);
    if (address !== undefined) {
      spec.clusterIP = address;
      spec.clusterIPs = [address];
    }
  }
  if (lookup.dryRun === true) {
    // Ports that are given to nobody are of no range either.
    for (const [index, port] of ports.entries()) port.nodePort = DRY_RUN_PORTS + index;
    if (needsHealth) spec.healthCheckNodePort = DRY_RUN_PORTS + ports.length;
    return;
  }
  for (const port of objectsOf(spec, 'ports')) if (isSet(port.nodePort)) used.add(port);
  for (const [index, port] of ports.entries()) allocateNodePort(port, seed + index, used);
  if (needsHealth) {
    const port = freePort(seed + ports.length, (candidate) => used.anyProtocol.has(candidate));
    if (port !== undefined) spec.healthCheckNodePort = port;
  }
}

/**
 * Refuses addresses and node ports that the client chose and that are another Service's or not this cluster's.
 * Throws a StatusError, because only allocation knows the other Services.
 */
function refuseTaken(service: KubeObject, old: JsonObject | undefined, used: Used, dryRun: boolean): void {
  const spec = objectAt(service, 'spec');
  const problems: FieldError[] = [];
  for (const address of strings(spec, 'clusterIPs')) {
    // Addresses that are not valid at all, or that may not change, are told by validation.
    if (text(old, 'clusterIP') !== '') continue;
    if (isIP(address) === 6)
      problems.push(
        invalidValue(
          'spec.clusterIPs[0]',
          strings(spec, 'clusterIPs'),
          'IPv6 is not configured on this cluster',
        ),
      );
    if (isIP(address) !== 4) continue;
    const why = used.addresses.has(address)
      ? 'provided IP is already allocated'
      : inRange(address)
        ? ''
        : `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${NETWORK}.0.0/12`;
    if (why !== '') {
      problems.push(invalidValue('spec.clusterIPs', [address], `failed to allocate IP ${address}: ${why}`));
    }
  }
  const kept = new Set(objectsOf(old, 'ports').map((port) => port.nodePort));
  for (const [index, port] of (dryRun ? [] : objectsOf(spec, 'ports')).entries()) {
    const number = integer(port, 'nodePort') ?? 0;
    // A port is one Service's, whatever the protocol: only its own ports may share it.
    if (number === 0 || kept.has(number) || text(spec, 'type') === 'ClusterIP') continue;
    const why =
      number < NODE_PORTS.first || number > NODE_PORTS.last
        ? `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`
        : used.anyProtocol.has(number)
          ? 'provided port is already allocated'
          : '';
    if (why !== '') problems.push(invalidValue(`spec.ports[${index}].nodePort`, number, why));
  }
  if (problems.length > 0) throw invalid('', 'Service', service.metadata.name ?? '', problems);
  const health = integer(spec ?? {}, 'healthCheckNodePort') ?? 0;
  if (health !== 0 && health !== integer(old ?? {}, 'healthCheckNodePort') && used.anyProtocol.has(health))
    throw internalError(
      `failed to allocate requested HealthCheck NodePort ${health}: provided port is already allocated`,
    );
}

function inRange(address: string): boolean {
  // The first and the last address of a network are nobody's.
  const isEdge = address === `${NETWORK}.0.0` || address === '10.111.255.255';
  const [first = 0, second = 0] = address.split('.').map(Number);
  return first === 10 && second >= 96 && second <= 111 && !isEdge;
}

/** This server has one network, of IPv4 addresses. */
function allocateFamilies(spec: JsonObject): void {
  // Without addresses, and without pods that are selected, a Service may be of any family.
  const isAnything =
    text(spec, 'clusterIP') === 'None' && Object.keys(objectAt(spec, 'selector') ?? {}).length === 0;
  if (!isSet(spec.ipFamilyPolicy)) spec.ipFamilyPolicy = isAnything ? 'RequireDualStack' : 'SingleStack';
  if (strings(spec, 'ipFamilies').length > 0) return;
  if (isAnything) {
    spec.ipFamilies = spec.ipFamilyPolicy === 'SingleStack' ? ['IPv4'] : ['IPv4', 'IPv6'];
    return;
  }
  const given = strings(spec, 'clusterIPs').filter((item) => item !== 'None');
  spec.ipFamilies =
    given.length > 0 ? given.map((address) => (address.includes(':') ? 'IPv6' : 'IPv4')) : ['IPv4'];
}

interface Used {
  readonly addresses: Set<string>;
  readonly anyProtocol: Set<number>;
  has(port: number, protocol: string): boolean;
  add(port: JsonObject): void;
}

function usedBy(service: KubeObject, lookup: AllocationLookup): Used {
  const addresses = new Set<string>();
  const anyProtocol = new Set<number>();
  const byProtocol = new Set<string>();
  const add = (port: JsonObject): void => {
    anyProtocol.add(Number(port.nodePort));
    byProtocol.add(`${text(port, 'protocol')}/${port.nodePort}`);
  };
  for (const other of lookup.all()) {
    if (
      other.metadata.name === service.metadata.name &&
      other.metadata.namespace === service.metadata.namespace
    ) {
      continue;
    }
    const spec = objectAt(other, 'spec');
    if (text(spec, 'clusterIP') !== '') addresses.add(text(spec, 'clusterIP'));
    for (const address of strings(spec, 'clusterIPs')) addresses.add(address);
    for (const port of objectsOf(spec, 'ports')) if (isSet(port.nodePort)) add(port);
    if (isSet(spec?.healthCheckNodePort)) anyProtocol.add(Number(spec?.healthCheckNodePort));
  }
  return { addresses, anyProtocol, has: (port, protocol) => byProtocol.has(`${protocol}/${port}`), add };
}

function allocateNodePort(port: JsonObject, seed: number, used: Used): void {
  const protocol = text(port, 'protocol');
  const found = freePort(
    seed,
    (candidate) => used.anyProtocol.has(candidate) || used.has(candidate, protocol),
  );
  if (found === undefined) return;
  port.nodePort = found;
  used.add(port);
}

function freeAddress(seed: number, used: ReadonlySet<string>): string | undefined {
  const count = LAST_ADDRESS - FIRST_ADDRESS + 1;
  for (let step = 0; step < count; step++) {
    const number = FIRST_ADDRESS + ((seed + step) % count);
    const address = `${NETWORK}.${number >> 8}.${number & 0xff}`;
    if (!used.has(address) && !RESERVED.has(address)) return address;
  }
  return undefined;
}

function freePort(seed: number, isUsed: (port: number) => boolean): number | undefined {
  const count = NODE_PORTS.last - NODE_PORTS.first + 1;
  for (let step = 0; step < count; step++) {
    const port = NODE_PORTS.first + ((seed + step) % count);
    if (!isUsed(port)) return port;
  }
  return undefined;
}

/** FNV-1a: cheap, and spread well enough that searches for a free number are short. */
function hash(value: string): number {
  let result = 0x811c9dc5;
  for (let i = 0; i < value.length; i++) {
    result = Math.imul(result ^ value.charCodeAt(i), 0x01000193) >>> 0;
  }
  return result;
}
