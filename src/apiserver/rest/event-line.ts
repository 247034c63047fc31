import type { KubeObject } from '../../kube/object.ts';
import type { Clock } from '../../runtime/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import { encodeWatchFrame } from '../protobuf/index.ts';
import type { Representation } from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { tableOf } from '../table/index.ts';
import { partialObject } from './list.ts';
import type { View } from './view.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * Lines of the newest events, by event type and representation: all watchers of an event share one buffer. Whoever asks for an
 * older one, which is still in the history, has it encoded anew.
 */
const lines = new Map<View, Map<string, Uint8Array>>();
const MAX_VIEWS = 1024;
/** Large objects would add up to gigabytes. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
let lineBytes = 0;

function forgetOldLines(): void {
  for (const [view, known] of lines) {
    // The newest stays, however large: it is being told.
    if (lines.size === 1 || (lines.size <= MAX_VIEWS && lineBytes <= MAX_LINE_BYTES)) return;
    lines.delete(view);
    for (const line of known.values()) lineBytes -= line.byteLength;
  }
}

const NEWLINE = Buffer.from('}\n');

/** Writes events of a watch stream, lines or frames; each is encoded once for all who watch it in the same representation. */
export function eventLines(
  representation: Representation,
  derivedAnnotations?: readonly string[],
): (type: EventType, view: View) => Uint8Array {
  const form = lineForm(representation);
  const keys = { ADDED: `ADDED ${form}`, MODIFIED: `MODIFIED ${form}`, DELETED: `DELETED ${form}` };
  return (type, view) => {
    const key = keys[type];
    let known = lines.get(view);
    if (!known) {
      known = new Map();
      lines.set(view, known);
    }
    let line = known.get(key);
    if (!line) {
      line = encodeEvent(type, view, representation, derivedAnnotations);
      known.set(key, line);
      lineBytes += line.byteLength;
      forgetOldLines();
    }
    return line;
  };
}

/** What makes lines of one event differ. */
export function lineForm({ format, as, metaVersion = 'v1' }: Representation): string {
  return `${format === 'protobuf' ? format : ''} ${as === undefined ? '' : metaVersion}`;
}

/** Lines that were written together lately, by the first of them. */
const joinedLines = new Map<Uint8Array, { lines: readonly Uint8Array[]; joined: Uint8Array }>();
const MAX_JOINED = 16;
/** The beginnings of watches over many objects are long. */
const MAX_JOINED_BYTES = 32 * 1024 * 1024;
let joinedBytes = 0;

/** Lines as one chunk, which those who are sent the same lines share. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first === undefined) return new Uint8Array();
  if (parts.length === 1) return first;
  const known = joinedLines.get(first);
  if (known?.lines.length === parts.length && parts.every((part, index) => part === known.lines[index]))
    return known.joined;
  const chunk = Buffer.concat(parts);
  if (chunk.byteLength > MAX_JOINED_BYTES) return chunk;
  joinedBytes += chunk.byteLength - (known?.joined.byteLength ?? 0);
  joinedLines.set(first, { lines: parts, joined: chunk });
  for (const [oldest, { joined }] of joinedLines) {
    if (joinedLines.size <= MAX_JOINED && joinedBytes <= MAX_JOINED_BYTES) break;
    joinedLines.delete(oldest);
    joinedBytes -= joined.byteLength;
  }
  return chunk;
}

function encodeEvent(
  type: EventType,
  { object, bytes }: View,
  { format, as, metaVersion = 'v1' }: Representation,
  derivedAnnotations: readonly string[] | undefined,
): Uint8Array {
  const shown = as === undefined ? object : partialObject(object, metaVersion, derivedAnnotations);
  if (format === 'protobuf') return encodeWatchFrame(type, shown);
  const text = as === undefined ? bytes : Buffer.from(jsonText(shown));
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), text, NEWLINE]);
}

/** An event without an object of the store: a bookmark, or the error that ends a stream. */
export function loneEvent(
  type: 'BOOKMARK' | 'ERROR',
  object: unknown,
  { format }: Representation,
): Uint8Array {
  return format === 'protobuf'
    ? encodeWatchFrame(type, object)
    : Buffer.from(`${JSON.stringify({ type, object })}\n`);
}

export type RowWriter = (type: EventType, object: KubeObject) => Uint8Array;

/** Lines of tables with one row. Only the first tells the columns. They hold ages, so nothing is shared. */
export function rowWriter(
  resource: Resource,
  clock: Clock,
  includeObject: 'None' | 'Metadata' | 'Object',
  representation: Representation,
): RowWriter {
  let first = true;
  return (type, object) => {
    const table = tableOf(resource, [object], {
      now: clock.now(),
      includeObject,
      version: representation.metaVersion ?? 'v1',
      metadata: { resourceVersion: object.metadata.resourceVersion ?? '' },
      columns: first,
    });
    first = false;
    return Buffer.from(`${jsonText({ type, object: table })}\n`);
  };
}
