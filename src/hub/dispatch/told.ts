import type { Cluster } from '../../dialects/kubevela/types.ts';
import type { DispatchSpec } from '../../engine/dispatch/index.ts';
import { type ObjectRef, refKey } from '../../kube/object.ts';
import type { SpokeSession } from '../fleet.ts';

/** What a spoke says of one order beside what the order itself says. */
type Told = NonNullable<NonNullable<Cluster['status']>['dispatches']>[number];

const indexes = new WeakMap<readonly Told[], ReadonlyMap<string, Told>>();

/** What a spoke says of the order of this name. It is asked for each order, and a spoke names all. */
export function toldOf(session: SpokeSession, name: string): Told | undefined {
  const all = session.cluster()?.status?.dispatches;
  if (!all) return undefined;
  let index = indexes.get(all);
  if (!index) {
    index = new Map(all.map((told) => [told.name, told]));
    indexes.set(all, index);
  }
  return index.get(name);
}

/** What a spoke says it has of an order that neither wants it nor orders it away. */
export function leftOn(session: SpokeSession, name: string, spec: DispatchSpec): readonly ObjectRef[] {
  const told = toldOf(session, name);
  // Of another generation it says nothing about this one.
  if (!told?.kept || told.generation !== spec.position.generation) return [];
  const named = new Set([...spec.objects, ...spec.tombstones.map(({ ref }) => ref)].map(refKey));
  return told.kept.filter((ref) => !named.has(refKey(ref)));
}

/** What a spoke has of an order, or of one that somebody deleted there, as far as it is not ordered away. */
export function heldOf(
  session: SpokeSession,
  name: string,
  spec: DispatchSpec | undefined,
): readonly ObjectRef[] {
  return spec ? [...spec.objects, ...leftOn(session, name, spec)] : (toldOf(session, name)?.kept ?? []);
}
