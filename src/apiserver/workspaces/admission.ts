import { asJson } from '../../kube/object.ts';
import { badRequest } from '../../kube/status-error.ts';
import { isObject } from '../../schema/json.ts';
import type { AdmissionPlugin } from '../admission/index.ts';
import { forbiddenStatus } from '../admission/index.ts';
import { type Authorizer, parseServiceAccount, resourceAttributes } from '../auth/index.ts';
import { isClusterName } from '../request/index.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { childCluster } from './child-cluster.ts';
import {
  API_BINDINGS,
  API_EXPORTS,
  type ApiBindingObject,
  BINDING_FINALIZER,
  type Reference,
  TENANCY_GROUP,
  TENANCY_VERSION,
  WORKSPACE_FINALIZER,
  WORKSPACE_TYPES,
  WORKSPACES,
  type Workspace,
} from './kinds.ts';

/**
 * What a Workspace says of its owner is what the server knows; and types and exports of other logical clusters are there for
 * whoever holds the verbs `use` and `bind` on them, in that cluster.
 */
export function tenancyAdmission(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'Tenancy',
    mutate(request) {
      const { resource, subresource } = request.scope;
      if (resource.group !== TENANCY_GROUP || subresource !== undefined || request.object === undefined)
        return;
      if (resource.resource === WORKSPACES) {
        setOwner(request);
        if (request.operation === 'CREATE') addFinalizer(request, WORKSPACE_FINALIZER);
      } else if (resource.resource === API_BINDINGS && request.operation === 'CREATE')
        addFinalizer(request, BINDING_FINALIZER);
    },
    validate(request) {
      const { scope, operation, object } = request;
      if (scope.resource.group !== TENANCY_GROUP || operation !== 'CREATE' || object === undefined) return;
      if (scope.resource.resource === WORKSPACES) {
        const name = childCluster(scope.cluster, request.name);
        if (request.name.includes('.') || !isClusterName(name))
          throw badRequest(`${JSON.stringify(name)} cannot be the name of a logical cluster`);
        const { type } = (object as Workspace).spec ?? {};
        if (type) mayRefer(request, 'use', WORKSPACE_TYPES, type);
      } else if (scope.resource.resource === API_BINDINGS) {
        const reference = (object as ApiBindingObject).spec?.export;
        if (reference) mayRefer(request, 'bind', API_EXPORTS, reference);
      }
    },
  };

  function mayRefer(request: AdmissionRequest, verb: string, resource: string, reference: Reference): void {
    const { scope, name } = request;
    const { user } = scope;
    const cluster = reference.cluster ?? scope.cluster;
    const refuse = (why: string): Error =>
      forbiddenStatus(scope.resource.group, scope.resource.resource, name, why);
    // The same name in another logical cluster is somebody else.
    if (cluster !== scope.cluster && parseServiceAccount(user.name) !== undefined)
      throw refuse('service accounts mean nothing in other logical clusters');
    const { allowed } = authorizer.authorize(
      resourceAttributes(user, cluster, {
        verb,
        group: TENANCY_GROUP,
        version: TENANCY_VERSION,
        resource,
        name: reference.name,
      }),
    );
    if (!allowed)
      throw refuse(
        `${JSON.stringify(user.name)} lacks the verb ${verb} on ${resource} ${JSON.stringify(reference.name)} of the logical cluster ${JSON.stringify(cluster)}`,
      );
  }
}

function setOwner({ object, old, operation, scope }: AdmissionRequest): void {
  if (object === undefined) return;
  const { spec } = asJson(object);
  const { owner: _given, ...rest } = isObject(spec) ? spec : {};
  const owner =
    operation === 'CREATE' ? { username: scope.user.name } : (old as Workspace | undefined)?.spec?.owner;
  asJson(object).spec = { ...rest, ...(owner === undefined ? {} : { owner: { ...owner } }) };
}

function addFinalizer({ object }: AdmissionRequest, finalizer: string): void {
  if (object === undefined) return;
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
}
