import type { KubeObject, OwnerReference } from '../../kube/object.ts';
import { badRequest } from '../../kube/status-error.ts';
import { timeProblem } from '../../schema/go-time.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';

type Shape = 'string' | 'integer' | 'strings' | 'list' | 'owners' | 'time' | 'managed';

/** Fields of ObjectMeta that exist; `selfLink` is read and ignored. */
const FIELDS: Readonly<Record<string, Shape>> = {
  name: 'string',
  generateName: 'string',
  namespace: 'string',
  selfLink: 'string',
  uid: 'string',
  resourceVersion: 'string',
  generation: 'integer',
  creationTimestamp: 'time',
  deletionTimestamp: 'time',
  deletionGracePeriodSeconds: 'integer',
  labels: 'strings',
  annotations: 'strings',
  ownerReferences: 'owners',
  finalizers: 'list',
  managedFields: 'managed',
};
const OWNER_FIELDS: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'name',
  'uid',
  'controller',
  'blockOwnerDeletion',
]);

/** As the typed decoder says it: without indices and keys of maps. */
function wrong(path: string, value: JsonValue, type: string, struct = 'ObjectMeta'): Error {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  const got = kind === 'number' && type === 'int64' ? `number ${value}` : kind;
  const field = path.replace(/\[\d+\]/g, '');
  return badRequest(`json: cannot unmarshal ${got} into Go struct field ${struct}.${field} of type ${type}`);
}

/**
 * Makes `metadata` a proper ObjectMeta: fields that do not exist are dropped (their paths are returned), nulls are
 * unset, wrong types are refused with 400. Returns the unknown paths.
 */
export function coerceMetadata(object: JsonObject, path: string = 'metadata'): string[] {
  const given = object.metadata;
  if (given === undefined || given === null) {
    object.metadata = {};
    return [];
  }
  if (!isObject(given))
    throw wrong(path, given, 'v1.ObjectMeta', typeof object.kind === 'string' ? object.kind : undefined);
  const unknown: string[] = [];
  const metadata: JsonObject = {};
  for (const key in given) {
    const value = given[key];
    const shape = FIELDS[key];
    if (shape === undefined || !Object.hasOwn(FIELDS, key)) {
      unknown.push(`${path}.${key}`);
      continue;
    }
    if (value === undefined || value === null || key === 'selfLink') continue;
    metadata[key] = coerce(shape, value, `${path}.${key}`, unknown);
  }
  object.metadata = metadata;
  return unknown;
}

function coerce(shape: Shape, value: JsonValue, path: string, unknown: string[]): JsonValue {
  switch (shape) {
    case 'string':
    case 'time':
      if (typeof value !== 'string') throw wrong(path, value, path.endsWith('.uid') ? 'types.UID' : 'string');
      if (shape === 'time') {
        const problem = timeProblem(value);
        if (problem !== undefined) throw badRequest(problem);
      }
      return value;
    case 'integer':
      if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong(path, value, 'int64');
      return value;
    case 'strings': {
      if (!isObject(value)) throw wrong(path, value, 'map[string]string');
      const out: JsonObject = {};
      for (const key in value) {
        const item = value[key] ?? null;
        if (item === null) out[key] = '';
        else if (typeof item !== 'string') throw wrong(path, item, 'string');
        else out[key] = item;
      }
      return out;
    }
    case 'list':
      if (!Array.isArray(value)) throw wrong(path, value, '[]string');
      return value.map((item, index) => {
        if (item !== null && typeof item !== 'string') throw wrong(`${path}[${index}]`, item, 'string');
        return item ?? '';
      });
    case 'owners':
      if (!Array.isArray(value)) throw wrong(path, value, '[]v1.OwnerReference');
      return value.map((item, index) => {
        if (item === null) return {};
        if (!isObject(item)) throw wrong(path, item, 'v1.OwnerReference');
        const owner: JsonObject = {};
        for (const key in item) {
          const field = item[key];
          if (!OWNER_FIELDS.has(key)) unknown.push(`${path}[${index}].${key}`);
          else if (field !== undefined && field !== null) {
            const type = key === 'controller' || key === 'blockOwnerDeletion' ? 'boolean' : 'string';
            if (typeof field !== type)
              throw wrong(
                `${path}.${key}`,
                field,
                type === 'boolean' ? 'bool' : key === 'uid' ? 'types.UID' : type,
                'OwnerReference',
              );
            owner[key] = field;
          }
        }
        return owner;
      });
    case 'managed':
      if (!Array.isArray(value)) throw wrong(path, value, '[]v1.ManagedFieldsEntry');
      return value;
  }
}

/** Drops repeated owner references; the warning about them, when there were any. Of patches they are found later than of others. */
export function dedupeOwners(object: KubeObject, byPatch: boolean = false): string | undefined {
  const owners = object.metadata.ownerReferences;
  if (!owners || owners.length < 2) return undefined;
  const seen = new Set<string>();
  const kept = owners.filter((owner: OwnerReference) => {
    const key = JSON.stringify([
      owner.apiVersion,
      owner.kind,
      owner.name,
      owner.uid,
      owner.controller ?? null,
      owner.blockOwnerDeletion ?? null,
    ]);
    return seen.has(key) ? false : seen.add(key);
  });
  if (kept.length === owners.length) return undefined;
  object.metadata.ownerReferences = kept;
  const repeated = new Set(owners.filter((owner) => !kept.includes(owner)).map(({ uid }) => uid));
  const where = byPatch ? ' after mutating admission happens' : '';
  return `.metadata.ownerReferences contains duplicate entries${where}; ${DUPLICATE_OWNERS}; duplicate UID(s) observed: ${[...repeated].join(', ')}`;
}

const DUPLICATE_OWNERS =
  'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests';

/** Removes empty containers that mean the same as absence, so that equal objects have equal text. */
export function tidyMetadata(object: KubeObject): void {
  const { metadata } = object;
  if (metadata.labels && Object.keys(metadata.labels).length === 0) delete metadata.labels;
  if (metadata.annotations && Object.keys(metadata.annotations).length === 0) delete metadata.annotations;
  if (metadata.finalizers?.length === 0) delete metadata.finalizers;
  if (metadata.ownerReferences?.length === 0) delete metadata.ownerReferences;
  for (const key of [
    'name',
    'generateName',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
  ] as const)
    if (metadata[key] === '') delete metadata[key];
  if (metadata.deletionTimestamp === '') delete metadata.deletionTimestamp;
}
