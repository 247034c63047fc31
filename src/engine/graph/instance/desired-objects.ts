import type { ObjectRef } from '../../../kube/object.ts';
import type { GraphNode } from '../compile/index.ts';
import { dimensionsOf, MAX_COLLECTION_SIZE } from './collection.ts';
import { type DesiredObject, desiredObject } from './desired-object.ts';
import { bindingsFor } from './node-scope.ts';
import { keepsVersion } from './owner.ts';
import type { Reason } from './reason.ts';
import type { RenderedNode, Walk } from './walk.ts';

export type DesiredObjects =
  | { readonly objects: readonly DesiredObject[]; readonly reason?: undefined }
  | { readonly reason: Reason; readonly refs: readonly ObjectRef[] };

/** The objects of a node as they shall be, or why that cannot be said. Those of a step before stand where they were made of the same. */
export function desiredObjects(walk: Walk, node: GraphNode): DesiredObjects {
  const { options, clock } = walk;
  const bindings = bindingsFor(walk, node);
  const used = [...node.dependencies, ...node.soft];
  const inputs = [walk.instance, clock.now, ...used.map((id) => walk.bindings[id] ?? walk.ahead[id])];
  const before = options.rendered?.get(node.id);
  if (before && isCurrent(walk, before, inputs)) return before;
  const wakes = clock.wakes.length;
  const dimensions = dimensionsOf(node, bindings, {
    maxCollectionSize: options.maxCollectionSize ?? MAX_COLLECTION_SIZE,
    costLimit: options.costLimit,
  });
  if (dimensions.reason) return { reason: dimensions.reason, refs: [] };
  if (node.kind === 'Collection') options.meter?.collection(dimensions.items.length);
  const objects: DesiredObject[] = [];
  for (const [index, variables] of dimensions.items.entries()) {
    const made = desiredObject(walk, node, { ...bindings, ...variables }, index, dimensions.items.length);
    if ('reason' in made) return { reason: made.reason, refs: objects.map(({ ref }) => ref) };
    objects.push(made);
  }
  // Each step must hear of the instants that expressions asked for.
  if (clock.wakes.length === wakes) options.rendered?.set(node.id, { inputs, objects });
  return { objects };
}

function isCurrent({ observed }: Walk, { inputs, objects }: RenderedNode, now: readonly unknown[]): boolean {
  return (
    inputs.length === now.length &&
    inputs.every((input, index) => input === now[index]) &&
    objects.every(({ ref, object, contributedBy }) => {
      if (contributedBy !== undefined) return true;
      return keepsVersion(object.metadata.labels, observed.object(ref)?.metadata.labels);
    })
  );
}
