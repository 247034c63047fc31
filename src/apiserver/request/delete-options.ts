import { type FieldError, failure, invalid, type StatusError } from '../../kube/status-error.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import { dryRunProblems, flag, integer } from './query-values.ts';

/** `metav1.DeleteOptions`. */
export interface DeleteQuery {
  readonly gracePeriodSeconds: number | undefined;
  readonly propagation: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun: boolean;
}

/** What was given, before it is checked; `null` is nothing. */
interface Given {
  readonly gracePeriodSeconds?: JsonValue | undefined;
  readonly orphanDependents?: JsonValue | undefined;
  readonly propagationPolicy?: JsonValue | undefined;
  readonly preconditions?: JsonValue | undefined;
  readonly dryRun?: JsonValue | undefined;
}

/** Whether one object or a collection is deleted: they are decoded by different parts of other servers. */
export type DeletionOf = 'object' | 'collection';

/** Reads delete options from a decoded body, or from the query when there was none: never from both. */
export function parseDeleteOptions(
  body: JsonObject | undefined,
  query: URLSearchParams,
  of: DeletionOf = 'object',
): DeleteQuery {
  if (body === undefined) return checked(fromQuery(query));
  checkTypes(body);
  checkKind(body, of);
  return checked(body);
}

function fromQuery(query: URLSearchParams): Given {
  const uid = query.get('uid') ?? '';
  const resourceVersion = query.get('resourceVersion') ?? '';
  return {
    preconditions: {
      ...(uid === '' ? {} : { uid }),
      ...(resourceVersion === '' ? {} : { resourceVersion }),
    },
    gracePeriodSeconds: integer(query, 'gracePeriodSeconds'),
    orphanDependents: flag(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy'),
    dryRun: query.getAll('dryRun'),
  };
}

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

function checked(given: Given): DeleteQuery {
  const orphan = given.orphanDependents ?? undefined;
  const policy = given.propagationPolicy ?? undefined;
  const known = POLICIES.find((name) => name === policy);
  const dryRun = Array.isArray(given.dryRun) ? given.dryRun : [];
  const errors: FieldError[] = [];
  if (orphan !== undefined && policy !== undefined)
    errors.push({
      type: 'Invalid',
      path: 'propagationPolicy',
      value: policy,
      detail: 'orphanDependents and deletionPropagation cannot be both set',
    });
  if (policy !== undefined && known === undefined)
    errors.push({
      type: 'NotSupported',
      path: 'propagationPolicy',
      value: policy,
      detail: '',
      supported: [...POLICIES, 'nil'],
    });
  errors.push(...dryRunProblems(dryRun));
  if (errors.length > 0) throw invalid('meta.k8s.io', 'DeleteOptions', '', errors);

  const asked = given.gracePeriodSeconds;
  const grace = typeof asked === 'bigint' ? Number(asked) : asked;
  const { uid, resourceVersion } = isObject(given.preconditions) ? given.preconditions : {};
  return {
    gracePeriodSeconds: typeof grace === 'number' ? (grace < 0 ? 1 : grace) : undefined,
    propagation: known ?? (orphan === undefined ? undefined : orphan === true ? 'Orphan' : 'Background'),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
    dryRun: dryRun.length > 0,
  };
}

/** Fields of DeleteOptions with the types that Go has for them. */
const FIELDS: Readonly<Record<string, string>> = {
  kind: 'string',
  apiVersion: 'string',
  gracePeriodSeconds: 'int64',
  preconditions: 'v1.Preconditions',
  orphanDependents: 'bool',
  propagationPolicy: 'v1.DeletionPropagation',
  dryRun: '[]string',
  ignoreStoreReadErrorWithClusterBreakingPotential: 'bool',
};
const PRECONDITIONS: Readonly<Record<string, string>> = { uid: 'types.UID', resourceVersion: 'string' };

/** Fields of the wrong type cannot be decoded, which is answered as any failure inside is. */
function checkTypes(body: JsonObject): void {
  for (const [field, type] of Object.entries(FIELDS)) {
    const value = body[field] ?? undefined;
    if (value === undefined) continue;
    if (!isOfType(value, type)) throw misfit(value, `DeleteOptions.${field}`, type);
    if (Array.isArray(value))
      for (const item of value)
        if (typeof item !== 'string' && item !== null) throw misfit(item, `DeleteOptions.${field}`, 'string');
    if (isObject(value))
      for (const [inner, innerType] of Object.entries(PRECONDITIONS)) {
        const part = value[inner] ?? undefined;
        if (part !== undefined && !isOfType(part, innerType))
          throw misfit(part, `Preconditions.${field}.${inner}`, innerType);
      }
  }
}

function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case 'int64':
      return (typeof value === 'bigint' || Number.isInteger(value)) && Math.abs(Number(value)) < 2 ** 63;
    case 'bool':
      return typeof value === 'boolean';
    case '[]string':
      return Array.isArray(value);
    case 'v1.Preconditions':
      return isObject(value);
    default:
      return typeof value === 'string';
  }
}

function misfit(value: JsonValue, field: string, type: string): StatusError {
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const found = isNumber
    ? type === 'int64'
      ? `number ${value}`
      : 'number'
    : typeof value === 'boolean'
      ? 'bool'
      : Array.isArray(value)
        ? 'array'
        : typeof value;
  return failure(500, '', `json: cannot unmarshal ${found} into Go struct field ${field} of type ${type}`);
}

/** Kinds that every version has and that are no DeleteOptions. */
const META_KINDS: ReadonlySet<unknown> = new Set([
  ...['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList', 'ListOptions', 'GetOptions'],
  ...['CreateOptions', 'PatchOptions', 'UpdateOptions', 'WatchEvent'],
]);

const SCHEMES: Readonly<Record<DeletionOf, string>> = {
  object: 'pkg/apis/meta/internalversion/scheme/register.go:27',
  collection: 'pkg/api/legacyscheme/scheme.go:30',
};

/** DeleteOptions are the same in every group and version. */
function checkKind({ apiVersion, kind }: JsonObject, of: DeletionOf): void {
  const version = typeof apiVersion === 'string' ? apiVersion : '';
  if (version.split('/').length > 2) throw failure(500, '', `unexpected GroupVersion string: ${version}`);
  if (kind === undefined || kind === null || kind === '' || kind === 'DeleteOptions') return;
  if (META_KINDS.has(kind) && (version === 'v1' || version === 'meta.k8s.io/v1'))
    throw failure(500, '', `converting (v1.${String(kind)}) to (v1.DeleteOptions): unknown conversion`);
  throw failure(
    500,
    '',
    `no kind ${jsonText(kind)} is registered for version ${jsonText(version)} in scheme "${SCHEMES[of]}"`,
  );
}
