import { formatApiVersion, type ListMeta } from '../../kube/object.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { Resource } from '../resource.ts';
import type { Listing } from './list.ts';
import type { View } from './view.ts';

/** The JSON texts of lists, put together from the texts of their items. */
export interface ListTexts {
  /**
   * `PodList` in the version of the resource. `key` says what was asked for: whoever asks the same again while nothing of it
   * has changed is answered with the same text.
   */
  of(key: string, resource: Resource, listing: Listing): Uint8Array;
}

/** Bytes of list texts that are kept. Informers ask for the same when a server comes back, all at once. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** What is put together as fast as it is found. */
const MIN_KEPT_BYTES = 16 * 1024;

interface Kept {
  readonly views: readonly View[];
  readonly head: string;
  readonly text: Uint8Array;
  /** Where the items begin in {@link text}. */
  readonly start: number;
}

export function listTexts(maxBytes: number = MAX_KEPT_BYTES): ListTexts {
  /** The one that was used last is the last. */
  const kept = new Map<string, Kept>();
  let size = 0;

  function keep(key: string, entry: Kept): void {
    kept.set(key, entry);
    size += entry.text.byteLength;
    for (const [oldest, { text }] of kept) {
      if (size <= maxBytes) return;
      kept.delete(oldest);
      size -= text.byteLength;
    }
  }

  return {
    of(key, resource, listing) {
      const { views } = listing;
      const head = resourceListHead(resource, listing.metadata);
      const known = kept.get(key);
      let entry: Kept;
      if (known !== undefined && sameViews(known.views, views)) {
        if (known.head === head) entry = known;
        else {
          const bytes = Buffer.from(head);
          const text = Buffer.concat([bytes, known.text.subarray(known.start)]);
          entry = { views, head, text, start: bytes.byteLength };
        }
      } else {
        const text = listText(head, resourceListItems(resource, views));
        entry = { views, head, text, start: Buffer.byteLength(head) };
      }
      if (known !== undefined) {
        kept.delete(key);
        size -= known.text.byteLength;
      }
      if (entry.text.byteLength >= MIN_KEPT_BYTES && entry.text.byteLength <= maxBytes / 4) keep(key, entry);
      return entry.text;
    },
  };
}

function sameViews(a: readonly View[], b: readonly View[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** A list up to its items. */
export function listHead(apiVersion: string, kind: string, metadata: ListMeta): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`;
}

/**
 * The kind of the items of built-in kinds is told once, by the list's; custom resources name theirs each, and the version of
 * their lists says where to go on even when there is nowhere.
 */
function resourceListHead({ group, version, listKind, custom }: Resource, metadata: ListMeta): string {
  return listHead(
    formatApiVersion(group, version),
    listKind,
    custom ? { continue: '', ...metadata } : metadata,
  );
}

/** The text of an item: what of `bytes` is behind `from`, with a brace before it when that is not all. */
interface Item {
  readonly bytes: Uint8Array;
  readonly from: number;
}

function resourceListItems({ group, version, kind, custom }: Resource, views: readonly View[]): Item[] {
  if (custom) return views.map(({ bytes }) => ({ bytes, from: 0 }));
  const apiVersion = formatApiVersion(group, version);
  const head = Buffer.from(`{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`);
  const { length } = head;
  return views.map((view) => {
    const { bytes } = view;
    if (bytes.byteLength > length && head.compare(bytes, 0, length) === 0) return { bytes, from: length };
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = view.object;
    return { bytes: Buffer.from(jsonText(rest)), from: 0 };
  });
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const END = 0x5d;

/** A list of whole items. */
export function listText(head: string, items: readonly Item[]): Uint8Array {
  const headBytes = Buffer.byteLength(head);
  let size = headBytes + 2 + Math.max(0, items.length - 1);
  for (const { bytes, from } of items) size += from === 0 ? bytes.byteLength : bytes.byteLength - from + 1;
  const text = Buffer.allocUnsafeSlow(size);
  let at = text.write(head);
  let isFirst = true;
  for (const { bytes, from } of items) {
    if (!isFirst) text[at++] = COMMA;
    isFirst = false;
    if (from === 0) text.set(bytes, at);
    else {
      text[at++] = OPEN;
      text.set(bytes.subarray(from), at);
    }
    at += bytes.byteLength - from;
  }
  text[at++] = END;
  text[at] = CLOSE;
  return text;
}
