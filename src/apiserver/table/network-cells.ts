import { at, type JsonObject } from '../../schema/json.ts';
import {
  age,
  type Cells,
  countAt,
  firstOf,
  labelsText,
  NONE,
  nameOf,
  objectsAt,
  orElse,
  selectorText,
  textAt,
  textsAt,
  UNKNOWN,
  UNSET,
} from './cell-text.ts';

/** How many addresses, ports and hosts are written out. */
const SHOWN = 3;

/** Each once, in the order of letters. */
function ingressAddresses(object: unknown): string[] {
  const addresses = objectsAt(object, 'status', 'loadBalancer', 'ingress')
    .map((item) => textAt(item, 'ip') || textAt(item, 'hostname'))
    .filter((text) => text !== '');
  return [...new Set(addresses)].sort();
}

function externalAddress(object: unknown): string {
  const own = textsAt(object, 'spec', 'externalIPs');
  switch (textAt(object, 'spec', 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return orElse(own.join(','), NONE);
    case 'LoadBalancer':
      return orElse([...ingressAddresses(object), ...own].join(','), '<pending>');
    case 'ExternalName':
      return textAt(object, 'spec', 'externalName');
    default:
      return UNKNOWN;
  }
}

function portText(port: JsonObject): string {
  const nodePort = countAt(port, 'nodePort');
  return `${countAt(port, 'port')}${nodePort > 0 ? `:${nodePort}` : ''}/${textAt(port, 'protocol')}`;
}

const service: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'spec', 'type'),
  orElse(textsAt(object, 'spec', 'clusterIPs')[0] ?? textAt(object, 'spec', 'clusterIP'), NONE),
  externalAddress(object),
  orElse(objectsAt(object, 'spec', 'ports').map(portText).join(','), NONE),
  age(object, now),
  labelsText(at(object, 'spec', 'selector')),
];

const endpoints: Cells = (object, now) => {
  const all = objectsAt(object, 'subsets').flatMap((subset) => {
    const addresses = objectsAt(subset, 'addresses').map((item) => textAt(item, 'ip'));
    const ports = objectsAt(subset, 'ports').map((item) => countAt(item, 'port'));
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) =>
      addresses.map((ip) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
    );
  });
  // Subsets without addresses that are ready are there, and show nothing.
  const none = objectsAt(object, 'subsets').length === 0 ? NONE : '';
  return [nameOf(object), firstOf(all, SHOWN, none), age(object, now)];
};

const endpointSlice: Cells = (object, now) => {
  const ports = objectsAt(object, 'ports').map((item) =>
    item.port === undefined ? textAt(item, 'name') || '*' : String(countAt(item, 'port')),
  );
  const addresses = objectsAt(object, 'endpoints').flatMap((item) => textsAt(item, 'addresses'));
  return [
    nameOf(object),
    textAt(object, 'addressType'),
    firstOf(ports, SHOWN, UNSET),
    firstOf(addresses, SHOWN, UNSET),
    age(object, now),
  ];
};

const ingress: Cells = (object, now) => {
  const hosts = objectsAt(object, 'spec', 'rules')
    .map((rule) => textAt(rule, 'host'))
    .filter((host) => host !== '');
  return [
    nameOf(object),
    orElse(textAt(object, 'spec', 'ingressClassName'), NONE),
    firstOf(hosts, SHOWN, '*'),
    ingressAddresses(object).join(','),
    objectsAt(object, 'spec', 'tls').length > 0 ? '80, 443' : '80',
    age(object, now),
  ];
};

const ingressClass: Cells = (object, now) => {
  const parameters = at(object, 'spec', 'parameters');
  const group = textAt(parameters, 'apiGroup');
  return [
    nameOf(object),
    textAt(object, 'spec', 'controller'),
    parameters
      ? `${textAt(parameters, 'kind')}${group === '' ? '' : `.${group}`}/${textAt(parameters, 'name')}`
      : NONE,
    age(object, now),
  ];
};

const networkPolicy: Cells = (object, now) => [
  nameOf(object),
  selectorText(at(object, 'spec', 'podSelector')),
  age(object, now),
];

const ipAddress: Cells = (object) => {
  const parent = at(object, 'spec', 'parentRef');
  const resource = [textAt(parent, 'resource'), textAt(parent, 'group')].filter(Boolean).join('.');
  const path = [resource, textAt(parent, 'namespace'), textAt(parent, 'name')].filter(Boolean).join('/');
  return [nameOf(object), orElse(path, NONE)];
};

const serviceCidr: Cells = (object, now) => [
  nameOf(object),
  textsAt(object, 'spec', 'cidrs').join(','),
  age(object, now),
];

export const NETWORK_CELLS: Readonly<Record<string, Cells>> = {
  '/endpoints': endpoints,
  '/services': service,
  'discovery.k8s.io/endpointslices': endpointSlice,
  'networking.k8s.io/ingressclasses': ingressClass,
  'networking.k8s.io/ingresses': ingress,
  'networking.k8s.io/ipaddresses': ipAddress,
  'networking.k8s.io/networkpolicies': networkPolicy,
  'networking.k8s.io/servicecidrs': serviceCidr,
};
