import { asJson, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { badRequest } from '../../kube/status-error.ts';
import { applyDefaults, dropNulls } from '../../schema/defaults.ts';
import type { JsonObject } from '../../schema/json.ts';
import { prune } from '../../schema/prune.ts';
import { typeCheck } from '../../schema/type-check.ts';
import { fillZeroFields } from '../../schema/zero-fields.ts';
import type { Resource } from '../resource.ts';
import { coerceMetadata, tidyMetadata } from './metadata.ts';

export interface Decoded {
  readonly object: KubeObject;
  /** `unknown field "spec.x"`, `duplicate field "spec.y"`: for warnings or strict errors. */
  readonly strict: readonly string[];
}

/**
 * Turns a JSON value into an object of `resource`: checks that it is of that kind, drops unknown fields and nulls, fills
 * defaults. Owns what `given` holds from here on. Throws 400 for what cannot be such an object.
 */
export function decodeObject(
  resource: Resource,
  given: JsonObject,
  duplicates: readonly string[] = [],
): Decoded {
  const apiVersion = formatApiVersion(resource.group, resource.version);
  checkKind(resource, given, apiVersion);
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = given;
  const value: JsonObject = { apiVersion, kind: resource.kind, metadata, ...rest };
  const unknown = coerceMetadata(value);
  const object = value as unknown as KubeObject;
  unknown.push(...normalize(resource, object));
  if (!resource.custom) checkTypes(resource, object);
  resource.strategy.defaults?.(object);
  tidyMetadata(object);
  if (!resource.custom) fillZeroFields(asJson(object), resource.type);
  return {
    object,
    strict: [
      ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
      ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ],
  };
}

/** Pruning and defaults of today's schema over what was stored under an earlier one. */
export function normalizeStored(resource: Resource, object: KubeObject): void {
  normalize(resource, object);
}

/** Prunes and defaults in place, metadata apart; returns the paths that were dropped. */
function normalize(resource: Resource, object: KubeObject): string[] {
  const { metadata } = object;
  const value = object as unknown as JsonObject;
  const unknown = prune(value, resource.type, { isResourceRoot: true });
  // Built-ins have their defaults in code; the schemas of custom resources hold theirs, and what null means.
  if (resource.custom) applyDefaults(value, resource.type);
  else dropNulls(value, resource.type);
  object.metadata = metadata;
  return unknown;
}

function checkKind(resource: Resource, value: JsonObject, expected: string): void {
  const { apiVersion, kind } = value;
  if (apiVersion !== undefined && apiVersion !== null && apiVersion !== '' && apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  if (kind !== undefined && kind !== null && kind !== '' && kind !== resource.kind)
    throw badRequest(
      `${String(kind)} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: the kind in the data (${String(kind)}) does not match the expected kind (${resource.kind})`,
    );
}

/** Built-in kinds are typed: a value of the wrong type cannot even be decoded. */
function checkTypes(resource: Resource, object: KubeObject): void {
  const [issue] = typeCheck(asJson(object), resource.type);
  if (!issue) return;
  const field = issue.struct === '' ? issue.path : `${issue.struct}.${issue.path}`;
  throw badRequest(
    `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: json: cannot unmarshal ${issue.found} into Go struct field ${field} of type ${issue.expected}`,
  );
}

/** Applies `fieldValidation` to what decoding found: warnings, or a 400 that lists all. */
export function reportStrict(
  resource: Resource,
  strict: readonly string[],
  validation: 'Ignore' | 'Warn' | 'Strict',
  warn: (text: string) => void,
): void {
  if (strict.length === 0 || validation === 'Ignore') return;
  if (validation === 'Strict')
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: strict decoding error: ${strict.join(', ')}`,
    );
  for (const text of strict) warn(text);
}
