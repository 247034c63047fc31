import { isIP } from 'node:net';
import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, objectAt } from '../../schema/json.ts';
import { validateDns1035Label } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { ipFamily } from './field-checks.ts';
import { forbidden } from './field-errors.ts';
import { defaultWhenNull, ensureObject, objectsOf, strings, text } from './fields.ts';
import { loadBalancerProblems } from './load-balancer-status.ts';
import { allocateService } from './service-allocation.ts';
import {
  defaultServiceSpec,
  dropFieldsOfOldType,
  keepAllocations,
  syncClusterIP,
} from './service-defaults.ts';
import { validateServiceSpec, validateServiceSpecUpdate } from './service-validation.ts';

export const serviceStrategy: Strategy = strategy({
  allowCreateOnUpdate: true,
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['spec.clusterIP', 'spec.type'],
  fieldLabels: (service) => ({
    'spec.clusterIP': text(objectAt(service, 'spec'), 'clusterIP'),
    'spec.type': text(objectAt(service, 'spec'), 'type'),
  }),
  validateName: validateDns1035Label,
  defaults(service) {
    const spec = ensureObject(service, 'spec');
    defaultServiceSpec(spec);
    if (text(spec, 'type') !== 'LoadBalancer') return;
    for (const ingress of objectsOf(objectAt(service, 'status', 'loadBalancer'), 'ingress'))
      if (text(ingress, 'ip') !== '') defaultWhenNull(ingress, 'ipMode', 'VIP');
  },
  prepareForCreate(service) {
    syncClusterIP(ensureObject(service, 'spec'), undefined);
    initialStatus({ loadBalancer: {} })(service);
  },
  prepareForUpdate(service, old) {
    const spec = ensureObject(service, 'spec');
    const before = ensureObject(old, 'spec');
    syncClusterIP(spec, before);
    dropFieldsOfOldType(spec, before);
    keepAllocations(spec, before);
    // The address of a load balancer goes with the type that asked for it.
    if (text(spec, 'type') !== 'LoadBalancer' && text(before, 'type') === 'LoadBalancer') {
      service.status = { ...objectAt(service, 'status'), loadBalancer: {} };
    }
  },
  prepareForStatusUpdate: keepSpec,
  warnings: serviceWarnings,
  validateStatusUpdate: (service) =>
    text(objectAt(service, 'spec'), 'type') !== 'LoadBalancer' &&
    objectsOf(objectAt(service, 'status', 'loadBalancer'), 'ingress').length > 0
      ? [
          forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'"),
          ...loadBalancerProblems(service),
        ]
      : loadBalancerProblems(service),
  validate: (service) => validateServiceSpec(objectAt(service, 'spec') ?? {}),
  validateUpdate: (service, old) =>
    validateServiceSpecUpdate(objectAt(service, 'spec') ?? {}, objectAt(old, 'spec') ?? {}),
  allocate(service, old, lookup) {
    if (old !== undefined && deepEqual(service.spec, old.spec)) return;
    allocateService(service, old, lookup);
  },
});

/** Fields that say nothing for a service of its kind. */
function serviceWarnings(service: KubeObject): string[] {
  const spec = objectAt(service, 'spec');
  const type = text(spec, 'type');
  const external = strings(spec, 'externalIPs').length > 0;
  const ignored: string[] = [];
  if (text(spec, 'clusterIP') === 'None') {
    if (text(spec, 'loadBalancerIP') !== '') ignored.push('spec.loadBalancerIP');
    if (external) ignored.push('spec.externalIPs');
    if (text(spec, 'sessionAffinity') === 'ClientIP') ignored.push('spec.SessionAffinity');
  }
  const warnings = ignored.map((field) => `${field} is ignored for headless services`);
  if (type === 'ExternalName' && external)
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (type !== 'ExternalName' && text(spec, 'externalName') !== '')
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  return [...addressWarnings(service), ...warnings];
}

const AWARE_HINTS = 'service.kubernetes.io/topology-aware-hints';

/** What is written in a way that is still taken, but will not be for ever. */
function addressWarnings(service: KubeObject): string[] {
  const spec = objectAt(service, 'spec');
  const warnings =
    service.metadata.annotations?.[AWARE_HINTS] === undefined
      ? []
      : [`annotation ${AWARE_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`];
  const addresses = [
    ...strings(spec, 'clusterIPs').map((ip, index) => [`spec.clusterIPs[${index}]`, ip] as const),
    ...strings(spec, 'externalIPs').map((ip, index) => [`spec.externalIPs[${index}]`, ip] as const),
    ['spec.loadBalancerIP', text(spec, 'loadBalancerIP')] as const,
  ];
  for (const [path, address] of addresses) {
    if (address === '' || address === 'None') continue;
    const why = isIP(address) === 0 ? addressProblem(address) : undefined;
    if (why !== undefined)
      warnings.push(
        `${path}: IP address was accepted, but will be invalid in a future Kubernetes release: ParseAddr(${JSON.stringify(address)}): ${why}`,
      );
    // Addresses with zones, which only a load balancer may be asked for, have no form of their own.
    else if (address.includes(':') && !address.includes('%') && canonical(address) !== address)
      warnings.push(
        `${path}: IPv6 address ${JSON.stringify(address)} is not in RFC 5952 canonical format (${JSON.stringify(canonical(address))}), which may cause controller apply-loops`,
      );
  }
  return warnings;
}

function addressProblem(address: string): string {
  return ipFamily(address) === 4 ? 'IPv4 field has octet with leading zero' : 'unable to parse IP';
}

function canonical(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
