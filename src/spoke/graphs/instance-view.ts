import {
  type CompiledGraph,
  HUB_OBJECT,
  isExternal,
  type Observed,
  REMOTE_OBJECT,
  type Read,
  writerKey,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import {
  formatApiVersion,
  type GroupVersionKind,
  type KubeObject,
  type ObjectRef,
  refKey,
  refText,
} from '../../kube/object.ts';
import { pagesOf } from '../../kube/pages.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { groupKindKey } from './cluster-schemas.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { type Interest, type Interests, matches } from './interest.ts';
import { type KindWatch, type KindWatches, START_MS, type WatchWish } from './kind-watch.ts';
import { FRESH_MS, type ReadsByHand } from './reads-by-hand.ts';
import { lean } from './served-graph.ts';

/** What one pass over an instance knows of the cluster. */
export interface InstanceView {
  readonly observed: Observed;
  /** Looks at what a step asks for, without waiting. Says whether anything more is known than before. */
  look(reads: readonly Read[]): boolean;
  /** What the pass looked at, so that changes of it are heard of. */
  readonly interest: Interest;
  readonly wishes: readonly WatchWish[];
  /** Watches are about to tell how things are: until then there is nothing to say. */
  readonly starting: boolean;
  /** What could not be read, and why. */
  readonly problems: readonly string[];
  /** Milliseconds after which to look again where no watch will tell. */
  readonly againAfterMs: number | undefined;
}

const PAGE = 5_000;

export interface ViewOptions {
  /** With the rights of the instance. */
  readonly client: Client;
  /** The engine has rights that the instance has not: what others made is watched with those of `client`. */
  readonly actsForOthers: boolean;
  readonly clock: Clock;
  readonly watches: KindWatches;
  readonly interests: Interests;
  readonly reads: ReadsByHand;
  /** The key of the instance. */
  readonly owner: string;
  readonly graph: CompiledGraph;
  readonly memory: InstanceMemory;
  /** The instance comes from another cluster, and has its objects there. */
  readonly fromElsewhere?: boolean;
}

export function instanceView(options: ViewOptions): InstanceView {
  const { client, actsForOthers, clock, watches, interests, reads, owner, graph, memory } = options;
  // What others made carries no mark of ours.
  const external = new Set(
    graph.nodes
      .filter(({ kind, contributes }) => isExternal(kind) || contributes)
      .map(({ of }) => `${of.group}/${of.kind}`),
  );
  const wishes = new Map<string, WatchWish>();
  for (const { of, apiVersion, kind } of graph.nodes) {
    // What an expression says it is, is watched when it has said so.
    if (kind === 'Value' || of.kind === '') continue;
    const all = external.has(`${of.group}/${of.kind}`) && !actsForOthers;
    wishes.set(`${apiVersion}/${of.kind}`, { apiVersion, kind: of.kind, all });
  }
  if (options.fromElsewhere === true || graph.nodes.some(({ targeted }) => targeted))
    wishes.set(`${REMOTE_OBJECT.apiVersion}/${REMOTE_OBJECT.kind}`, { ...REMOTE_OBJECT, all: false });
  if (graph.nodes.some(({ onHub }) => onHub))
    wishes.set(`${HUB_OBJECT.apiVersion}/${HUB_OBJECT.kind}`, { ...HUB_OBJECT, all: false });
  const refs = new Set<string>();
  const queries = new Map<string, Interest['queries'][number]>();
  const byHand = new Map<string, KubeObject | null>();
  const listedByHand = new Map<string, readonly KubeObject[]>();
  const absentKinds = new Set<string>();
  const problems: string[] = [];
  const failed = new Set<string>();
  let againAfterMs: number | undefined;
  let starting = false;

  const again = (ms: number): void => {
    againAfterMs = Math.min(againAfterMs ?? ms, ms);
  };
  /** Of kinds that expressions name: they may be those of what others made. */
  const someExternal = graph.nodes.some(
    (node) => node.dynamic && (isExternal(node.kind) || node.contributes),
  );
  const wishOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }): WatchWish => {
    const key = `${apiVersion}/${kind}`;
    const wish = wishes.get(key) ?? { apiVersion, kind, all: someExternal && !actsForOthers };
    wishes.set(key, wish);
    return wish;
  };
  /** One look for the many that a pass takes. */
  const opened = new Map<string, KindWatch>();
  const watchOf = (of: { apiVersion: string; kind: string }): KindWatch => {
    const key = `${of.apiVersion}/${of.kind}`;
    const found = opened.get(key) ?? watches.open(wishOf(of), owner);
    opened.set(key, found);
    return found;
  };
  /** Objects that carry the mark of a graph are those of graphs; all others are watched with the rights of the instance. */
  const byOwnRights = (of: { apiVersion: string; kind: string }): boolean =>
    actsForOthers && (someExternal || external.has(groupKindKey(of)));
  const openedOwn = new Map<string, KindWatch>();
  const ownWatchOf = (
    { apiVersion, kind }: { apiVersion: string; kind: string },
    namespace: string,
    name?: string,
  ): KindWatch => {
    const key = JSON.stringify([apiVersion, kind, namespace, name]);
    const as = { client, namespace, ...(name !== undefined && { name }) };
    const wish = wishes.get(key) ?? { apiVersion, kind, all: true, as };
    wishes.set(key, wish);
    const found = openedOwn.get(key) ?? watches.open(wish, owner);
    openedOwn.set(key, found);
    return found;
  };
  /** Who may not see all objects of a namespace may see one. */
  const watchFor = (
    of: { apiVersion: string; kind: string; namespace: string },
    name: string | undefined,
  ): KindWatch => {
    if (!byOwnRights(of)) return watchOf(of);
    const all = ownWatchOf(of, of.namespace);
    return all.state === 'Refused' && name !== undefined ? ownWatchOf(of, of.namespace, name) : all;
  };
  const queryKey = (query: Interest['queries'][number]): string => JSON.stringify(query);

  function object(ref: ObjectRef): KubeObject | null | undefined {
    const key = refKey(ref);
    if (!refs.has(key)) {
      // Before it is looked at, so that no change falls between.
      refs.add(key);
      interests.addRef(owner, key);
    }
    const watch = watchFor(ref, ref.name);
    if (watch.state === 'Live')
      return memory.seen(key, watch.get(ref.namespace, ref.name), clock.monotonic());
    const found = byHand.get(key);
    return found === undefined ? undefined : memory.seen(key, found ?? undefined, clock.monotonic());
  }

  async function getByHand(ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | null> {
    try {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      return lean(await client.get(resource, ref.namespace, ref.name, { signal }));
    } catch (error) {
      if (hasCode(error, 404) && error.reason !== 'NoKindMatch') return null;
      throw error;
    }
  }

  async function listByHand(
    query: Interest['queries'][number],
    signal: AbortSignal,
  ): Promise<readonly KubeObject[]> {
    const { apiVersion, kind } = query;
    const resource = await client.resourceFor(apiVersion, kind);
    const found: KubeObject[] = [];
    // To the end: what is missing would count as gone, and what was made for it be removed.
    for await (const items of pagesOf(client, resource, query.namespace, { limit: PAGE, signal }))
      for (const item of items) {
        const object = lean({ ...item, apiVersion, kind });
        if (matches(query, object)) found.push(object);
      }
    return found;
  }

  /** Discovery is asked beside the passes, too. What is not served now is asked for again. */
  function lookForKind(of: GroupVersionKind): boolean {
    const text = kindText(of);
    if (absentKinds.has(text) || failed.has(text)) return false;
    const found = reads.ask(owner, text, `${of.group}/${of.kind}`, () => namespacedOf(of));
    if (found === undefined) {
      starting = true;
      again(START_MS);
      return false;
    }
    if ('problem' in found) {
      problems.push(`the kind ${text} cannot be looked for: ${found.problem}`);
      failed.add(text);
    } else if (found.value === null) absentKinds.add(text);
    else memory.kinds.set(text, found.value);
    if (!('value' in found) || found.value === null) again(FRESH_MS);
    return 'value' in found;
  }

  async function namespacedOf({ group, version, kind }: GroupVersionKind): Promise<boolean | null> {
    try {
      return (await client.resourceFor(formatApiVersion(group, version), kind)).namespaced;
    } catch (error) {
      if (hasCode(error, 404)) return null;
      throw error;
    }
  }

  /** Whether more is known than before. */
  function lookByHand(read: Exclude<Read, { kind: 'Kind' }>, key: string): boolean {
    const of = read.kind === 'Object' ? read.ref : read.query;
    const keep = <T>(
      known: Map<string, T>,
      look: (signal: AbortSignal) => Promise<T>,
      what: string,
    ): boolean => {
      const found = reads.ask(owner, key, groupKindKey(of), look);
      if (found === undefined) {
        starting = true;
        again(START_MS);
        return false;
      }
      again(FRESH_MS);
      if ('problem' in found) {
        problems.push(`${what} cannot be read: ${found.problem}`);
        failed.add(key);
        return false;
      }
      known.set(key, found.value);
      return true;
    };
    return read.kind === 'Object'
      ? keep(byHand, (signal) => getByHand(read.ref, signal), refText(read.ref))
      : keep(listedByHand, (signal) => listByHand(read.query, signal), `${read.query.kind} by selector`);
  }

  return {
    observed: {
      object,
      selected(query) {
        if (!queries.has(queryKey(query))) {
          queries.set(queryKey(query), query);
          interests.addQuery(owner, query);
        }
        const watch = watchFor(query, undefined);
        if (watch.state === 'Live') return watch.list(query.namespace).filter((item) => matches(query, item));
        return listedByHand.get(queryKey(query));
      },
      applied(ref, by) {
        const live = object(ref);
        return live ? memory.applied(ref, by, live, clock.monotonic()) : undefined;
      },
      failure: (ref, by) => memory.failures.get(writerKey(ref, by)),
      namespaced: (of) =>
        memory.kinds.get(kindText(of)) ?? (absentKinds.has(kindText(of)) ? null : undefined),
    },
    look(asked) {
      const looks = asked.map((read) => {
        if (read.kind === 'Kind') return lookForKind(read.of);
        const key = read.kind === 'Object' ? refKey(read.ref) : queryKey(read.query);
        if (failed.has(key)) return false;
        const watch =
          read.kind === 'Object' ? watchFor(read.ref, read.ref.name) : watchFor(read.query, undefined);
        if (watch.state === 'Starting') {
          // The watch tells when it is live; this is for one that never is.
          starting = true;
          again(START_MS);
          return false;
        }
        return lookByHand(read, key);
      });
      return looks.some((more) => more);
    },
    get interest() {
      return { refs, queries: [...queries.values()] };
    },
    get wishes() {
      return [...wishes.values()];
    },
    problems,
    get starting() {
      return starting;
    },
    get againAfterMs() {
      return againAfterMs;
    },
  };
}

function kindText({ group, version, kind }: GroupVersionKind): string {
  return `${formatApiVersion(group, version)} ${kind}`;
}

/** The watches that tell of objects that are being deleted. */
export function wishesFor(refs: readonly ObjectRef[]): WatchWish[] {
  return refs.map(({ apiVersion, kind }) => ({ apiVersion, kind, all: false }));
}
