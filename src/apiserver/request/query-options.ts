import { badRequest, type FieldError, failure, invalid } from '../../kube/status-error.ts';
import { parseFieldSelector } from '../../schema/field-selector.ts';
import { parseLabelSelector } from '../../schema/label-selector.ts';
import { dryRunProblems, flag, integer } from './query-values.ts';

/** `metav1.ListOptions` as the query of a list, watch or deletecollection has them, checked. */
export interface ListQuery {
  /** '' when absent. */
  readonly resourceVersion: string;
  /** {@link resourceVersion} as a number; undefined when absent, or when it is none: {@link revisionProblem} says why. */
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
}

/** What rows of a table hold of their objects. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

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

const MAX_UINT64 = 2n ** 64n;

/** A revision in a query or in `metadata.resourceVersion`; undefined when it is not one. Those that nobody reaches are not exact. */
export function parseRevision(text: string): number | undefined {
  return numberProblem(text) === undefined ? Number(text) : undefined;
}

/** Why a text is no revision, in the words of Go. */
export function numberProblem(text: string): string | undefined {
  const problem = (why: string): string => `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
  if (!/^\d{1,1024}$/.test(text)) return problem('invalid syntax');
  return text.length > 19 && BigInt(text) >= MAX_UINT64 ? problem('value out of range') : undefined;
}

/** Why a `resourceVersion` of a query is none; undefined where it is one, or absent. */
export function revisionProblem(text: string): string | undefined {
  const why = text === '' ? undefined : numberProblem(text);
  return why && `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`;
}

/** The `resourceVersion` of a query as a number. Throws 500 for what is none, as a cache does that reads it. */
export function revisionOf(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  const problem = revisionProblem(text);
  if (problem !== undefined) throw failure(500, '', problem);
  return text === '' ? undefined : Number(text);
}

/** What rows of a table are to hold of their objects. Throws 400. */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value !== 'None' && value !== 'Metadata' && value !== 'Object')
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
    );
  return value;
}

function listInvalid(errors: FieldError[]): Error {
  return invalid('meta.k8s.io', 'ListOptions', '', errors);
}

/** The syntax of selectors is looked at before how options go together. */
function checkSelectors(labelSelector: string, fieldSelector: string): void {
  for (const parsed of [
    labelSelector === '' ? undefined : parseLabelSelector(labelSelector),
    fieldSelector === '' ? undefined : parseFieldSelector(fieldSelector),
  ])
    if (parsed && 'error' in parsed) throw badRequest(parsed.error);
}

/**
 * Reads and checks list options; `watch` has rules of its own. Throws 400 and 422. Whether the revision is one is said by whoever goes by
 * it: caches and the storage have words of their own.
 */
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
  const labelSelector = query.get('labelSelector') ?? '';
  const fieldSelector = query.get('fieldSelector') ?? '';
  if (errors.length > 0) {
    checkSelectors(labelSelector, fieldSelector);
    throw listInvalid(errors);
  }

  return {
    resourceVersion,
    revision: resourceVersion === '' ? undefined : parseRevision(resourceVersion),
    match: match as ListQuery['match'],
    limit,
    continue: continueToken,
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    allowWatchBookmarks: flag(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents,
    labelSelector,
    fieldSelector,
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
export function tooLargeResourceVersion(asked: number | string, current: number): Error {
  return failure(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}
