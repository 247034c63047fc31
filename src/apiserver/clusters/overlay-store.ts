import type { KubeObject } from '../../kube/object.ts';
import { notFound } from '../../kube/status-error.ts';
import { clusterOfKey } from '../store/key.ts';
import { sameObject } from '../store/mvcc-store.ts';
import { deletedRecord } from '../store/record.ts';
import { rangeOf } from '../store/snapshot.ts';
import { type SortedMap, sortedMap } from '../store/sorted-map.ts';
import type { Store, StoreEvent, StoreList, StoreRecord, WriteResult } from '../store/store.ts';
import {
  CLUSTERS,
  clusterOfRecord,
  clusterRecordPrefix,
  isLive,
  isTombstone,
  liveCluster,
  tombstone,
} from './cluster-record.ts';
import { limitedWrites } from './object-limit.ts';
import { sharedRecords } from './shared-record.ts';
import type { ResourceTemplates, Template, TemplateSet } from './template.ts';

/** A key or a prefix of a resource that has templates. */
interface Located {
  readonly resource: string;
  readonly templates: ResourceTemplates;
  /** '' for all clusters. */
  readonly cluster: string;
  /** What follows the cluster. */
  readonly rest: string;
}

/** A shared object that a list comes by. */
interface Candidate {
  readonly key: string;
  readonly template: Template;
  readonly cluster: StoreRecord;
}

/** Thrown through the store by a write that leaves a shared object as it is. */
class Kept extends Error {
  readonly record: StoreRecord;
  constructor(record: StoreRecord) {
    super('unchanged');
    this.record = record;
  }
}

const CLUSTERS_AT_ONCE = 64;

/**
 * A store in which every logical cluster has the objects of `templates`, though only its own record is stored. A write
 * puts a copy in the place of the shared object, a deletion leaves a tombstone there.
 *
 * They are seen by `get`, `count`, `list` and `watch` of a resource or of anything below one. Over several resources at
 * once (`/`) the store shows what is stored.
 */
export function overlayStore(store: Store, { byResource }: TemplateSet): Store {
  /** Stored keys that have a template, and whether they are tombstones. */
  const shadows = shadowIndex();

  const limits = limitedWrites(store);
  const sharedRecord = sharedRecords();

  function locate(key: string): Located | undefined {
    const resourceEnd = key.indexOf('/', key.indexOf('/', 1) + 1) + 1;
    if (resourceEnd < 2) return undefined;
    const resource = key.slice(0, resourceEnd);
    const templates = byResource.get(resource);
    if (templates === undefined) return undefined;
    const clusterEnd = key.indexOf('/', resourceEnd);
    if (clusterEnd < 0) return { resource, templates, cluster: '', rest: '' };
    return {
      resource,
      templates,
      cluster: key.slice(resourceEnd, clusterEnd),
      rest: key.slice(clusterEnd + 1),
    };
  }

  function templateOf(key: string): Template | undefined {
    const at = locate(key);
    return at?.templates.bySuffix.get(at.rest);
  }

  function sharedAt(key: string): StoreRecord | undefined {
    const at = locate(key);
    const template = at?.templates.bySuffix.get(at.rest);
    if (at === undefined || template === undefined) return undefined;
    const cluster = liveCluster(store, at.cluster);
    return cluster && sharedRecord(key, template, cluster);
  }

  /** What is seen of a key under which `stored` is. */
  function visible(key: string, stored: StoreRecord | undefined): StoreRecord | undefined {
    if (stored === undefined) return sharedAt(key);
    return isTombstone(stored) ? undefined : stored;
  }

  function shadowIndex(): SortedMap<boolean> {
    const index = sortedMap<boolean>();
    const take = (record: StoreRecord, exists: boolean): void => {
      if (templateOf(record.key) === undefined) return;
      if (exists) index.set(record.key, isTombstone(record));
      else index.delete(record.key);
    };
    for (const prefix of byResource.keys())
      for (const record of store.list(prefix).records) take(record, true);
    if (byResource.size > 0)
      store.watch([...byResource.keys()], store.revision, (events) => {
        for (const { record, type } of events) take(record, type !== 'deleted');
      });
    return index;
  }

  /** The templates below a prefix of one cluster, in order. */
  function templatesBelow({ templates, rest }: Located): readonly Template[] {
    if (rest === '') return templates.sorted;
    if (rest.endsWith('/')) return templates.sorted.filter(({ suffix }) => suffix.startsWith(rest));
    const one = templates.bySuffix.get(rest);
    return one ? [one] : [];
  }

  /** Records of live clusters, in order, from that of `after` on. */
  function* clustersOf(at: Located, revision: number, after: string | undefined): Generator<StoreRecord> {
    const past = revision !== store.revision;
    const prefix = at.cluster === '' ? CLUSTERS : clusterRecordPrefix(at.cluster);
    const first = after === undefined ? '' : (locate(after)?.cluster ?? '');
    let from: string | undefined = at.cluster === '' && first !== '' ? `${CLUSTERS}${first}/` : undefined;
    for (;;) {
      const chunk: StoreList = store.list(prefix, {
        ...(past ? { revision } : { limit: CLUSTERS_AT_ONCE }),
        ...(from === undefined ? {} : { after: from }),
      });
      for (const record of chunk.records) if (isLive(record)) yield record;
      from = chunk.records.at(-1)?.key;
      if (!chunk.more || from === undefined) return;
    }
  }

  function* sharedBelow(
    at: Located,
    revision: number,
    after: string | undefined,
  ): Generator<Candidate, undefined> {
    const templates = templatesBelow(at);
    if (templates.length === 0) return;
    for (const cluster of clustersOf(at, revision, after)) {
      const prefix = `${at.resource}${clusterOfRecord(cluster.key)}/`;
      for (const template of templates) {
        const key = prefix + template.suffix;
        if (after === undefined || key > after) yield { key, template, cluster };
      }
    }
  }

  function* storedBelow(
    prefix: string,
    revision: number,
    start: string | undefined,
    limit: number,
  ): Generator<StoreRecord, undefined> {
    const past = revision !== store.revision;
    let after = start;
    for (;;) {
      const chunk: StoreList = store.list(prefix, {
        ...(past ? { revision } : { limit }),
        ...(after === undefined ? {} : { after }),
      });
      yield* chunk.records;
      after = chunk.records.at(-1)?.key;
      if (!chunk.more || after === undefined) return;
    }
  }

  function countFrom(at: Located, prefix: string, after: string | undefined): number {
    const { start, end } = rangeOf(prefix, after);
    const rest = store.list(prefix, { limit: 1, ...(after === undefined ? {} : { after }) });
    let count = rest.records.length + rest.remaining;
    const templates = templatesBelow(at);
    if (templates.length === 0) return count;
    const shared = at.cluster === '' ? store.count(CLUSTERS) : liveCluster(store, at.cluster) ? 1 : 0;
    let passed = 0;
    const here = after === undefined ? undefined : locate(after);
    if (here !== undefined) {
      const live = liveCluster(store, here.cluster) !== undefined;
      const left = templates.filter(
        ({ suffix }) => `${at.resource}${here.cluster}/${suffix}` > (after ?? ''),
      );
      // Whole clusters before this one, and the part of it that is passed.
      const behind = at.cluster === '' ? countAfter(`${CLUSTERS}${here.cluster}/\uffff`) : 0;
      passed =
        (shared - behind - (live ? 1 : 0)) * templates.length + (live ? templates.length - left.length : 0);
    }
    count += shared * templates.length - passed;
    shadows.scan(start, (key, isDeleted) => {
      if (key >= end) return false;
      count -= isDeleted ? 2 : 1;
      return true;
    });
    return count;
  }

  function countAfter(after: string): number {
    const { records, remaining } = store.list(CLUSTERS, { after, limit: 1 });
    return records.length + remaining;
  }

  function list(
    prefix: string,
    options: { revision?: number; after?: string; limit?: number } = {},
  ): StoreList {
    const at = locate(prefix);
    if (at === undefined) return store.list(prefix, options);
    const { after, limit = 0, revision = store.revision } = options;
    const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    const past = revision !== store.revision;
    const shared = sharedBelow(at, revision, after);
    let candidate = shared.next().value;
    if (!past && limit === 0) return whole(prefix, after, candidate, shared);
    const stored = storedBelow(prefix, revision, after, limit);
    const records: StoreRecord[] = [];
    let left = 0;
    let record = stored.next().value;
    while (record !== undefined || candidate !== undefined) {
      let seen: StoreRecord | undefined;
      if (record !== undefined && (candidate === undefined || record.key <= candidate.key)) {
        if (candidate?.key === record.key) candidate = shared.next().value;
        if (!isTombstone(record)) seen = record;
        record = stored.next().value;
      } else if (candidate !== undefined) {
        seen = sharedRecord(candidate.key, candidate.template, candidate.cluster);
        candidate = shared.next().value;
      }
      if (seen === undefined) continue;
      if (records.length < most) {
        records.push(seen);
        continue;
      }
      left += 1;
      if (!past) break;
    }
    const last = records.at(-1)?.key;
    const remaining = left > 0 && !past ? Math.max(1, countFrom(at, prefix, last)) : left;
    return { revision, records, more: left > 0, remaining };
  }

  /** The present without a limit, which is what is listed most. */
  function whole(
    prefix: string,
    after: string | undefined,
    first: Candidate | undefined,
    shared: Iterator<Candidate, undefined>,
  ): StoreList {
    const stored = store.list(prefix, after === undefined ? {} : { after });
    const records: StoreRecord[] = [];
    let candidate = first;
    for (const record of stored.records) {
      for (; candidate !== undefined && candidate.key < record.key; candidate = shared.next().value)
        records.push(sharedRecord(candidate.key, candidate.template, candidate.cluster));
      if (candidate?.key === record.key) candidate = shared.next().value;
      if (!isTombstone(record)) records.push(record);
    }
    for (; candidate !== undefined; candidate = shared.next().value)
      records.push(sharedRecord(candidate.key, candidate.template, candidate.cluster));
    return { revision: stored.revision, records, more: false, remaining: 0 };
  }

  function write(
    key: string,
    decide: (current: StoreRecord | undefined) => KubeObject | null | undefined,
  ): Promise<WriteResult> {
    const cluster = liveCluster(store, clusterOfKey(key));
    // Whoever came in before a cluster was deleted must leave nothing behind.
    if (cluster === undefined) return Promise.reject(notFound('', 'clusters', clusterOfKey(key)));
    return templateOf(key) === undefined
      ? limits.write(cluster, key, decide)
      : limits.write(cluster, key, decide, writeShared);
  }

  async function writeShared(
    key: string,
    decide: (current: StoreRecord | undefined) => KubeObject | null | undefined,
  ): Promise<WriteResult> {
    let before: StoreRecord | undefined;
    let removed = false;
    try {
      const result = await store.write(key, (stored) => {
        const current = visible(key, stored);
        const decided = decide(current);
        if (current === undefined) {
          if (decided) return decided;
          throw new Error(`nothing is stored under ${key} that the write could leave as it is`);
        }
        if (decided === undefined || (decided !== null && sameObject(current.object, decided))) {
          if (stored !== undefined) return undefined;
          throw new Kept(current);
        }
        before = current;
        removed = decided === null;
        return decided ?? tombstone(current.object.metadata.name ?? '');
      });
      if (result.outcome === 'unchanged') return result;
      if (before !== undefined && removed)
        return { record: deletedRecord(before, result.record.revision), outcome: 'deleted' };
      return { record: result.record, outcome: before === undefined ? 'created' : 'updated' };
    } catch (error) {
      if (error instanceof Kept) return { record: error.record, outcome: 'unchanged' };
      throw error;
    }
  }

  /** What happened to what is seen; `undefined` when nothing did. */
  function seenEvent(event: StoreEvent): StoreEvent | undefined {
    const { record, revision, type } = event;
    if (templateOf(record.key) === undefined) return event;
    if (type === 'deleted') return event.previous && isTombstone(event.previous) ? undefined : event;
    const before = visible(record.key, event.previous);
    if (isTombstone(record)) {
      if (before === undefined) return undefined;
      return { type: 'deleted', revision, record: deletedRecord(before, revision), previous: before };
    }
    return { type: before === undefined ? 'created' : 'updated', revision, record, previous: before };
  }

  /** The batch that was translated last: all watchers of a prefix are handed the same array, one after the other. */
  let translated:
    | { readonly events: readonly StoreEvent[]; readonly seen: readonly StoreEvent[] }
    | undefined;

  function translate(events: readonly StoreEvent[]): readonly StoreEvent[] {
    if (translated?.events !== events) {
      const seen = events.map(seenEvent);
      const isSame = seen.every((event, index) => event === events[index]);
      translated = { events, seen: isSame ? events : seen.filter((event) => event !== undefined) };
    }
    return translated.seen;
  }

  /** The last batch that {@link tellsOfClusters} was asked of. */
  let looked: { readonly events: readonly StoreEvent[]; readonly tells: boolean } | undefined;

  function tellsOfClusters(events: readonly StoreEvent[]): boolean {
    if (looked?.events !== events)
      looked = { events, tells: events.some(({ record }) => record.key.startsWith(CLUSTERS)) };
    return looked.tells;
  }

  /** What becomes of the shared objects below a prefix when the record of their cluster changes. */
  function* sharedEvents(at: Located, event: StoreEvent): Generator<StoreEvent> {
    const { record, previous, revision } = event;
    const was = previous !== undefined && isLive(previous) ? previous : undefined;
    const is = event.type !== 'deleted' && isLive(record) ? record : undefined;
    const prefix = `${at.resource}${clusterOfRecord(record.key)}/`;
    for (const template of templatesBelow(at)) {
      const key = prefix + template.suffix;
      if (store.get(key) !== undefined) continue;
      const before = was && sharedRecord(key, template, was);
      if (is !== undefined) {
        const type = before === undefined ? 'created' : 'updated';
        yield { type, revision, record: sharedRecord(key, template, is), previous: before };
      } else if (before !== undefined)
        yield { type: 'deleted', revision, record: deletedRecord(before, revision), previous: before };
    }
  }

  return {
    get revision() {
      return store.revision;
    },
    get compactedRevision() {
      return store.compactedRevision;
    },
    sharedPrefixes: [...byResource.keys()],
    get: (key) => visible(key, store.get(key)),
    list,
    count(prefix) {
      const at = locate(prefix);
      return at === undefined ? store.count(prefix) : countFrom(at, prefix, undefined);
    },
    write,
    watch(prefix, fromRevision, onEvents) {
      const prefixes = typeof prefix === 'string' ? [prefix] : prefix;
      const located = prefixes.map(locate).filter((at) => at !== undefined);
      const isWide = prefixes.some((one) => one === '' || one.split('/').length < 4);
      if (located.length === 0 && !isWide) return store.watch(prefix, fromRevision, onEvents);
      const clusters = new Set(
        located.map(({ cluster }) => (cluster === '' ? CLUSTERS : clusterRecordPrefix(cluster))),
      );
      if (isWide) return store.watch(prefix, fromRevision, (events) => hand(translate(events)));
      return store.watch([...prefixes, ...clusters], fromRevision, (events) => {
        if (!tellsOfClusters(events)) {
          hand(translate(events));
          return;
        }
        hand(
          events.flatMap((event) => {
            if (event.record.key.startsWith(CLUSTERS))
              return located.flatMap((at) => [...sharedEvents(at, event)]);
            return seenEvent(event) ?? [];
          }),
        );
      });

      function hand(events: readonly StoreEvent[]): void {
        if (events.length > 0) onEvents(events);
      }
    },
    waitFor: (revision, timeoutMs) => store.waitFor(revision, timeoutMs),
    beginHistory: () => store.beginHistory(),
    close: () => store.close(),
  };
}
