import type { Resource } from '../resource.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

/** No instances are created while their definition is being deleted. */
export function terminatingDefinition(
  isTerminating: (cluster: string, resource: Resource) => boolean,
): AdmissionPlugin {
  return {
    name: 'TerminatingDefinition',
    validate({ operation, scope, name }): void {
      const { resource, cluster } = scope;
      if (operation !== 'CREATE' || !resource.custom || !isTerminating(cluster, resource)) return;
      throw forbiddenStatus(
        resource.group,
        resource.resource,
        name,
        'create not allowed while custom resource definition is terminating',
      );
    },
  };
}
