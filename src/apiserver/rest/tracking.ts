import { asJson, asObject, formatApiVersion, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { type OtherVersion, trackUpdate } from '../../schema/apply/index.ts';
import { clone, type JsonObject } from '../../schema/json.ts';
import type { Resource } from '../resource.ts';
import type { Scope, WriteOptions } from './scope.ts';

/** Another version of the scope's resource, for managers that wrote in it. */
export function otherVersion(scope: Scope, apiVersion: string): OtherVersion | undefined {
  const lookup = (name: unknown): Resource | undefined => {
    if (typeof name !== 'string') return undefined;
    const { group, version } = parseApiVersion(name);
    if (group !== scope.resource.group) return undefined;
    return scope.server.resources(scope.cluster).find(group, version, scope.resource.resource);
  };
  const resource = lookup(apiVersion);
  return (
    resource && {
      type: resource.type,
      convert: (object) => inVersion(object, lookup(object.apiVersion), resource, apiVersion),
    }
  );
}

/** Conversion changes nothing but `apiVersion` of most kinds; some have other forms in other versions. */
function inVersion(
  object: JsonObject,
  from: Resource | undefined,
  to: Resource,
  apiVersion: string,
): JsonObject {
  const { storedForm: own } = from?.strategy ?? {};
  const { storedForm: other } = to.strategy;
  if (object.apiVersion === apiVersion || (own === undefined && other === undefined))
    return { ...object, apiVersion };
  const copy = asObject(clone(object));
  const stored = own?.to(copy) ?? copy;
  return { ...asJson(other?.from(stored) ?? stored), apiVersion };
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
