import { partsOf, readReplicas, replicasPathOf } from '../../engine/divide/index.ts';
import type { Intent } from '../../engine/intent.ts';
import { createPlacer, type Decision, type DecisionContext, requiredApis } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import { missingOf } from '../../engine/plan/whole-set.ts';
import { refKey, refOf } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Room } from '../capacity/index.ts';
import type { Failover } from '../failover/index.ts';
import type { Inventory } from '../inventory/index.ts';
import { type Placed, peersOf } from './peers.ts';
import type { PluginRules } from './plugins.ts';
import type { PlacementPolicies } from './policies.ts';

export interface PlacingOptions {
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly policies: PlacementPolicies;
  readonly plugins: PluginRules;
  readonly room: Room;
  readonly failover: Failover;
  /** All intents but one, with their objects. */
  readonly others: (
    key: string,
    chosenOf: (key: string) => readonly string[] | undefined,
  ) => Iterable<Placed>;
  /** Where an intent is placed may depend on where others are, of which one moved. */
  readonly onMove: (key: string) => void;
}

/** Where intents go, and where they went: the shell around the placer. */
export interface Placing {
  /** `scheduled`: what another scheduler said, where the intent names one. */
  place(key: string, intent: Intent, before: ReplicaRecord, scheduled?: readonly string[]): Decision;
  /** Takes a decision over that was stored. */
  restore(key: string, decision: Decision): void;
  forget(key: string): void;
  fleetChanged(): void;
}

const UNPLACED: Decision = {
  chosen: [],
  rejected: [],
  unknown: [],
  shortage: 'spec.suspension.scheduling is true: it is placed nowhere',
};

/** `onFleet` is told once of each new state of the fleet, before anything is placed on it. */
export function createPlacing(options: PlacingOptions, onFleet: () => void): Placing {
  const { clock, inventory, policies, plugins, room, failover } = options;
  const placer = createPlacer();
  /** Whose placement depends on where others are. */
  const peering = new Set<string>();
  let fleetIsNew = true;

  function lookAtFleet(): void {
    if (!fleetIsNew) return;
    fleetIsNew = false;
    placer.setFleet(inventory.clusters());
    onFleet();
  }

  /** For placements that choose by room. What a cluster has it can hold; of one that is not known nothing is held against it. */
  function capacityFor(intent: Intent, before: ReplicaRecord): Pick<DecisionContext, 'capacity'> {
    if (!room.matters(intent)) return {};
    const parts = partsOf(intent.objects, intent.replicas);
    if (intent.replicas?.strategy === 'Whole' && parts.length > 1) {
      const fits = (cluster: string): boolean => {
        const missing = missingOf(parts, before, cluster);
        return missing.length === 0 || room.forSet(cluster, missing) !== false;
      };
      return { capacity: { replicas: 1, divided: false, available: (cluster) => Number(fits(cluster)) } };
    }
    for (const object of intent.objects) {
      const path = replicasPathOf(object);
      const replicas = path && readReplicas(object, path);
      if (replicas === undefined) continue;
      const shares = before[refKey(refOf(object))] ?? {};
      const available = (cluster: string): number => {
        const has = shares[cluster] ?? 0;
        const more = room.isKnown(cluster) ? room.forReplicas(cluster, object) : undefined;
        return has + (more ?? (has > 0 ? 0 : replicas));
      };
      const divided = intent.replicas?.strategy !== 'Whole';
      return { capacity: { replicas, divided, available } };
    }
    return {};
  }

  return {
    place(key, intent, before, scheduled): Decision {
      const { affinityByLabel, antiAffinityByLabel } = intent.placement;
      if (affinityByLabel !== undefined || antiAffinityByLabel !== undefined) peering.add(key);
      else peering.delete(key);
      lookAtFleet();
      const previous = placer.decisionOf(key);
      if (intent.keepDecision === true) return previous ?? UNPLACED;
      const { placement, avoid, previous: wentBack } = failover.mind(key, intent, previous);
      if (wentBack) placer.restore(key, wentBack);
      const others = (): Iterable<Placed> => options.others(key, (other) => placer.decisionOf(other)?.chosen);
      const decision = placer.decide(key, placement, {
        nowMs: clock.now(),
        requires: placement.requireApis === true ? requiredApis(intent.objects) : [],
        allow: policies.allowing(intent),
        avoid,
        extensions: plugins(intent),
        scheduled,
        ...peersOf(intent, others),
        ...capacityFor(intent, before),
      });
      if (peering.size > 0 && !deepEqual(decision.chosen, previous?.chosen ?? []))
        for (const peer of peering) if (peer !== key) options.onMove(peer);
      return decision;
    },
    restore: placer.restore,
    forget(key): void {
      placer.forget(key);
      peering.delete(key);
    },
    fleetChanged(): void {
      fleetIsNew = true;
    },
  };
}
