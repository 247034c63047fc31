import type { Response } from '../../kube/exchange.ts';
import { failure, internalError, type Status, StatusError } from '../../kube/status-error.ts';
import { jsonText, parseJson } from '../../schema/json-text.ts';
import { yamlText } from '../../schema/yaml-text.ts';
import { encodeProtobuf, PROTOBUF } from '../protobuf/index.ts';
import type { Representation } from './negotiation.ts';

const WARNINGS_LIMIT = 4096;

/** `Warning` header values, without repetitions, as Kubernetes bounds them. */
export function warningHeader(warnings: readonly string[]): string {
  const texts = [...new Set(warnings)].map((text) => text.replace(/\p{Cc}/gu, ' '));
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const shown = total > WARNINGS_LIMIT ? texts.map((text) => text.slice(0, 256)) : texts;
  const out: string[] = [];
  let size = 0;
  for (const text of shown) {
    size += text.length;
    if (size > WARNINGS_LIMIT) break;
    out.push(`299 - "${asciiText(text).replace(/[\\"]/g, '\\$&')}"`);
  }
  return out.join(', ');
}

/** Header values must be Latin-1; anything beyond ASCII is sent as its UTF-8 bytes, as Go does. */
function asciiText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

export interface Rendering {
  readonly representation?: Representation;
  readonly warnings?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** JSON text as a body, which ends a line as the encoder of Kubernetes does. */
export function bodyOf(json: Uint8Array): Uint8Array {
  return Buffer.concat([json, LINE_END]);
}

const LINE_END = Buffer.from('\n');

/** A response of JSON text that is at hand as bytes. Re-encodes for all but plain JSON. */
export function jsonResponse(status: number, json: Uint8Array, rendering: Rendering = {}): Response {
  const { representation } = rendering;
  let body = json;
  let type = 'application/json';
  if (representation?.format === 'yaml') {
    type = 'application/yaml';
    body = Buffer.from(yamlText(parseJson(Buffer.from(json).toString('utf8'))));
  } else if (representation?.format === 'protobuf') {
    type = PROTOBUF;
    body = encodeProtobuf(parseJson(Buffer.from(json).toString('utf8')));
  } else if (representation?.pretty) {
    body = Buffer.from(jsonText(parseJson(Buffer.from(json).toString('utf8')), 2));
  }
  return typedResponse(status, type, body, rendering);
}

/** The value is a whole object where protobuf is asked for. */
export function valueResponse(status: number, value: unknown, rendering: Rendering = {}): Response {
  if (rendering.representation?.format === 'protobuf')
    return typedResponse(status, PROTOBUF, encodeProtobuf(value), rendering);
  return jsonResponse(status, Buffer.from(`${jsonText(value)}\n`), rendering);
}

function typedResponse(status: number, type: string, body: Uint8Array, rendering: Rendering): Response {
  const { warnings = [] } = rendering;
  const headers: Record<string, string> = {
    'content-type': type,
    'cache-control': 'no-cache, private',
    ...rendering.headers,
  };
  if (warnings.length > 0) headers.warning = warningHeader(warnings);
  return { status, headers, body };
}

export function textResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache, private',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: Buffer.from(text),
  };
}

/** What the router of a built-in group answers, which knows nothing of objects: `details` are empty. */
export function routeNotFound(): StatusError {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** The method is not one of the resource's. */
export function methodNotAllowed(): StatusError {
  return failure(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

/** What paths and groups that do not exist answer: no Status, as Kubernetes does. */
export function pathNotFound(): Response {
  return textResponse(404, '404 page not found\n');
}

/** The response for whatever was thrown. `onInternal` hears of errors that are no answer for a client. */
export function errorResponse(
  error: unknown,
  onInternal: (error: unknown) => void,
  rendering: Rendering = {},
): Response {
  let failureOf: StatusError;
  if (error instanceof StatusError) failureOf = error;
  else {
    onInternal(error);
    failureOf = internalError(error instanceof Error ? error.message : String(error), error);
  }
  const status: Status = failureOf.status;
  const headers: Record<string, string> = { ...rendering.headers };
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  if (status.code === 403) headers['x-content-type-options'] = 'nosniff';
  if (status.code === 401) headers['www-authenticate'] = 'Bearer';
  const { format = 'json', pretty = false } = rendering.representation ?? {};
  return valueResponse(status.code ?? 500, status, {
    ...rendering,
    representation: { format, pretty },
    headers,
    warnings: [...(rendering.warnings ?? []), ...failureOf.warnings],
  });
}
