import { badRequest, failure, goQuote, type StatusError } from '../../kube/status-error.ts';
import { type Decoded, type DecodeFailure, parseJsonBody as decodeJson } from '../../schema/decode.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { jsonProblem } from '../../schema/json-problem.ts';
import { jsonText } from '../../schema/json-text.ts';
import { parseYamlBody as decodeYaml } from '../../schema/yaml-body.ts';
import { yamlProblem } from '../../schema/yaml-problem.ts';
import { decodeProtobuf, PROTOBUF, ProtobufError } from '../protobuf/index.ts';
import { ACCEPTED_TYPES } from './negotiation.ts';

/** Bodies above this are refused (Kubernetes' own limit). */
export const MAX_BODY_BYTES: number = 3 * 1024 * 1024;

/** A decoded body. */
export interface Body {
  readonly value: JsonValue;
  /** What strict decoding would refuse and the value no longer shows: fields that stand more than once. */
  readonly strict: readonly string[];
}

export function mediaType(headers: Readonly<Record<string, string>>): string {
  const header = headers['content-type'] ?? '';
  const semicolon = header.indexOf(';');
  if (semicolon < 0) return header.trim().toLowerCase();
  // Parameters have values; what is written otherwise is no media type.
  const parameters = header.slice(semicolon + 1).split(';');
  if (parameters.some((part) => part.trim() !== '' && !/^\s*[^\s=]+\s*=/.test(part))) return header;
  return header.slice(0, semicolon).trim().toLowerCase();
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
  if (type === '' || type === 'application/json')
    return wholeObject(parseObjectJson(bytes, kind), bytes, kind);
  if (type === 'application/yaml')
    return wholeObject(
      parseYamlBody(bytes, (problem) => unrecognized(problem, bytes, kind)),
      bytes,
      kind,
    );
  if (type === PROTOBUF) return parseProtobufBody(bytes);
  throw unsupportedMediaType();
}

function parseObjectJson(bytes: Uint8Array, kind: string | undefined): Body {
  const refuse = (problem: string): StatusError =>
    unrecognized(`couldn't get version/kind; json parse error: ${problem}`, bytes, kind);
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw refuse("invalid character 'ï' looking for beginning of value");
  const body = parseJsonBody(bytes, refuse);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return text.includes('\\ud') || text.includes('\\uD') ? { ...body, value: wellFormed(body.value) } : body;
}

/** Halves of characters, which only escapes can write, are no text that could be stored. */
function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key in value) {
    const item = value[key];
    if (item !== undefined) out[key.toWellFormed()] = wellFormed(item);
  }
  return out;
}

function unrecognized(problem: string, bytes: Uint8Array, kind: string | undefined): StatusError {
  return kind === undefined
    ? failure(500, '', problem)
    : badRequest(
        `the object provided is unrecognized (must be of type ${kind}): ${problem} (${summary(bytes)})`,
      );
}

/** A body that must be an object, or `null` for one without any field. */
function wholeObject(body: Body, bytes: Uint8Array, kind: string | undefined): Body {
  if (isObject(body.value)) {
    for (const key of ['apiVersion', 'kind']) {
      const value = body.value[key];
      if (value === undefined || value === null || typeof value === 'string') continue;
      const found = Array.isArray(value) ? 'array' : goTypeOf(value);
      const problem = `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go struct field .${key} of type string`;
      throw unrecognized(problem, bytes, kind);
    }
    const version = body.value.apiVersion;
    if (typeof version === 'string' && version.split('/').length > 2)
      throw unrecognized(`unexpected GroupVersion string: ${version}`, bytes, kind);
    return body;
  }
  if (body.value === null) return { ...body, value: {} };
  const found = Array.isArray(body.value) ? 'array' : goTypeOf(body.value);
  throw unrecognized(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    bytes,
    kind,
  );
}

function goTypeOf(value: JsonValue): string {
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const MAX_SUMMARY_BYTES = 30;

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

/**
 * One YAML document (or JSON, which is YAML), as kubectl reads it. `problemOf` makes the error of what is no YAML, in the
 * words of other servers; a plain 400 without it, or where they have none.
 */
export function parseYamlBody(bytes: Uint8Array, problemOf?: (problem: string) => Error): Body {
  const result = decodeYaml(bytes, { maxBytes: MAX_BODY_BYTES });
  if (!result.ok && result.reason === 'Syntax' && problemOf) {
    const problem = yamlProblem(Buffer.from(bytes).toString('utf8'));
    if (problem !== undefined) throw problemOf(`yaml: ${problem}`);
  }
  return decoded('YAML', result);
}

function parseProtobufBody(bytes: Uint8Array): Body {
  if (bytes.byteLength > MAX_BODY_BYTES) throw tooLarge();
  try {
    return { value: decodeProtobuf(bytes), strict: [] };
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof SyntaxError)
      throw badRequest(`the protobuf body of the request cannot be decoded: ${error.message}`);
    throw error;
  }
}

function decoded(form: string, result: Decoded | DecodeFailure): Body {
  if (result.ok) return { value: result.value, strict: strictProblems(result) };
  if (result.reason === 'TooLarge') throw tooLarge();
  throw badRequest(`error parsing ${form} in the body of the request: ${result.message}`);
}

function strictProblems({ duplicates, repeated }: Decoded): readonly string[] {
  if (repeated === undefined) return duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  const lines = repeated.map(
    ({ line, key }) =>
      `line ${line}: key ${typeof key === 'string' ? goQuote(key) : String(key)} already set in map`,
  );
  return [[YAML_PROBLEMS, ...lines].join('\n  ')];
}

/** What stands before problems of YAML that strict decoding finds, each on a line of its own. */
const YAML_PROBLEMS = 'yaml: unmarshal errors:';

/** The warnings for a problem of strict decoding: one, or one for each line. */
export function strictWarnings(problem: string): readonly string[] {
  if (!problem.startsWith(YAML_PROBLEMS)) return [problem];
  return problem
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
}

function tooLarge(): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
}

/** The body as a JSON object; throws 400 for anything else. */
export function objectBody(body: Body, kind: string): JsonObject {
  if (!isObject(body.value))
    throw badRequest(
      `the body of the request must be one ${kind} object, not ${Array.isArray(body.value) ? 'a list' : jsonText(body.value)}`,
    );
  return body.value;
}
