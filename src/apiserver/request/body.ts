import { isMap, isPair, isScalar, isSeq, type Node, parseDocument, type Tags } from 'yaml';
import { badRequest, failure } from '../../kube/status-error.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { decodeProtobuf, PROTOBUF, ProtobufError } from '../protobuf/index.ts';
import { duplicateKeys } from './duplicate-keys.ts';
import { OFFERED_TYPES } from './negotiation.ts';

/** Bodies above this are refused (Kubernetes' own limit). */
export const MAX_BODY_BYTES: number = 3 * 1024 * 1024;
const MAX_DEPTH = 512;

/** A decoded body: its value and, when asked for, keys that occur twice. */
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

export function checkBodySize(body: Uint8Array | undefined): void {
  if (body !== undefined && body.byteLength > MAX_BODY_BYTES)
    throw failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
}

/** Decodes a body in the media type of the request (JSON when none is named). Throws 413, 415 or 400. */
export function decodeBody(
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | undefined,
  findDuplicates: boolean,
): Body {
  const type = mediaType(headers);
  const bytes = body ?? new Uint8Array();
  checkBodySize(bytes);
  if (type === '' || type === 'application/json') return parseJsonBody(bytes, findDuplicates);
  if (type === 'application/yaml') return parseYamlBody(bytes, findDuplicates);
  if (type === PROTOBUF) return parseProtobufBody(bytes);
  throw unsupportedMediaType();
}

function parseProtobufBody(bytes: Uint8Array): Body {
  try {
    return { value: decodeProtobuf(bytes), duplicates: [] };
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof SyntaxError)
      throw badRequest(`the protobuf body of the request cannot be decoded: ${error.message}`);
    throw error;
  }
}

export function bodyText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badRequest(`the body of the request is not valid UTF-8: ${String(error)}`);
  }
}

export function parseJsonBody(bytes: Uint8Array, findDuplicates: boolean): Body {
  // Protobuf's envelope begins with `k8s\0`, whatever the content type claims.
  if (bytes[0] === 0x6b && bytes[1] === 0x38 && bytes[2] === 0x73 && bytes[3] === 0)
    throw unsupportedMediaType();
  const text = bodyText(bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw badRequest(
      `invalid JSON in the body of the request: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  checkDepth(value, 0);
  return { value, duplicates: findDuplicates ? duplicateKeys(text) : [] };
}

/** Tags that would turn plain strings into values which JSON does not have, or `1:30` into a number. */
const REFUSED_TAGS: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:binary',
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
]);

/** Parses one YAML 1.1 document, as Kubernetes reads it, into JSON. */
export function parseYamlBody(bytes: Uint8Array, findDuplicates: boolean): Body {
  const text = bodyText(bytes);
  const document = parseDocument(text, {
    version: '1.1',
    uniqueKeys: false,
    strict: false,
    customTags: (tags: Tags) =>
      tags.filter(
        (tag) =>
          typeof tag === 'string' ||
          (!REFUSED_TAGS.has(tag.tag) && !('format' in tag && tag.format === 'TIME')),
      ),
  });
  const problem = document.errors[0];
  if (problem) throw badRequest(`error parsing YAML: ${problem.message.split('\n')[0] ?? problem.message}`);
  let value: JsonValue;
  try {
    value = (document.toJS({ maxAliasCount: 100 }) ?? null) as JsonValue;
  } catch (error) {
    throw badRequest(`error parsing YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  checkDepth(value, 0);
  const duplicates: string[] = [];
  if (findDuplicates) yamlDuplicates(document.contents, '', duplicates);
  return { value, duplicates };
}

function yamlDuplicates(node: Node | null, path: string, found: string[]): void {
  if (isMap(node)) {
    const seen = new Set<string>();
    for (const pair of node.items) {
      if (!isPair(pair)) continue;
      const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
      const child = path === '' ? key : `${path}.${key}`;
      if (seen.has(key) && key !== '<<') found.push(child);
      seen.add(key);
      yamlDuplicates(pair.value as Node | null, child, found);
    }
  } else if (isSeq(node)) {
    node.items.forEach((item, index) => {
      yamlDuplicates(item as Node | null, `${path}[${index}]`, found);
    });
  }
}

function checkDepth(value: JsonValue, depth: number): void {
  if (depth > MAX_DEPTH)
    throw badRequest(`the body of the request is nested more than ${MAX_DEPTH} levels deep`);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) for (const item of value) checkDepth(item, depth + 1);
  else for (const key in value) checkDepth(value[key] ?? null, depth + 1);
}

/** The body as a JSON object; throws 400 for anything else. */
export function objectBody(body: Body, kind: string): JsonObject {
  if (!isObject(body.value))
    throw badRequest(
      `the body of the request must be one ${kind} object, not ${Array.isArray(body.value) ? 'a list' : JSON.stringify(body.value)}`,
    );
  return body.value;
}
