import { asJson, type KubeObject } from '../../kube/object.ts';
import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Label, validateLabelValue, validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  immutableText,
  ipAddress,
  ipFamily,
  PROTOCOLS,
  type Problems,
  port,
} from './field-checks.ts';
import { duplicate, invalidEach, invalidValue, notSupported, required, tooMany } from './field-errors.ts';
import { defaultWhenEmpty, defaultWhenNull, ensureObject, objectsOf, strings, text } from './fields.ts';

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const ENDPOINTS_LIMIT = 1000;
const PORTS_LIMIT = 100;
const ADDRESSES_LIMIT = 100;

export const endpointsStrategy: Strategy = strategy({
  allowCreateOnUpdate: true,
  defaults(object) {
    for (const subset of objectsOf(object, 'subsets')) {
      for (const item of objectsOf(subset, 'ports')) defaultWhenEmpty(item, 'protocol', 'TCP');
    }
  },
  validate(object) {
    const problems: Problems = [];
    for (const [index, subset] of objectsOf(object, 'subsets').entries()) {
      const at = `subsets[${index}]`;
      const addresses = objectsOf(subset, 'addresses');
      const notReady = objectsOf(subset, 'notReadyAddresses');
      if (addresses.length === 0 && notReady.length === 0) {
        problems.push(required(at, 'must specify `addresses` or `notReadyAddresses`'));
      }
      for (const [key, list] of [
        ['addresses', addresses],
        ['notReadyAddresses', notReady],
      ] as const) {
        for (const [i, address] of list.entries()) {
          problems.push(...endpointAddressProblems(address, `${at}.${key}[${i}]`));
        }
      }
      problems.push(...subsetPortProblems(subset, at));
    }
    return problems;
  },
});

function endpointAddressProblems(address: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const ip = text(address, 'ip');
  problems.push(...ipAddress(ip, `${path}.ip`));
  if (ipFamily(ip) === 0) problems.push(invalidValue(`${path}.ip`, ip, 'must be a valid IP address'));
  else problems.push(...reservedProblems(ip, `${path}.ip`));
  const hostname = text(address, 'hostname');
  if (hostname !== '') problems.push(...dns1123Label(hostname, `${path}.hostname`));
  if (typeof address.nodeName === 'string') {
    problems.push(...dns1123Subdomain(address.nodeName, `${path}.nodeName`));
  }
  return problems;
}

/** Addresses that mean something on each machine, which traffic must not be sent to through a service. */
export function reservedProblems(ip: string, path: string): Problems {
  const lower = ip.toLowerCase();
  const problems: Problems = [];
  const refuse = (detail: string): void => {
    problems.push(invalidValue(path, ip, detail));
  };
  if (/^0+(\.0+){3}$/.test(ip) || lower === '::') refuse(`may not be unspecified (${ip})`);
  if (ip.startsWith('127.') || lower === '::1')
    refuse('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (ip.startsWith('169.254.') || /^fe[89ab]/.test(lower)) {
    refuse('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  }
  if (ip.startsWith('224.0.0.') || /^ff[0-9a-f]2:/.test(lower)) {
    refuse('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  }
  return problems;
}

/** Protocols of applications: names of services, with a domain where they are one's own. */
function appProtocolProblems(item: JsonObject, path: string): Problems {
  const { appProtocol } = item;
  return typeof appProtocol === 'string'
    ? invalidEach(`${path}.appProtocol`, appProtocol, validateQualifiedName(appProtocol))
    : [];
}

function subsetPortProblems(subset: JsonObject, at: string): Problems {
  const problems: Problems = [];
  const items = objectsOf(subset, 'ports');
  for (const [index, item] of items.entries()) {
    const path = `${at}.ports[${index}]`;
    const name = text(item, 'name');
    if (items.length > 1 && name === '') problems.push(required(`${path}.name`));
    else if (name !== '') problems.push(...invalidEach(`${path}.name`, name, validateDns1123Label(name)));
    problems.push(...port(item.port, `${path}.port`));
    const protocol = text(item, 'protocol');
    if (protocol === '') problems.push(required(`${path}.protocol`));
    else if (!PROTOCOLS.includes(protocol))
      problems.push(notSupported(`${path}.protocol`, protocol, PROTOCOLS));
    problems.push(...appProtocolProblems(item, path));
  }
  return problems;
}

export const endpointSliceStrategy: Strategy = strategy({
  generation: 'all-and-labels',
  defaults(object) {
    for (const item of objectsOf(object, 'ports')) {
      defaultWhenNull(item, 'name', '');
      defaultWhenNull(item, 'protocol', 'TCP');
    }
    for (const endpoint of objectsOf(object, 'endpoints')) ensureObject(endpoint, 'conditions');
  },
  // What older clients know is not taken from new objects.
  prepareForCreate(object) {
    for (const endpoint of objectsOf(object, 'endpoints')) delete endpoint.deprecatedTopology;
  },
  warnings: (object, old) =>
    old === undefined && text(asJson(object), 'addressType') === 'FQDN'
      ? ['spec.addressType: FQDN endpoints are deprecated']
      : [],
  validate(object) {
    const type = text(asJson(object), 'addressType');
    const problems: Problems = [];
    if (type === '') problems.push(required('addressType'));
    else if (!ADDRESS_TYPES.includes(type)) problems.push(notSupported('addressType', type, ADDRESS_TYPES));
    const endpoints = objectsOf(object, 'endpoints');
    if (endpoints.length > ENDPOINTS_LIMIT) {
      return [...problems, tooMany('endpoints', endpoints.length, ENDPOINTS_LIMIT)];
    }
    for (const [index, endpoint] of endpoints.entries()) {
      problems.push(...endpointProblems(endpoint, `endpoints[${index}]`, type));
    }
    problems.push(...slicePortProblems(object));
    return problems;
  },
  validateUpdate: (object, old) => immutableText(asJson(object), asJson(old), '', 'addressType'),
});

function endpointProblems(endpoint: JsonObject, at: string, type: string): Problems {
  const addresses = strings(endpoint, 'addresses');
  if (addresses.length === 0) return [required(`${at}.addresses`, 'must contain at least 1 address')];
  if (addresses.length > ADDRESSES_LIMIT) {
    return [tooMany(`${at}.addresses`, addresses.length, ADDRESSES_LIMIT)];
  }
  const problems: Problems = [];
  for (const [index, address] of addresses.entries()) {
    const path = `${at}.addresses[${index}]`;
    if (type === 'FQDN') problems.push(...dns1123Subdomain(address, path));
    else if (type === 'IPv4' || type === 'IPv6') {
      if (ipFamily(address) === 0) problems.push(invalidValue(path, address, 'must be a valid IP address'));
      if (ipFamily(address) !== (type === 'IPv4' ? 4 : 6)) {
        problems.push(invalidValue(path, address, `must be a valid ${type} address`));
      }
      if (ipFamily(address) !== 0) problems.push(...reservedProblems(address, path));
    }
  }
  if (typeof endpoint.nodeName === 'string') {
    problems.push(...dns1123Subdomain(endpoint.nodeName, `${at}.nodeName`));
  }
  if (typeof endpoint.hostname === 'string')
    problems.push(...dns1123Label(endpoint.hostname, `${at}.hostname`));
  const zones = new Set<string>();
  for (const [index, zone] of objectsOf(objectAt(endpoint, 'hints'), 'forZones').entries()) {
    const path = `${at}.hints.forZones[${index}].name`;
    const name = text(zone, 'name');
    if (zones.has(name)) problems.push(duplicate(path, name));
    zones.add(name);
    problems.push(...invalidEach(path, name, validateLabelValue(name)));
  }
  return problems;
}

function slicePortProblems(object: KubeObject): Problems {
  const items = objectsOf(object, 'ports');
  if (items.length > PORTS_LIMIT) return [tooMany('ports', items.length, PORTS_LIMIT)];
  const problems: Problems = [];
  const names = new Set<string>();
  for (const [index, item] of items.entries()) {
    const at = `ports[${index}]`;
    const name = text(item, 'name');
    if (name !== '') problems.push(...invalidEach(`${at}.name`, name, validateDns1123Label(name)));
    if (names.has(name)) problems.push(duplicate(`${at}.name`, name));
    names.add(name);
    const protocol = text(item, 'protocol');
    if (!PROTOCOLS.includes(protocol)) problems.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS));
    problems.push(...appProtocolProblems(item, at));
  }
  return problems;
}
