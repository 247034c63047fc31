import { BlockList, isIP } from 'node:net';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import {
  validateDns1035Label,
  validateDns1123Subdomain,
  validatePathSegmentName,
  validateWildcardDns1123Subdomain,
} from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import {
  cidr,
  dns1123Label,
  dns1123Subdomain,
  domainPrefixedPath,
  ipFamily,
  labelSelector,
  oneOf,
  type Problems,
  port,
  portOrName,
} from './field-checks.ts';
import {
  forbidden,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from './field-errors.ts';
import { defaultWhenNull, ensureObject, integer, isSet, objectsOf, strings, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { loadBalancerProblems } from './load-balancer-status.ts';

const CONTROLLER_LIMIT = 250;
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];

export const ingressStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec'),
  prepareForCreate: initialStatus({ loadBalancer: {} }),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: loadBalancerProblems,
  validateCreate: (ingress) => classAnnotationProblems(ingress),
  // A change of something else says nothing of it.
  warnings: (ingress, old) =>
    old === undefined && ingress.metadata.annotations?.[CLASS_ANNOTATION] !== undefined
      ? [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  validate(ingress) {
    const spec = objectAt(ingress, 'spec') ?? {};
    const problems: Problems = [];
    const rules = objectsOf(spec, 'rules');
    const backend = objectAt(spec, 'defaultBackend');
    if (rules.length === 0 && backend === undefined) {
      problems.push(
        invalidAs(
          'spec',
          '[]networking.IngressRule(nil)',
          'either `defaultBackend` or `rules` must be specified',
        ),
      );
    }
    if (backend) problems.push(...backendProblems(backend, 'spec.defaultBackend'));
    for (const [index, rule] of rules.entries()) problems.push(...ruleProblems(rule, `spec.rules[${index}]`));
    for (const [index, tls] of objectsOf(spec, 'tls').entries()) {
      const secret = text(tls, 'secretName');
      if (secret !== '') problems.push(...dns1123Subdomain(secret, `spec.tls[${index}].secretName`));
      for (const [i, host] of strings(tls, 'hosts').entries()) {
        problems.push(...hostProblems(host, `spec.tls[${index}].hosts[${i}]`));
      }
    }
    const className = spec.ingressClassName;
    if (typeof className === 'string') problems.push(...dns1123Subdomain(className, 'spec.ingressClassName'));
    return problems;
  },
});

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/** The class of an Ingress is told by a field or, as it used to be, by an annotation: not in two ways at once. */
function classAnnotationProblems(ingress: KubeObject): Problems {
  const annotation = ingress.metadata.annotations?.[CLASS_ANNOTATION];
  const className = objectAt(ingress, 'spec')?.ingressClassName;
  return annotation !== undefined && typeof className === 'string' && annotation !== className
    ? [
        invalidValue(
          `annotations.${CLASS_ANNOTATION}`,
          annotation,
          'must match `ingressClassName` when both are specified',
        ),
      ]
    : [];
}

function ruleProblems(rule: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const host = text(rule, 'host');
  if (host !== '') {
    if (ipFamily(host) !== 0) {
      problems.push(invalidValue(`${path}.host`, host, 'must be a DNS name, not an IP address'));
    }
    problems.push(...hostProblems(host, `${path}.host`));
  }
  const http = objectAt(rule, 'http');
  if (http === undefined) return problems;
  const paths = objectsOf(http, 'paths');
  if (paths.length === 0) problems.push(required(`${path}.http.paths`));
  for (const [index, item] of paths.entries()) {
    const at = `${path}.http.paths[${index}]`;
    const type = text(item, 'pathType');
    const given = text(item, 'path');
    if (item.pathType == null) {
      problems.push(required(`${at}.pathType`, 'pathType must be specified'));
      continue;
    }
    if (!PATH_TYPES.includes(type)) problems.push(notSupported(`${at}.pathType`, type, PATH_TYPES));
    else if ((type !== 'ImplementationSpecific' || given !== '') && !given.startsWith('/')) {
      problems.push(invalidValue(`${at}.path`, given, 'must be an absolute path'));
    } else if (type !== 'ImplementationSpecific') {
      for (const part of ['//', '/./', '/../', '%2f', '%2F']) {
        if (given.includes(part))
          problems.push(invalidValue(`${at}.path`, given, `must not contain '${part}'`));
      }
      for (const end of ['/..', '/.']) {
        if (given.endsWith(end)) problems.push(invalidValue(`${at}.path`, given, `cannot end with '${end}'`));
      }
    }
    problems.push(...backendProblems(objectAt(item, 'backend') ?? {}, `${at}.backend`));
  }
  return problems;
}

function hostProblems(host: string, path: string): Problems {
  return invalidEach(
    path,
    host,
    host.includes('*') ? validateWildcardDns1123Subdomain(host) : validateDns1123Subdomain(host),
  );
}

function backendProblems(backend: JsonObject, path: string): Problems {
  const service = objectAt(backend, 'service');
  const resource = objectAt(backend, 'resource');
  if (service && resource) {
    return [invalidValue(path, '', 'cannot set both resource and service backends')];
  }
  if (resource) {
    return referenceProblems(resource, `${path}.resource`);
  }
  if (!service) return [invalidValue(path, '', 'resource or service backend is required')];
  const problems: Problems = [];
  const at = `${path}.service`;
  const name = text(service, 'name');
  if (name === '') problems.push(required(`${at}.name`));
  else problems.push(...invalidEach(`${at}.name`, name, validateDns1035Label(name)));
  const target = objectAt(service, 'port');
  const number = isSet(target?.number);
  const named = text(target, 'name') !== '';
  if (number && named) problems.push(invalidValue(path, '', 'cannot set both port name & port number'));
  else if (number) problems.push(...port(target?.number, `${at}.port.number`));
  else if (named) problems.push(...portOrName(text(target, 'name'), `${at}.port.name`));
  else problems.push(required(path, 'port name or number is required'));
  return problems;
}

/** A reference to an object of any group, by kind and name. */
function referenceProblems(reference: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const group = reference.apiGroup;
  if (typeof group === 'string') problems.push(...dns1123Subdomain(group, `${path}.apiGroup`));
  for (const key of ['kind', 'name']) {
    const value = text(reference, key);
    if (value === '') problems.push(required(`${path}.${key}`, `${key} is required`));
    else problems.push(...invalidEach(`${path}.${key}`, value, validatePathSegmentName(value)));
  }
  return problems;
}

export const ingressClassStrategy: Strategy = strategy({
  generation: 'spec',
  defaults(object) {
    const parameters = objectAt(object, 'spec', 'parameters');
    if (parameters) defaultWhenNull(parameters, 'scope', 'Cluster');
  },
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const controller = text(spec, 'controller');
    const problems: Problems = [];
    if (controller === '') problems.push(required('spec.controller'));
    else problems.push(...domainPrefixedPath(controller, 'spec.controller'));
    if (controller.length > CONTROLLER_LIMIT) problems.push(tooLong('spec.controller', CONTROLLER_LIMIT));
    const parameters = objectAt(spec, 'parameters');
    if (parameters) {
      problems.push(...referenceProblems(parameters, 'spec.parameters'));
      const path = 'spec.parameters';
      problems.push(...oneOf(parameters, path, 'scope', ['Cluster', 'Namespace']));
      const scope = text(parameters, 'scope');
      const namespace = text(parameters, 'namespace');
      if (scope === 'Namespace') {
        if (parameters.namespace === undefined) {
          problems.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"));
        } else problems.push(...dns1123Label(namespace, `${path}.namespace`));
      } else if (scope === 'Cluster' && parameters.namespace !== undefined) {
        problems.push(forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'"));
      }
    }
    return problems;
  },
  validateUpdate: (object, old) =>
    text(objectAt(object, 'spec'), 'controller') === text(objectAt(old, 'spec'), 'controller')
      ? []
      : [invalidValue('spec.controller', text(objectAt(object, 'spec'), 'controller'), IMMUTABLE)],
});

/** Protocols in the order in which messages of network policies list them. */
const POLICY_PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

export const networkPolicyStrategy: Strategy = strategy({
  validateTwice: true,
  generation: 'spec',
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    ensureObject(spec, 'podSelector');
    for (const key of ['ingress', 'egress']) {
      for (const rule of objectsOf(spec, key)) {
        for (const item of objectsOf(rule, 'ports')) defaultWhenNull(item, 'protocol', 'TCP');
      }
    }
    if (strings(spec, 'policyTypes').length === 0) {
      spec.policyTypes = objectsOf(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    }
  },
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = labelSelector(spec.podSelector, 'spec.podSelector');
    for (const [key, peers] of [
      ['ingress', 'from'],
      ['egress', 'to'],
    ] as const) {
      for (const [index, rule] of objectsOf(spec, key).entries()) {
        const at = `spec.${key}[${index}]`;
        for (const [i, item] of objectsOf(rule, 'ports').entries()) {
          problems.push(...policyPortProblems(item, `${at}.ports[${i}]`));
        }
        for (const [i, peer] of objectsOf(rule, peers).entries()) {
          problems.push(...peerProblems(peer, `${at}.${peers}[${i}]`));
        }
      }
    }
    const types = strings(spec, 'policyTypes');
    if (types.length > 2) {
      problems.push(
        invalidAs(
          'spec.policyTypes',
          goDump('[]networking.PolicyType', types),
          'may not specify more than two policyTypes',
        ),
      );
    } else {
      for (const [index, type] of types.entries()) {
        if (type !== 'Ingress' && type !== 'Egress') {
          problems.push(notSupported(`spec.policyTypes[${index}]`, type, ['Ingress', 'Egress']));
        }
      }
    }
    return problems;
  },
});

function policyPortProblems(item: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const protocol = text(item, 'protocol');
  if (!POLICY_PROTOCOLS.includes(protocol)) {
    problems.push(notSupported(`${path}.protocol`, protocol, POLICY_PROTOCOLS));
  }
  const given = item.port;
  const end = integer(item, 'endPort');
  if (given === undefined || given === null) {
    if (end !== undefined) {
      problems.push(
        invalidValue(`${path}.endPort`, end, 'may not be specified when `port` is not specified'),
      );
    }
    return problems;
  }
  problems.push(...portOrName(given, `${path}.port`));
  if (end === undefined) return problems;
  if (typeof given === 'string') {
    problems.push(invalidValue(`${path}.endPort`, end, 'may not be specified when `port` is non-numeric'));
  } else {
    // The message names the port, not the end: that is how servers print it.
    if (end < Number(given)) {
      problems.push(invalidValue(`${path}.endPort`, given, 'must be greater than or equal to `port`'));
    }
    problems.push(...port(end, `${path}.endPort`));
  }
  return problems;
}

function peerProblems(peer: JsonObject, path: string): Problems {
  const given = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((key) => isObject(peer[key]));
  if (given.length === 0) return [required(path, 'must specify a peer')];
  const problems: Problems = [
    ...labelSelector(peer.podSelector, `${path}.podSelector`),
    ...labelSelector(peer.namespaceSelector, `${path}.namespaceSelector`),
  ];
  const block = objectAt(peer, 'ipBlock');
  if (block === undefined) return problems;
  if (given.length > 1) problems.push(forbidden(path, 'may not specify both ipBlock and another peer'));
  const range = text(block, 'cidr');
  if (range === '') problems.push(required(`${path}.ipBlock.cidr`));
  else {
    const wrong = cidr(range, `${path}.ipBlock.cidr`);
    problems.push(...wrong);
    if (wrong.length === 0) {
      for (const [index, except] of strings(block, 'except').entries()) {
        const at = `${path}.ipBlock.except[${index}]`;
        const invalid = cidr(except, at);
        problems.push(...invalid);
        if (invalid.length === 0 && !isStrictSubset(except, range))
          problems.push(invalidValue(at, except, 'must be a strict subset of `cidr`'));
      }
    }
  }
  return problems;
}

function isStrictSubset(block: string, range: string): boolean {
  const [address = '', bits = ''] = block.split('/');
  const [base = '', width = ''] = range.split('/');
  if (isIP(address) !== isIP(base) || Number(bits) <= Number(width)) return false;
  const all = new BlockList();
  const family = isIP(base) === 4 ? 'ipv4' : 'ipv6';
  all.addSubnet(base, Number(width), family);
  return all.check(address, family);
}

export const serviceCidrStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec', 'metadata'),
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const blocks = strings(objectAt(object, 'spec'), 'cidrs');
    if (blocks.length === 0) return [required('spec.cidrs', 'at least one CIDR required')];
    return blocks.flatMap((block, index) => cidr(block, `spec.cidrs[${index}]`));
  },
});

export const ipAddressStrategy: Strategy = strategy({
  generation: 'spec',
  validateName: (name) => (isIP(name) === 0 ? ['must be a valid IP address'] : []),
  validate(object: KubeObject) {
    const parent = objectAt(object, 'spec', 'parentRef');
    if (parent === undefined) return [required('spec.parentRef')];
    return ['resource', 'name']
      .filter((key) => text(parent, key) === '')
      .map((key) => required(`spec.parentRef.${key}`));
  },
});
