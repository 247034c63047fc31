import {
  DISPATCH_LABEL,
  type DispatchSpec,
  MANAGED_BY_ANNOTATION,
  WORKLOAD_UPDATE_ANNOTATION,
} from '../engine/dispatch/index.ts';
import { TRACKING_ANNOTATION } from '../engine/retain/index.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import type { KubeObject } from '../kube/object.ts';
import { letGoPatch } from './workload-updates.ts';

/** Who asks for an object, for people: `hub 1a2b3c4d, Propagation shop/cart`. */
export function originOf({ position, source }: Pick<DispatchSpec, 'position' | 'source'>): string {
  const where = source.namespace === '' ? '' : `${source.namespace}/`;
  return `hub ${position.lineage.slice(0, 8)}, ${source.kind} ${where}${source.name}`;
}

/** An object with the marks of the dispatch that wants it. */
export function marked(object: KubeObject, dispatch: string, origin: string): KubeObject {
  const { labels, annotations } = object.metadata;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...labels, [DISPATCH_LABEL]: dispatch },
      annotations: { ...annotations, [MANAGED_BY_ANNOTATION]: origin },
    },
  };
}

/** Takes the marks off an object, which stays as it is. Throws a 409 where another object is in its place by now. */
export async function release(
  client: Client,
  resource: ResourceId,
  live: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name = '', uid } = live.metadata;
  const patch = {
    ...letGoPatch(live),
    metadata: {
      uid,
      labels: { [DISPATCH_LABEL]: null },
      annotations: {
        [MANAGED_BY_ANNOTATION]: null,
        [TRACKING_ANNOTATION]: null,
        [WORKLOAD_UPDATE_ANNOTATION]: null,
      },
    },
  };
  await client.patch(resource, namespace, name, 'merge', patch, { fieldManager: 'atoll', signal });
}
