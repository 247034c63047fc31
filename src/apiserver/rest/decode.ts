import { asJson, formatApiVersion, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { badRequest, failure, hasCode, invalid } from '../../kube/status-error.ts';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { applyDefaults, dropNulls } from '../../schema/defaults.ts';
import { goSyntax } from '../../schema/go-syntax.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../schema/json.ts';
import { plainText } from '../../schema/json-text.ts';
import { prune } from '../../schema/prune.ts';
import { typeCheck } from '../../schema/type-check.ts';
import { eachEmbedded } from '../crd/embedded.ts';
import { strictWarnings } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { coerceMetadata, tidyMetadata } from './metadata.ts';
import type { ResourceLookup } from './scope.ts';

export interface Decoded {
  readonly object: KubeObject;
  /** `unknown field "spec.x"`, and what the body had: for warnings or strict errors. */
  readonly strict: readonly string[];
}

/**
 * Turns a JSON value into an object of `resource`: checks that it is of that kind, drops unknown fields and nulls, fills
 * defaults. Owns what `given` holds from here on. Throws 400 for what cannot be such an object.
 */
export function decodeObject(
  resource: Resource,
  given: JsonObject,
  strict: readonly string[] = [],
  lookup?: ResourceLookup,
): Decoded {
  const apiVersion = formatApiVersion(resource.group, resource.version);
  checkKind(resource, given, apiVersion, lookup);
  const places = !resource.custom && strict[0]?.startsWith(DUPLICATE) ? placesOf(given) : undefined;
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = given;
  const value: JsonObject = { apiVersion, kind: resource.kind, metadata, ...rest };
  const unknown = decodedMetadata(resource, value);
  const object = value as unknown as KubeObject;
  const { pruned, embedded, isWhole } = normalize(resource, object);
  if (!isWhole)
    throw failure(
      413,
      'RequestEntityTooLarge',
      'Request entity too large: the defaults that the object would get are more than can be stored',
    );
  unknown.push(...(resource.custom ? pruned.sort() : pruned), ...embedded);
  if (!resource.custom) checkTypes(resource, object);
  resource.strategy.defaults?.(object);
  tidyMetadata(object);
  if (!resource.custom) bringIntoForm(asJson(object), resource.type);
  const found = unknown.map((path) => `${UNKNOWN}${JSON.stringify(path)}`);
  if (places === undefined) return { object, strict: [...strict, ...found] };
  // What is unknown is skipped, so nobody sees it come again.
  const repeated = strict.filter((problem) => !unknown.some((path) => isWithin(problem, path)));
  return { object, strict: [...repeated, ...found].sort((a, b) => places(a) - places(b)) };
}

function isWithin(problem: string, path: string): boolean {
  const at = `${DUPLICATE}${JSON.stringify(path).slice(0, -1)}`;
  return problem.startsWith(at) && ['"', '.', '['].includes(problem[at.length] ?? '');
}

const UNKNOWN = 'unknown field ';
const DUPLICATE = 'duplicate field ';

/**
 * Where each problem of a JSON body is found by those who read it once from front to back: an unknown field where it begins, one
 * that comes again after what it holds.
 */
function placesOf(body: JsonObject): (problem: string) => number {
  const places = new Map<string, number>();
  const visit = (value: JsonValue | undefined, path: string): void => {
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`);
    if (!isObject(value)) return;
    for (const key in value) {
      const at = path === '' ? key : `${path}.${key}`;
      places.set(`${UNKNOWN}${JSON.stringify(at)}`, places.size);
      visit(value[key], at);
      places.set(`${DUPLICATE}${JSON.stringify(at)}`, places.size);
    }
  };
  visit(body, '');
  return (problem) => places.get(problem) ?? places.size;
}

/** Pruning and defaults of today's schema over what was stored under an earlier one. */
export function normalizeStored(resource: Resource, object: KubeObject): void {
  normalize(resource, object);
}

/**
 * Makes a custom object of another version one of this: it gets the defaults of the version that it comes from, and
 * loses what this one does not have.
 */
export function changeVersion(resource: Resource, object: KubeObject): void {
  const { group, version, type, versionTypes } = resource;
  const from = versionTypes?.get(parseApiVersion(object.apiVersion ?? '').version);
  if (from !== undefined) normalize({ ...resource, type: from }, object);
  object.apiVersion = formatApiVersion(group, version);
  const { metadata } = object;
  prune(asJson(object), type, { isResourceRoot: true });
  object.metadata = metadata;
}

/** Takes from a custom object what the version that it is stored in does not have. */
export function pruneForStorage(resource: Resource, object: KubeObject): void {
  const type = resource.versionTypes?.get(resource.storageVersion);
  if (type === undefined) return;
  const { metadata } = object;
  prune(asJson(object), type, { isResourceRoot: true });
  object.metadata = metadata;
}

interface Dropped {
  /** Paths that the schema does not have. */
  readonly pruned: string[];
  /** Those of the metadata of resources inside, of which nobody is told before the others. */
  readonly embedded: string[];
  /** Whether it got all defaults. */
  readonly isWhole: boolean;
}

/** Prunes and defaults in place, metadata apart; returns the paths that were dropped. */
function normalize(resource: Resource, object: KubeObject): Dropped {
  const { metadata } = object;
  const value = object as unknown as JsonObject;
  const pruned = prune(value, resource.type, { isResourceRoot: true });
  const embedded: string[] = [];
  let isWhole = true;
  // Built-ins have their defaults in code; the schemas of custom resources hold theirs, and what null means.
  if (resource.custom) {
    isWhole = applyDefaults(value, resource.type);
    eachEmbedded(value, resource.type, (inside, path) => {
      embedded.push(...embeddedMetadata(resource, inside, path));
    });
  } else dropNulls(value, resource.type);
  object.metadata = metadata;
  return { pruned, embedded, isWhole };
}

/** Coerces the metadata of a resource inside a custom one; the paths of unknown fields. Refuses what is none. */
function embeddedMetadata(resource: Resource, embedded: JsonObject, path: string): string[] {
  const { apiVersion, kind, metadata } = embedded;
  const refuse = (field: string, value: JsonValue, why: string): Error =>
    cannotBeHandled(resource, {}, `${path}.${field}: Invalid value: ${goSyntax(value)}: ${why}`);
  for (const [field, value] of Object.entries({ apiVersion, kind }))
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw refuse(field, value, 'must be a string');
  if (metadata === undefined || metadata === null) return [];
  try {
    return coerceMetadata(embedded, `${path}.metadata`);
  } catch (error) {
    if (!hasCode(error, 400)) throw error;
    const text = error.message
      .replace(`ObjectMeta.${path}.metadata.`, 'ObjectMeta.')
      .replace(/field \S+\.metadata of type/, 'value of type')
      .replace('Go struct value', 'Go value');
    throw refuse('metadata', metadata, text);
  }
}

/** What a body that cannot be decoded as an object of the resource is answered with. */
function cannotBeHandled(resource: KindOf, given: JsonObject, why: string): Error {
  const { apiVersion, kind } = given;
  const version =
    typeof apiVersion === 'string' && apiVersion !== ''
      ? parseApiVersion(apiVersion).version
      : resource.version;
  const name = typeof kind === 'string' && kind !== '' ? kind : resource.kind;
  return badRequest(
    `${name} in version ${JSON.stringify(version)} cannot be handled as a ${resource.kind}: ${why}`,
  );
}

/** Coerces metadata; the paths of unknown fields. The typed decoder of built-in kinds names fields from the root. */
function decodedMetadata(resource: Resource, value: JsonObject): string[] {
  try {
    return coerceMetadata(value);
  } catch (error) {
    if (!hasCode(error, 400)) throw error;
    const text = error.message;
    throw cannotBeHandled(
      resource,
      value,
      resource.custom
        ? text
            .replace(/field (\w+)\.metadata\./, 'field $1.')
            .replace(/Go struct field \w+\.metadata of/, 'Go value of')
        : text,
    );
  }
}

const SCHEME = 'pkg/api/legacyscheme/scheme.go:30';
/** Bodies of subresources that are of another group than their resource. */
const FOREIGN: ReadonlySet<string> = new Set(['Eviction', 'TokenRequest']);
const FOREIGN_SCHEME = 'pkg/runtime/scheme.go:100';

function checkKind(
  resource: Resource,
  value: JsonObject,
  expected: string,
  lookup: ResourceLookup | undefined,
): void {
  if (resource.custom) checkCustomKind(resource, value, expected);
  else checkTypedKind(resource, value, [expected], lookup);
}

/** What a body should be an object of. */
export type KindOf = Pick<Resource, 'group' | 'version' | 'kind' | 'storageGroup'>;

/** Refuses a body that says to be of another kind than what is sent to this place, in any of its versions. */
export function checkTypedKind(
  resource: KindOf,
  value: JsonObject,
  versions: readonly string[],
  lookup: ResourceLookup | undefined,
): void {
  const { apiVersion, kind } = value;
  const expected = versions[0] ?? '';
  const givenVersion = typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion : expected;
  const givenKind = typeof kind === 'string' && kind !== '' ? kind : resource.kind;
  if (versions.includes(givenVersion) && givenKind === resource.kind) return;
  const other = lookup?.byKind(givenVersion, givenKind);
  if (isSameKind(resource, givenVersion, givenKind, other))
    throw badRequest(
      `the API version in the data (${givenVersion}) does not match the expected API version (${expected})`,
    );
  // Its own type comes first: what is not even that is said to be so.
  const [misfit] = other && !other.custom ? typeCheck(value, other.type) : [];
  if (misfit) throw cannotBeHandled(resource, value, misfit.message);
  throw cannotBeHandled(
    resource,
    value,
    other && !other.custom
      ? `converting (${externalType(other)}) to (${internalType(resource)}): unknown conversion`
      : isOfEveryGroup(givenKind, givenVersion, lookup)
        ? `converting (${givenVersion.slice(givenVersion.indexOf('/') + 1)}.${givenKind}) to (${internalType(resource)}): unknown conversion`
        : `no kind ${JSON.stringify(givenKind)} is registered for version ${JSON.stringify(givenVersion)} in scheme ${JSON.stringify(FOREIGN.has(resource.kind) ? FOREIGN_SCHEME : SCHEME)}`,
  );
}

/** Versions that are served no more, whose objects are still understood. `extensions` had kinds that are elsewhere now. */
const OLD_VERSIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    extensions: ['v1beta1'],
    apps: ['v1beta1', 'v1beta2'],
    batch: ['v1beta1'],
    autoscaling: ['v1', 'v2', 'v2beta1', 'v2beta2'],
    policy: ['v1beta1'],
    'networking.k8s.io': ['v1beta1'],
    'rbac.authorization.k8s.io': ['v1alpha1', 'v1beta1'],
    'scheduling.k8s.io': ['v1alpha1', 'v1beta1'],
    'storage.k8s.io': ['v1alpha1', 'v1beta1'],
    'authentication.k8s.io': ['v1alpha1', 'v1beta1'],
    'authorization.k8s.io': ['v1beta1'],
    'discovery.k8s.io': ['v1beta1'],
    'events.k8s.io': ['v1', 'v1beta1'],
    'coordination.k8s.io': ['v1beta1'],
    'certificates.k8s.io': ['v1beta1'],
    'node.k8s.io': ['v1beta1'],
    'admissionregistration.k8s.io': ['v1beta1'],
    'flowcontrol.apiserver.k8s.io': ['v1beta1', 'v1beta2', 'v1beta3'],
  }),
);
const MOVED: readonly string[] = ['Deployment', 'DaemonSet', 'ReplicaSet', 'Ingress', 'NetworkPolicy'];

/** Whether objects of that version and kind are, inside, of the same type as those of `resource`. */
function isSameKind(
  { group, storageGroup, kind }: KindOf,
  apiVersion: string,
  givenKind: string,
  other: Resource | undefined,
): boolean {
  if (givenKind !== kind) return false;
  const slash = apiVersion.indexOf('/');
  const givenGroup = slash < 0 ? '' : apiVersion.slice(0, slash);
  if (other !== undefined && !other.custom && (other.storageGroup ?? other.group) === (storageGroup ?? group))
    return true;
  if (OLD_VERSIONS.get(givenGroup)?.includes(apiVersion.slice(slash + 1)) !== true) return false;
  return givenGroup === group || (givenGroup === 'extensions' && MOVED.includes(kind));
}

/** Lists and the kinds that every version has: they are known, and are no objects. */
function isOfEveryGroup(kind: string, apiVersion: string, lookup: ResourceLookup | undefined): boolean {
  if (apiVersion === 'v1' && (kind === 'List' || kind === 'Status')) return true;
  const item = kind.endsWith('List') ? lookup?.byKind(apiVersion, kind.slice(0, -4)) : undefined;
  return item !== undefined && !item.custom;
}

function externalType({ version, kind }: Resource): string {
  return `${version}.${kind}`;
}

/** How messages name the type that objects of a built-in resource have inside. */
export function internalType({ group, kind }: KindOf): string {
  return `${group === '' ? 'core' : group.split('.')[0]}.${kind}`;
}

function checkCustomKind(resource: Resource, value: JsonObject, expected: string): void {
  const { apiVersion, kind } = value;
  if (apiVersion !== undefined && apiVersion !== null && apiVersion !== '' && apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${plainText(apiVersion)}) does not match the expected API version (${expected})`,
    );
  if (kind !== undefined && kind !== null && kind !== '' && kind !== resource.kind)
    throw invalid(resource.group, plainText(kind), stringAt(value, 'metadata', 'name') ?? '', [
      { type: 'Invalid', path: 'kind', value: kind, detail: `must be ${resource.kind}` },
    ]);
}

/** Built-in kinds are typed: a value of the wrong type cannot even be decoded. */
function checkTypes(resource: Resource, object: KubeObject): void {
  const [issue] = typeCheck(asJson(object), resource.type);
  if (!issue) return;
  throw cannotBeHandled(resource, {}, issue.message);
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
  for (const problem of strict) for (const text of strictWarnings(problem)) warn(text);
}
