import { badRequest, failure, type StatusError } from '../../kube/status-error.ts';
import { type Decoded, type DecodeFailure, parseJsonBody as decodeJson } from '../../schema/decode.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { parseYamlBody as decodeYaml } from '../../schema/yaml-body.ts';
import { decodeProtobuf, PROTOBUF, ProtobufError } from '../protobuf/index.ts';
import { OFFERED_TYPES } from './negotiation.ts';

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

export function unsupportedMediaType(accepted: string = OFFERED_TYPES): Error {
  return failure(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  );
}

/** Decodes a body in the media type of the request (JSON when none is named). Throws 413, 415 or 400. */
export function decodeBody(headers: Readonly<Record<string, string>>, body: Uint8Array | undefined): Body {
  const type = mediaType(headers);
  const bytes = body ?? new Uint8Array();
  if (type === '' || type === 'application/json') return parseJsonBody(bytes);
  if (type === 'application/yaml') return parseYamlBody(bytes);
  if (type === PROTOBUF) return parseProtobufBody(bytes);
  throw unsupportedMediaType();
}

export function parseJsonBody(bytes: Uint8Array): Body {
  return decoded('JSON', decodeJson(bytes, { maxBytes: MAX_BODY_BYTES }));
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
