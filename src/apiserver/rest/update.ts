import { asJson, asObject, type KubeObject } from '../../kube/object.ts';
import { badRequest, conflict, failure, invalid, notFound } from '../../kube/status-error.ts';
import { settleTimes } from '../../schema/apply/index.ts';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { numberProblem } from '../request/index.ts';
import { commit, type Decision } from './commit.ts';
import { bindNamespace, prepareCreate, repeatable } from './create.ts';
import { afterwards } from './decision.ts';
import { gone } from './delete.ts';
import { setNextGeneration } from './generation.ts';
import { dedupeOwners, tidyMetadata } from './metadata.ts';
import { hasSubresource, type Scope, strategyContext, type WriteOptions, type Written } from './scope.ts';
import { track } from './tracking.ts';
import { allocate, validateUpdate } from './validation.ts';
import { viewOf } from './view.ts';

const STALE = 'the object has been modified; please apply your changes to the latest version and try again';

/** Subresources whose handlers have changed nothing but what they are for, so there is nothing to restore. */
const NARROW: ReadonlySet<string> = new Set(['finalize', 'approval', 'resize', 'ephemeralcontainers']);

/** Replaces an object by a decoded one (PUT). Creates it where the kind allows that. */
export function update(
  scope: Scope,
  name: string,
  object: KubeObject,
  options: WriteOptions,
): Promise<Written> {
  const { resource } = scope;
  bindNamespace(scope, object);
  if (!object.metadata.name)
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (object.metadata.name !== name)
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`,
    );
  const original = repeatable(scope, object);
  return commit(scope, name, options.dryRun, (current): Decision => {
    const object = original();
    const { uid } = object.metadata;
    const liveUid = current?.object.metadata.uid ?? '';
    if (uid && uid !== liveUid)
      throw conflict(
        resource.group,
        resource.resource,
        name,
        `StorageError: invalid object, Code: 4, Key: ${registryKey(scope, name)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${liveUid}`,
      );
    if (!current) {
      if (!resource.strategy.allowCreateOnUpdate || scope.subresource !== undefined)
        throw notFound(resource.group, resource.resource, name);
      delete object.metadata.resourceVersion;
      scope.mayCreate?.();
      return prepareCreate(scope, object, options);
    }
    if (isUnconditional(object) && !resource.strategy.allowUnconditionalUpdate)
      // Told of the resource, not of the kind, as upstream's storage does.
      throw invalid(resource.group, resource.resource, name, [
        {
          type: 'Invalid',
          path: 'metadata.resourceVersion',
          valueText: '0x0',
          detail: 'must be specified for an update',
        },
      ]);
    return prepareUpdate(scope, object, viewOf(resource, current).object, options);
  });
}

/**
 * Everything between decoding and storing for an object that exists: what clients may not change is restored, managers
 * are tracked, the generation is set, all is validated. `applied` objects have their managedFields already.
 */
export function prepareUpdate(
  scope: Scope,
  given: KubeObject,
  live: KubeObject,
  options: WriteOptions,
  applied: boolean = false,
): Decision {
  const { resource, server, subresource } = scope;
  const { strategy } = resource;
  const name = live.metadata.name ?? '';
  const now = server.runtime.clock.now();
  let object = given;
  checkPreconditions(scope, object, live);
  restoreMetadata(object, live);
  const repeated = dedupeOwners(object, options.byPatch);
  if (repeated !== undefined) scope.warn(repeated);
  const status = subresource?.name === 'status';
  if (!applied) object = track(scope, object, live, options);

  const context = strategyContext(scope, now);
  if (status) {
    object = keepAllButStatus(scope, object, live);
    strategy.prepareForStatusUpdate?.(object, live, context);
  } else if (subresource !== undefined && NARROW.has(subresource.name)) {
    strategy.prepareForSubresource?.(subresource.name, object, live, context);
  } else {
    if (hasSubresource(resource, 'status')) copyField('status', live, object);
    strategy.prepareForUpdate?.(object, live, context);
  }
  const updated = object;
  const request = {
    operation: 'UPDATE' as const,
    scope,
    name,
    object: updated,
    old: live,
    dryRun: options.dryRun,
    options,
  };
  const { admission } = server;
  const asked = admission.mutate(request);
  return afterwards(asked, () => {
    // Webhooks change whole objects, whatever part of it this request may write.
    if (asked !== undefined) keepOtherPart(scope, updated, live);
    if (status) restoreGeneration(updated, live);
    else setNextGeneration(resource, updated, live);
    if (!status) allocate(scope, updated, live, options.dryRun);
    tidyMetadata(updated);
    validateUpdate(resource, updated, live, subresource?.name, scope.warn);
    // Of a write of the status nothing is said of the rest.
    if (!status) for (const text of strategy.warnings?.(updated, live) ?? []) scope.warn(text);
    const decide = (): Decision => {
      if (!resource.custom) bringIntoForm(asJson(updated), resource.type, true);

      if (live.metadata.resourceVersion !== undefined)
        updated.metadata.resourceVersion = live.metadata.resourceVersion;
      if (gone(updated)) return { action: 'delete', object: updated };
      const settled = asObject(settleTimes(asJson(live), asJson(updated)));
      return deepEqual(settled, live)
        ? { action: 'keep' }
        : { action: 'put', object: settled, ...admission.charge(request) };
    };
    return afterwards(admission.validate(request), decide, updated);
  });
}

/** Whether whatever is there is to be replaced: 0 is the version of nothing. */
function isUnconditional({ metadata: { resourceVersion } }: KubeObject): boolean {
  return resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0';
}

function checkPreconditions(scope: Scope, object: KubeObject, live: KubeObject): void {
  const { group, resource } = scope.resource;
  const name = live.metadata.name ?? '';
  const { resourceVersion } = object.metadata;
  const problem = resourceVersion ? numberProblem(resourceVersion) : undefined;
  if (problem !== undefined) throw failure(500, '', problem);
  if (resourceVersion && resourceVersion !== '0' && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(group, resource, name, STALE);
}

/** What a client may leave out and never change; changing it is refused by validation later. */
function restoreMetadata(object: KubeObject, live: KubeObject): void {
  const { metadata } = object;
  const old = live.metadata;
  if (old.uid !== undefined && !metadata.uid) metadata.uid = old.uid;
  if (old.creationTimestamp) metadata.creationTimestamp = old.creationTimestamp;
  restoreGeneration(object, live);
  if (!metadata.deletionTimestamp) {
    if (old.deletionTimestamp === undefined) delete metadata.deletionTimestamp;
    else metadata.deletionTimestamp = old.deletionTimestamp;
  }
  if (old.deletionGracePeriodSeconds !== undefined && metadata.deletionGracePeriodSeconds === undefined)
    metadata.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
}

function restoreGeneration(object: KubeObject, live: KubeObject): void {
  if (live.metadata.generation === undefined) delete object.metadata.generation;
  else object.metadata.generation = live.metadata.generation;
}

/** A `/status` write: custom resources take nothing but status; built-ins keep spec and let metadata through. */
function keepAllButStatus(scope: Scope, object: KubeObject, live: KubeObject): KubeObject {
  if (!scope.resource.custom) {
    copyField('spec', live, object);
    return object;
  }
  const next = clone(live);
  if (object.status === undefined) delete next.status;
  else next.status = object.status;
  if (object.metadata.managedFields === undefined) delete next.metadata.managedFields;
  else next.metadata.managedFields = object.metadata.managedFields;
  return next;
}

/** Built-in resources whose name in messages about storage is not their own. */
const REGISTRY_NAMES: Readonly<Record<string, string>> = {
  endpoints: 'services/endpoints',
  services: 'services/specs',
  nodes: 'minions',
  replicationcontrollers: 'controllers',
  'networking.k8s.io/ingresses': 'ingress',
};

/** Where other servers keep an object: messages name it. */
function registryKey(scope: Scope, name: string): string {
  const { resource } = scope;
  const { group } = resource;
  const own = REGISTRY_NAMES[group === '' ? resource.resource : `${group}/${resource.resource}`];
  const separate = resource.custom || group === 'apiextensions.k8s.io' || group === 'apiregistration.k8s.io';
  const kept = own ?? (separate ? `${group}/${resource.resource}` : resource.resource);
  return `/registry/${kept}/${resource.namespaced ? `${scope.namespace}/` : ''}${name}`;
}

/** Restores in place what a write of the object, or of its status, does not reach. */
function keepOtherPart(scope: Scope, object: KubeObject, live: KubeObject): void {
  const { resource, subresource } = scope;
  if (subresource?.name !== 'status') {
    if (hasSubresource(resource, 'status')) copyField('status', live, object);
    return;
  }
  const kept = keepAllButStatus(scope, object, live);
  for (const field of Object.keys(object)) if (!(field in kept)) delete object[field];
  Object.assign(object, kept);
}

function copyField(field: string, from: KubeObject, to: KubeObject): void {
  if (from[field] === undefined) delete to[field];
  else to[field] = clone(from[field]);
}
