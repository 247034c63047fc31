import { isObject, type JsonObject, stringsAt } from '../../schema/json.ts';
import { validateDns1123Label, validateLabels, validateQualifiedName } from '../../schema/names.ts';
import { reservedProblems } from './endpoints.ts';
import {
  cidr,
  dns1123Subdomain,
  ipAddress,
  ipFamily,
  oneOf,
  PROTOCOLS,
  type Problems,
  port,
  portOrName,
} from './field-checks.ts';
import {
  duplicate,
  duplicateAs,
  forbidden,
  goStrings,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from './field-errors.ts';
import { integer, isSet, objectsOf, strings, text } from './fields.ts';
import { isExternallyReachable, needsHealthCheckPort } from './service-defaults.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const TRAFFIC_DISTRIBUTIONS = ['PreferClose', 'PreferSameNode', 'PreferSameZone'];
const DAY_SECONDS = 86400;

export function validateServiceSpec(spec: JsonObject): Problems {
  const type = text(spec, 'type');
  const addresses = strings(spec, 'clusterIPs');
  const headless = addresses[0] === 'None';
  const problems: Problems = [];
  if (objectsOf(spec, 'ports').length === 0 && !headless && type !== 'ExternalName') {
    problems.push(required('spec.ports'));
  }
  problems.push(...typeProblems(spec, type, headless));
  problems.push(...portsProblems(spec, type));
  problems.push(...validateLabels(stringsAt(spec, 'selector'), 'spec.selector'));
  problems.push(...addressProblems(spec, type, addresses));
  problems.push(...affinityProblems(spec));
  for (const [index, address] of strings(spec, 'externalIPs').entries()) {
    const at = `spec.externalIPs[${index}]`;
    const wrong = ipAddress(address, at);
    problems.push(...(wrong.length > 0 ? wrong : reservedProblems(address, at)));
  }
  problems.push(...balancerProblems(spec, type));
  problems.push(...trafficProblems(spec));
  return problems;
}

export function validateServiceSpecUpdate(spec: JsonObject, old: JsonObject): Problems {
  const now = strings(spec, 'clusterIPs');
  const before = strings(old, 'clusterIPs');
  const balanced = [spec, old].every((of) => text(of, 'type') === 'LoadBalancer');
  const balancer = spec.loadBalancerClass ?? null;
  const problems: Problems =
    balanced && balancer !== (old.loadBalancerClass ?? null)
      ? [invalidValue('spec.loadBalancerClass', balancer, 'may not change once set')]
      : [];
  const external = text(spec, 'type') === 'ExternalName' || text(old, 'type') === 'ExternalName';
  if (external || before.length === 0 || before[0] === now[0]) return problems;
  return [
    ...problems,
    invalidValue('spec.clusterIPs[0]', now.length === 0 ? null : now, 'may not change once set'),
  ];
}

function typeProblems(spec: JsonObject, type: string, headless: boolean): Problems {
  switch (type) {
    case 'NodePort':
    case 'LoadBalancer':
      return headless
        ? [invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)]
        : [];
    case 'ExternalName': {
      const problems: Problems = [];
      if (isSet(spec.clusterIP) || isSet(spec.clusterIPs)) {
        problems.push(forbidden('spec.clusterIPs', 'may not be set for ExternalName services'));
      }
      for (const key of ['ipFamilies', 'ipFamilyPolicy']) {
        if (isSet(spec[key])) {
          problems.push(forbidden(`spec.${key}`, 'may not be set for ExternalName services'));
        }
      }
      const name = text(spec, 'externalName');
      // A name that ends in a dot is fully qualified.
      if (name === '') problems.push(required('spec.externalName'));
      else problems.push(...dns1123Subdomain(name.replace(/\.$/, ''), 'spec.externalName'));
      return problems;
    }
    case 'ClusterIP':
      return [];
    case '':
      return [required('spec.type')];
    default:
      return [notSupported('spec.type', type, TYPES)];
  }
}

function portsProblems(spec: JsonObject, type: string): Problems {
  const problems: Problems = [];
  const items = objectsOf(spec, 'ports');
  const names = new Set<string>();
  const pairs = new Set<string>();
  const nodePorts = new Set<string>();
  for (const [index, item] of items.entries()) {
    const at = `spec.ports[${index}]`;
    const name = text(item, 'name');
    if (items.length > 1 && name === '') problems.push(required(`${at}.name`));
    else if (name !== '') {
      problems.push(...invalidEach(`${at}.name`, name, validateDns1123Label(name)));
      if (names.has(name)) problems.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    problems.push(...port(item.port, `${at}.port`));
    const protocol = text(item, 'protocol');
    if (protocol === '') problems.push(required(`${at}.protocol`));
    else if (!PROTOCOLS.includes(protocol))
      problems.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS));
    problems.push(...portOrName(item.targetPort, `${at}.targetPort`));
    if (typeof item.appProtocol === 'string') {
      problems.push(
        ...invalidEach(`${at}.appProtocol`, item.appProtocol, validateQualifiedName(item.appProtocol)),
      );
    }
    const pair = `${protocol}/${item.port}`;
    if (pairs.has(pair))
      problems.push(
        duplicateAs(
          at,
          `core.ServicePort{Name:"", Protocol:${JSON.stringify(protocol)}, AppProtocol:(*string)(nil), Port:${Number(item.port ?? 0)}, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}`,
        ),
      );
    pairs.add(pair);
    problems.push(...nodePortProblems(item, at, type, protocol, nodePorts));
  }
  return problems;
}

function nodePortProblems(
  item: JsonObject,
  at: string,
  type: string,
  protocol: string,
  seen: Set<string>,
): Problems {
  const number = integer(item, 'nodePort') ?? 0;
  if (number === 0) return [];
  if (type === 'ClusterIP') {
    return [forbidden(`${at}.nodePort`, `may not be used when \`type\` is '${type}'`)];
  }
  const key = `${protocol}/${number}`;
  if (seen.has(key)) return [invalidValue(`${at}.nodePort`, number, 'provided port is already allocated')];
  seen.add(key);
  return [];
}

function addressProblems(spec: JsonObject, type: string, addresses: readonly string[]): Problems {
  const problems: Problems = [];
  if (type === 'ExternalName') return problems;
  const first = text(spec, 'clusterIP');
  if (first === '' && addresses.length > 0) {
    problems.push(
      invalidValue('spec.clusterIPs', addresses, 'must be empty when `clusterIP` is not specified'),
    );
  } else if (first !== '' && addresses.length > 0 && addresses[0] !== first) {
    problems.push(invalidValue('spec.clusterIPs', addresses, 'first value must match `clusterIP`'));
  }
  for (const [index, address] of addresses.entries()) {
    const at = `spec.clusterIPs[${index}]`;
    if (index === 0 && (address === 'None' || address === '')) continue;
    problems.push(...ipAddress(address, at));
    if (ipFamily(address) === 6)
      problems.push(invalidAs(at, goStrings(addresses), 'IPv6 is not configured on this cluster'));
  }
  if (addresses[0] === 'None' && addresses.length > 1)
    problems.push(
      invalidAs('spec.clusterIPs', goStrings(addresses), "'None' must be the first and only value"),
    );
  if (addresses.length > 2) {
    problems.push(invalidValue('spec.clusterIPs', addresses, 'may only hold up to 2 values'));
  }
  const families = addresses.map((address) => ipFamily(address));
  if (addresses.length > 1 && !families.includes(0) && new Set(families).size < 2)
    problems.push(
      invalidValue('spec.clusterIPs', addresses, 'may specify no more than one IP for each IP family'),
    );
  problems.push(
    ...oneOf(spec, 'spec', 'ipFamilyPolicy', ['PreferDualStack', 'RequireDualStack', 'SingleStack']),
  );
  // Without addresses, and without pods that are selected, it does not matter which families there are.
  const isAnything = first === 'None' && Object.keys(stringsAt(spec, 'selector')).length === 0;
  if (spec.ipFamilyPolicy === 'RequireDualStack' && !isAnything)
    problems.push(
      invalidValue(
        'spec.ipFamilyPolicy',
        spec.ipFamilyPolicy,
        'this cluster is not configured for dual-stack services',
      ),
    );
  problems.push(...familyProblems(spec, addresses));
  return problems;
}

/** What is wrong with the list is told before that there are no such addresses here. */
function familyProblems(spec: JsonObject, addresses: readonly string[]): Problems {
  const families = strings(spec, 'ipFamilies');
  const listed: Problems = families.flatMap((family, index) => [
    ...(families.indexOf(family) < index ? [duplicate(`spec.ipFamilies[${index}]`, family)] : []),
    ...(family === 'IPv4' || family === 'IPv6'
      ? []
      : [notSupported(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6'])]),
  ]);
  if (listed.length > 0) return listed;
  if (families.length > 1 && text(spec, 'ipFamilyPolicy') === 'SingleStack')
    return [
      invalidValue(
        'spec.ipFamilyPolicy',
        'SingleStack',
        "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
      ),
    ];
  if (addresses[0] === 'None' || addresses.some((address) => ipFamily(address) === 6)) return [];
  return families.flatMap((family, index) =>
    family === 'IPv6'
      ? [invalidValue(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')]
      : [],
  );
}

function affinityProblems(spec: JsonObject): Problems {
  const affinity = text(spec, 'sessionAffinity');
  if (affinity === '') return [required('spec.sessionAffinity')];
  const problems = oneOf(spec, 'spec', 'sessionAffinity', ['ClientIP', 'None']);
  const config = spec.sessionAffinityConfig;
  if (affinity === 'ClientIP') {
    const seconds =
      isObject(config) && isObject(config.clientIP) ? config.clientIP.timeoutSeconds : undefined;
    if (typeof seconds !== 'number' || seconds <= 0 || seconds > DAY_SECONDS) {
      problems.push(
        invalidValue(
          'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
          seconds ?? null,
          `must be greater than 0 and less than ${DAY_SECONDS}`,
        ),
      );
    }
  } else if (affinity === 'None' && isObject(config)) {
    problems.push(forbidden('spec.sessionAffinityConfig', "must not be set when session affinity is 'None'"));
  }
  return problems;
}

function balancerProblems(spec: JsonObject, type: string): Problems {
  const problems: Problems = [];
  const ranges = strings(spec, 'loadBalancerSourceRanges');
  if (ranges.length > 0 && type !== 'LoadBalancer') {
    problems.push(
      forbidden('spec.LoadBalancerSourceRanges', "may only be used when `type` is 'LoadBalancer'"),
    );
  }
  for (const [index, range] of ranges.entries()) {
    problems.push(...cidr(range.trim(), `spec.LoadBalancerSourceRanges[${index}]`));
  }
  if (spec.allocateLoadBalancerNodePorts != null && type !== 'LoadBalancer') {
    problems.push(
      forbidden('spec.allocateLoadBalancerNodePorts', "may only be used when `type` is 'LoadBalancer'"),
    );
  }
  if (typeof spec.loadBalancerClass === 'string') {
    const name = spec.loadBalancerClass;
    problems.push(...invalidEach('spec.loadBalancerClass', name, validateQualifiedName(name)));
  }
  if (typeof spec.trafficDistribution === 'string') {
    problems.push(...oneOf(spec, 'spec', 'trafficDistribution', TRAFFIC_DISTRIBUTIONS));
  }
  if (spec.loadBalancerClass != null && type !== 'LoadBalancer') {
    problems.push(forbidden('spec.loadBalancerClass', "may only be used when `type` is 'LoadBalancer'"));
  }
  return problems;
}

function trafficProblems(spec: JsonObject): Problems {
  const problems: Problems = [];
  const policies = ['Cluster', 'Local'];
  if (isSet(spec.externalTrafficPolicy)) {
    if (isExternallyReachable(spec)) {
      problems.push(...oneOf(spec, 'spec', 'externalTrafficPolicy', policies));
    } else {
      problems.push(
        invalidValue(
          'spec.externalTrafficPolicy',
          spec.externalTrafficPolicy,
          'may only be set for externally-accessible services',
        ),
      );
    }
  }
  problems.push(...oneOf(spec, 'spec', 'internalTrafficPolicy', policies));
  if (isSet(spec.healthCheckNodePort) && !needsHealthCheckPort(spec)) {
    problems.push(
      invalidValue(
        'spec.healthCheckNodePort',
        spec.healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  }
  return problems;
}
