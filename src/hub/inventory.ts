import { clusterFactsOf } from '../dialects/kubevela/cluster-facts.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import {
  reportSpoke,
  type SpokeFindings,
  sameButForProbing,
  UNREACHABLE_TAINT,
} from '../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import { fleetRevision } from '../engine/dispatch/index.ts';
import type { ClusterFacts } from '../engine/intent.ts';
import { type Liveness, observeLink, settlesInMs } from '../engine/liveness/index.ts';
import type { Client } from '../kube/client.ts';
import type { ClusterEndpoint } from '../kube/cluster-endpoint.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Link } from '../link/link.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { type CredentialOptions, credentials as openCredentials } from './credential/index.ts';
import type { Fleet } from './fleet.ts';
import { probeSpoke } from './probe.ts';

export interface ClosableLink extends Link {
  close(): void;
}

/** Where links come from. Tunnels are dialled by spokes; direct links are made from credentials. */
export interface LinkSource {
  /** The link of a spoke that dialled, connected or not. */
  tunnel(spoke: string): Link | undefined;
  /** Calls back with the spoke's name whenever a tunnel comes into being. */
  onTunnel(listener: (spoke: string) => void): void;
  /** `token` is asked before each request: tokens end sooner than links. */
  direct(spoke: string, endpoint: ClusterEndpoint, token: () => string | undefined): ClosableLink;
  /** The spoke is no longer of the fleet: its connection is cut and may not come back. */
  forget(spoke: string): void;
}

/** The clusters of the fleet, and the upkeep of their SpokeCluster objects. */
export interface Inventory {
  /** Present clusters: one fact sheet a name. */
  clusters(): readonly ClusterFacts[];
  get(name: string): SpokeCluster | undefined;
  /** Whether a cluster of this name is in the inventory. */
  has(name: string): boolean;
  /** Whether a cluster has been away for longer than a hiccup. */
  unreachable(name: string): boolean;
  /** How a cluster leaves the fleet whose object is being deleted; undefined where it stays. */
  leaving(name: string): 'release' | 'cleanup' | undefined;
  /** Tells who knows whether a cluster still holds anything of this hub. */
  askHolder(holds: (name: string) => boolean): void;
  /** Looks at a cluster again, because something about it changed elsewhere. */
  recheck(name: string): void;
  /** Calls back when clusters come, go, are relabelled or tainted. */
  onChange(listener: () => void): void;
  whenSynced(): Promise<void>;
  stop(): Promise<void>;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);

/** Keeps a SpokeCluster until the hub has let go of the cluster. */
export const DETACH_FINALIZER = 'atoll.dev/detach';

interface DirectEntry {
  /** Without its token, which changes while the link stays. */
  readonly endpoint: ClusterEndpoint;
  readonly bearer: { token: string | undefined };
  readonly link: ClosableLink;
}

/** How long spokes have to come back to a hub that starts again. */
const START_GRACE_MS = 12_000;
/** Until the copy here shows what was just written. */
const CATCH_UP_MS = 20;
/** Nothing is looked at more often than this, whatever a credential says of its end. */
const SHORTEST_INTERVAL_MS = 5_000;

type ProbeFindings = Pick<SpokeFindings, 'connected' | 'info' | 'infoProblem' | 'probedAt'>;

export function startInventory(
  runtime: Runtime,
  client: Client,
  fleet: Fleet,
  links: LinkSource,
  credentialOptions: CredentialOptions,
): Inventory {
  const { clock } = runtime;
  const credentials = openCredentials({ ...credentialOptions, client, now: () => clock.now() });
  const objects = startInformer<SpokeCluster>(runtime, client, SPOKE_CLUSTERS);
  const listeners: (() => void)[] = [];
  const startedAt = clock.monotonic();
  let holds: (name: string) => boolean = () => false;
  /** The endpoint that a direct link was made for, so that it is made anew only when the credential changes. */
  const directLinks = new Map<string, DirectEntry>();
  const facts = new Map<string, ClusterFacts>();
  /** Keys by name: no event of a spoke looks at the whole fleet. */
  const named = new Map<string, Set<string>>();
  /** Whether each spoke is there, damped. */
  const liveness = new Map<string, Liveness>();
  /** When a spoke was probed last and what that found: changes of other things must not probe again. */
  const probed = new Map<string, { at: number; up: boolean; found: ProbeFindings }>();
  /** When a spoke was read well for the last time. The stored status may be older: it is written when facts change. */
  const synced = new Map<string, number>();
  // A probe mostly waits, and on a spoke that hangs it waits for its whole timeout: that must not hold up the others.
  const loop = startController(runtime, { name: 'inventory', concurrency: 512, reconcile });

  objects.onChange(({ type, object, previous }) => {
    if (type !== 'updated') index(object, type === 'added');
    const relevant =
      type !== 'updated' ||
      object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp ||
      !deepEqual(object.spec, previous?.spec) ||
      !deepEqual(object.metadata.labels, previous?.metadata.labels) ||
      !deepEqual(clusterFactsOf(object), clusterFactsOf(previous ?? object));
    if (!relevant) return;
    if (type !== 'updated' || !deepEqual(object.spec, previous?.spec))
      probed.delete(object.metadata.name ?? '');
    loop.enqueue(keyOf(object));
    for (const listener of listeners) listener();
  });
  links.onTunnel((spoke) => enqueueName(spoke));
  fleet.onChange(({ spoke }) => enqueueName(spoke));

  /** The same facts are the same object: what was computed of them holds. */
  function factsOf(name: string, object: SpokeCluster): ClusterFacts {
    const now = clusterFactsOf(object);
    const before = facts.get(name);
    if (before && deepEqual(before, now)) return before;
    facts.set(name, now);
    return now;
  }

  function index(object: SpokeCluster, present: boolean): void {
    const { name = '' } = object.metadata;
    const keys = named.get(name) ?? new Set<string>();
    if (present) keys.add(keyOf(object));
    else keys.delete(keyOf(object));
    if (keys.size > 0) named.set(name, keys);
    else named.delete(name);
  }

  function enqueueName(name: string): void {
    for (const key of named.get(name) ?? []) loop.enqueue(key, 20);
  }

  /** Of two SpokeClusters with one name the older is the cluster. */
  function ownerOf(name: string): SpokeCluster | undefined {
    let oldest: SpokeCluster | undefined;
    for (const key of named.get(name) ?? []) {
      const object = objects.get(key.slice(0, key.indexOf('/')), name);
      if (object && (!oldest || ageKey(object) < ageKey(oldest))) oldest = object;
    }
    return oldest;
  }

  async function reconcile(key: string): Promise<Result | void> {
    const slash = key.indexOf('/');
    const name = key.slice(slash + 1);
    const spoke = objects.get(key.slice(0, slash), name);
    if (!spoke) {
      if (!ownerOf(name)) {
        fleet.detach(name);
        links.forget(name);
        probed.delete(name);
        synced.delete(name);
        liveness.delete(name);
        facts.delete(name);
        credentials.forget(key.slice(0, slash), name);
        closeDirectLink(name);
      } else enqueueName(name);
      return;
    }
    if (spoke.metadata.deletionTimestamp !== undefined && mayGo(spoke, name)) {
      await setFinalizers(spoke, (finalizer) => finalizer !== DETACH_FINALIZER);
      return;
    }
    if (
      spoke.metadata.deletionTimestamp === undefined &&
      !spoke.metadata.finalizers?.includes(DETACH_FINALIZER)
    ) {
      await setFinalizers(spoke, () => true, DETACH_FINALIZER);
      return { requeueAfterMs: CATCH_UP_MS };
    }
    const { found, refreshAt } = await look(spoke, name);
    const status = reportSpoke(found, spoke.status, clock.now());
    const intervalMs = (spoke.spec.probeIntervalSeconds ?? 30) * 1000;
    if (status.connection !== 'Connected' && mayStillCome(spoke, name)) {
      // A hub that starts again has not lost the spokes that are on their way: it says nothing of them yet.
      return { requeueAfterMs: START_GRACE_MS / 4 };
    }
    if (!sameButForProbing(spoke.status, status)) {
      try {
        await client.update(SPOKE_CLUSTERS, { ...spoke, status }, { subresource: 'status' });
      } catch (error) {
        if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
        return { requeueAfterMs: 50 };
      }
    }
    const waits = [
      intervalMs,
      refreshAt === undefined ? undefined : Math.max(SHORTEST_INTERVAL_MS, refreshAt - clock.now()),
      found.liveness && settlesInMs(found.liveness, clock.monotonic()),
    ].filter((wait) => wait !== undefined);
    return { requeueAfterMs: Math.min(...waits) };
  }

  function mayStillCome(spoke: SpokeCluster, name: string): boolean {
    const seen = liveness.get(name);
    return (
      spoke.status?.connection === 'Connected' &&
      seen?.word === 'Unknown' &&
      clock.monotonic() - startedAt < START_GRACE_MS
    );
  }

  /** Whether nothing of this hub is left on a cluster that leaves, or nothing can be done about it. */
  function mayGo(spoke: SpokeCluster, name: string): boolean {
    const policy = spoke.spec.deletionPolicy ?? 'detach';
    if (policy === 'orphan' || ownerOf(name)?.metadata.uid !== spoke.metadata.uid || !holds(name))
      return true;
    // What is to be taken away must be; letting go can be left to the spoke, which keeps what it has.
    return policy === 'detach' && isUnreachable(spoke);
  }

  async function setFinalizers(
    spoke: SpokeCluster,
    keep: (finalizer: string) => boolean,
    ...more: string[]
  ): Promise<void> {
    const { namespace = '', name = '', resourceVersion, finalizers = [] } = spoke.metadata;
    const next = [...finalizers.filter(keep), ...more];
    try {
      await client.patch(SPOKE_CLUSTERS, namespace, name, 'merge', {
        metadata: { finalizers: next, resourceVersion },
      });
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
  }

  async function look(
    spoke: SpokeCluster,
    name: string,
  ): Promise<{ found: SpokeFindings; refreshAt?: number | undefined }> {
    const generation = spoke.metadata.generation ?? 0;
    const credential = await credentials.materialize(spoke);
    const owner = ownerOf(name);
    const takenBy = owner?.metadata.uid === spoke.metadata.uid ? undefined : owner?.metadata.namespace;
    // A credential that was taken back, or replaced by another kind, is used no more.
    if (takenBy === undefined && credential.way !== 'direct') closeDirectLink(name);
    if (credential.way === 'none') {
      return {
        found: {
          generation,
          credential: { ok: false, reason: credential.reason, message: credential.message },
          ...lastSynced(name),
        },
      };
    }
    const base = {
      generation,
      credential: {
        ok: true,
        reason: 'Materialized' as const,
        message:
          credential.way === 'tunnel'
            ? 'the spoke dials; the hub keeps no credential'
            : `the credential of type ${spoke.spec.credential.type} was read`,
      },
    };
    if (takenBy !== undefined) {
      const message = `the name ${name} is taken by the SpokeCluster in namespace ${takenBy}: choose another`;
      return { found: { ...base, registered: { ok: false, reason: 'NameTaken', message } } };
    }
    const link = credential.way === 'tunnel' ? links.tunnel(name) : directLink(name, credential.endpoint);
    const registered = { ok: true, reason: 'Registered', message: 'the cluster is in the inventory' };
    const endpoint = credential.way === 'direct' ? credential.endpoint.url : 'tunnel';
    if (!link) {
      const message = `the spoke has not dialled yet; on its machine: atoll start ${name}`;
      const connected = { ok: false, unauthorized: false, message };
      return { found: { ...base, registered, connected, liveness: sighted(name, false) } };
    }
    fleet.attach(name, link);
    const found = await probe(spoke, name);
    // Only 401 says that the credential is bad; minting anew in an outage would make it worse (spec chapter 2.2).
    if (found.connected?.unauthorized === true) credentials.evict(spoke);
    const up = found.connected?.ok === true;
    return {
      found: {
        ...base,
        registered,
        endpoint,
        ...found,
        ...lastSynced(name),
        ...pulled(name),
        liveness: sighted(name, up),
      },
      refreshAt: credential.way === 'direct' ? credential.refreshAt : undefined,
    };
  }

  function sighted(name: string, up: boolean): Liveness {
    const seen = observeLink(liveness.get(name), up, clock.monotonic());
    liveness.set(name, seen);
    return { ...seen, since: clock.now() - (clock.monotonic() - seen.since) };
  }

  function lastSynced(name: string): Pick<SpokeFindings, 'syncedAt'> {
    const syncedAt = synced.get(name);
    return syncedAt === undefined ? {} : { syncedAt };
  }

  function closeDirectLink(name: string): void {
    const present = directLinks.get(name);
    if (!present) return;
    directLinks.delete(name);
    if (fleet.session(name)?.link === present.link) fleet.detach(name);
    present.link.close();
  }

  /** A fresh token goes into the link that is there: its watches go on. */
  function directLink(name: string, { token, ...endpoint }: ClusterEndpoint): Link {
    const present = directLinks.get(name);
    if (present && deepEqual(present.endpoint, endpoint)) {
      present.bearer.token = token;
      return present.link;
    }
    present?.link.close();
    const bearer = { token };
    const link = links.direct(name, endpoint, () => bearer.token);
    directLinks.set(name, { endpoint, bearer, link });
    return link;
  }

  async function probe(spoke: SpokeCluster, name: string): Promise<ProbeFindings> {
    const session = fleet.session(name);
    if (!session) return {};
    const last = probed.get(name);
    const intervalMs = (spoke.spec.probeIntervalSeconds ?? 30) * 1000;
    if (last && last.up === session.link.up && clock.monotonic() - last.at < intervalMs - 50)
      return last.found;
    const at = clock.monotonic();
    const result = await probeSpoke(runtime, session, (spoke.spec.probeTimeoutSeconds ?? 10) * 1000);
    const probedAt = clock.now();
    if (result.reached && result.info !== undefined) synced.set(name, probedAt);
    const found: ProbeFindings = result.reached
      ? {
          probedAt,
          connected: {
            ok: true,
            unauthorized: false,
            message: 'the spoke answers',
            latencyMillis: result.latencyMs,
          },
          ...(result.info === undefined ? {} : { info: result.info }),
          ...(result.infoProblem === undefined ? {} : { infoProblem: result.infoProblem }),
        }
      : { probedAt, connected: { ok: false, unauthorized: result.unauthorized, message: result.message } };
    probed.set(name, { at, up: session.link.up, found });
    if (result.reached && session.engine !== true) await session.look();
    return found;
  }

  /** What the spoke says of itself, from the session's copies. */
  function pulled(
    name: string,
  ): Pick<
    SpokeFindings,
    'registered' | 'engine' | 'dispatchedRevision' | 'appliedRevision' | 'health' | 'properties'
  > {
    const session = fleet.session(name);
    const status = session?.cluster()?.status;
    if (session?.engine === false) return { engine: '' };
    const misnamed = session?.misnamed();
    if (misnamed !== undefined)
      return { registered: { ok: false, reason: 'NameMismatch', message: misnamed } };
    if (!session?.live || !status) return {};
    const dispatched = fleetRevision(
      session
        .dispatches()
        .map((item) => ({ name: item.metadata.name ?? '', generation: item.spec.position.generation })),
    );
    return {
      ...(status.engine === undefined ? {} : { engine: status.engine }),
      dispatchedRevision: dispatched,
      appliedRevision: status.appliedRevision ?? '',
      properties: status.properties ?? {},
      ...(status.health === undefined ? {} : { health: status.health }),
    };
  }

  return {
    clusters(): readonly ClusterFacts[] {
      const oldest = new Map<string, SpokeCluster>();
      for (const object of objects.list()) {
        const present = oldest.get(object.metadata.name ?? '');
        if (!present || ageKey(object) < ageKey(present)) oldest.set(object.metadata.name ?? '', object);
      }
      return [...oldest]
        .filter(([, object]) => object.metadata.deletionTimestamp === undefined)
        .map(([name, object]) => factsOf(name, object));
    },
    get: ownerOf,
    has: (name) => ownerOf(name) !== undefined,
    leaving(name) {
      const owner = ownerOf(name);
      if (owner?.metadata.deletionTimestamp === undefined) return undefined;
      return owner.spec.deletionPolicy === 'cleanup' ? 'cleanup' : 'release';
    },
    askHolder(ask): void {
      holds = ask;
    },
    recheck: enqueueName,
    unreachable: (name) => isUnreachable(ownerOf(name)),
    onChange: (listener) => void listeners.push(listener),
    whenSynced: () => objects.whenSynced(),
    async stop(): Promise<void> {
      objects.stop();
      await loop.stop();
      for (const { link } of directLinks.values()) link.close();
    },
  };
}

function isUnreachable(spoke: SpokeCluster | undefined): boolean {
  return spoke?.status?.taints?.some((taint) => taint.key === UNREACHABLE_TAINT) ?? false;
}

function keyOf(object: SpokeCluster): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
}

function ageKey(object: SpokeCluster): string {
  return `${object.metadata.creationTimestamp ?? ''} ${object.metadata.uid ?? ''}`;
}
