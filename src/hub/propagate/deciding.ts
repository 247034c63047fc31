import type { Compiled } from '../../engine/compiled.ts';
import { replicasPathOf } from '../../engine/divide/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import { isDivided, type ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import { type Plan, planIntent } from '../../engine/plan/plan.ts';
import { stepActivation } from '../../engine/select/index.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import { type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { createCapacities, createDescheduling, createRoom } from '../capacity/index.ts';
import { type Claims, type ClaimTerms, createClaims } from '../claims/index.ts';
import { createFailover } from '../failover/index.ts';
import type { Fleet, SpokeSession } from '../fleet.ts';
import type { IntentObject, IntentRecord, Intents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import {
  createPlacing,
  createRetirement,
  type PlacementPolicies,
  pluginRules,
  type SchedulerPlugin,
} from '../placement/index.ts';
import { createHoldingBack, type HeldBack } from './holding-back.ts';
import type { Sources } from './sources.ts';
import type { Tracked, TrackedTable } from './tracked.ts';

export interface DecidingOptions {
  readonly fleet: Fleet;
  readonly intents: Intents;
  readonly inventory: Inventory;
  readonly placementPolicies: PlacementPolicies;
  readonly sources: Sources;
  readonly tracked: TrackedTable;
  /** Rules for placing beside those of the engine. */
  readonly plugins?: readonly SchedulerPlugin[];
  /** Whether an intent was not looked at since it changed, or its objects did. */
  readonly isChanged: (key: string) => boolean;
  /** Whether the hub only observes. */
  readonly isObserving: () => boolean;
  /** Something else than the intent itself may change what is decided for it. */
  readonly onChange: (key: string) => void;
  /** What is seen of an intent is to be told again. */
  readonly onLook: (key: string) => void;
}

/** What of what is selected is sent, where it goes, and how much of it. What it remembers is durable before anything is sent. */
export interface Deciding {
  /** An intent came, went or changed. */
  touch(key: string): void;
  restore(key: string, record: IntentRecord | undefined): void;
  /** What is left of an intent after what others have; `undefined` while it waits for something. */
  claim(item: Tracked, compiled: Compiled): Compiled | undefined;
  decide(item: Tracked, compiled: Compiled, from: IntentObject): Promise<Plan>;
  /** Whether a change of the intent waits for its objects. */
  holds(item: Tracked, intent: Intent, from: IntentObject): Promise<boolean>;
  /** What was decided is durable. Says when to look again where not all could be placed. */
  committed(item: Tracked, intent: Intent): number | undefined;
  seen(item: Tracked, observations: readonly ClusterObservation[]): void;
  heldBack(item: Tracked, session: SpokeSession): HeldBack | undefined;
  /** Whether a cluster is left because a copy moved away from there, or went back. */
  isMoved(key: string, cluster: string): boolean;
  /** Of objects those that other intents have, with the clusters that they bring them to. */
  taken(key: string, objects: Intent['objects']): ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether an object that is sent no longer is sent by another intent. */
  isHandedOn(ref: ObjectRef): boolean;
  /** What an intent sends and others select as well. */
  readonly wanted: Claims['wanted'];
  /** Decides for an intent as if nothing had been decided before. */
  anew(key: string): void;
  /** Whether that is still to be done. */
  isAnew(key: string): boolean;
  forget(key: string): void;
  /** Clusters came, went or changed: for all intents, or only for those that are looked at anew for it. */
  fleetChanged(forAll: boolean): void;
  /** A spoke came, or went. */
  linkChanged(): void;
  resume(): void;
  stop(): void;
}

/** What finds no room is tried again after a while, longer each time; what finds no cluster, after the longest. */
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;
export function createDeciding(runtime: Runtime, options: DecidingOptions): Deciding {
  const { clock } = runtime;
  const { fleet, intents, inventory, placementPolicies, sources, tracked, onChange } = options;
  const capacities = createCapacities(runtime, { fleet });
  const room = createRoom({ clock, capacities });
  const descheduling = createDescheduling(runtime, { capacities, onDue: onChange });
  const failover = createFailover(runtime, {
    paused: options.isObserving,
    onMove: onChange,
    onLook: options.onLook,
  });
  const claims = createClaims({
    terms: termsOf,
    present: sources.present,
    isRead: sources.isRead,
    onChange,
    onWanted: options.onLook,
  });
  const placing = createPlacing(
    {
      clock,
      inventory,
      policies: placementPolicies,
      plugins: pluginRules(options.plugins ?? [], runtime.log),
      room,
      failover,
      others,
      onMove: onChange,
    },
    () => {
      failover.setFleet(inventory.clusters());
      capacities.keep(inventory.has);
    },
  );
  const retirement = createRetirement(clock, onChange);
  const heldBack = createHoldingBack({
    clock,
    claims,
    tracked,
    keeps: (item, cluster) => {
      const { key, compiled, plan } = item;
      const chosen = plan?.decision.chosen ?? [];
      return failover.keeps(key, cluster, compiled?.intent.failover, chosen) || retirement.keeps(item);
    },
    areAllKnown: () => intents.synced,
    isChanged: options.isChanged,
    isDecided: (plan) => decidedFor.get(plan) === fleets,
    unreachable: inventory.unreachable,
  });
  /** How often the fleet changed, and at which of these a plan was made. */
  let fleets = 0;
  const decidedFor = new WeakMap<Plan, number>();
  /** What was written, or read at the start. */
  const recorded = new Map<string, IntentRecord>();
  const anew = new Set<string>();
  const retries = new Map<string, number>();

  function termsOf(key: string): ClaimTerms | undefined {
    const intent = intents.get(key);
    if (!intent || intent.object.metadata.deletionTimestamp !== undefined) return undefined;
    const terms = intent.source.claim?.(intent.object);
    if (!terms) return undefined;
    const record = intent.source.record(intent.object);
    return { ...terms, lost: record?.lost ?? [], isSent: (record?.dispatchGeneration ?? 0) > 0 };
  }

  /** Durable when resolved. */
  async function remember(key: string, { source, object }: IntentObject, now: IntentRecord): Promise<void> {
    const before = recorded.get(key);
    if (deepEqual(before ?? {}, now)) return;
    await source.writeRecord(object, now);
    recorded.set(key, now);
  }

  function* others(
    key: string,
    chosenOf: (key: string) => readonly string[] | undefined,
  ): Iterable<{ objects: Intent['objects']; chosen: readonly string[] }> {
    for (const other of tracked.values()) {
      const chosen = other.key === key ? undefined : chosenOf(other.key);
      if (other.compiled && chosen && !other.retracting)
        yield { objects: other.compiled.intent.objects, chosen };
    }
  }

  /** The intent, with the state of a copy that was moved for the clusters that it was moved to. */
  function carrying(key: string, intent: Intent, { chosen }: Decision): Intent {
    const { labels, before = [] } = failover.carried(key) ?? {};
    const clusterNames = chosen.filter((name) => !before.includes(name));
    if (!labels || clusterNames.length === 0) return intent;
    const workload = intent.objects.find((object) => replicasPathOf(object) !== undefined);
    const target = workload && { kind: workload.kind, name: workload.metadata.name ?? '' };
    const override = { clusterNames, labels: { add: labels }, ...(target ? { target } : {}) };
    return { ...intent, overrides: [...intent.overrides, override] };
  }

  function plan(
    item: Tracked,
    intent: Intent,
    decision: Decision,
    before: ReplicaRecord,
    limits: ReplicaRecord,
  ): Plan {
    const tiers =
      decision.tiers && new Map(decision.chosen.map((name, at) => [name, decision.tiers?.[at] ?? 0]));
    const matters = room.matters(intent);
    const next = planIntent(
      carrying(item.key, intent, decision),
      inventory.clusters(),
      item.latest,
      decision,
      before,
      {
        room: matters ? room.forReplicas : undefined,
        roomForSet: matters ? room.forSet : undefined,
        capacity: limits,
        fresh: anew.has(item.key),
        tierOf: tiers && ((cluster) => tiers.get(cluster) ?? 0),
      },
    );
    if (matters) room.divided(item.key, intent, before, next.replicas);
    return next;
  }

  return {
    touch: claims.touch,
    restore(key, record): void {
      // A record can be written by others: a decision that is none is none.
      if (record?.decision !== undefined && Array.isArray(record.decision.chosen))
        placing.restore(key, record.decision);
      // Of another object of the same name nothing holds any more.
      failover.forget(key);
      failover.restore(key, record?.failover);
      const { lost, activation, failover: moves } = record ?? {};
      recorded.set(key, {
        ...(lost === undefined ? {} : { lost }),
        ...(activation === undefined ? {} : { activation }),
        ...(moves === undefined ? {} : { failover: moves }),
      });
    },
    claim(item, whole): Compiled | undefined {
      const missing = (whole.intent.waitFor ?? []).filter((ref) => !isThere(sources, item.key, ref));
      const [first] = missing;
      if (first) {
        const more = missing.length > 1 ? ` and ${missing.length - 1} more` : '';
        const message = `it waits for ${refText(first)}${more} at the hub. Nothing is changed on the spokes meanwhile`;
        item.selection = { ok: false, reason: 'WaitingForObjects', message };
        return undefined;
      }
      const { compiled, lost, problem } = claims.settle(item.key, whole);
      if (problem) item.selection = problem;
      item.lost = lost;
      item.compiled = compiled;
      return compiled;
    },
    async decide(item, { intent, blocked }, from): Promise<Plan> {
      const { key } = item;
      const fleetsBefore = fleets;
      const record = from.source.record(from.object);
      const before = item.latest?.replicas ?? record?.replicas ?? {};
      const scheduled = scheduledBy(intent, record);
      let limits: ReplicaRecord = {};
      if (anew.has(key)) placing.forget(key);
      let decision = placing.place(key, intent, before, scheduled);
      if (room.matters(intent)) {
        limits = await descheduling.limits(key, intent, before);
        const isNew = Object.keys(limits).length > 0 || anew.has(key) || decision.shortage !== undefined;
        if (isNew || !isDivided(intent.objects, intent.replicas, decision.chosen, before)) {
          const asked = choosesByRoom(intent)
            ? inventory.clusters().map(({ name }) => name)
            : decision.chosen;
          await capacities.refresh(asked);
          decision = placing.place(key, intent, before, scheduled);
        }
      }
      const next = plan(item, intent, decision, before, limits);
      await remember(key, from, {
        ...recorded.get(key),
        ...lasting('failover', failover.record(key, item.dispatchedTo), recorded.get(key)),
        ...lasting('lost', item.lost?.length ? item.lost : undefined, recorded.get(key)),
      });
      const decided =
        blocked === undefined ? next : { ...next, blocked: new Map([...blocked, ...next.blocked]) };
      decidedFor.set(decided, fleetsBefore);
      return decided;
    },
    async holds(item, intent, from): Promise<boolean> {
      const { key } = item;
      if (intent.lazy !== true) return false;
      const { holds, activation } = stepActivation(
        recorded.get(key)?.activation,
        intent.source.generation,
        item.latest?.revision ?? '',
      );
      await remember(key, from, { ...recorded.get(key), activation });
      if (holds)
        item.selection = {
          ok: true,
          reason: 'Waiting',
          message: `generation ${intent.source.generation} is carried out with the next change of what it selects`,
        };
      return holds;
    },
    committed(item, intent): number | undefined {
      const { key, plan: sent } = item;
      anew.delete(key);
      if (sent) failover.decided(key, intent.failover, sent.decision.chosen);
      const isShort = room.matters(intent) && (item.latest?.replicaProblems.length ?? 0) > 0;
      if (!isShort) {
        retries.delete(key);
        return item.latest?.decision.shortage === undefined ? undefined : clock.now() + LONGEST_RETRY_MS;
      }
      const waitMs = retries.get(key) ?? FIRST_RETRY_MS;
      retries.set(key, Math.min(LONGEST_RETRY_MS, waitMs * 2));
      return clock.now() + waitMs;
    },
    seen(item, observations): void {
      const { key, compiled } = item;
      if (item.retracting || !compiled) return;
      failover.seen(key, observations);
      retirement.seen(item, observations);
      if (!room.matters(compiled.intent)) return;
      descheduling.seen(key, observations);
      for (const observation of observations)
        if (summariseCluster(observation).word === 'Ready') room.arrived(key, observation.cluster);
    },
    heldBack,
    isMoved: failover.isLeft,
    taken(key, objects): ReadonlyMap<string, ReadonlySet<string>> {
      const found = new Map<string, ReadonlySet<string>>();
      for (const object of objects) {
        const ref = refKey(refOf(object));
        const holder = claims.holderOf(ref);
        if (holder === undefined || holder === key) continue;
        const other = intents.get(holder);
        const decision =
          tracked.get(holder)?.latest?.decision ?? other?.source.record(other.object)?.decision;
        found.set(ref, new Set(decision?.chosen));
      }
      return found;
    },
    isHandedOn: claims.isContested,
    wanted: claims.wanted,
    anew(key): void {
      anew.add(key);
      failover.release(key);
      onChange(key);
    },
    isAnew: (key) => anew.has(key),
    forget(key): void {
      claims.touch(key);
      placing.forget(key);
      room.forget(key);
      descheduling.forget(key);
      failover.forget(key);
      retirement.forget(key);
      for (const known of [recorded, retries]) known.delete(key);
      anew.delete(key);
    },
    fleetChanged(forAll): void {
      if (forAll) fleets += 1;
      placing.fleetChanged();
    },
    linkChanged(): void {
      for (const key of retries.keys()) onChange(key);
    },
    resume(): void {
      placing.fleetChanged();
      failover.resume();
    },
    stop(): void {
      failover.stop();
      retirement.stop();
      descheduling.stop();
    },
  };
}

/** A field of a record; an empty one where there was something, since what is not said stays. */
function lasting<K extends 'failover' | 'lost'>(
  field: K,
  value: IntentRecord[K] | undefined,
  before: IntentRecord | undefined,
): Pick<IntentRecord, K> | object {
  if (value !== undefined) return { [field]: value };
  if (before?.[field] === undefined) return {};
  return field === 'lost' ? { lost: [] } : { failover: { moves: [] } };
}

/** Whether which clusters are chosen depends on the room that they have. */
function choosesByRoom({ placement }: Intent): boolean {
  const { numberOfClusters, spread, overflow, groups } = placement;
  return [numberOfClusters, spread, overflow, groups].some((part) => part !== undefined);
}

function isThere(sources: Sources, reader: string, ref: ObjectRef): boolean {
  const found = sources.objects(ref.apiVersion, ref.kind, reader);
  if (!('objects' in found)) return false;
  return found.objects.some(
    ({ metadata }) => metadata.name === ref.name && (metadata.namespace ?? '') === ref.namespace,
  );
}

/** What another scheduler said of an intent that names it. A record can be written by others: what is no list is none. */
function scheduledBy({ placement }: Intent, record: IntentRecord | undefined): readonly string[] | undefined {
  const { schedulerName, clusterNames } = record?.scheduled ?? {};
  if (schedulerName === undefined || schedulerName !== placement.schedulerName) return undefined;
  return Array.isArray(clusterNames) ? clusterNames.filter((name) => typeof name === 'string') : undefined;
}
