import { reportSpoke, type SpokeFindings, sameButForProbing } from '../../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { settlesInMs } from '../../engine/liveness/index.ts';
import type { PlaneName } from '../../engine/render/cluster-patches.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type CredentialOptions, credentials as openCredentials } from '../credential/index.ts';
import type { Fleet } from '../fleet.ts';
import { recordLetGo } from '../join/index.ts';
import { followTaintPolicies } from '../placement/taint-policies.ts';
import { type ClusterProvider, createProvisioning } from '../provision/index.ts';
import { gatewayRegistration } from './gateway-registration.ts';
import type { Inventory, LinkSource } from './inventory.ts';
import { type ClusterChange, followClusters, isUnreachable, SPOKE_CLUSTERS } from './known-clusters.ts';
import { type Look, startLooking } from './looking.ts';
import { probeInterval } from './probing.ts';
import { mirrorProfiles } from './profiles.ts';
import { followTransitions, INVENTORY_METRICS } from './transitions.ts';

/** Keeps a SpokeCluster until the hub has let go of the cluster. */
export const DETACH_FINALIZER = 'atoll.dev/detach';

/** How long a spoke that was connected has to dial again before it is told to be away: a link that broke, or a hub that started. */
const RETURN_GRACE_MS = 15_000;
/** Until the copy here shows what was just written. */
const CATCH_UP_MS = 20;
const SOON_MS = 20;
/**
 * What a spoke says of itself and of its orders is summed up once for a burst of it, which is the longer the more orders there are,
 * and the more clusters a change goes to before there is time for sums.
 */
const PULL_MS = 500;
const PULL_PER_DISPATCH_MS = 20;
const PULL_PER_SPOKE_MS = 4;
const LONGEST_PULL_MS = 5_000;
/** Nothing is looked at more often than this, whatever a credential says of its end. */
const SHORTEST_INTERVAL_MS = 5_000;

export function startInventory(
  runtime: Runtime,
  client: Client,
  fleet: Fleet,
  links: LinkSource,
  credentialOptions: CredentialOptions,
  provider?: ClusterProvider,
): Inventory {
  const { clock } = runtime;
  const listeners: ((only?: readonly PlaneName[]) => void)[] = [];
  let holds: (name: string) => boolean = () => false;
  let patchesOf: (spoke: SpokeCluster) => SpokeFindings['patches'] = () => undefined;
  let claimOf: (name: string) => string | undefined = () => undefined;
  // A probe mostly waits, and on a spoke that hangs it waits for its whole timeout: that must not hold up the others.
  const loop = startController(runtime, { name: 'inventory', concurrency: 512, reconcile });
  const known = followClusters(runtime, client, onChange, (key) => profiles.seen(key));
  const profiles = mirrorProfiles(runtime, client, known);
  const { gateway } = credentialOptions;
  const provisioning = provider && createProvisioning(runtime, provider, enqueueName);
  const looking = startLooking(runtime, {
    credentials: openCredentials({ ...credentialOptions, client, now: () => clock.now() }),
    known,
    fleet,
    links,
    ...(provisioning === undefined ? {} : { provisioning }),
    ...(gateway === undefined ? {} : { gateway: gatewayRegistration(runtime, client, gateway.namespace) }),
  });
  const transitions = followTransitions(runtime, client);
  const taintPolicies = followTaintPolicies(runtime, client, () => {
    for (const key of known.keys()) loop.enqueue(key, CATCH_UP_MS);
  });
  const removeGauge = runtime.metrics.gauge(INVENTORY_METRICS.clusters, () => {
    const counts = new Map([
      ['Connected', 0],
      ['Disconnected', 0],
      ['Unknown', 0],
    ]);
    for (const { status } of known.owners()) {
      const connection = status?.connection ?? 'Unknown';
      counts.set(connection, (counts.get(connection) ?? 0) + 1);
    }
    return [...counts].map(([connection, value]) => ({ labels: { connection }, value }));
  });
  links.onTunnel((spoke) => enqueueName(spoke));
  fleet.onChange(({ spoke, dispatch, cluster }) =>
    enqueueName(spoke, dispatch === undefined && cluster !== true ? SOON_MS : pullMs(spoke)),
  );

  function pullMs(spoke: string): number {
    const orders = fleet.session(spoke)?.dispatchCount ?? 0;
    return Math.min(
      LONGEST_PULL_MS,
      PULL_MS + orders * PULL_PER_DISPATCH_MS + fleet.size * PULL_PER_SPOKE_MS,
    );
  }

  function onChange({ key, object, type, restated, planes }: ClusterChange): void {
    if (restated) looking.invalidate(object.metadata.name ?? '');
    loop.enqueue(key);
    // One that was kept out for being the same may be in now.
    if (type === 'deleted') for (const name of looking.duplicates()) enqueueName(name);
    for (const listener of listeners) listener(planes);
  }

  function enqueueName(name: string, afterMs = SOON_MS): void {
    for (const key of known.keysOf(name)) loop.enqueue(key, afterMs);
  }

  async function reconcile(key: string): Promise<Result | void> {
    const slash = key.indexOf('/');
    const name = key.slice(slash + 1);
    const spoke = known.get(key);
    if (!spoke) {
      if (known.ownerOf(name)) enqueueName(name);
      else looking.forget(name, key.slice(0, slash));
      return;
    }
    const { deletionTimestamp, finalizers } = spoke.metadata;
    if (deletionTimestamp !== undefined && mayGo(spoke, name)) {
      await letGo(spoke);
      return;
    }
    if (deletionTimestamp === undefined && !finalizers?.includes(DETACH_FINALIZER)) {
      await setFinalizers(spoke, () => true, DETACH_FINALIZER);
      return { requeueAfterMs: CATCH_UP_MS };
    }
    const looked = await looking.look(spoke);
    const { found } = looked;
    const patches = patchesOf(spoke);
    const claim = claimOf(name);
    const told = {
      ...found,
      taints: spoke.spec.taints ?? [],
      ...(patches && { patches }),
      ...(claim === undefined ? {} : { claim }),
    };
    const { status, dueMs } = taintPolicies.apply(spoke, reportSpoke(told, spoke.status, clock.now()));
    // Who comes back as it was is no news: nothing is said of it meanwhile.
    const graceMs = returnGraceMs(spoke, looked);
    if (graceMs > 0) return { requeueAfterMs: graceMs };
    if (!sameButForProbing(spoke.status, status)) {
      try {
        await client.update(SPOKE_CLUSTERS, { ...spoke, status }, { subresource: 'status' });
      } catch (error) {
        if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
        return { requeueAfterMs: 50 };
      }
      transitions.tell(spoke, spoke.status, status);
    }
    const dueInMs = dueMs === undefined ? Infinity : Math.max(CATCH_UP_MS, dueMs - clock.now());
    return { requeueAfterMs: Math.min(nextLookMs(spoke, looked), dueInMs) };
  }

  function nextLookMs(spoke: SpokeCluster, { found, refreshAt, againInMs }: Look): number {
    const waits = [
      Math.max(CATCH_UP_MS, againInMs ?? probeInterval(spoke)),
      refreshAt === undefined ? undefined : Math.max(SHORTEST_INTERVAL_MS, refreshAt - clock.now()),
      found.liveness && settlesInMs(found.liveness, clock.monotonic()),
    ].filter((wait) => wait !== undefined);
    return Math.min(...waits);
  }

  /** How long nothing is said yet of a spoke whose link is down. Its own interval is how soon people want to know. */
  function returnGraceMs(spoke: SpokeCluster, { away, found }: Look): number {
    const { liveness } = found;
    if (away !== true || liveness === undefined || spoke.status?.connection !== 'Connected') return 0;
    const awayMs = clock.monotonic() - liveness.changedAt;
    return Math.min(RETURN_GRACE_MS, probeInterval(spoke)) - awayMs;
  }

  /** Whether the cluster itself was made here, and goes with its object. */
  function isTakenAway({ spec }: SpokeCluster): boolean {
    return provisioning !== undefined && spec.mode === 'provision' && spec.deletionPolicy === 'cleanup';
  }

  /** Whether nothing of this hub is left on a cluster that leaves, or nothing can be done about it. */
  function mayGo(spoke: SpokeCluster, name: string): boolean {
    const policy = spoke.spec.deletionPolicy ?? 'detach';
    const isOwner = known.ownerOf(name)?.metadata.uid === spoke.metadata.uid;
    // What is on a cluster that goes itself need not be taken away before.
    if (policy === 'orphan' || !isOwner || !holds(name) || isTakenAway(spoke)) return true;
    // What is to be taken away must be; letting go can be left to the spoke, which keeps what it has.
    return policy === 'detach' && isUnreachable(spoke);
  }

  async function letGo(spoke: SpokeCluster): Promise<void> {
    if (spoke.metadata.finalizers?.includes(DETACH_FINALIZER) !== true) return;
    await looking.release(spoke);
    if (isTakenAway(spoke)) await provisioning?.remove(spoke);
    const { name = '', namespace = '', uid } = spoke.metadata;
    // One that never had the name gives nothing up.
    const isOwner = known.ownerOf(name)?.metadata.uid === uid;
    // Once the finalizer is gone the name is free, and may be another machine's at once.
    if (isOwner && (await isStillHeld(spoke))) await recordLetGo(runtime, client, name);
    const was = await setFinalizers(spoke, (finalizer) => finalizer !== DETACH_FINALIZER);
    if (isOwner) looking.forget(name, namespace);
    if (was) transitions.detached(spoke, spoke.spec.deletionPolicy === 'orphan' ? 'orphaned' : 'released');
  }

  /** Whether it holds its name now. The copy here may be behind: what the next one of the name has would be made void. */
  async function isStillHeld({ metadata }: SpokeCluster): Promise<boolean> {
    const { namespace = '', name = '', uid } = metadata;
    try {
      const live = await client.get<SpokeCluster>(SPOKE_CLUSTERS, namespace, name);
      return live.metadata.uid === uid && live.metadata.finalizers?.includes(DETACH_FINALIZER) === true;
    } catch (error) {
      if (hasCode(error, 404)) return false;
      throw error;
    }
  }

  /** Whether it was there to be changed. */
  async function setFinalizers(
    spoke: SpokeCluster,
    keep: (finalizer: string) => boolean,
    ...more: string[]
  ): Promise<boolean> {
    const { namespace = '', name = '', resourceVersion, finalizers = [] } = spoke.metadata;
    const next = [...finalizers.filter(keep), ...more];
    try {
      await client.patch(SPOKE_CLUSTERS, namespace, name, 'merge', {
        metadata: { finalizers: next, resourceVersion },
      });
      return true;
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      return false;
    }
  }

  return {
    clusters: () => known.facts(),
    get: known.ownerOf,
    has: (name) => known.ownerOf(name) !== undefined,
    leaving(name) {
      const owner = known.ownerOf(name);
      if (owner?.metadata.deletionTimestamp === undefined) return undefined;
      return owner.spec.deletionPolicy === 'cleanup' ? 'cleanup' : 'release';
    },
    askHolder(ask): void {
      holds = ask;
    },
    askPatches(ask): void {
      patchesOf = ask;
    },
    askClaim(ask): void {
      claimOf = ask;
    },
    recheck: enqueueName,
    unreachable: (name) => isUnreachable(known.ownerOf(name)),
    onChange: (listener) => void listeners.push(listener),
    get unread() {
      return known.unread;
    },
    whenTried: () => known.whenTried(),
    whenSynced: () => known.whenSynced(),
    async stop(): Promise<void> {
      removeGauge();
      known.stop();
      taintPolicies.stop();
      await Promise.all([loop.stop(), profiles.stop()]);
      looking.stop();
      transitions.stop();
    },
  };
}
