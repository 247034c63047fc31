import type { KubeObject } from '../../kube/object.ts';
import { conflict, notFound, type Status } from '../../kube/status-error.ts';
import { formatTime, parseTime } from '../../runtime/index.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import type { DeleteQuery } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { commit, type Decision } from './commit.ts';
import { afterwards } from './decision.ts';
import { raiseForDeletion } from './generation.ts';
import { type Scope, strategyContext, type Written } from './scope.ts';
import { viewOf } from './view.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** Names in `spec.finalizers` of a Namespace, which block it like metadata's. */
function specFinalizers(object: KubeObject): readonly unknown[] {
  if (object.kind !== 'Namespace' || object.apiVersion !== 'v1') return [];
  const spec = object.spec as { finalizers?: unknown[] } | undefined;
  return spec?.finalizers ?? [];
}

/** Whether an object that is being deleted has nothing left to wait for. */
export function gone(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    (deletionGracePeriodSeconds ?? 0) === 0 &&
    (finalizers?.length ?? 0) === 0 &&
    specFinalizers(object).length === 0
  );
}

/** Says that what a Job has made outlives it, whether or not there is such a Job. */
export function warnOfOrphans(scope: Scope, options: DeleteQuery): void {
  const { kind, strategy } = scope.resource;
  if (kind !== 'Job' || strategy.defaultPropagation !== 'Orphan' || options.propagation !== undefined) return;
  scope.warn(
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  );
}

/**
 * Deletes an object, or marks it as being deleted while finalizers or a grace period hold it. The outcome is `deleted`
 * only when it has gone. `asked` is the name that the request has: that of a collection has none.
 */
export function remove(
  scope: Scope,
  name: string,
  options: DeleteQuery,
  asked: string = name,
): Promise<Written> {
  warnOfOrphans(scope, options);
  return commit(scope, name, options.dryRun, (current): Decision => {
    const { resource, server } = scope;
    if (!current) throw notFound(resource.group, resource.resource, name);
    const live = viewOf(resource, current).object;
    checkPreconditions(resource, live, options);
    const request = {
      operation: 'DELETE' as const,
      scope,
      name: asked,
      object: undefined,
      old: live,
      dryRun: options.dryRun,
      deletion: options,
    };
    const { admission } = server;
    return afterwards(admission.mutate(request), () =>
      afterwards(admission.validate(request), () => decide(scope, live, options)),
    );
  });
}

/** Kinds whose storage checks preconditions itself, and tells of them in its own words. */
function checksItself({ group, resource }: Resource): boolean {
  return (
    (group === '' && resource === 'namespaces') ||
    (group === 'apiextensions.k8s.io' && resource === 'customresourcedefinitions')
  );
}

/** Throws 409 for an object that is not the one that is meant. */
export function checkPreconditions(resource: Resource, live: KubeObject, options: DeleteQuery): void {
  const name = live.metadata.name ?? '';
  const { uid, resourceVersion } = options.preconditions;
  const check = (field: string, wanted: string | undefined, found: string, whatMay: string): void => {
    if (wanted === undefined || wanted === found) return;
    if (checksItself(resource))
      throw conflict(
        resource.group,
        resource.resource,
        name,
        `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${found}`,
      );
    throw conflict(
      resource.storageGroup ?? resource.group,
      resource.kind,
      name,
      `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${found}). The object might have been ${whatMay}`,
    );
  };
  check('UID', uid, live.metadata.uid ?? '', 'deleted and then recreated');
  check('ResourceVersion', resourceVersion, live.metadata.resourceVersion ?? '', 'modified');
}

/** The last second that times can tell, at the end of the year 9999: any longer grace ends then. */
const LAST_TIME_MS = 253_402_300_799_000;

function decide(scope: Scope, live: KubeObject, options: DeleteQuery): Decision {
  const { resource, server } = scope;
  const { strategy } = resource;
  const now = server.runtime.clock.now();
  // What ends in its own time already is let alone, unless it is to end sooner.
  const oldGrace = live.metadata.deletionGracePeriodSeconds ?? 0;
  const isEnding = live.metadata.deletionTimestamp !== undefined && oldGrace > 0;
  const { gracePeriodSeconds } = options;
  if (isEnding && (gracePeriodSeconds === undefined || gracePeriodSeconds >= oldGrace))
    return { action: 'keep' };
  const object = clone(live);
  strategy.prepareForDelete?.(object, strategyContext(scope, now));
  setPropagationFinalizers(scope, object, options);
  const grace = strategy.gracePeriod?.(live, options.gracePeriodSeconds) ?? 0;
  const { metadata } = object;

  if (metadata.deletionTimestamp === undefined) {
    const waits = (metadata.finalizers?.length ?? 0) > 0 || specFinalizers(object).length > 0;
    if (strategy.plainDeletion) metadata.deletionTimestamp = formatTime(now);
    else if (waits || grace > 0 || strategy.gracePeriod) {
      metadata.deletionTimestamp = formatTime(Math.min(now + grace * 1000, LAST_TIME_MS));
      metadata.deletionGracePeriodSeconds = grace;
      raiseForDeletion(object);
    }
    if (grace > 0 || waits) return { action: 'put', object };
    if (strategy.plainDeletion) return { action: 'delete', object, atDeletion: true };
    // It goes as it was, but for what is told its time first.
    return strategy.gracePeriod
      ? { action: 'delete', object, atDeletion: true, marked: true }
      : { action: 'delete', object: clone(live), atDeletion: true };
  }

  if (isEnding && gracePeriodSeconds !== undefined) {
    const began = (parseTime(metadata.deletionTimestamp) ?? now) - oldGrace * 1000;
    metadata.deletionTimestamp = formatTime(Math.max(now, began + gracePeriodSeconds * 1000));
    metadata.deletionGracePeriodSeconds = gracePeriodSeconds;
  }
  // A definition is told its grace when it is deleted once more; a namespace never is.
  if (resource.resource === 'customresourcedefinitions') metadata.deletionGracePeriodSeconds ??= 0;
  if (!gone(object)) return deepEqual(object, live) ? { action: 'keep' } : { action: 'put', object };
  return isEnding
    ? { action: 'delete', object, atDeletion: true, marked: true }
    : { action: 'delete', object: clone(live), atDeletion: true };
}

/** The garbage collector's finalizers, recomputed from the options, else from what is there, else from the kind. */
function setPropagationFinalizers(scope: Scope, object: KubeObject, options: DeleteQuery): void {
  const { strategy } = scope.resource;
  const present = object.metadata.finalizers ?? [];
  let orphan = false;
  let foreground = false;
  if (options.propagation !== undefined) {
    orphan = options.propagation === 'Orphan';
    foreground = options.propagation === 'Foreground';
  } else if (present.includes(ORPHAN)) orphan = true;
  else if (present.includes(FOREGROUND)) foreground = true;
  else if (strategy.defaultPropagation === 'Orphan') orphan = true;
  const kept = present.filter((name) => name !== ORPHAN && name !== FOREGROUND);
  if (orphan) kept.push(ORPHAN);
  if (foreground) kept.push(FOREGROUND);
  if (kept.length > 0) object.metadata.finalizers = kept;
  else delete object.metadata.finalizers;
}

/** The Status that answers a deletion for kinds that do not return the object. */
export function deletedStatus(resource: Resource, object: KubeObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name ?? '',
      ...(resource.group === '' ? {} : { group: resource.group }),
      kind: resource.resource,
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    },
  };
}
