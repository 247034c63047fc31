import { type KubeObject, refKey, refOf } from '../../../kube/object.ts';
import { matchesSelector, selectorFromObject } from '../../../schema/label-selector.ts';
import type { CompiledGraph } from '../compile/index.ts';
import type { Observed } from './observed.ts';
import { type InstanceStep, stepInstance } from './step.ts';
import type { StepOptions } from './walk.ts';

/** What is known of a cluster, as a list of objects. What is not in it is not there. */
export function observedObjects(objects: Iterable<KubeObject>): Observed {
  const byKey = new Map<string, KubeObject>();
  for (const object of objects) byKey.set(refKey(refOf(object)), object);
  return {
    object: (ref) => byKey.get(refKey(ref)) ?? null,
    selected: ({ apiVersion, kind, namespace, selector }) => {
      const { selector: wanted } = selectorFromObject(selector);
      return [...byKey.values()].filter(
        (object) =>
          object.apiVersion === apiVersion &&
          object.kind === kind &&
          (namespace === '' || object.metadata.namespace === namespace) &&
          matchesSelector(wanted, object.metadata.labels ?? {}),
      );
    },
  };
}

/**
 * Looks ahead: what an instance comes to where every object is there as soon as it is applied, as it was applied or, where it is
 * given, as it was observed. Nodes that need what only a cluster can say wait, with the reason.
 */
export function renderInstance(
  graph: CompiledGraph,
  instance: KubeObject,
  known: readonly KubeObject[],
  options: StepOptions,
): InstanceStep {
  const objects = new Map(known.map((object) => [refKey(refOf(object)), object]));
  for (let round = 0; ; round++) {
    const step = stepInstance(graph, instance, observedObjects(objects.values()), {
      ...options,
      assumeReady: true,
    });
    const added = step.objects.filter(({ ref }) => !objects.has(refKey(ref)));
    // Each round makes at least one more node known.
    if (added.length === 0 || round > graph.nodes.length) return step;
    for (const { ref, object } of added) objects.set(refKey(ref), object);
  }
}
