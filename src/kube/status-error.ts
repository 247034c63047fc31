import type { FieldIssue } from '../schema/field-issue.ts';
import { goFloat, goSyntax } from '../schema/go-syntax.ts';
import type { JsonObject } from '../schema/json.ts';
import { jsonText } from '../schema/json-text.ts';

/** `metav1.Status` causes: one per field or conflict. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** `metav1.Status`: every failure of the Kubernetes API has this form. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** The one error type at the API boundary, on both sides of it. */
export class StatusError extends Error {
  readonly status: Status;
  /** Values for the `Warning` header that come with the failure. */
  readonly warnings: readonly string[];

  constructor(status: Status, options: { cause?: unknown; warnings?: readonly string[] } = {}) {
    super(
      status.message ?? status.reason ?? 'unknown error',
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.name = 'StatusError';
    this.status = status;
    this.warnings = options.warnings ?? [];
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** A failure Status with the reason's code. `group` and `resource` follow Kubernetes' message forms. */
export function failure(code: number, reason: string, message: string, details?: StatusDetails): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
}

/** `deployments.apps`, or `pods` for the core group. */
export function qualifiedResource(group: string, resource: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}

export function notFound(group: string, resource: string, name: string): StatusError {
  return failure(404, 'NotFound', `${qualifiedResource(group, resource)} "${name}" not found`, {
    name,
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}

export function alreadyExists(group: string, resource: string, name: string): StatusError {
  return failure(409, 'AlreadyExists', `${qualifiedResource(group, resource)} "${name}" already exists`, {
    name,
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}

export function conflict(group: string, resource: string, name: string, why: string): StatusError {
  return failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedResource(group, resource)} "${name}": ${why}`,
    {
      name,
      ...(group === '' ? {} : { group }),
      kind: resource,
    },
  );
}

export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message);
}

export function internalError(message: string, cause?: unknown): StatusError {
  const error = failure(500, 'InternalError', `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
  return new StatusError(error.status, { cause });
}

/** One problem of a field, as Kubernetes' `field.Error`: `path: Invalid value: "x": detail`. */
export type FieldError = FieldIssue;

const FIELD_ERROR_TEXT: Record<FieldError['type'], { text: string; reason: string; printsValue: boolean }> = {
  Required: { text: 'Required value', reason: 'FieldValueRequired', printsValue: false },
  Invalid: { text: 'Invalid value', reason: 'FieldValueInvalid', printsValue: true },
  NotSupported: { text: 'Unsupported value', reason: 'FieldValueNotSupported', printsValue: true },
  Duplicate: { text: 'Duplicate value', reason: 'FieldValueDuplicate', printsValue: true },
  Forbidden: { text: 'Forbidden', reason: 'FieldValueForbidden', printsValue: false },
  TooLong: { text: 'Too long', reason: 'FieldValueTooLong', printsValue: false },
  TooMany: { text: 'Too many', reason: 'FieldValueTooMany', printsValue: true },
  TooFew: { text: 'Too few', reason: 'FieldValueTooFew', printsValue: true },
  NotFound: { text: 'Not found', reason: 'FieldValueNotFound', printsValue: true },
  TypeInvalid: { text: 'Invalid value', reason: 'FieldValueTypeInvalid', printsValue: true },
  Internal: { text: 'Internal error', reason: 'InternalError', printsValue: false },
};

/** The text after the path, as Kubernetes prints it in causes. */
export function fieldErrorBody(error: FieldError): string {
  const row = FIELD_ERROR_TEXT[error.type];
  const text = error.valueText ?? goValue(error.value);
  const value = row.printsValue && text !== '' ? `: ${text}` : '';
  const detail =
    error.supported !== undefined
      ? `supported values: ${error.supported.map((item) => goQuote(item)).join(', ')}`
      : error.detail;
  return `${row.text}${value}${detail === '' ? '' : `: ${detail}`}`;
}

/** A value as messages print it: nothing at all is the text `"null"`. */
function goValue(value: unknown): string {
  if (value === undefined || value === null) return '"null"';
  if (typeof value === 'string') return goQuote(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : goFloat(value);
  return typeof value === 'object' ? goSyntax(value as JsonObject) : jsonText(value);
}

const GO_ESCAPES: Readonly<Record<string, string>> = { '07': '\\a', '0b': '\\v' };

/** A text in double quotes as Go prints it, whose escapes of control characters are not those of JSON. */
export function goQuote(text: string): string {
  return JSON.stringify(text)
    .replace(/\\u00([01][0-9a-f])/g, (_, hex: string) => GO_ESCAPES[hex] ?? `\\x${hex}`)
    .replaceAll('\x7f', '\\x7f');
}

/** 422 with one cause per error. `kind` is the Kind, not the resource (apierrors.NewInvalid). */
export function invalid(
  group: string,
  kind: string,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = [...new Set(errors.map((error) => `${error.path}: ${fieldErrorBody(error)}`))];
  const text = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const qualified = group === '' ? kind : `${kind}.${group}`;
  return failure(422, 'Invalid', `${qualified} "${name}" is invalid: ${text}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(kind === '' ? {} : { kind }),
    causes: errors.map((error) => ({
      reason: FIELD_ERROR_TEXT[error.type].reason,
      message: fieldErrorBody(error),
      field: error.path,
    })),
  });
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Status';
}

/** Whether what was asked for is no resource there (any more): a 404 that names no object. */
export function isUnserved(error: unknown): error is StatusError {
  return hasCode(error, 404) && error.status.details?.name === undefined;
}

export function hasCode(error: unknown, code: number): error is StatusError {
  return error instanceof StatusError && error.code === code;
}

/**
 * What a call answers, or `undefined` where the server answers with one of these codes: an object that is gone, or there already,
 * is an answer and no failure.
 */
export async function ignoring<T>(
  codes: number | readonly number[],
  call: Promise<T>,
): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if ([codes].flat().some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}
