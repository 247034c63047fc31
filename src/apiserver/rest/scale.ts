import {
  asJson,
  asObject,
  formatApiVersion,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../../kube/object.ts';
import {
  badRequest,
  conflict,
  failure,
  hasCode,
  internalError,
  invalid,
  notFound,
} from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import {
  appliedProblems,
  applyObject,
  decodeFieldsV1,
  difference,
  encodeFieldsV1,
  formatConflicts,
  formatErrors,
  isEmptySet,
  objectName,
  setOf,
} from '../../schema/apply/index.ts';
import { at, clone, isObject, type JsonObject, type JsonValue, numberAt } from '../../schema/json.ts';
import { jsonText, plainText } from '../../schema/json-text.ts';
import type { TypeSchema } from '../../schema/open-api-schema.ts';
import { objectBody } from '../request/index.ts';
import type { Resource, Subresource } from '../resource.ts';
import { commit, type Decision } from './commit.ts';
import { thenDecide } from './decision.ts';
import { get } from './list.ts';
import { type Patch, patchedValue } from './patch.ts';
import type { Scope, WriteOptions } from './scope.ts';
import { otherVersion } from './tracking.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

/** `.spec.replicas` as keys. Kubernetes allows nothing but dotted names here. */
function keysOf(path: string): string[] {
  return path.split('.').filter((key) => key !== '');
}

function paths(subresource: Subresource): NonNullable<Subresource['scale']> {
  return subresource.scale ?? { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
}

/** A label selector in its text form; built-ins may hold it as an object. */
function selectorText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return '';
  const labels = isObject(value.matchLabels) ? value.matchLabels : 'matchExpressions' in value ? {} : value;
  const terms = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${plainText(labels[key])}`);
  const expressions = Array.isArray(value.matchExpressions) ? value.matchExpressions : [];
  for (const expression of expressions) {
    if (!isObject(expression)) continue;
    const key = plainText(expression.key ?? '');
    const values = Array.isArray(expression.values) ? expression.values.map(plainText).sort().join(',') : '';
    switch (expression.operator) {
      case 'In':
        terms.push(`${key} in (${values})`);
        break;
      case 'NotIn':
        terms.push(`${key} notin (${values})`);
        break;
      case 'Exists':
        terms.push(key);
        break;
      case 'DoesNotExist':
        terms.push(`!${key}`);
        break;
      default:
    }
  }
  return terms.join(',');
}

/** The `autoscaling/v1` Scale of an object. Throws where a custom one that is read has no replicas at all. */
export function scaleOf(
  resource: Resource,
  subresource: Subresource,
  object: KubeObject,
  reading: boolean = true,
): KubeObject {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = paths(subresource);
  const replicas = numberAt(object, ...keysOf(specReplicasPath));
  if (replicas === undefined && resource.custom && reading)
    throw internalError(`the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`);
  const selector = resource.custom
    ? labelSelectorPath === undefined
      ? ''
      : selectorText(at(object, ...keysOf(labelSelectorPath)))
    : selectorText(at(object, 'spec', 'selector'));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp ? { creationTimestamp } : {}),
    },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, ...keysOf(statusReplicasPath)) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

export async function getScale(scope: Scope, subresource: Subresource, name: string): Promise<KubeObject> {
  try {
    return scaleOf(scope.resource, subresource, (await get(scope, name)).object);
  } catch (error) {
    throw hasCode(error, 404) ? scaleNotFound(scope.resource, name) : error;
  }
}

function scaleNotFound({ custom, group, resource }: Resource, name: string): Error {
  if (custom) return notFound(group, resource, name);
  if (resource === 'statefulsets') return notFound(group, resource, name);
  // Upstream's storage of replication controllers names the group of the Scale, not its own.
  return notFound(group === '' ? 'autoscaling' : group, `${resource}/scale`, name);
}

/** Writes the replicas of a Scale (a PUT body, or what a patch makes of the present one) into its object. */
export async function writeScale(
  scope: Scope,
  subresource: Subresource,
  name: string,
  change: { readonly body: JsonObject } | { readonly patch: Patch },
  options: WriteOptions,
): Promise<KubeObject> {
  const { resource } = scope;
  const written = await commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound(resource.group, resource.resource, name);
    const live = viewOf(resource, current).object;
    const keys = keysOf(paths(subresource).specReplicasPath);
    if ('patch' in change && change.patch.type === 'apply') {
      const { body, force } = change.patch;
      const applied = objectBody(body, 'Scale');
      checkFields(resource, applied);
      const replicas = checkScale(resource, name, applied, live);
      // Who says nothing of replicas owns none; who owned them by an applied Scale wants none from then on.
      const isSaid = at(applied, 'spec', 'replicas') !== undefined;
      const said = isSaid || hasApplied(live, keys, options.fieldManager) ? replicas : undefined;
      const decision = withoutScaleTimes(applyReplicas(scope, live, keys, said, force, options));
      // Other servers apply a Scale to a custom resource as far as to its conflicts.
      if (resource.custom)
        throw failure(
          500,
          '',
          `failed to convert new object (${objectName(applied)}) to proper version: request to convert CR to an invalid group/version: autoscaling/v1`,
        );
      return decision;
    }
    const present = scaleOf(resource, subresource, live, false) as unknown as JsonObject;
    const value =
      'body' in change ? change.body : patchedScale(scope, present, live, change.patch, keys, options);
    const replicas = checkScale(resource, name, value, live);
    const object = clone(live);
    setAt(asJson(object), keys, replicas);
    // Managers of other fields are not this endpoint's business: where nobody owns the replicas, nobody comes to.
    const isTracked = isOwned(live, keys);
    // A Scale that wants none says nothing of replicas, so that nobody owns them any more.
    if (isTracked && replicas === 0) object.metadata.managedFields = disowned(live, keys);
    const tracks = isTracked && replicas !== 0;
    const decision = prepareUpdate(scope, object, live, options, !tracks);
    return tracks ? withoutScaleTimes(decision) : decision;
  });
  return scaleOf(resource, subresource, written.object, false);
}

/** What a patch makes of a Scale. What it makes that is none is the patch's fault. */
function patchedScale(
  { warn }: Scope,
  present: JsonObject,
  live: KubeObject,
  patch: Patch,
  keys: readonly string[],
  { fieldValidation }: WriteOptions,
): JsonObject {
  const value = patchedValue(present, patch, UNTYPED);
  const refuse = (why: string): Error => {
    const owners = ownersOf(live, keys);
    const metadata: JsonObject = { ...(isObject(value.metadata) ? value.metadata : {}) };
    if (owners.length > 0) metadata.managedFields = owners;
    const { apiVersion = 'autoscaling/v1', kind = 'Scale', spec = {}, status = {} } = value;
    const inOrder = isObject(spec)
      ? Object.fromEntries(Object.entries(spec).sort(([a], [b]) => (a < b ? -1 : 1)))
      : spec;
    const shown = jsonText({ apiVersion, kind, metadata, spec: inOrder, status });
    return invalid('', '', '', [{ type: 'Invalid', path: 'patch', value: shown, detail: why }]);
  };
  const spec = isObject(value.spec) ? value.spec : {};
  const { replicas } = spec;
  const problem = replicas === undefined || replicas === null ? undefined : replicasProblem(replicas);
  if (problem !== undefined) throw refuse(problem);
  const unknown = Object.keys(spec).filter((key) => key !== 'replicas');
  const strict = unknown.map((key) => `unknown field "spec.${key}"`);
  if (strict.length > 0 && fieldValidation === 'Strict')
    throw refuse(`strict decoding error: ${strict.join(', ')}`);
  if (fieldValidation === 'Warn') for (const text of strict) warn(text);
  return value;
}

/** Who owns the replicas, as a Scale tells it. */
function ownersOf(live: KubeObject, keys: readonly string[]): JsonObject[] {
  const path = keys.map((key) => `f:${key}`);
  return (live.metadata.managedFields ?? [])
    .filter((entry) => at(entry, 'fieldsV1', ...path) !== undefined)
    .map(({ manager, operation, time, subresource }) => ({
      manager: manager ?? '',
      operation: operation ?? '',
      apiVersion: 'autoscaling/v1',
      ...(time === undefined ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      ...(subresource === undefined ? {} : { subresource }),
    }));
}

/** Sets the replicas that a Scale of the object shows. */
export function setReplicas(subresource: Subresource, object: KubeObject, replicas: number): void {
  setAt(asJson(object), keysOf(paths(subresource).specReplicasPath), replicas);
}

const SCALE_VERSION = 'autoscaling/v1';
/** What a Scale calls the replicas, whatever its object calls them. */
const REPLICAS_PATH = '.spec.replicas';
const UNTYPED: TypeSchema = { schema: {}, resolve: () => undefined };

const SCALE = 'io.k8s.api.autoscaling.v1.Scale';

/** An applied Scale has nothing that a Scale has not. */
function checkFields({ type: { resolve } }: Resource, applied: JsonObject): void {
  const schema = resolve(SCALE);
  const problems = schema === undefined ? [] : appliedProblems(applied, { schema, resolve });
  if (problems.length > 0) throw failure(500, '', formatErrors(applied, problems));
}

/** Server-side apply of a Scale: of nothing but the replicas of its object. */
function applyReplicas(
  scope: Scope,
  live: KubeObject,
  keys: readonly string[],
  replicas: number | undefined,
  force: boolean,
  options: WriteOptions,
): Decision {
  const { resource, server } = scope;
  const apiVersion = formatApiVersion(resource.group, resource.version);
  const { name = '', namespace } = live.metadata;
  const applied: JsonObject = {
    apiVersion,
    kind: resource.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  };
  if (replicas !== undefined) setAt(applied, keys, replicas);
  const result = applyObject({
    live: asJson(live),
    applied,
    manager: options.fieldManager,
    force,
    subresource: 'scale',
    apiVersion,
    time: formatTime(server.runtime.clock.now()),
    type: resource.type,
    typeOf: (other) => otherVersion(scope, other),
    resetFields: {},
    checked: resource.custom,
  });
  if ('errors' in result) throw failure(500, '', formatErrors(applied, result.errors));
  if ('failure' in result) throw failure(500, '', result.failure);
  if ('conflicts' in result) {
    // Managers of replicas through a Scale own them in its version.
    const { message, causes } = formatConflicts(
      result.conflicts.map((conflict) =>
        conflict.subresource === 'scale'
          ? { ...conflict, apiVersion: SCALE_VERSION, path: REPLICAS_PATH }
          : { ...conflict, path: REPLICAS_PATH },
      ),
    );
    throw failure(409, 'Conflict', message, { causes: [...causes] });
  }
  return prepareUpdate(scope, asObject(clone(result.object)), live, options, true);
}

/** Whether any manager owns the field at `keys`. */
function isOwned(object: KubeObject, keys: readonly string[]): boolean {
  const path = keys.map((key) => `f:${key}`);
  return (object.metadata.managedFields ?? []).some((entry) => at(entry, 'fieldsV1', ...path) !== undefined);
}

/** Whether a manager owns the field at `keys` because it applied a Scale. */
function hasApplied(object: KubeObject, keys: readonly string[], manager: string): boolean {
  const path = keys.map((key) => `f:${key}`);
  return (object.metadata.managedFields ?? []).some(
    (entry) =>
      entry.manager === manager &&
      entry.operation === 'Apply' &&
      entry.subresource === 'scale' &&
      at(entry, 'fieldsV1', ...path) !== undefined,
  );
}

/** The managers of an object, without what they own at `keys`. */
function disowned(object: KubeObject, keys: readonly string[]): ManagedFieldsEntry[] {
  const path = keys.map((key) => `f:${key}`);
  return (object.metadata.managedFields ?? []).flatMap((entry) => {
    const fields = isObject(entry.fieldsV1) ? withoutPath(entry.fieldsV1, path) : undefined;
    return fields === undefined ? [] : [{ ...entry, fieldsV1: fields }];
  });
}

/** FieldsV1 without a path; `undefined` where nothing is left. */
function withoutPath(fields: JsonObject, path: readonly string[]): JsonObject | undefined {
  const set = decodeFieldsV1(fields);
  if (set === undefined) return fields;
  const left = difference(set, setOf([...path]));
  return isEmptySet(left) ? undefined : encodeFieldsV1(left);
}

/** Ownership that went through a Scale has no time, since a Scale's managers have none. */
function withoutScaleTimes(decision: Decision): Decision {
  return thenDecide(decision, (settled) => {
    if (settled.action !== 'put') return settled;
    const { object } = settled;
    const managedFields = object.metadata.managedFields?.map((entry) => {
      if (entry.subresource !== 'scale') return entry;
      const { time: _time, ...rest } = entry;
      return rest;
    });
    return managedFields === undefined
      ? settled
      : { ...settled, object: { ...object, metadata: { ...object.metadata, managedFields } } };
  });
}

/** Where other servers keep what has a Scale. */
function storedAs({ group, resource, custom }: Resource): string {
  return custom ? `${group}/${resource}` : group === '' ? 'controllers' : resource;
}

const MAX_INT32 = 2 ** 31 - 1;

/** Why a value is no number of replicas. */
function replicasProblem(value: JsonValue): string | undefined {
  const isWhole = typeof value === 'number' && Number.isInteger(value);
  if (isWhole && value <= MAX_INT32 && value >= -MAX_INT32 - 1) return undefined;
  const found =
    typeof value === 'boolean'
      ? 'bool'
      : Array.isArray(value)
        ? 'array'
        : typeof value === 'number' || typeof value === 'bigint'
          ? `number ${value}`
          : typeof value;
  return `json: cannot unmarshal ${found} into Go struct field ScaleSpec.spec.replicas of type int32`;
}

function checkScale(resource: Resource, name: string, value: JsonObject, live: KubeObject): number {
  const { apiVersion, kind } = value;
  if (kind === 'Scale' && typeof apiVersion === 'string' && apiVersion !== 'autoscaling/v1')
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (autoscaling/v1)`,
    );
  if (kind !== undefined && kind !== 'Scale')
    throw badRequest(
      resource.custom
        ? 'no kind is registered for the type v1.Scale in scheme "pkg/api/legacyscheme/scheme.go:30"'
        : `${plainText(kind)} in version "v1" cannot be handled as a Scale: converting (v1.${plainText(kind)}) to (autoscaling.Scale): unknown conversion`,
    );
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const given = metadata.name;
  if (given === undefined || given === null || given === '')
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (given !== name)
    throw badRequest(
      `the name of the object (${plainText(given)}) does not match the name on the URL (${name})`,
    );
  const { uid, namespace } = metadata;
  if (namespace && namespace !== live.metadata.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (typeof uid === 'string' && uid !== '' && uid !== live.metadata.uid)
    throw conflict(
      resource.group,
      resource.resource,
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${storedAs(resource)}/${live.metadata.namespace ?? ''}/${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`,
    );
  const version = metadata.resourceVersion;
  if (typeof version === 'string' && version !== '' && version !== live.metadata.resourceVersion)
    throw conflict(
      resource.group,
      resource.resource,
      name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  const replicas = at(value, 'spec', 'replicas') ?? 0;
  const problem = replicasProblem(replicas as JsonValue);
  if (problem !== undefined || typeof replicas !== 'number')
    throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${problem}`);
  // Custom resources are checked as wholes.
  if (replicas < 0 && !resource.custom)
    throw invalid('autoscaling', 'Scale', name, [
      {
        type: 'Invalid',
        path: 'spec.replicas',
        value: replicas,
        detail: 'must be greater than or equal to 0',
      },
    ]);
  return replicas;
}

function setAt(target: JsonObject, keys: readonly string[], value: number): void {
  let current = target;
  keys.forEach((key, index) => {
    if (index === keys.length - 1) {
      current[key] = value;
      return;
    }
    const next = current[key];
    if (isObject(next)) current = next;
    else {
      const made: JsonObject = {};
      current[key] = made;
      current = made;
    }
  });
}
