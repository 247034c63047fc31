import { failure } from '../../kube/status-error.ts';
import type { Resource } from '../resource.ts';
import type { AdmissionPlugin } from './plugin.ts';

/** No instances are created while their definition is being deleted. */
export function terminatingDefinition(
  isTerminating: (cluster: string, resource: Resource) => boolean,
): AdmissionPlugin {
  return {
    name: 'TerminatingDefinition',
    validate({ operation, scope }): void {
      const { resource, cluster } = scope;
      if (operation !== 'CREATE' || !resource.custom || !isTerminating(cluster, resource)) return;
      throw failure(
        405,
        'MethodNotAllowed',
        'create not allowed while custom resource definition is terminating',
        { group: resource.group, kind: resource.resource },
      );
    },
  };
}
