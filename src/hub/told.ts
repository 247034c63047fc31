import type { Cluster } from '../dialects/kubevela/types.ts';
import type { SpokeSession } from './fleet.ts';

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
