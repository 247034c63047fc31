import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { reportSpoke, type SpokeFindings, sameButForProbing } from '../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import { fleetRevision } from '../engine/dispatch/index.ts';
import type { ClusterFacts } from '../engine/intent.ts';
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
import { type CredentialOptions, materialize } from './credential.ts';
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
  direct(spoke: string, endpoint: ClusterEndpoint): ClosableLink;
  /** The spoke is no longer of the fleet: its connection is cut and may not come back. */
  forget(spoke: string): void;
}

/** The clusters of the fleet, and the upkeep of their SpokeCluster objects. */
export interface Inventory {
  /** Present clusters: one fact sheet a name. */
  clusters(): readonly ClusterFacts[];
  /** Whether a cluster of this name is in the inventory. */
  has(name: string): boolean;
  /** Calls back when clusters come, go or are relabelled. */
  onChange(listener: () => void): void;
  whenSynced(): Promise<void>;
  stop(): Promise<void>;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);

type ProbeFindings = Pick<SpokeFindings, 'connected' | 'info' | 'infoProblem' | 'probedAt'>;

export function startInventory(
  runtime: Runtime,
  client: Client,
  fleet: Fleet,
  links: LinkSource,
  credentials: CredentialOptions,
): Inventory {
  const { clock } = runtime;
  const objects = startInformer<SpokeCluster>(runtime, client, SPOKE_CLUSTERS);
  const listeners: (() => void)[] = [];
  /** The endpoint that a direct link was made for, so that it is made anew only when the credential changes. */
  const directLinks = new Map<string, { endpoint: ClusterEndpoint; link: ClosableLink }>();
  /** When a spoke was probed last and what that found: changes of other things must not probe again. */
  const probed = new Map<string, { at: number; up: boolean; found: ProbeFindings }>();
  /** When a spoke was read well for the last time. The stored status may be older: it is written when facts change. */
  const synced = new Map<string, number>();
  // A probe mostly waits, and on a spoke that hangs it waits for its whole timeout: that must not hold up the others.
  const loop = startController(runtime, { name: 'inventory', concurrency: 512, reconcile });

  objects.onChange(({ type, object, previous }) => {
    const relevant =
      type !== 'updated' ||
      !deepEqual(object.spec, previous?.spec) ||
      !deepEqual(object.metadata.labels, previous?.metadata.labels);
    if (!relevant) return;
    if (type !== 'updated' || !deepEqual(object.spec, previous?.spec))
      probed.delete(object.metadata.name ?? '');
    loop.enqueue(keyOf(object));
    for (const listener of listeners) listener();
  });
  links.onTunnel((spoke) => enqueueName(spoke));
  fleet.onChange(({ spoke }) => enqueueName(spoke));

  function enqueueName(name: string): void {
    for (const object of objects.list()) if (object.metadata.name === name) loop.enqueue(keyOf(object), 20);
  }

  /** Of two SpokeClusters with one name the older is the cluster. */
  function ownerOf(name: string): SpokeCluster | undefined {
    return objects
      .list()
      .filter((object) => object.metadata.name === name)
      .sort((a, b) => (ageKey(a) < ageKey(b) ? -1 : 1))[0];
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
        closeDirectLink(name);
      } else enqueueName(name);
      return;
    }
    const found = await look(spoke, name);
    const status = reportSpoke(found, spoke.status, clock.now());
    const intervalMs = (spoke.spec.probeIntervalSeconds ?? 30) * 1000;
    if (!sameButForProbing(spoke.status, status)) {
      try {
        await client.update(SPOKE_CLUSTERS, { ...spoke, status }, { subresource: 'status' });
      } catch (error) {
        if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
        return { requeueAfterMs: 50 };
      }
    }
    return { requeueAfterMs: intervalMs };
  }

  async function look(spoke: SpokeCluster, name: string): Promise<SpokeFindings> {
    const generation = spoke.metadata.generation ?? 0;
    const credential = await materialize(client, spoke, credentials);
    const owner = ownerOf(name);
    const takenBy = owner?.metadata.uid === spoke.metadata.uid ? undefined : owner?.metadata.namespace;
    // A credential that was taken back, or replaced by another kind, is used no more.
    if (takenBy === undefined && credential.way !== 'direct') closeDirectLink(name);
    if (credential.way === 'none') {
      return {
        generation,
        credential: { ok: false, reason: credential.reason, message: credential.message },
        ...lastSynced(name),
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
            : 'the kubeconfig was read',
      },
    };
    if (takenBy !== undefined) {
      const message = `the name ${name} is taken by the SpokeCluster in namespace ${takenBy}: choose another`;
      return { ...base, registered: { ok: false, reason: 'NameTaken', message } };
    }
    const link = credential.way === 'tunnel' ? links.tunnel(name) : directLink(name, credential.endpoint);
    const registered = { ok: true, reason: 'Registered', message: 'the cluster is in the inventory' };
    const endpoint = credential.way === 'direct' ? credential.endpoint.url : 'tunnel';
    if (!link) {
      const message = `the spoke has not dialled yet; on its machine: atoll start ${name}`;
      return { ...base, registered, connected: { ok: false, unauthorized: false, message } };
    }
    fleet.attach(name, link);
    const found = await probe(spoke, name);
    return { ...base, registered, endpoint, ...found, ...lastSynced(name), ...pulled(name) };
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

  function directLink(name: string, endpoint: ClusterEndpoint): Link {
    const present = directLinks.get(name);
    if (present && deepEqual(present.endpoint, endpoint)) return present.link;
    present?.link.close();
    const link = links.direct(name, endpoint);
    directLinks.set(name, { endpoint, link });
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
  ): Pick<SpokeFindings, 'registered' | 'engine' | 'dispatchedRevision' | 'appliedRevision' | 'health'> {
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
      return [...oldest].map(([name, object]) => ({ name, labels: object.metadata.labels ?? {} }));
    },
    has: (name) => ownerOf(name) !== undefined,
    onChange: (listener) => void listeners.push(listener),
    whenSynced: () => objects.whenSynced(),
    async stop(): Promise<void> {
      objects.stop();
      await loop.stop();
      for (const { link } of directLinks.values()) link.close();
    },
  };
}

function keyOf(object: SpokeCluster): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
}

function ageKey(object: SpokeCluster): string {
  return `${object.metadata.creationTimestamp ?? ''} ${object.metadata.uid ?? ''}`;
}
