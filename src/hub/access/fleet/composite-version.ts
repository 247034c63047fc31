import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { badRequest } from '../../../kube/status-error.ts';
import { isObject, type JsonValue } from '../../../schema/json.ts';

/** The resource version that each cluster was seen at. */
export type Versions = ReadonlyMap<string, string>;

/** Where a list in chunks goes on: continue tokens of clusters that have more, versions of all that were begun. */
export interface FleetContinue {
  readonly versions: Versions;
  /** '' for a cluster that was not asked yet. */
  readonly continues: Versions;
}

/** Nobody but this file reads these texts; the mark tells them from the numbers that single clusters give. */
const VERSION_MARK = 'f1';
const CONTINUE_MARK = 'c1';
/** Of foreign origin: what it may grow to when it is unpacked. */
const MAX_UNPACKED = 4 * 1024 * 1024;

/** One text for the versions of many clusters, short enough for a query. Empty for none. */
export function encodeVersions(versions: Versions): string {
  return versions.size === 0 ? '' : VERSION_MARK + pack(Object.fromEntries(versions));
}

export function isComposite(text: string): boolean {
  return text.startsWith(VERSION_MARK);
}

/** Throws 400 for a text that no list or watch over the fleet gave. */
export function decodeVersions(text: string): Map<string, string> {
  if (!isComposite(text))
    throw badRequest('invalid resource version: only one that the fleet gave says where each cluster was');
  return textMap(unpack(text.slice(VERSION_MARK.length)));
}

export function encodeContinue({ versions, continues }: FleetContinue): string {
  return CONTINUE_MARK + pack([Object.fromEntries(versions), Object.fromEntries(continues)]);
}

/** Throws 400 for a text that is no token of a list over the fleet. */
export function decodeContinue(text: string): FleetContinue {
  const unpacked = text.startsWith(CONTINUE_MARK) ? unpack(text.slice(CONTINUE_MARK.length)) : undefined;
  if (!Array.isArray(unpacked) || unpacked.length !== 2)
    throw badRequest('continue key is not valid: it is not one of a list over the fleet');
  return { versions: textMap(unpacked[0]), continues: textMap(unpacked[1]) };
}

function pack(value: JsonValue): string {
  return deflateRawSync(JSON.stringify(value)).toString('base64url');
}

function unpack(text: string): JsonValue {
  try {
    const bytes = inflateRawSync(Buffer.from(text, 'base64url'), { maxOutputLength: MAX_UNPACKED });
    return JSON.parse(bytes.toString('utf8')) as JsonValue;
  } catch (error) {
    throw badRequest(`it is damaged: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function textMap(value: JsonValue | undefined): Map<string, string> {
  if (!isObject(value)) throw badRequest('it is damaged: clusters are missing');
  const out = new Map<string, string>();
  for (const [name, version] of Object.entries(value)) {
    if (typeof version !== 'string') throw badRequest('it is damaged: a version is no text');
    out.set(name, version);
  }
  return out;
}
