import type { Intent } from '../../engine/intent.ts';
import type { KubeObject } from '../../kube/object.ts';

/** Where other workloads are that matter for where this one goes. */
export interface Peers {
  readonly together?: readonly string[];
  readonly apart?: readonly string[];
}

/** Another intent, and where it was decided to be. */
export interface Placed {
  readonly objects: readonly KubeObject[];
  readonly chosen: readonly string[];
}

/** Looks through the others only where the placement asks for it; most do not. */
export function peersOf({ placement, objects }: Intent, others: () => Iterable<Placed>): Peers {
  const { affinityByLabel, antiAffinityByLabel } = placement;
  if (affinityByLabel === undefined && antiAffinityByLabel === undefined) return {};
  const peers = [...others()];
  const placesBy = (label: string | undefined): { readonly found?: readonly string[] } => {
    if (label === undefined) return {};
    const values = valuesOf(objects, label);
    const clusters = new Set<string>();
    for (const peer of peers)
      if ([...valuesOf(peer.objects, label)].some((value) => values.has(value)))
        for (const cluster of peer.chosen) clusters.add(cluster);
    return clusters.size === 0 ? {} : { found: [...clusters].sort() };
  };
  const { found: together } = placesBy(affinityByLabel);
  const { found: apart } = placesBy(antiAffinityByLabel);
  return { ...(together ? { together } : {}), ...(apart ? { apart } : {}) };
}

function valuesOf(objects: readonly KubeObject[], label: string): Set<string> {
  const values = new Set<string>();
  for (const { metadata } of objects) {
    const value = metadata.labels?.[label];
    if (value !== undefined) values.add(value);
  }
  return values;
}
