import { deepEqual, objectAt } from '../../schema/json.ts';
import { validateDns1035Label } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { ensureObject, text } from './fields.ts';
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
  defaults: (service) => defaultServiceSpec(ensureObject(service, 'spec')),
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
  validate: (service) => validateServiceSpec(objectAt(service, 'spec') ?? {}),
  validateUpdate: (service, old) =>
    validateServiceSpecUpdate(objectAt(service, 'spec') ?? {}, objectAt(old, 'spec') ?? {}),
  allocate(service, old, lookup) {
    if (old !== undefined && deepEqual(service.spec, old.spec)) return;
    allocateService(service, old, lookup);
  },
});
