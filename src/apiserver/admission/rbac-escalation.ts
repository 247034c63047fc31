import { bindingEscalation, type RbacAuthorizer, roleEscalation } from '../auth/index.ts';
import type { AdmissionPlugin } from './plugin.ts';

/** Nobody grants more than they hold. */
export function rbacEscalation(authorizer: RbacAuthorizer): AdmissionPlugin {
  return {
    name: 'RbacEscalation',
    validate({ operation, scope, object, old }): void {
      const { group, resource } = scope.resource;
      if (group !== 'rbac.authorization.k8s.io' || operation === 'DELETE' || object === undefined) return;
      const check = resource === 'roles' || resource === 'clusterroles' ? roleEscalation : bindingEscalation;
      const refusal = check(authorizer, scope.user, scope.cluster, object, old);
      if (refusal) throw refusal;
    },
  };
}
