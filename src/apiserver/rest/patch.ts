import { asJson, asObject, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { badRequest, failure, invalid, notFound, StatusError } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import { applyObject, formatConflicts, formatErrors } from '../../schema/apply/index.ts';
import { clone, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { applyJsonPatch } from '../../schema/json-patch.ts';
import { applyMergePatch } from '../../schema/merge-patch.ts';
import type { TypeSchema } from '../../schema/open-api-schema.ts';
import { PatchError } from '../../schema/patch-error.ts';
import { prune } from '../../schema/prune.ts';
import { applyStrategicMergePatch } from '../../schema/strategic-merge-patch.ts';
import {
  type Body,
  objectBody,
  parseJsonBody,
  parseYamlBody,
  unsupportedMediaType,
} from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { commit, type Decision } from './commit.ts';
import { prepareCreate } from './create.ts';
import { decodeObject, reportStrict } from './decode.ts';
import { coerceMetadata } from './metadata.ts';
import type { Scope, WriteOptions, Written } from './scope.ts';
import { otherVersion } from './tracking.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

/** A patch as it arrived. */
export type Patch =
  | { readonly type: 'json' | 'merge' | 'strategic'; readonly body: Body }
  | { readonly type: 'apply'; readonly body: Body; readonly force: boolean };

const PATCH_TYPES: Readonly<Record<string, Patch['type']>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};
const MAX_OPERATIONS = 10_000;

/** The patch types that a resource takes, as 415 lists them. */
function acceptedTypes(resource: Resource): string {
  return Object.keys(PATCH_TYPES)
    .filter((type) => !resource.custom || PATCH_TYPES[type] !== 'strategic')
    .join(', ');
}

/** Reads a patch body. Throws 400, 413 or 415. */
export function decodePatch(
  resource: Resource,
  contentType: string,
  bytes: Uint8Array | undefined,
  force: boolean | undefined,
): Patch {
  const type = PATCH_TYPES[contentType];
  if (type === undefined || (type === 'strategic' && resource.custom))
    throw unsupportedMediaType(acceptedTypes(resource));
  const body = bytes ?? new Uint8Array();
  if (type === 'apply') return { type, body: parseYamlBody(body), force: force ?? false };
  if (force)
    throw invalid('meta.k8s.io', 'PatchOptions', '', [
      { type: 'Forbidden', path: 'force', detail: 'may not be specified for non-apply patch' },
    ]);
  const parsed = parseJsonBody(body);
  if (type === 'json' && Array.isArray(parsed.value) && parsed.value.length > MAX_OPERATIONS)
    throw failure(
      413,
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${parsed.value.length}`,
    );
  return { type, body: parsed };
}

/** The value that a patch makes of `live` (which is not changed). */
export function patchedValue(live: JsonObject, patch: Patch, type: TypeSchema): JsonObject {
  let result: JsonValue;
  try {
    switch (patch.type) {
      case 'json':
        result = applyJsonPatch(clone(live), patch.body.value);
        break;
      case 'merge':
        result = applyMergePatch(clone(live), objectBody(patch.body, 'merge patch'));
        break;
      case 'strategic':
        result = applyStrategicMergePatch(clone(live), objectBody(patch.body, 'strategic merge patch'), type);
        break;
      default:
        throw badRequest('an apply patch is not accepted here');
    }
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.reason === 'Malformed') throw badRequest(error.message);
    if (error.reason === 'TooLarge')
      throw failure(413, 'RequestEntityTooLarge', `Request entity too large: ${error.message}`);
    // What clients know of a patch that does not fit is this one sentence; the cause says what did not.
    throw failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {
      causes: [{ message: error.message }],
    });
  }
  if (!isObject(result)) throw badRequest('the patch does not leave an object');
  return result;
}

/** Patches an object; only an apply creates it when it is absent. */
export function patch(scope: Scope, name: string, change: Patch, options: WriteOptions): Promise<Written> {
  if (change.type === 'apply') return apply(scope, name, change.body, change.force, options);
  const { resource } = scope;
  return commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound(resource.group, resource.resource, name);
    const live = viewOf(resource, current).object;
    const value = patchedValue(live as unknown as JsonObject, change, resource.type);
    const text = options.fieldValidation === 'Strict' ? JSON.stringify(value) : '';
    checkIdentity(value, live);
    const { object, strict } = decodeObject(resource, value, change.body.duplicates);
    if (strict.length > 0 && options.fieldValidation === 'Strict')
      throw invalidPatch(text, `strict decoding error: ${strict.join(', ')}`);
    reportStrict(resource, strict, options.fieldValidation, scope.warn);
    return prepareUpdate(scope, object, live, options);
  });
}

function invalidPatch(value: string, detail: string): Error {
  const error = invalid('', '', '', [{ type: 'Invalid', path: 'patch', value, detail }]);
  return new StatusError({ ...error.status, message: (error.status.message ?? '').trimStart() });
}

/** A patch may not make another object of it. */
function checkIdentity(value: JsonObject, live: KubeObject): void {
  const metadata = isObject(value.metadata) ? value.metadata : {};
  for (const field of ['name', 'namespace'] as const) {
    const given = metadata[field];
    if (given === undefined || given === null || given === '') metadata[field] = live.metadata[field];
    else if (given !== live.metadata[field])
      throw badRequest(
        `the ${field} of the object (${String(given)}) does not match the ${field} on the URL (${live.metadata[field] ?? ''})`,
      );
  }
  value.metadata = metadata;
}

/** Server-side apply. */
function apply(
  scope: Scope,
  name: string,
  body: Body,
  force: boolean,
  options: WriteOptions,
): Promise<Written> {
  const { resource, server } = scope;
  const applied = clone(objectBody(body, resource.kind));
  checkApplied(scope, applied, name);
  const unknown = [...coerceMetadata(applied), ...prune(applied, resource.type, { isResourceRoot: true })];
  const strict = [
    ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...body.duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
  ];
  if (strict.length > 0 && options.fieldValidation === 'Strict')
    throw badRequest(`error strict decoding YAML: ${strict.join(', ')}`);
  reportStrict(resource, strict, options.fieldValidation, scope.warn);
  const status = scope.subresource?.name === 'status';

  return commit(scope, name, options.dryRun, (current): Decision => {
    if (!current && scope.subresource !== undefined) throw notFound(resource.group, resource.resource, name);
    const live = current ? viewOf(resource, current).object : undefined;
    const config = asObject(applied);
    if (!live && config.metadata.uid)
      throw failure(
        409,
        'Conflict',
        `Operation cannot be fulfilled on ${resource.resource} ${JSON.stringify(name)}: uid mismatch: the provided object specified uid ${config.metadata.uid}, and no existing object was found`,
        { name, kind: resource.resource },
      );
    const result = applyObject({
      live: live && asJson(live),
      applied,
      manager: options.fieldManager,
      force,
      ...(scope.subresource ? { subresource: scope.subresource.name } : {}),
      apiVersion: formatApiVersion(resource.group, resource.version),
      time: formatTime(server.runtime.clock.now()),
      type: resource.type,
      typeOf: (apiVersion) => otherVersion(scope, apiVersion),
      resetFields: status ? resource.strategy.resetFields.status : resource.strategy.resetFields.main,
    });
    if ('errors' in result) throw badRequest(formatErrors(applied, result.errors));
    if ('conflicts' in result) {
      const { message, causes } = formatConflicts(result.conflicts);
      throw failure(409, 'Conflict', message, { causes: [...causes] });
    }
    const { object } = decodeObject(resource, clone(result.object));
    if (live) return prepareUpdate(scope, object, live, options, true);
    scope.mayCreate?.();
    return { action: 'put', object: prepareCreate(scope, object, options, true) };
  });
}

function checkApplied(scope: Scope, applied: JsonObject, name: string): void {
  const { resource } = scope;
  const expected = formatApiVersion(resource.group, resource.version);
  if (applied.apiVersion !== expected)
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${String(applied.apiVersion ?? '')}, expected: ${expected}`,
    );
  if (applied.kind !== resource.kind)
    throw badRequest(
      `invalid object type: ${expected}, Kind=${String(applied.kind ?? '')}; expected ${resource.kind}`,
    );
  const metadata = isObject(applied.metadata) ? applied.metadata : {};
  applied.metadata = metadata;
  const managed = metadata.managedFields;
  if (managed !== undefined && managed !== null && !(Array.isArray(managed) && managed.length === 0))
    throw badRequest('metadata.managedFields must be nil');
  if (metadata.name === undefined || metadata.name === null) metadata.name = name;
  else if (metadata.name !== name)
    throw badRequest(
      `the name of the object (${String(metadata.name)}) does not match the name on the URL (${name})`,
    );
  const namespace = metadata.namespace;
  if (!resource.namespaced) return;
  if (namespace === undefined || namespace === null || namespace === '') metadata.namespace = scope.namespace;
  else if (namespace !== scope.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}
