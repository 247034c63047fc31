import { badRequest, failure, type StatusError } from '../../kube/status-error.ts';
import { type Decoded, type DecodeFailure, parseJsonBody as decodeJson } from '../../schema/decode.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { jsonProblem } from '../../schema/json-problem.ts';
import { parseYamlBody as decodeYaml } from '../../schema/yaml-body.ts';
import { decodeProtobuf, PROTOBUF, ProtobufError } from '../protobuf/index.ts';
import { ACCEPTED_TYPES } from './negotiation.ts';

/** Bodies above this are refused (Kubernetes' own limit). */
export const MAX_BODY_BYTES: number = 3 * 1024 * 1024;

/** A decoded body: its value, and the paths of keys that occur twice. */
export interface Body {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
}

export function mediaType(headers: Readonly<Record<string, string>>): string {
  const header = headers['content-type'] ?? '';
  const semicolon = header.indexOf(';');
  return (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase();
}

export function unsupportedMediaType(accepted: string = ACCEPTED_TYPES): Error {
  return failure(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  );
}

/**
 * Decodes a body in the media type of the request (JSON when none is named). Throws 413, 415 or 400. `kind` is what it
 * should be an object of; it is told when nothing can be made of the body.
 */
export function decodeBody(
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | undefined,
  kind?: string,
): Body {
  const type = mediaType(headers);
  const bytes = body ?? new Uint8Array();
  if (type === '' || type === 'application/json') return parseObjectJson(bytes, kind);
  if (type === 'application/yaml') return parseYamlBody(bytes);
  if (type === PROTOBUF) return parseProtobufBody(bytes);
  throw unsupportedMediaType();
}

/** JSON that must be an object, or `null` for one without any field. */
function parseObjectJson(bytes: Uint8Array, kind: string | undefined): Body {
  const body = parseJsonBody(bytes, (problem) => {
    const text = `couldn't get version/kind; json parse error: ${problem}`;
    return kind === undefined
      ? failure(500, '', text)
      : badRequest(
          `the object provided is unrecognized (must be of type ${kind}): ${text} (${summary(bytes)})`,
        );
  });
  if (isObject(body.value)) return body;
  if (body.value === null) return { ...body, value: {} };
  const found = Array.isArray(body.value) ? 'array' : goTypeOf(body.value);
  throw badRequest(
    `the object provided is unrecognized (must be of type ${kind ?? 'object'}): couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (${summary(bytes)})`,
  );
}

function goTypeOf(value: JsonValue): string {
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const MAX_SUMMARY_BYTES = 1024;

/** The beginning of a body as messages show it: text where it may be an object, otherwise hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) return '<empty>';
  const start = Buffer.from(bytes.subarray(0, MAX_SUMMARY_BYTES));
  const text = start[0] === 0x7b ? start.toString('utf8') : start.toString('hex');
  return bytes.byteLength > MAX_SUMMARY_BYTES ? `${text} ...` : text;
}

/** `problemOf` makes the error of what is no JSON; a plain 400 without it. */
export function parseJsonBody(bytes: Uint8Array, problemOf?: (problem: string) => Error): Body {
  const result = decodeJson(bytes, { maxBytes: MAX_BODY_BYTES });
  if (!result.ok && result.reason === 'Syntax' && problemOf) {
    const problem = jsonProblem(Buffer.from(bytes).toString('utf8'));
    if (problem !== undefined) throw problemOf(problem);
  }
  return decoded('JSON', result);
}

/** One YAML document (or JSON, which is YAML), as kubectl reads it. */
export function parseYamlBody(bytes: Uint8Array): Body {
  return decoded('YAML', decodeYaml(bytes, { maxBytes: MAX_BODY_BYTES }));
}

function parseProtobufBody(bytes: Uint8Array): Body {
  if (bytes.byteLength > MAX_BODY_BYTES) throw tooLarge();
  try {
    return { value: decodeProtobuf(bytes), duplicates: [] };
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof SyntaxError)
      throw badRequest(`the protobuf body of the request cannot be decoded: ${error.message}`);
    throw error;
  }
}

function decoded(form: string, result: Decoded | DecodeFailure): Body {
  if (result.ok) return result;
  if (result.reason === 'TooLarge') throw tooLarge();
  throw badRequest(`error parsing ${form} in the body of the request: ${result.message}`);
}

function tooLarge(): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
}

/** The body as a JSON object; throws 400 for anything else. */
export function objectBody(body: Body, kind: string): JsonObject {
  if (!isObject(body.value))
    throw badRequest(
      `the body of the request must be one ${kind} object, not ${Array.isArray(body.value) ? 'a list' : JSON.stringify(body.value)}`,
    );
  return body.value;
}
