import { LABELS } from '../../engine/graph/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { type KubeObject, parseApiVersion, refKey, refOf } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { mayWatch, type Where, watchRights } from './rights.ts';

/** What is to be watched of a kind: what graphs made, or everything, as references to what is external need. */
export interface WatchWish {
  readonly apiVersion: string;
  readonly kind: string;
  readonly all: boolean;
  /** With rights other than the engine's. */
  readonly as?: WatchedAs;
}

/** Whoever has the same client shares the watch. */
interface WatchedAs {
  readonly client: Client;
  /** '' is all of them, or none where the kind has none. */
  readonly namespace: string;
  /** The only one that is watched. */
  readonly name?: string;
}

export interface KindWatch {
  /**
   * `Live`: what is known is how things are. `Starting`: that will be so in a moment, and whoever holds the watch is told.
   * `Failing`: the API does not answer list or watch; look by hand. `Refused`: whose rights it needs has not got them.
   */
  readonly state: 'Live' | 'Starting' | 'Failing' | 'Refused';
  get(namespace: string, name: string): KubeObject | undefined;
  list(namespace: string): KubeObject[];
}

/**
 * One stream a version of a kind, shared by all instances of all graphs, which is there as long as somebody holds it. With the rights of others it
 * is one for each of them, and namespace; it ends with their rights, and begins anew when rights change.
 */
export interface KindWatches {
  /** Starts the watch when it is not running, and holds it. Never waits: a watch that fails holds nobody up. */
  open(wish: WatchWish, owner: string): KindWatch;
  /** Says which watches an instance needs, and no other; those that nobody needs are closed. */
  hold(owner: string, wishes: Iterable<WatchWish>): void;
  /**
   * The objects of some kinds, `Deployment.apps`, that carry an instance's mark, as the watches know them; `undefined` where one of
   * the kinds is not watched now. Costs as much as there are such objects.
   */
  members(groupKinds: readonly string[], setId: string): KubeObject[] | undefined;
  /** What is, or was, watched as a kind, `apps/Deployment`; `undefined` while that is not known. */
  resourceOf(groupKind: string): ResourceId | undefined;
  readonly size: number;
  stop(): void;
}

export interface KindWatchEvents {
  readonly onChange: (change: Change, resource: ResourceId) => void;
  /** A watch became live or was lost. */
  readonly onState: (owners: Iterable<string>) => void;
  /** A watch knows all that is there, so long after it began. */
  readonly onSynced?: (resource: ResourceId, milliseconds: number) => void;
  readonly onOpened?: () => void;
  readonly onClosed?: () => void;
}

interface Entry {
  readonly wish: WatchWish;
  readonly owners: Set<string>;
  startedAt: number;
  refused: boolean;
  informer?: Informer;
  resource?: ResourceId;
  /** By the mark of their instance, then by `refKey`. */
  readonly bySet: Map<string, Map<string, KubeObject>>;
  retry?: Timer;
  stopped: boolean;
}

/** A watch that is not live after this time is not waited for. */
export const START_MS = 2_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

export function kindWatches(runtime: Runtime, client: Client, events: KindWatchEvents): KindWatches {
  const { clock } = runtime;
  const entries = new Map<string, Entry>();
  /** Those with the engine's own rights, by `group/kind`. */
  const byKind = new Map<string, Set<Entry>>();
  const held = new Map<string, Set<string>>();
  /** By their group and kind, as they are served. */
  const resources = new Map<string, ResourceId>();
  const clients = new WeakMap<Client, number>();
  let lastClient = 0;
  /** Watches with the rights of others, and how not to be told of changes of rights any more. */
  let acting = 0;
  let ignoreRights: (() => void) | undefined;
  let looking: Promise<void> = Promise.resolve();

  /** An object looks different in each version: expressions are about that which their node states. */
  function watchKey({ apiVersion, kind, all, as }: WatchWish): string {
    if (!as) return `${apiVersion}/${kind}/${all ? 'all' : 'owned'}`;
    const id = clients.get(as.client) ?? ++lastClient;
    clients.set(as.client, id);
    return `${apiVersion}/${kind}/as/${id}/${as.namespace}/${as.name ?? ''}`;
  }

  function entryOf(wish: WatchWish): Entry {
    const key = watchKey(wish);
    let entry = entries.get(key);
    if (!entry) {
      const startedAt = clock.monotonic();
      entry = { wish, owners: new Set(), startedAt, refused: false, bySet: new Map(), stopped: false };
      entries.set(key, entry);
      const ofKind = byKind.get(groupKindOf(wish)) ?? new Set();
      if (!wish.as) byKind.set(groupKindOf(wish), ofKind.add(entry));
      if (wish.as) {
        acting += 1;
        ignoreRights ??= watchRights(runtime, client, (where) => {
          looking = looking.then(() => lookAtRights(where));
        });
      }
      events.onOpened?.();
      begin(entry, 0);
    }
    return entry;
  }

  function begin(entry: Entry, failures: number): void {
    const { apiVersion, kind, all, as } = entry.wish;
    client.resourceFor(apiVersion, kind).then(
      (resource) => {
        if (entry.stopped) return;
        const informer = startInformer(runtime, as?.client ?? client, resource, {
          ...(all ? {} : { labelSelector: `${LABELS.owned}=true` }),
          ...(as && { namespace: as.namespace }),
          ...(as?.name !== undefined && { fieldSelector: `metadata.name=${as.name}` }),
          onFailure(error) {
            if (as && hasCode(error, 403)) refuse(entry, informer);
          },
        });
        entry.informer = informer;
        entry.resource = resource;
        resources.set(`${resource.group}/${resource.kind}`, resource);
        const opened = clock.monotonic();
        let told = false;
        informer.onChange((change) => {
          if (!as) index(entry, change);
          events.onChange(change, resource);
        });
        informer.onLive(() => {
          if (entry.stopped || entry.informer !== informer) return;
          if (!told) events.onSynced?.(resource, clock.monotonic() - opened);
          told = true;
          events.onState(entry.owners);
        });
      },
      (error: unknown) => {
        if (entry.stopped) return;
        const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
        runtime.log.debug('a kind cannot be watched yet', { apiVersion, kind, error: errorText(error) });
        entry.retry = clock.after(delay, () => begin(entry, failures + 1));
      },
    );
  }

  /** What was seen is forgotten: it is not for those to know any more. */
  function refuse(entry: Entry, informer: Informer): void {
    if (entry.stopped || entry.informer !== informer) return;
    delete entry.informer;
    informer.stop();
    entry.refused = true;
    events.onState(entry.owners);
  }

  function beginAnew(entry: Entry): void {
    entry.informer?.stop();
    delete entry.informer;
    entry.refused = false;
    entry.startedAt = clock.monotonic();
    begin(entry, 0);
  }

  /** A server looks at rights when a watch begins, and not again until it ends. */
  async function lookAtRights(where: Where): Promise<void> {
    for (const entry of [...entries.values()]) {
      const { as } = entry.wish;
      if (!as || entry.stopped || (where !== 'Everywhere' && !where.has(as.namespace))) continue;
      const { informer, resource } = entry;
      if (entry.refused) beginAnew(entry);
      else if (informer && resource) {
        try {
          if (!(await mayWatch(runtime, as.client, resource, as))) refuse(entry, informer);
        } catch (error) {
          runtime.log.debug('rights to watch are not known', { error: errorText(error) });
          // Whoever may not even ask is told by what comes of a new watch.
          if (!entry.stopped && entry.informer === informer && hasCode(error, 403)) beginAnew(entry);
        }
      }
    }
  }

  function index({ bySet }: Entry, { type, object, previous }: Change): void {
    const key = refKey(refOf(object));
    const before = previous?.metadata.labels?.[LABELS.partOf];
    const now = type === 'deleted' ? undefined : object.metadata.labels?.[LABELS.partOf];
    for (const set of [before, object.metadata.labels?.[LABELS.partOf]]) {
      if (set === undefined || set === now) continue;
      const known = bySet.get(set);
      known?.delete(key);
      if (known?.size === 0) bySet.delete(set);
    }
    if (now === undefined) return;
    const known = bySet.get(now);
    if (known) known.set(key, object);
    else bySet.set(now, new Map([[key, object]]));
  }

  function close(key: string, entry: Entry): void {
    entry.stopped = true;
    entry.retry?.cancel();
    entry.informer?.stop();
    entries.delete(key);
    const ofKind = byKind.get(groupKindOf(entry.wish));
    if (ofKind?.delete(entry) === true && ofKind.size === 0) byKind.delete(groupKindOf(entry.wish));
    events.onClosed?.();
    if (!entry.wish.as) return;
    acting -= 1;
    if (acting > 0) return;
    ignoreRights?.();
    ignoreRights = undefined;
  }

  return {
    open(wish, owner) {
      const entry = entryOf(wish);
      if (!entry.owners.has(owner)) {
        entry.owners.add(owner);
        const keys = held.get(owner);
        if (keys) keys.add(watchKey(wish));
        else held.set(owner, new Set([watchKey(wish)]));
      }
      return {
        get state() {
          if (entry.informer?.synced && entry.informer.live) return 'Live';
          if (entry.refused) return 'Refused';
          return clock.monotonic() - entry.startedAt < START_MS ? 'Starting' : 'Failing';
        },
        get: (namespace, name) => entry.informer?.get(namespace, name),
        list: (namespace) => entry.informer?.list(namespace === '' ? undefined : namespace) ?? [],
      };
    },
    hold(owner, wishes) {
      const wanted = new Set<string>();
      for (const wish of wishes) {
        wanted.add(watchKey(wish));
        entryOf(wish).owners.add(owner);
      }
      for (const key of held.get(owner) ?? []) {
        if (wanted.has(key)) continue;
        const entry = entries.get(key);
        entry?.owners.delete(owner);
        if (entry && entry.owners.size === 0) close(key, entry);
      }
      if (wanted.size > 0) held.set(owner, wanted);
      else held.delete(owner);
    },
    members(groupKinds, setId) {
      const found: KubeObject[] = [];
      for (const groupKind of groupKinds) {
        const dot = groupKind.indexOf('.');
        const [kind, group] = dot < 0 ? [groupKind, ''] : [groupKind.slice(0, dot), groupKind.slice(dot + 1)];
        // Whichever version it is watched in.
        const entry = [...(byKind.get(`${group}/${kind}`) ?? [])].find(
          ({ informer }) => informer?.synced === true && informer.live,
        );
        if (!entry) return undefined;
        found.push(...(entry.bySet.get(setId)?.values() ?? []));
      }
      return found;
    },
    resourceOf: (groupKind) => resources.get(groupKind),
    get size() {
      return entries.size;
    },
    stop() {
      for (const [key, entry] of entries) close(key, entry);
      held.clear();
    },
  };
}

function groupKindOf({ apiVersion, kind }: WatchWish): string {
  return `${parseApiVersion(apiVersion).group}/${kind}`;
}
