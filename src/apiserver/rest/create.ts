import { asJson, type KubeObject } from '../../kube/object.ts';
import { alreadyExists, badRequest, failure, hasCode, StatusError } from '../../kube/status-error.ts';
import { formatTime, nameSuffix, uuid } from '../../runtime/index.ts';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { clone } from '../../schema/json.ts';
import type { StoreRecord } from '../store/store.ts';
import { commit, type Decision } from './commit.ts';
import { afterwards, thenDecide } from './decision.ts';
import { normalizeStored } from './decode.ts';
import { setInitialGeneration } from './generation.ts';
import { dedupeOwners, tidyMetadata } from './metadata.ts';
import { hasSubresource, type Scope, strategyContext, type WriteOptions, type Written } from './scope.ts';
import { track } from './tracking.ts';
import { allocate, validateCreate } from './validation.ts';

const GENERATED_BASE = 58;
const GENERATE_ATTEMPTS = 8;

/** Fills `metadata.namespace` from the URL; 400 when the object says otherwise. */
export function bindNamespace(scope: Scope, object: KubeObject): void {
  const { namespaced } = scope.resource;
  const given = object.metadata.namespace ?? '';
  if (!namespaced) {
    if (given !== '') delete object.metadata.namespace;
    return;
  }
  if (given === '') object.metadata.namespace = scope.namespace;
  else if (given !== scope.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Creates a decoded object, which it owns from here on. Names it when it has only a `generateName`. */
export async function create(scope: Scope, object: KubeObject, options: WriteOptions): Promise<Written> {
  bindNamespace(scope, object);
  const { metadata } = object;
  if ((metadata.resourceVersion ?? '') !== '')
    throw failure(500, '', 'resourceVersion should not be set on objects to be created');
  if (metadata.name) return commitNew(scope, metadata.name, object, options);
  if (!metadata.generateName) return commitNew(scope, '', object, options); // validation names the missing field
  const base = metadata.generateName.slice(0, GENERATED_BASE);
  for (let attempt = 1; ; attempt++) {
    const name = base + nameSuffix(scope.server.runtime.random);
    const candidate = clone(object);
    candidate.metadata.name = name;
    try {
      return await commitNew(scope, name, candidate, options);
    } catch (error) {
      if (!hasCode(error, 409) || error.reason !== 'AlreadyExists') throw error;
      if (attempt < GENERATE_ATTEMPTS) continue;
      const status = error.status;
      throw new StatusError({
        ...status,
        message: `${status.message ?? ''}, the server was not able to generate a unique name for the object`,
        details: { ...status.details, retryAfterSeconds: 1 },
      });
    }
  }
}

function commitNew(scope: Scope, name: string, object: KubeObject, options: WriteOptions): Promise<Written> {
  if (name === '') {
    // Nothing can be looked up without a name: refuse by validation, which lists all problems.
    prepareCreate(scope, object, options);
    throw badRequest('name or generateName is required');
  }
  const original = repeatable(scope, object);
  return commit(scope, name, options.dryRun, (current): Decision => {
    // What is wrong with the object is said before that there is one already.
    return thenDecide(prepareCreate(scope, original(), options), (decision) => {
      if (current === undefined) return decision;
      if (decision.action === 'put') decision.release?.();
      throw exists(scope, name, current);
    });
  });
}

/** Gives `object` as it came, for each time that a write is decided on: a copy where that may be more than once. */
export function repeatable(scope: Scope, object: KubeObject): () => KubeObject {
  return scope.server.admission.mayWait(scope) ? () => clone(object) : () => object;
}

function exists(scope: Scope, name: string, current: StoreRecord): Error {
  const error = alreadyExists(scope.resource.group, scope.resource.resource, name);
  if (current.object.metadata.deletionTimestamp === undefined) return error;
  return new StatusError({ ...error.status, message: `object is being deleted: ${error.message}` });
}

/** Everything between decoding and storing for an object that does not exist yet. `applied` keeps its managedFields. */
export function prepareCreate(
  scope: Scope,
  given: KubeObject,
  options: WriteOptions,
  applied: boolean = false,
): Decision {
  const { resource, server } = scope;
  const { clock, random } = server.runtime;
  const now = clock.now();
  let object = given;
  wipe(object.metadata);
  const repeated = dedupeOwners(object, options.byPatch);
  if (repeated !== undefined) scope.warn(repeated);
  if (!applied) object = track(scope, object, undefined, options);
  const hasNoStatus = hasSubresource(resource, 'status') && !resource.strategy.keepsStatusOnCreate;
  if (hasNoStatus) delete object.status;
  const request = {
    operation: 'CREATE' as const,
    scope,
    name: object.metadata.name ?? '',
    object,
    old: undefined,
    dryRun: options.dryRun,
    options,
  };
  const { admission } = server;
  return afterwards(admission.mutate(request), () => {
    if (hasNoStatus) {
      delete object.status;
      // A status that its schema gives is there when the object is read.
      if (resource.custom) normalizeStored(resource, object);
    }
    object.metadata.uid = uuid(random);
    object.metadata.creationTimestamp = formatTime(now);
    setInitialGeneration(resource, object);
    resource.strategy.prepareForCreate?.(object, strategyContext(scope, now));
    allocate(scope, object, undefined, options.dryRun);
    tidyMetadata(object);
    validateCreate(resource, object);
    for (const text of resource.strategy.warnings?.(object, undefined) ?? []) scope.warn(text);
    const decide = (): Decision => {
      // Strategies and plugins may have added what has fields that are always there.
      if (!resource.custom) bringIntoForm(asJson(object), resource.type, true);
      return { action: 'put', object, ...admission.charge(request) };
    };
    return afterwards(admission.validate(request), decide, object);
  });
}

/** What only the server may set. */
export function wipe(metadata: KubeObject['metadata']): void {
  delete metadata.uid;
  delete metadata.resourceVersion;
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
}
