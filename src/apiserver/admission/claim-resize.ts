import { objectAt, stringAt } from '../../schema/json.ts';
import { compareQuantities, parseQuantity, type Quantity } from '../../schema/quantity.ts';
import { objectKey } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

/** Lets a claim grow only where its storage class says that it may. */
export const claimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  validate({ operation, scope, name, object, old }): void {
    const { resource, subresource, server, cluster } = scope;
    if (operation !== 'UPDATE' || resource.group !== '' || resource.resource !== 'persistentvolumeclaims')
      return;
    if (subresource !== undefined || object === undefined || old === undefined) return;
    const wanted = sizeOf(object);
    const had = sizeOf(old);
    if (wanted === undefined || had === undefined || compareQuantities(wanted, had) <= 0) return;
    if (stringAt(old, 'status', 'phase') !== 'Bound')
      throw forbiddenStatus(
        '',
        resource.resource,
        name,
        'Only bound persistent volume claims can be expanded',
      );
    const className = stringAt(object, 'spec', 'storageClassName');
    const found =
      className === undefined || className === ''
        ? undefined
        : server.store.get(objectKey('storage.k8s.io', 'storageclasses', cluster, '', className))?.object;
    if (found?.allowVolumeExpansion === true) return;
    const why =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
    throw forbiddenStatus('', resource.resource, name, why);
  },
};

function sizeOf(claim: object): Quantity | undefined {
  return parseQuantity(objectAt(claim, 'spec', 'resources', 'requests')?.storage);
}
