import { asJson, asObject, formatApiVersion, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { type OtherVersion, trackUpdate } from '../../schema/apply/index.ts';
import type { JsonObject } from '../../schema/json.ts';
import type { Scope, WriteOptions } from './scope.ts';

/** Another version of the scope's resource, for managers that wrote in it; conversion changes nothing but `apiVersion`. */
export function otherVersion(scope: Scope, apiVersion: string): OtherVersion | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  if (group !== scope.resource.group) return undefined;
  const resource = scope.server.resources(scope.cluster).find(group, version, scope.resource.resource);
  return resource && { type: resource.type, convert: (object) => ({ ...object, apiVersion }) };
}

/** Paths that a writer of what the scope is about never comes to own. */
export function resetFieldsOf({ resource, subresource }: Scope): JsonObject {
  const { main, status, approval = main } = resource.strategy.resetFields;
  if (subresource?.name === 'status') return status;
  return subresource?.name === 'approval' ? approval : main;
}

/** `object` with managedFields as they are after this create or update. */
export function track(
  scope: Scope,
  object: KubeObject,
  live: KubeObject | undefined,
  options: WriteOptions,
): KubeObject {
  const { resource, server, subresource } = scope;
  const subject =
    live === undefined || subresource === undefined || live.metadata.managedFields === undefined
      ? object
      : // Writers of subresources cannot reset the record.
        { ...object, metadata: { ...object.metadata, managedFields: live.metadata.managedFields } };
  return asObject(
    trackUpdate({
      live: live && asJson(live),
      updated: asJson(subject),
      manager: options.fieldManager,
      ...(subresource ? { subresource: subresource.name } : {}),
      apiVersion: formatApiVersion(resource.group, resource.version),
      time: formatTime(server.runtime.clock.now()),
      type: resource.type,
      typeOf: (apiVersion) => otherVersion(scope, apiVersion),
      resetFields: resetFieldsOf(scope),
      checked: resource.custom,
    }),
  );
}
