import {
  hasTargets,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
  TARGETS_READY,
  targetsCondition,
} from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import { findCondition, setCondition } from '../../kube/conditions.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { optimisticWrite } from '../../kube/optimistic-write.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { spokeContracts } from '../contract/index.ts';
import type { Fleet } from '../fleet.ts';
import type { IntentRecords } from '../intents/records.ts';
import type { Inventory } from '../inventory/index.ts';
import { authorOf } from '../policies/dialect-author-policy.ts';
import { startCompositions, startCycles } from './composition/index.ts';

const DEFINITIONS = resourceIdOf(RESOURCE_GRAPH_DEFINITION);
/** Changes of the fleet come in swarms. */
const GATHER_MS = 500;

export interface GraphTargetsOptions {
  readonly client: Client;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  readonly records: IntentRecords;
}

export interface GraphTargets {
  stop(): Promise<void>;
}

/** Keeps the condition of definitions that name clusters; costs nothing where there are none. */
export function startGraphTargets(
  runtime: Runtime,
  { client, fleet, inventory, records }: GraphTargetsOptions,
): GraphTargets {
  const definitions = startInformer<ResourceGraphDefinition>(runtime, client, DEFINITIONS);
  const compositions = startCompositions(runtime, { client, fleet, definitions, records });
  const cycles = startCycles(runtime, client, definitions);
  const contracts = spokeContracts(runtime, fleet, checkAll);
  const loop = startController(runtime, { name: 'graph targets', reconcile });

  function checkAll(): void {
    for (const object of definitions.list())
      if (hasTargets(object)) loop.enqueue(object.metadata.name ?? '', GATHER_MS);
  }

  definitions.onChange(({ type, object, previous }) => {
    if (type === 'deleted') return;
    const told = findCondition(object.status?.conditions, TARGETS_READY);
    const before = findCondition(previous?.status?.conditions, TARGETS_READY);
    const changed = !previous || !deepEqual(object.spec as unknown, previous.spec as unknown);
    if ((hasTargets(object) || told) && (changed || !deepEqual(told as unknown, before as unknown)))
      loop.enqueue(object.metadata.name ?? '');
  });
  inventory.onChange(checkAll);
  let ready = false;
  Promise.all([definitions.whenSynced(), inventory.whenSynced()]).then(
    () => {
      ready = true;
      checkAll();
    },
    (error: unknown) => runtime.log.error('targets cannot be checked', { why: errorText(error) }),
  );

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = ready ? definitions.get('', name) : undefined;
    if (!object || object.metadata.deletionTimestamp !== undefined) return undefined;
    const facts = new Map(inventory.clusters().map((cluster) => [cluster.name, cluster]));
    const condition = targetsCondition(object, authorOf(object), (cluster) => {
      const known = facts.get(cluster);
      return (
        known && {
          facts: known,
          unreachable: inventory.unreachable(cluster),
          contracts: contracts.of(cluster),
        }
      );
    });
    const before = object.status?.conditions ?? [];
    const conditions = condition
      ? setCondition(before, condition, runtime.clock.now()).conditions
      : before.filter(({ type }) => type !== TARGETS_READY);
    if (deepEqual(conditions as unknown, before as unknown)) return undefined;
    const { resourceVersion } = object.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    return optimisticWrite(client.patch(DEFINITIONS, '', name, 'merge', patch, { subresource: 'status' }));
  }

  return {
    async stop(): Promise<void> {
      definitions.stop();
      await Promise.all([loop.stop(), compositions.stop(), cycles.stop()]);
    },
  };
}
