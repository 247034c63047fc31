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

interface Line {
  readonly key: string;
  readonly line: WeakRef<Uint8Array>;
  /** Of the same event in another representation. */
  readonly next: Line | undefined;
}

/**
 * Lines of events, by event type and representation: all watchers of an event share one buffer. It is there as long as it waits for
 * one of them, and then until memory is wanted: at rest a server keeps none. Whoever asks later has it encoded anew.
 */
const lines = new WeakMap<View, Line>();

function lineOf(view: View, key: string): Uint8Array | undefined {
  for (let known = lines.get(view); known !== undefined; known = known.next)
    if (known.key === key) return known.line.deref();
  return undefined;
}

function keepLine(view: View, key: string, line: Uint8Array): void {
  let others: Line | undefined;
  for (let known = lines.get(view); known !== undefined; known = known.next)
    if (known.key !== key) others = { ...known, next: others };
  lines.set(view, { key, line: new WeakRef(line), next: others });
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
    let line = lineOf(view, key);
    if (!line) {
      line = encodeEvent(type, view, representation, derivedAnnotations);
      keepLine(view, key, line);
    }
    return line;
  };
}

/** What makes lines of one event differ. */
export function lineForm({ format, as, metaVersion = 'v1' }: Representation): string {
  return `${format === 'protobuf' ? format : ''} ${as === undefined ? '' : metaVersion}`;
}

/** Lines that were written together, by the first of them: kept as long as that one is. */
const joinedLines = new WeakMap<Uint8Array, { lines: readonly Uint8Array[]; joined: Uint8Array }>();

/** Lines as one chunk, which those who are sent the same lines share. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first === undefined) return new Uint8Array();
  if (parts.length === 1) return first;
  const known = joinedLines.get(first);
  if (known?.lines.length === parts.length && parts.every((part, index) => part === known.lines[index]))
    return known.joined;
  const chunk = Buffer.concat(parts);
  joinedLines.set(first, { lines: parts, joined: chunk });
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
