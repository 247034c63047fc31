import {
  COMPOSITION,
  compositionCycles,
  cycleMessage,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import type { Client } from '../../../kube/client.ts';
import { findCondition, setCondition } from '../../../kube/conditions.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import type { Informer } from '../../../kube/informer.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';

const DEFINITIONS = resourceIdOf(RESOURCE_GRAPH_DEFINITION);
const ALL = 'definitions';
/** Definitions are applied in swarms. */
const GATHER_MS = 200;
/** Somebody wrote the object in between: its copy here follows. */
const CATCH_UP_MS = 40;

/** Says on each definition of a cycle of compositions that it is on one, and takes it back when it is not. */
export function startCycles(
  runtime: Runtime,
  client: Client,
  definitions: Informer<ResourceGraphDefinition>,
): { stop(): Promise<void> } {
  const queue = startController(runtime, { name: 'composition cycles', reconcile });
  definitions.onChange(({ object, previous }) => {
    const told = (of: ResourceGraphDefinition | undefined): unknown =>
      findCondition(of?.status?.conditions, COMPOSITION);
    const same =
      previous !== undefined &&
      deepEqual(object.spec as unknown, previous.spec as unknown) &&
      deepEqual(object.metadata.labels, previous.metadata.labels) &&
      deepEqual(told(object), told(previous));
    if (!same) queue.enqueue(ALL, GATHER_MS);
  });

  async function reconcile(): Promise<Result | undefined> {
    if (!definitions.synced) return { requeueAfterMs: GATHER_MS };
    const all = definitions.list();
    const cycles = compositionCycles(all);
    let behind = false;
    for (const object of all) behind = (await tell(object, cycles.get(object.metadata.name ?? ''))) || behind;
    return behind ? { requeueAfterMs: CATCH_UP_MS } : undefined;
  }

  /** Whether somebody else was faster. */
  async function tell(object: ResourceGraphDefinition, way: readonly string[] | undefined): Promise<boolean> {
    const { name = '', generation, resourceVersion } = object.metadata;
    const before = object.status?.conditions ?? [];
    const conditions = way
      ? setCondition(
          before,
          {
            type: COMPOSITION,
            status: 'False',
            reason: 'CompositionCycle',
            message: cycleMessage(way),
            ...(generation !== undefined && { observedGeneration: generation }),
          },
          runtime.clock.now(),
        ).conditions
      : before.filter(({ type }) => type !== COMPOSITION);
    if (deepEqual(conditions as unknown, before as unknown)) return false;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    const again = await optimisticWrite(
      client.patch(DEFINITIONS, '', name, 'merge', patch, { subresource: 'status' }),
    );
    return again !== undefined;
  }

  return { stop: () => queue.stop() };
}
