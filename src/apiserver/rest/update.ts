import { asJson, asObject, type KubeObject } from '../../kube/object.ts';
import { badRequest, conflict, invalid, notFound } from '../../kube/status-error.ts';
import { settleTimes } from '../../schema/apply/index.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { fillZeroFields } from '../../schema/zero-fields.ts';
import { commit, type Decision } from './commit.ts';
import { bindNamespace, prepareCreate } from './create.ts';
import { gone } from './delete.ts';
import { setNextGeneration } from './generation.ts';
import { DUPLICATE_OWNERS_WARNING, dedupeOwners, tidyMetadata } from './metadata.ts';
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
  if (!object.metadata.name) object.metadata.name = name;
  else if (object.metadata.name !== name)
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`,
    );
  return commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) {
      if (!resource.strategy.allowCreateOnUpdate || scope.subresource !== undefined)
        throw notFound(resource.group, resource.resource, name);
      if (object.metadata.uid)
        throw conflict(
          resource.group,
          resource.resource,
          name,
          `Precondition failed: UID in precondition: ${object.metadata.uid}, UID in object meta: `,
        );
      delete object.metadata.resourceVersion;
      scope.mayCreate?.();
      return { action: 'put', object: prepareCreate(scope, object, options) };
    }
    if (!object.metadata.resourceVersion && !resource.strategy.allowUnconditionalUpdate)
      throw invalid(resource.group, resource.kind, name, [
        {
          type: 'Invalid',
          path: 'metadata.resourceVersion',
          value: 0,
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
  if (dedupeOwners(object)) scope.warn(DUPLICATE_OWNERS_WARNING);
  const status = subresource?.name === 'status';
  if (!applied) object = track(scope, object, live, options);

  const context = strategyContext(scope, now);
  if (status) {
    object = keepAllButStatus(scope, object, live);
    strategy.prepareForStatusUpdate?.(object, live, context);
  } else if (!NARROW.has(subresource?.name ?? '')) {
    if (hasSubresource(resource, 'status')) copyField('status', live, object);
    strategy.prepareForUpdate?.(object, live, context);
  }
  const request = { operation: 'UPDATE' as const, scope, name, object, old: live, dryRun: options.dryRun };
  server.admission.mutate(request);
  if (status) restoreGeneration(object, live);
  else setNextGeneration(resource, object, live);
  if (!status) allocate(scope, object, live);
  tidyMetadata(object);
  validateUpdate(resource, object, live);
  server.admission.validate(request);
  if (!resource.custom) fillZeroFields(asJson(object), resource.type);

  if (gone(object)) return { action: 'delete', object };
  if (live.metadata.resourceVersion !== undefined)
    object.metadata.resourceVersion = live.metadata.resourceVersion;
  object = asObject(settleTimes(asJson(live), asJson(object)));
  return deepEqual(object, live) ? { action: 'keep' } : { action: 'put', object };
}

function checkPreconditions(scope: Scope, object: KubeObject, live: KubeObject): void {
  const { group, resource } = scope.resource;
  const name = live.metadata.name ?? '';
  const { uid, resourceVersion } = object.metadata;
  if (uid && uid !== live.metadata.uid)
    throw conflict(
      group,
      resource,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`,
    );
  if (resourceVersion && resourceVersion !== '0' && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(group, resource, name, STALE);
}

/** What a client may leave out and never change; changing it is refused by validation later. */
function restoreMetadata(object: KubeObject, live: KubeObject): void {
  const { metadata } = object;
  const old = live.metadata;
  if (old.uid !== undefined) metadata.uid = old.uid;
  if (!metadata.creationTimestamp && old.creationTimestamp)
    metadata.creationTimestamp = old.creationTimestamp;
  if (old.generateName !== undefined && metadata.generateName === undefined)
    metadata.generateName = old.generateName;
  restoreGeneration(object, live);
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  else if (!metadata.deletionTimestamp) delete metadata.deletionTimestamp;
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

function copyField(field: string, from: KubeObject, to: KubeObject): void {
  if (from[field] === undefined) delete to[field];
  else to[field] = clone(from[field]);
}
