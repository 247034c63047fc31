import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { selectLabelled } from './resolve.ts';
import type { EdgePlacement, Location, SinglePlacement, SinglePlacementSlice, SyncTarget } from './types.ts';

/** Names the EdgePlacement of a slice. */
export const SOURCE_PLACEMENT_LABEL = 'edge.kubestellar.io/source-placement';

/** The SyncTargets that a Location selects, by name. */
export function instancesOf(location: Location, targets: readonly SyncTarget[]): readonly SyncTarget[] {
  const { selector } = selectorFromObject(location.spec?.instanceSelector);
  return targets
    .filter(({ metadata }) => matchesSelector(selector, metadata.labels ?? {}))
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** Where an EdgePlacement goes: one destination for each SyncTarget of each Location that it selects. Sorted. */
export function placementsOf(
  placement: EdgePlacement,
  locations: readonly Location[],
  targets: readonly SyncTarget[],
  space: string,
): { readonly destinations: readonly SinglePlacement[]; readonly locations: number } {
  const byName = new Map(locations.map((location) => [nameOf(location), location]));
  const chosen = selectLabelled(
    placement.spec?.locationSelectors,
    locations.map((location) => ({ name: nameOf(location), labels: location.metadata.labels ?? {} })),
  );
  return {
    locations: chosen.length,
    destinations: chosen.flatMap((locationName) => {
      const location = byName.get(locationName);
      return (location ? instancesOf(location, targets) : []).map((target) => ({
        cluster: space,
        locationName,
        syncTargetName: nameOf(target),
        syncTargetUID: target.metadata.uid ?? '',
      }));
    }),
  };
}

/** Destinations that a slice holds: it stays a small object however many there are. */
const SLICE_SIZE = 100;
/** Leaves room for what tells the slices of a placement apart. */
const LONGEST_SLICE_STEM = 230;

/** The slices of an EdgePlacement, which go with it: the first has its name, and all have its name in a label. */
export function slicesOf(
  placement: EdgePlacement,
  destinations: readonly SinglePlacement[],
): readonly SinglePlacementSlice[] {
  const { name = '', uid = '' } = placement.metadata;
  const count = Math.max(1, Math.ceil(destinations.length / SLICE_SIZE));
  // No other placement has such a name by chance.
  const stem = `${name.slice(0, LONGEST_SLICE_STEM)}-${uid.slice(0, 8)}`;
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: placement.apiVersion,
    kind: 'SinglePlacementSlice',
    metadata: {
      name: index === 0 ? name : `${stem}-${index + 1}`,
      labels: { [SOURCE_PLACEMENT_LABEL]: labelValueOf(name) },
      ownerReferences: [{ apiVersion: placement.apiVersion, kind: placement.kind, name, uid }],
    },
    destinations: destinations.slice(index * SLICE_SIZE, (index + 1) * SLICE_SIZE),
  }));
}

const LONGEST_LABEL = 63;
const HASH_LENGTH = 16;

/** A name as the value of a label: names may be longer than values, and then end in a digest of themselves. */
export function labelValueOf(name: string): string {
  if (name.length <= LONGEST_LABEL) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${name.slice(0, LONGEST_LABEL - HASH_LENGTH - 1)}-${digest}`;
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}
