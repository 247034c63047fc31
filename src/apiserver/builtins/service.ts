import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, objectAt } from '../../schema/json.ts';
import { validateDns1035Label } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
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
  validateStatusUpdate: loadBalancerProblems,
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
  return warnings;
}
