import { failure, notFound } from '../../kube/status-error.ts';
import type { Resource } from '../resource.ts';
import type { Scope } from '../rest/scope.ts';
import type { AdmissionPlugin } from './plugin.ts';

/** No instances are created while their definition is being deleted. */
export function terminatingDefinition(
  isTerminating: (cluster: string, resource: Resource) => boolean,
): AdmissionPlugin {
  function check({ resource, cluster }: Scope): void {
    if (!resource.custom || !isTerminating(cluster, resource)) return;
    throw failure(
      405,
      'MethodNotAllowed',
      'create not allowed while custom resource definition is terminating',
      { group: resource.group, kind: resource.resource },
    );
  }
  return {
    name: 'TerminatingDefinition',
    validate({ operation, scope }): void {
      if (operation === 'CREATE') check(scope);
    },
    place(scope, name): void {
      const { resource, cluster, server } = scope;
      check(scope);
      if (resource.custom && !server.resources(cluster).stored(resource.group, resource.resource))
        throw notFound(resource.group, resource.resource, name);
    },
  };
}
