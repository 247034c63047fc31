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
  cluster(): Cluster | undefined;
  /** Set where the engine there goes by another name: it takes only orders that are signed for its own. */
  misnamed(): string | undefined;
  /** Looks again for a spoke engine. */
  look(): Promise<void>;
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
  /** Uses `link` for the spoke from now on; the same link again changes nothing. */
  attach(name: string, link: Link): void;
  detach(name: string): void;
  onChange(listener: (change: FleetChange) => void): void;
  stop(): void;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const CLUSTERS = resourceIdOf(CLUSTER);

export function createFleet(runtime: Runtime): Fleet {
  const sessions = new Map<string, ReturnType<typeof openSession>>();
  const listeners: ((change: FleetChange) => void)[] = [];
  const tell = (change: FleetChange): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    session: (name) => sessions.get(name),
    names: () => [...sessions.keys()],
    attach(name: string, link: Link): void {
      const present = sessions.get(name);
      if (present?.link === link) return;
      present?.close();
      sessions.set(name, openSession(runtime, name, link, tell));
      tell({ spoke: name });
    },
    detach(name: string): void {
      sessions.get(name)?.close();
      if (sessions.delete(name)) tell({ spoke: name });
    },
    onChange: (listener) => void listeners.push(listener),
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
  tell: (change: FleetChange) => void,
): SpokeSession & { close(): void } {
  const log = runtime.log.with({ spoke: name });
  const client = createClient(link.handler, { userAgent: 'atoll-hub', clock: runtime.clock });
  let engine: boolean | undefined;
  let dispatches: Informer<Dispatch> | undefined;
  let clusters: Informer<Cluster> | undefined;
  let remembered: readonly Dispatch[] = [];
  let rememberedCluster: Cluster | undefined;
  let looking = false;
  let closed = false;
  let seenUntil: number | undefined;
  let failure: string | undefined;

  function isLive(): boolean {
    return link.up && dispatches?.synced === true && dispatches.live;
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
        tell({ spoke: name });
      },
    };
    const watching = startInformer<Dispatch>(runtime, client, DISPATCHES, options);
    const self = startInformer<Cluster>(runtime, client, CLUSTERS, options);
    dispatches = watching;
    clusters = self;
    watching.onChange(({ type, object, previous }) => {
      if (!watching.synced) return;
      const order = type !== 'updated' || object.metadata.generation !== previous?.metadata.generation;
      tell({ spoke: name, dispatch: object.metadata.name ?? '', order });
    });
    watching.onLive((live) => {
      if (live) failure = undefined;
      noteSight();
      tell({ spoke: name });
    });
    self.onChange(() => tell({ spoke: name, cluster: true }));
    // A session that is closed before its first sync is no failure.
    watching.whenSynced().then(
      () => {
        noteSight();
        tell({ spoke: name });
      },
      () => undefined,
    );
  }

  async function look(): Promise<void> {
    if (looking || closed || !link.up || dispatches) return;
    looking = true;
    try {
      await client.resourceFor('atoll.dev/v1alpha1', 'Dispatch');
      engine = true;
      if (!closed && link.up && !dispatches) startWatching();
    } catch (error) {
      if (hasCode(error, 404)) engine = false;
      else log.debug('could not look for a spoke engine', { why: errorText(error) });
    } finally {
      looking = false;
    }
    tell({ spoke: name });
  }

  const unsubscribe = link.onChange(() => {
    if (link.up)
      look().catch((error: unknown) =>
        log.error('looking for a spoke engine failed', { why: errorText(error) }),
      );
    else stopWatching();
    tell({ spoke: name });
  });
  look().catch((error: unknown) => log.error('looking for a spoke engine failed', { why: errorText(error) }));

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
    cluster: () => (clusters?.synced ? clusters.get(SYSTEM_NAMESPACE, name) : rememberedCluster),
    misnamed(): string | undefined {
      if (!clusters?.synced || clusters.get(SYSTEM_NAMESPACE, name)) return undefined;
      const other = clusters.list()[0]?.metadata.name;
      if (other === undefined) return undefined;
      return `the engine on this cluster calls itself ${other}: name its SpokeCluster ${other}, or start the engine with --name ${name}`;
    },
    look,
    close(): void {
      closed = true;
      unsubscribe();
      stopWatching();
    },
  };
}
