import { asJson, asObject, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import {
  badRequest,
  failure,
  hasCode,
  internalError,
  invalid,
  notFound,
  StatusError,
} from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import {
  appliedProblems,
  applyObject,
  formatConflicts,
  formatErrors,
  headProblem,
  objectName,
} from '../../schema/apply/index.ts';
import { goValue } from '../../schema/go-value.ts';
import { clone, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { applyJsonPatch } from '../../schema/json-patch.ts';
import { jsonText, plainText } from '../../schema/json-text.ts';
import { applyMergePatch } from '../../schema/merge-patch.ts';
import type { TypeSchema } from '../../schema/open-api-schema.ts';
import { PatchError } from '../../schema/patch-error.ts';
import { applyStrategicMergePatch } from '../../schema/strategic-merge-patch.ts';
import { type Body, parseJsonBody, parseYamlBody, unsupportedMediaType } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { commit, type Decision } from './commit.ts';
import { prepareCreate } from './create.ts';
import { type Decoded, decodeObject, reportStrict } from './decode.ts';
import { patchedText } from './patch-text.ts';
import type { Scope, WriteOptions, Written } from './scope.ts';
import { otherVersion, resetFieldsOf } from './tracking.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

/** A patch as it arrived. */
export type Patch =
  | { readonly type: 'json' | 'merge' | 'strategic'; readonly body: Body }
  | { readonly type: 'apply'; readonly body: Body; readonly force: boolean }
  /** One that cannot be read, which is told of only where there is an object to patch. */
  | { readonly type: 'broken'; readonly error: Error };

const PATCH_TYPES: Readonly<Record<string, Exclude<Patch['type'], 'broken'>>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};
/** What custom resources take, as their 415 lists it. */
const CUSTOM_PATCH_TYPES = Object.keys(PATCH_TYPES)
  .filter((type) => PATCH_TYPES[type] !== 'strategic')
  .join(', ');
const MAX_OPERATIONS = 10_000;

/** Reads a patch body. Throws 400, 413 or 415. */
export function decodePatch(
  resource: Resource,
  contentType: string,
  bytes: Uint8Array | undefined,
  force: boolean | undefined,
): Patch {
  const type = PATCH_TYPES[contentType];
  if (type === undefined || (type === 'strategic' && resource.custom))
    throw resource.custom
      ? unsupportedMediaType(CUSTOM_PATCH_TYPES)
      : failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  const body = bytes ?? new Uint8Array();
  if (type === 'apply') {
    const applied = parseYamlBody(body, (problem) =>
      badRequest(`error decoding YAML: error converting YAML to JSON: ${problem}`),
    );
    return { type, body: applied, force: force ?? false };
  }
  if (force)
    throw invalid('meta.k8s.io', 'PatchOptions', '', [
      { type: 'Forbidden', path: 'force', detail: 'may not be specified for non-apply patch' },
    ]);
  const prefix = type === 'strategic' ? '' : 'error decoding patch: ';
  let parsed: Body;
  try {
    parsed = parseJsonBody(body, (problem) => badRequest(`${prefix}${problem}`));
  } catch (error) {
    if (!(error instanceof StatusError) || !hasCode(error, 400)) throw error;
    return { type: 'broken', error };
  }
  if (type === 'json' && Array.isArray(parsed.value) && parsed.value.length > MAX_OPERATIONS)
    return {
      type: 'broken',
      error: failure(
        413,
        'RequestEntityTooLarge',
        `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${parsed.value.length}`,
      ),
    };
  return { type, body: parsed };
}

/**
 * What `change` makes of `live`. The record of who owns what is most of many objects and of hardly any patch: it is neither copied
 * nor looked at where the patch does not speak of it.
 */
function apartFromOwners(
  live: JsonObject,
  { value }: Body,
  change: (target: JsonObject) => JsonValue,
): JsonValue {
  if (!isObject(live.metadata) || live.metadata.managedFields === undefined || mayTouchOwners(value))
    return change(live);
  const { managedFields, ...metadata } = live.metadata;
  const result = change({ ...live, metadata });
  if (isObject(result) && isObject(result.metadata)) result.metadata.managedFields = managedFields;
  return result;
}

/** Whether a patch names them, or says by a directive what is to become of all that is there. */
function mayTouchOwners(patch: JsonValue): boolean {
  const isDirective = (key: string): boolean => key.startsWith('$');
  if (!isObject(patch) || Object.keys(patch).some(isDirective)) return true;
  const { metadata } = patch;
  return (
    isObject(metadata) && Object.keys(metadata).some((key) => key === 'managedFields' || isDirective(key))
  );
}

/** The value that a patch makes of `live` (which is not changed). */
export function patchedValue(live: JsonObject, patch: Patch, type: TypeSchema): JsonObject {
  if (patch.type === 'broken') throw patch.error;
  let result: JsonValue;
  try {
    switch (patch.type) {
      case 'json':
        if (!Array.isArray(patch.body.value)) throw wrongPatch(patch.body.value, '[]handlers.jsonPatchOp');
        result = applyJsonPatch(clone(live), patch.body.value);
        break;
      case 'merge':
        result = apartFromOwners(live, patch.body, (target) =>
          applyMergePatch(target, patchObject(patch.body, 'error decoding patch: ')),
        );
        break;
      case 'strategic':
        result = apartFromOwners(live, patch.body, (target) =>
          applyStrategicMergePatch(target, patchObject(patch.body, ''), type),
        );
        break;
      default:
        throw badRequest('an apply patch is not accepted here');
    }
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.reason === 'Malformed' && patch.type !== 'json') throw badRequest(error.message);
    if (error.reason === 'Unusable') throw failure(500, '', error.message);
    if (error.reason === 'TooLarge')
      throw failure(413, 'RequestEntityTooLarge', `Request entity too large: ${error.message}`);
    // What clients know of a patch that does not fit is this one sentence, without causes.
    throw failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  if (!isObject(result)) throw badRequest('the patch does not leave an object');
  return result;
}

function patchObject(body: Body, prefix: string): JsonObject {
  if (isObject(body.value)) return body.value;
  if (body.value === null && prefix !== '') throw badRequest('Invalid JSON Patch');
  throw wrongPatch(body.value, 'map[string]interface {}', prefix);
}

function wrongPatch(value: JsonValue, type: string, prefix: string = 'error decoding patch: '): Error {
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return badRequest(`${prefix}json: cannot unmarshal ${found} into Go value of type ${type}`);
}

/** Patches an object; only an apply creates it when it is absent. */
export function patch(scope: Scope, name: string, change: Patch, given: WriteOptions): Promise<Written> {
  const options: WriteOptions = { ...given, byPatch: true };
  if (change.type === 'apply') return apply(scope, name, change.body, change.force, options);
  const { resource } = scope;
  return commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound(resource.group, resource.resource, name);
    if (change.type === 'broken') throw change.error;
    const live = viewOf(resource, current).object;
    const value = patchedValue(live as unknown as JsonObject, change, resource.type);
    // Decoding changes the value, which a refusal quotes as it was: made again for the few that need it.
    const refuse = (why: string): Error => {
      // Of a strategic merge patch it is the patch itself that is quoted, as Go prints values.
      if (change.type === 'strategic') return invalidPatch(goValue(change.body.value), restoring(why));
      const quoted = patchedValue(live as unknown as JsonObject, change, resource.type);
      return invalidPatch(patchedText(quoted, change, resource.type, resource.custom), why);
    };
    if (resource.custom)
      checkCustomHead(resource, value, options.fieldValidation === 'Warn' ? scope.warn : () => {}, refuse);
    checkIdentity(value, live);
    const { object, strict: found } = decodePatched(scope, value, change, refuse);
    const strict = inOrder(found);
    if (strict.length > 0 && options.fieldValidation === 'Strict')
      throw refuse(`strict decoding error: ${strict.join(', ')}`);
    reportStrict(resource, strict, options.fieldValidation, scope.warn);
    return prepareUpdate(scope, object, live, options);
  });
}

/** Decodes what a patch has made. What cannot be decoded is the patch's fault. */
function decodePatched(
  scope: Scope,
  value: JsonObject,
  change: Exclude<Patch, { type: 'broken' }>,
  refuse: (why: string) => Error,
): Decoded {
  const { resource } = scope;
  try {
    return decodeObject(resource, value, change.body.strict, scope.server.resources(scope.cluster));
  } catch (error) {
    if (!hasCode(error, 400)) throw error;
    const prefix = / in version "[^"]*" cannot be handled as a [^:]*: /.exec(error.message);
    throw refuse(prefix ? error.message.slice(prefix.index + prefix[0].length) : error.message);
  }
}

/** What a patch may not make of the head of a custom resource, which has no type that would say what it is. */
function checkCustomHead(
  { group, version, kind }: Resource,
  value: JsonObject,
  warn: (text: string) => void,
  refuse: (why: string) => Error,
): void {
  if (value.kind === undefined || value.kind === null || value.kind === '')
    throw refuse(`Object 'Kind' is missing in '${jsonText(value)}'`);
  const { apiVersion } = value;
  if (apiVersion === undefined || apiVersion === null || apiVersion === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  const expected = formatApiVersion(group, version);
  if (apiVersion === expected || value.kind !== kind) return;
  const name = isObject(value.metadata) ? plainText(value.metadata.name ?? '') : '';
  // Of what is in a version that there is not, nothing is known.
  for (const field of Object.keys(value).sort())
    if (!HEAD.has(field)) warn(`unknown field ${JSON.stringify(field)}`);
  throw invalid(group, kind, name, [
    { type: 'Invalid', path: 'apiVersion', value: apiVersion, detail: `must be ${expected}` },
  ]);
}

const HEAD: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

const KINDS: Readonly<Record<string, string>> = { object: 'map', array: 'slice', number: 'int64' };

/** What does not fit a type, as it is told of values that are no text of JSON. */
function restoring(why: string): string {
  const match = /^json: cannot unmarshal (\w+) into Go (?:struct field \S+|value) of type (.+)$/.exec(why);
  if (match === null) return why;
  const [, source = '', type = ''] = match;
  const kind = KINDS[source] ?? source;
  if (type.startsWith('[]')) return `cannot restore slice from ${kind}`;
  if (type.startsWith('map[')) return `cannot restore map from ${kind}`;
  return type.includes('.') ? `cannot restore struct from: ${kind}` : `unrecognized type: ${type}`;
}

/** What strictness finds in a patched object, whose members are in the order of their names. */
function inOrder(found: readonly string[]): readonly string[] {
  const place = (text: string): string => /^unknown field "(.*)"$/.exec(text)?.[1] ?? '';
  return found.length < 2
    ? found
    : [...found].sort((a, b) => {
        const [left, right] = [place(a), place(b)];
        return left < right ? -1 : left > right ? 1 : 0;
      });
}

function invalidPatch(value: string, detail: string): Error {
  return invalid('', '', '', [{ type: 'Invalid', path: 'patch', value, detail }]);
}

/** A patch may not make another object of it. */
function checkIdentity(value: JsonObject, live: KubeObject): void {
  const metadata = isObject(value.metadata) ? value.metadata : {};
  for (const field of ['name', 'namespace'] as const) {
    const given = metadata[field];
    if (given === undefined || given === null || given === '') metadata[field] = live.metadata[field];
    else if (given !== live.metadata[field])
      throw badRequest(
        field === 'name'
          ? `the name of the object (${plainText(given)}) does not match the name on the URL (${live.metadata.name ?? ''})`
          : 'the namespace of the provided object does not match the namespace sent on the request',
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
  const given = appliedBody(body);
  checkApplied(scope, given, name);
  // Unknown fields need no report of their own: what the schema does not declare cannot be applied.
  const { strict } = body;
  if (strict.length > 0 && options.fieldValidation === 'Strict')
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${strict.join(', ')}`);
  reportStrict(resource, strict, options.fieldValidation, scope.warn);
  const applied = identified(scope, given, name);

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
      given,
      checked: resource.custom,
      manager: options.fieldManager,
      force,
      ...(scope.subresource ? { subresource: scope.subresource.name } : {}),
      apiVersion: formatApiVersion(resource.group, resource.version),
      time: formatTime(server.runtime.clock.now()),
      type: resource.type,
      typeOf: (apiVersion) => otherVersion(scope, apiVersion),
      resetFields: resetFieldsOf(scope),
    });
    // Errors name the object as the body does.
    if ('errors' in result) throw failure(500, '', formatErrors(given, result.errors));
    if ('failure' in result) throw failure(500, '', result.failure);
    if ('conflicts' in result) {
      const { message, causes } = formatConflicts(result.conflicts);
      throw failure(409, 'Conflict', message, { causes: [...causes] });
    }
    // An object that is there has its name.
    if (!live && !isNamed(given))
      throw badRequest(
        `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
      );
    const object = decodeApplied(resource, given, ownCopy(result.object));
    if (live) return prepareUpdate(scope, object, live, options, true);
    scope.mayCreate?.();
    return prepareCreate(scope, object, options, true);
  });
}

/** An applied body; an empty one says nothing. */
function appliedBody({ value }: Body): JsonObject {
  if (value === null) return {};
  if (isObject(value)) return value;
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${found} into Go value of type map[string]interface {}`,
  );
}

/** Decodes what an apply has made. What the schema lets through and the type does not is nobody's fault in particular. */
function decodeApplied(resource: Resource, given: JsonObject, value: JsonObject): KubeObject {
  try {
    return decodeObject(resource, value).object;
  } catch (error) {
    if (resource.custom || !hasCode(error, 400)) throw error;
    const name = objectName(given);
    const prefix = / in version "[^"]*" cannot be handled as a [^:]*: /.exec(error.message);
    const why = prefix ? error.message.slice(prefix.index + prefix[0].length) : error.message;
    const number = /cannot unmarshal number [^ ]* into Go struct field [^ ]+ of type (u?int\d*)$/.exec(why);
    const told = number
      ? `cannot convert float64 to ${number[1]}`
      : why.startsWith('illegal base64')
        ? `error decoding from json: ${why}`
        : why;
    throw failure(
      500,
      '',
      `failed to convert new object (${name}) to proper version: unable to convert unstructured object to ${name.slice(name.indexOf('; ') + 2)}: ${told}`,
    );
  }
}

function checkApplied(scope: Scope, applied: JsonObject, name: string): void {
  const { resource } = scope;
  const expected = formatApiVersion(resource.group, resource.version);
  const problem = headProblem(applied, expected, resource.kind);
  if (problem !== undefined) throw badRequest(problem);
  const metadata = isObject(applied.metadata) ? applied.metadata : {};
  const given = metadata.name;
  // What is no text is no name, and cannot be applied.
  if (isNamed(applied) && typeof given !== 'string')
    throw failure(500, '', formatErrors(applied, appliedProblems(applied, resource.type)));
  if (isNamed(applied) && given !== name)
    throw badRequest(
      `the name of the object (${plainText(given)}) does not match the name on the URL (${name})`,
    );
  const { namespace } = metadata;
  if (resource.namespaced && namespace && namespace !== scope.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function isNamed({ metadata }: JsonObject): boolean {
  return isObject(metadata) && metadata.name !== undefined && metadata.name !== null && metadata.name !== '';
}

function identified(scope: Scope, given: JsonObject, name: string): JsonObject {
  const metadata: JsonObject = { ...(isObject(given.metadata) ? given.metadata : {}), name };
  if (scope.resource.namespaced) metadata.namespace = scope.namespace;
  else delete metadata.namespace;
  return { ...given, metadata };
}

/** A copy that may be changed, but for the record of who owns what: that is replaced as a whole. */
function ownCopy(object: JsonObject): JsonObject {
  if (!isObject(object.metadata)) return clone(object);
  const { managedFields, ...metadata } = object.metadata;
  const copy = clone({ ...object, metadata }) as JsonObject & { metadata: JsonObject };
  if (managedFields !== undefined) copy.metadata.managedFields = managedFields;
  return copy;
}
