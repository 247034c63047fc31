import { CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { Cluster } from '../dialects/kubevela/types.ts';
import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { createClient } from '../kube/rest-client.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Link } from '../link/link.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { clusterInForm, dispatchInForm } from './dispatch/in-form.ts';
import { type SharedSpecs, sharedSpecs } from './dispatch/shared-specs.ts';

/** What the hub sees of one spoke through its link. Reads follow the spoke's own state by watch; nothing is polled. */
export interface SpokeSession {
  readonly name: string;
  readonly client: Client;
  readonly link: Link;
  /** Whether a spoke engine was found there; undefined until it was looked for. */
  readonly engine: boolean | undefined;
  /** Whether what is seen is the present state. */
  readonly live: boolean;
  /** Until when it was, milliseconds since the epoch; undefined while it is, and where it never was. */
  readonly seenUntil: number | undefined;
  /** Why it is not. */
  readonly staleReason: string;
  /** Set where the cluster is connected and does not let its state be read. */
  readonly unread: string | undefined;
  /** The dispatches on the spoke, the last known ones while it is away. */
  dispatch(name: string): Dispatch | undefined;
  dispatches(): readonly Dispatch[];
  readonly dispatchCount: number;
  cluster(): Cluster | undefined;
  /** Set where the engine there goes by another name: it takes only orders that are signed for its own. */
  misnamed(): string | undefined;
  /** Looks again for a spoke engine. */
  look(): Promise<void>;
  /** Resolves once what is seen is the present state, or it is known that none can be seen now. */
  whenRead(signal: AbortSignal): Promise<void>;
}

export interface FleetChange {
  readonly spoke: string;
  /** The dispatch that changed, or undefined for the session as a whole (came, went, became live). */
  readonly dispatch?: string;
  /** Whether more than its status changed. */
  readonly order?: boolean;
  /** Set where only what the spoke says of itself changed. */
  readonly cluster?: true;
}

export interface Fleet {
  session(name: string): SpokeSession | undefined;
  names(): string[];
  /** How many there are. */
  readonly size: number;
  /** Uses `link` for the spoke from now on; the same link again changes nothing. */
  attach(name: string, link: Link): void;
  detach(name: string): void;
  /** Calls back at each change, and at once for each spoke that is there already. */
  onChange(listener: (change: FleetChange) => void): void;
  stop(): void;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const CLUSTERS = resourceIdOf(CLUSTER);

export function createFleet(runtime: Runtime): Fleet {
  const sessions = new Map<string, ReturnType<typeof openSession>>();
  const listeners: ((change: FleetChange) => void)[] = [];
  const shared = sharedSpecs();
  const tell = (change: FleetChange): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    session: (name) => sessions.get(name),
    names: () => [...sessions.keys()],
    get size() {
      return sessions.size;
    },
    attach(name: string, link: Link): void {
      const present = sessions.get(name);
      if (present?.link === link) return;
      present?.close();
      sessions.set(name, openSession(runtime, name, link, shared, tell));
      tell({ spoke: name });
    },
    detach(name: string): void {
      sessions.get(name)?.close();
      if (sessions.delete(name)) tell({ spoke: name });
    },
    onChange(listener): void {
      listeners.push(listener);
      for (const spoke of sessions.keys()) listener({ spoke });
    },
    stop(): void {
      for (const session of sessions.values()) session.close();
      sessions.clear();
    },
  };
}

function openSession(
  runtime: Runtime,
  name: string,
  link: Link,
  shared: SharedSpecs,
  tell: (change: FleetChange) => void,
): SpokeSession & { close(): void } {
  const log = runtime.log.with({ spoke: name });
  const client = createClient(link.handler, { userAgent: 'atoll-hub', clock: runtime.clock });
  let engine: boolean | undefined;
  let dispatches: Informer<Dispatch> | undefined;
  let clusters: Informer<Cluster> | undefined;
  let remembered: readonly Dispatch[] = [];
  let rememberedCluster: Cluster | undefined;
  let dispatchCount = 0;
  let looking: Promise<void> | undefined;
  const waiting = new Set<() => void>();
  let isSelfUnread = false;
  let closed = false;
  let seenUntil: number | undefined;
  let failure: string | undefined;
  const unread = new Set<string>();

  /** Told once: whoever makes something up may do so all the time. */
  function noteMade(what: string): void {
    if (unread.has(what)) return;
    unread.add(what);
    log.warn('a spoke answers what nobody can read; it counts as not said', { what });
  }

  function isLive(): boolean {
    return link.up && dispatches?.synced === true && dispatches.live;
  }

  /** Whether waiting brings no more: all of it is here, or nobody is reading. */
  function isRead(): boolean {
    if (closed || !link.up || failure !== undefined) return true;
    if (!dispatches || !clusters) return looking === undefined;
    return dispatches.live && (clusters.synced || isSelfUnread);
  }

  function wake(): void {
    if (isRead()) for (const resolve of [...waiting]) resolve();
  }

  function changed(change: Omit<FleetChange, 'spoke'> = {}): void {
    wake();
    tell({ spoke: name, ...change });
  }

  function noteSight(): void {
    seenUntil = isLive() ? undefined : (seenUntil ?? runtime.clock.now());
  }

  function stopWatching(): void {
    if (dispatches?.synced) seenUntil ??= runtime.clock.now();
    if (dispatches?.synced) remembered = dispatches.list();
    if (clusters?.synced) rememberedCluster = clusters.get(SYSTEM_NAMESPACE, name);
    dispatches?.stop();
    clusters?.stop();
    dispatches = undefined;
    clusters = undefined;
    failure = undefined;
  }

  function startWatching(): void {
    // Not resumed: who restores a spoke from a backup while its link holds sets its revisions back.
    const options = {
      namespace: SYSTEM_NAMESPACE,
      resume: false,
      onFailure(error: unknown): void {
        failure = errorText(error);
        changed();
      },
    };
    const watching = startInformer<Dispatch>(runtime, client, DISPATCHES, {
      ...options,
      keep: (object) => dispatchInForm(object, noteMade),
    });
    isSelfUnread = false;
    const self = startInformer<Cluster>(runtime, client, CLUSTERS, {
      ...options,
      keep: (object) => clusterInForm(object, noteMade),
      onFailure(error: unknown): void {
        isSelfUnread = true;
        options.onFailure(error);
      },
    });
    dispatches = watching;
    clusters = self;
    dispatchCount = 0;
    watching.onChange(({ type, object, previous }) => {
      if (type === 'deleted') shared.forget(object.metadata.name ?? '');
      else shared.share(object, previous);
      if (type !== 'updated') dispatchCount += type === 'added' ? 1 : -1;
      if (!watching.synced) return;
      const order = type !== 'updated' || object.metadata.generation !== previous?.metadata.generation;
      changed({ dispatch: object.metadata.name ?? '', order });
    });
    watching.onLive((live) => {
      if (live) failure = undefined;
      noteSight();
      changed();
    });
    self.onChange(() => changed({ cluster: true }));
    self.onLive(wake);
  }

  function look(): Promise<void> {
    if (closed || !link.up || dispatches) return Promise.resolve();
    looking ??= lookNow().finally(() => {
      looking = undefined;
      changed();
    });
    return looking;
  }

  async function lookNow(): Promise<void> {
    try {
      await client.resourceFor('atoll.dev/v1alpha1', 'Dispatch');
      engine = true;
      if (!closed && link.up && !dispatches) startWatching();
    } catch (error) {
      if (hasCode(error, 404)) engine = false;
      else log.debug('could not look for a spoke engine', { why: errorText(error) });
    }
  }

  function lookAgain(): void {
    look().catch((error: unknown) =>
      log.error('looking for a spoke engine failed', { why: errorText(error) }),
    );
  }

  const unsubscribe = link.onChange(() => {
    if (link.up) lookAgain();
    else stopWatching();
    changed();
  });
  lookAgain();

  return {
    name,
    client,
    link,
    get engine() {
      return engine;
    },
    get live() {
      return isLive();
    },
    get seenUntil() {
      return isLive() ? undefined : seenUntil;
    },
    get staleReason() {
      if (!link.up) return 'the spoke is not connected';
      if (engine === false) return 'no spoke engine runs on the cluster: start one with `atoll spoke`';
      if (failure !== undefined) return `the spoke's state cannot be read: ${failure}`;
      return "the spoke's state is being read";
    },
    get unread() {
      return link.up && !isLive() ? failure : undefined;
    },
    dispatch: (dispatchName) =>
      dispatches?.synced
        ? dispatches.get(SYSTEM_NAMESPACE, dispatchName)
        : remembered.find((dispatch) => dispatch.metadata.name === dispatchName),
    dispatches: () => (dispatches?.synced ? dispatches.list() : remembered),
    get dispatchCount() {
      return dispatchCount;
    },
    cluster: () => (clusters?.synced ? clusters.get(SYSTEM_NAMESPACE, name) : rememberedCluster),
    misnamed(): string | undefined {
      if (!clusters?.synced || clusters.get(SYSTEM_NAMESPACE, name)) return undefined;
      const other = clusters.list()[0]?.metadata.name;
      if (other === undefined) return undefined;
      return `the engine on this cluster calls itself ${other}: name its SpokeCluster ${other}, or start the engine with --name ${name}`;
    },
    look,
    whenRead: (signal) =>
      new Promise((resolve) => {
        const settle = (): void => {
          waiting.delete(settle);
          signal.removeEventListener('abort', settle);
          resolve();
        };
        waiting.add(settle);
        signal.addEventListener('abort', settle, { once: true });
        if (isRead() || signal.aborted) settle();
      }),
    close(): void {
      closed = true;
      unsubscribe();
      stopWatching();
      wake();
    },
  };
}
