import type { SpokeFindings } from '../../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Liveness } from '../../engine/liveness/index.ts';
import type { Link } from '../../link/link.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Credentials, Materialized } from '../credential/index.ts';
import type { Fleet } from '../fleet.ts';
import type { Provisioning } from '../provision/index.ts';
import { type DirectLinks, directLinks } from './direct-links.ts';
import type { GatewayRegistration } from './gateway-registration.ts';
import type { LinkSource } from './inventory.ts';
import { type KnownClusters, keyOf } from './known-clusters.ts';
import { createProbing, probeInterval } from './probing.ts';
import { pulledFrom } from './pulled.ts';
import { createSightings, lastSynced, type Sighting, sighted, steadied, steadyAfterMs } from './sighting.ts';
import { createTwins } from './twins.ts';

/** What one pass over a cluster found, and when its credential has to be read again. */
export interface Look {
  readonly found: SpokeFindings;
  /** Milliseconds since the epoch. */
  readonly refreshAt?: number | undefined;
  /** Until it is to be looked at again. Passes for other reasons do not put that off. */
  readonly againInMs?: number;
  /** The spoke dials, and is not there. */
  readonly away?: true;
}

/** Looks at clusters: credential, registration, link, probe; a pass stops at the first hard failure. */
export interface Looking {
  look(spoke: SpokeCluster): Promise<Look>;
  liveness(name: string): Liveness | undefined;
  /** What was found of a cluster before does not hold: it is probed again however lately that was done. */
  invalidate(name: string): void;
  /** The registration of one that leaves for good. */
  release(spoke: SpokeCluster): Promise<void>;
  /** Clusters that are kept out because another one is the same. */
  duplicates(): readonly string[];
  /** No cluster has this name any more. */
  forget(name: string, namespace: string): void;
  stop(): void;
}

export interface LookingOptions {
  readonly credentials: Credentials;
  readonly known: KnownClusters;
  readonly fleet: Fleet;
  readonly links: LinkSource;
  /** Absent where clusters are not registered with a cluster gateway. */
  readonly gateway?: GatewayRegistration;
  /** Absent where nothing makes clusters. */
  readonly provisioning?: Provisioning;
}

type Registered = NonNullable<SpokeFindings['registered']>;

export function startLooking(runtime: Runtime, options: LookingOptions): Looking {
  const { clock } = runtime;
  const { credentials, known, fleet, links, gateway, provisioning } = options;
  const direct: DirectLinks = directLinks(links);
  const sightings = createSightings();
  const probing = createProbing(runtime, fleet);
  const twins = createTwins(runtime, known);

  async function look(spoke: SpokeCluster): Promise<Look> {
    const { name = '' } = spoke.metadata;
    const generation = spoke.metadata.generation ?? 0;
    const owner = known.ownerOf(name);
    const takenBy = owner?.metadata.uid === spoke.metadata.uid ? undefined : owner?.metadata.namespace;
    const sighting = sightings.of(name);
    const unmade = takenBy === undefined ? unmadeOf(spoke, provisioning) : undefined;
    if (unmade) {
      closeDirect(name);
      fleet.detach(name);
      const { againInMs, ...registered } = unmade;
      const found = { generation, registered, ...lastSynced(sighting) };
      return { found, ...(againInMs === undefined ? {} : { againInMs }) };
    }
    const credential = await credentials.materialize(spoke);
    // A credential that was taken back, or replaced by another kind, is used no more.
    if (takenBy === undefined && credential.way !== 'direct') closeDirect(name);
    if (credential.way === 'none') {
      const { reason, message } = credential;
      const liveness = sighted(clock, sighting, false);
      const unusable = { ok: false, reason, message };
      return { found: { generation, credential: unusable, ...lastSynced(sighting), liveness } };
    }
    const base = {
      generation,
      credential: { ok: true, reason: 'Materialized' as const, message: credentialText(spoke, credential) },
    };
    if (takenBy !== undefined) {
      const message = `the name ${name} is taken by the SpokeCluster in namespace ${takenBy}: choose another`;
      return { found: { ...base, registered: { ok: false, reason: 'NameTaken', message } } };
    }
    const registered = await register(spoke, credential, sighting);
    if (!registered.ok) {
      closeDirect(name);
      return { found: { ...base, registered, ...lastSynced(sighting) } };
    }
    const link = credential.way === 'tunnel' ? links.tunnel(name) : direct.open(name, credential.endpoint);
    if (!link) {
      const message = `the spoke has not dialled since the hub started: its engine does not run, does not find the hub, or never joined. What to run there is printed by: atoll join ${name}`;
      const connected = { ok: false, unauthorized: false, message };
      const liveness = sighted(clock, sighting, false);
      return { found: { ...base, registered, connected, liveness }, away: true };
    }
    const refreshAt = credential.way === 'direct' ? credential.refreshAt : undefined;
    const endpoint = credential.way === 'direct' ? credential.endpoint.url : 'tunnel';
    const met = await meet(spoke, link, sighting, { ...base, registered, endpoint });
    const isAway = credential.way === 'tunnel' && !link.up;
    return { ...met, refreshAt, ...(isAway ? { away: true } : {}) };
  }

  /** Probes a cluster that there is a link to, and lets it in unless it is there under another name. */
  async function meet(
    spoke: SpokeCluster,
    link: Link,
    sighting: Sighting,
    base: SpokeFindings,
  ): Promise<Pick<Look, 'found' | 'againInMs'>> {
    const { name = '' } = spoke.metadata;
    if (sighting.duplicateOf === undefined) fleet.attach(name, link);
    const probed = await probing.probe(spoke, link, sighting);
    // Only 401 says that the credential is bad; minting anew in an outage would make it worse (spec chapter 2.2).
    if (probed.connected?.unauthorized === true) credentials.evict(spoke);
    const now = clock.monotonic();
    const probeInMs = probeInterval(spoke) - (now - (sighting.probed?.at ?? now));
    const { duplicateOf } = sighting;
    const { twin, found } = await twins.find(spoke, sighting, probed, () => probing.clientOf(name, link));
    if (twin) {
      sighting.duplicateOf = keyOf(twin);
      fleet.detach(name);
      const message = `this is the cluster that SpokeCluster ${keyOf(twin)} stands for, by its id ${sighting.id}: delete one of them`;
      const registered = { ok: false, reason: 'AlreadyRegistered', message };
      const { endpoint: _endpoint, ...rest } = base;
      return { found: { ...rest, registered, ...lastSynced(sighting) }, againInMs: probeInMs };
    }
    if (duplicateOf !== undefined) {
      delete sighting.duplicateOf;
      fleet.attach(name, link);
    }
    const liveness = sighted(clock, sighting, found.connected?.ok === true);
    const pulled = pulledFrom(fleet.session(name));
    return {
      found: { ...base, ...steadied(clock, sighting, found), ...lastSynced(sighting), ...pulled, liveness },
      againInMs: Math.min(probeInMs, steadyAfterMs(clock, sighting) ?? probeInMs),
    };
  }

  async function register(
    spoke: SpokeCluster,
    credential: Exclude<Materialized, { way: 'none' }>,
    sighting: Sighting,
  ): Promise<Registered> {
    const isGateway = spoke.spec.credential.type === 'gateway';
    if (gateway && credential.way === 'direct' && !isGateway) {
      delete sighting.released;
      const { ok, message } = await gateway.register(spoke, credential.endpoint);
      return { ok, reason: ok ? 'SecretMaterialized' : 'RegisterFailed', message };
    }
    if (gateway && sighting.released !== true) {
      await gateway.release(spoke);
      sighting.released = true;
    }
    return { ok: true, reason: 'Registered', message: 'the cluster is in the inventory' };
  }

  function closeDirect(name: string): void {
    const closed = direct.close(name);
    if (closed && fleet.session(name)?.link === closed) fleet.detach(name);
  }

  return {
    look,
    liveness: (name) => sightings.known(name)?.liveness,
    invalidate(name): void {
      const sighting = sightings.known(name);
      if (!sighting) return;
      delete sighting.probed;
      delete sighting.id;
    },
    release: async (spoke) => gateway?.release(spoke),
    duplicates: sightings.duplicates,
    forget(name, namespace): void {
      fleet.detach(name);
      links.forget(name);
      sightings.forget(name);
      credentials.forget(namespace, name);
      closeDirect(name);
    },
    stop(): void {
      direct.stop();
      gateway?.stop();
    },
  };
}

/** Why a cluster cannot be used yet that is to be made. The mode alone decides whether anything is: no other one comes this far. */
function unmadeOf(
  spoke: SpokeCluster,
  provisioning: Provisioning | undefined,
): (Registered & { readonly againInMs?: number }) | undefined {
  if (spoke.spec.mode !== 'provision') return undefined;
  if (!provisioning) {
    const message =
      'mode provision needs a provisioner that makes the cluster, and this hub has none: make it by other means and use mode connect';
    return { ok: false, reason: 'NoProvisioner', message };
  }
  const made = provisioning.ensure(spoke);
  if (made.phase === 'Ready') return undefined;
  const { phase, message, againInMs } = made;
  return { ok: false, reason: phase, message, ...(againInMs === undefined ? {} : { againInMs }) };
}

function credentialText(spoke: SpokeCluster, { way }: Materialized): string {
  return way === 'tunnel'
    ? 'the spoke dials; the hub keeps no credential'
    : `the credential of type ${spoke.spec.credential.type} was read`;
}
