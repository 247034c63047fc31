import { badRequest, type FieldError, failure, invalid } from '../../kube/status-error.ts';
import { dryRunProblems, flag, integer } from './query-values.ts';

/** `metav1.ListOptions` as the query of a list, watch or deletecollection has them, checked. */
export interface ListQuery {
  /** '' when absent. */
  readonly resourceVersion: string;
  /** {@link resourceVersion} as a number; undefined when absent. */
  readonly revision: number | undefined;
  readonly match: '' | 'Exact' | 'NotOlderThan';
  /** 0 for no limit. */
  readonly limit: number;
  readonly continue: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly includeObject: 'None' | 'Metadata' | 'Object';
}

/** What the query of a write says about how to write. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  /** Whether the client named a field manager, which apply requires. */
  readonly namedManager: boolean;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  readonly force: boolean;
}

const MANAGER_LIMIT = 128;

/** A revision in a query or in `metadata.resourceVersion`; undefined when it is not one. */
export function parseRevision(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

function listInvalid(errors: FieldError[]): Error {
  return invalid('meta.k8s.io', 'ListOptions', '', errors);
}

/** Reads and checks list options; `watch` has rules of its own. Throws 400 and 422. */
export function parseListQuery(query: URLSearchParams, watch: boolean): ListQuery {
  const resourceVersion = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const limit = Math.max(0, integer(query, 'limit') ?? 0);
  const continueToken = query.get('continue') ?? '';
  const sendInitialEvents = flag(query, 'sendInitialEvents');
  const errors: FieldError[] = [];
  const forbid = (path: string, detail: string): void => {
    errors.push({ type: 'Forbidden', path, detail });
  };

  const revision = resourceVersion === '' ? undefined : parseRevision(resourceVersion);
  if (resourceVersion !== '' && revision === undefined)
    throw failure(
      500,
      '',
      `resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}: strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`,
    );
  const unsupported = (supported: readonly string[]): void => {
    errors.push({ type: 'NotSupported', path: 'resourceVersionMatch', value: match, detail: '', supported });
  };
  if (watch) {
    if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
      forbid(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      );
    if (match !== '' && sendInitialEvents === undefined)
      forbid(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    if (match !== '' && match !== 'NotOlderThan') unsupported(['NotOlderThan']);
    if (continueToken !== '')
      forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
  } else if (match !== '') {
    if (resourceVersion === '')
      forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (continueToken !== '')
      forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan') unsupported(['Exact', 'NotOlderThan', '']);
    if (match === 'Exact' && resourceVersion === '0')
      forbid('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (sendInitialEvents !== undefined && !watch)
    forbid('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (errors.length > 0) throw listInvalid(errors);
  if (continueToken !== '' && !watch && (revision ?? 0) > 0)
    throw badRequest('specifying resource version is not allowed when using continue');

  const includeObject = query.get('includeObject') ?? 'Metadata';
  if (includeObject !== 'None' && includeObject !== 'Metadata' && includeObject !== 'Object')
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`,
    );

  return {
    resourceVersion,
    revision,
    match: match as ListQuery['match'],
    limit,
    continue: continueToken,
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    allowWatchBookmarks: flag(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents,
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    includeObject,
  };
}

/** The first character of a manager's name that cannot be printed. */
function unprintable(manager: string): FieldError[] {
  const position = manager.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (position < 0) return [];
  const code = (manager.codePointAt(position) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return [
    {
      type: 'Invalid',
      path: 'fieldManager',
      value: manager,
      detail: `invalid character U+${code} (at position ${Buffer.byteLength(manager.slice(0, position))})`,
    },
  ];
}

/** The default field manager: the User-Agent up to its first `/`. */
function managerOfAgent(userAgent: string): string {
  const name = (userAgent.split('/')[0] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, MANAGER_LIMIT);
  return name === '' ? 'unknown' : name;
}

/** Reads and checks create, update and patch options. Throws 422. */
export function parseWriteQuery(query: URLSearchParams, userAgent: string, kind: string): WriteQuery {
  const manager = query.get('fieldManager') ?? '';
  const validation = query.get('fieldValidation') ?? '';
  const errors: FieldError[] = [];
  if (manager.length > MANAGER_LIMIT)
    errors.push({
      type: 'TooLong',
      path: 'fieldManager',
      detail: `may not be more than ${MANAGER_LIMIT} bytes`,
    });
  else errors.push(...unprintable(manager));
  if (validation !== '' && validation !== 'Ignore' && validation !== 'Warn' && validation !== 'Strict')
    errors.push({
      type: 'NotSupported',
      path: 'fieldValidation',
      value: validation,
      detail: '',
      supported: ['', 'Ignore', 'Strict', 'Warn'],
    });
  const dryRun = query.getAll('dryRun');
  errors.push(...dryRunProblems(dryRun));
  if (errors.length > 0) throw invalid('meta.k8s.io', kind, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager === '' ? managerOfAgent(userAgent) : manager,
    namedManager: manager !== '',
    fieldValidation: validation === 'Ignore' || validation === 'Strict' ? validation : 'Warn',
    force: flag(query, 'force') ?? false,
  };
}

/** 410 for what is no longer kept. */
export function expired(message: string, continueToken?: string): Error {
  const error = failure(410, 'Expired', message);
  if (continueToken !== undefined) error.status.metadata.continue = continueToken;
  return error;
}

/** 504 for a revision that this server has not reached. */
export function tooLargeResourceVersion(asked: number, current: number): Error {
  return failure(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}
