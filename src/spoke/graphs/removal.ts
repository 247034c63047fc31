import {
  type CompiledGraph,
  type Contributed,
  type Deletion,
  FINALIZER,
  HUB_OBJECT,
  hubObjectText,
  type InstanceStep,
  type Inventory,
  pruneWaves,
  readInventory,
  releasePatch,
  remoteText,
  stepDeletion,
  withdrawal,
} from '../../engine/graph/index.ts';
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import type { Members } from './members.ts';

/** More rounds than this are left to the next pass. */
const MAX_ROUNDS = 100;
const AT_ONCE = 20;
const SHOWN = 3;

export type Removal =
  | { readonly kind: 'Done' }
  /** Objects are being deleted; those before them in the order wait. */
  | { readonly kind: 'Waiting'; readonly refs: readonly ObjectRef[]; readonly what: readonly string[] }
  /** Somebody made one of them anew meanwhile, or there is more than one pass has time for. */
  | { readonly kind: 'Again' };

/** Removes what is desired no longer, one wave after the other is gone. */
export async function prune(
  members: Members,
  instance: KubeObject,
  graph: CompiledGraph,
  step: InstanceStep,
): Promise<Removal> {
  return inWaves(members, instance, step.inventory, (present, contributed) => {
    const wave = pruneWaves(graph, step, present, contributed)[0] ?? [];
    const leaving = new Set(
      present
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map((item) => refKey(refOf(item))),
    );
    return {
      delete: wave.filter(({ ref }) => !leaving.has(refKey(ref))),
      waiting: wave.filter(({ ref }) => leaving.has(refKey(ref))).map(({ ref }) => ref),
    };
  });
}

/** Removes all objects of an instance, from what they say of themselves. */
export function removeAll(members: Members, instance: KubeObject, inventory: Inventory): Promise<Removal> {
  return inWaves(members, instance, inventory, stepDeletion);
}

/** Leaves all objects of an instance where they are, without its marks, and takes back what it added to others. */
export async function letGo(members: Members, instance: KubeObject, inventory: Inventory): Promise<Removal> {
  const all = (present: readonly KubeObject[], contributed: readonly Contributed[]): Next => ({
    delete: [
      ...present.map((object) => ({
        ref: refOf(object),
        uid: object.metadata.uid ?? '',
        node: '',
        retain: releasePatch(object),
      })),
      ...contributed.map(withdrawal),
    ],
    waiting: [],
  });
  return inWaves(members, instance, inventory, all);
}

interface Next {
  readonly delete: readonly Deletion[];
  readonly waiting: readonly ObjectRef[];
}

async function inWaves(
  members: Members,
  instance: KubeObject,
  inventory: Inventory,
  next: (present: readonly KubeObject[], contributed: readonly Contributed[]) => Next,
): Promise<Removal> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const [present, contributed] = await Promise.all([
      members.list(instance, inventory),
      members.contributed(instance, inventory),
    ]);
    const { delete: wave, waiting } = next(present, contributed);
    if (wave.length === 0)
      return waiting.length === 0
        ? { kind: 'Done' }
        : { kind: 'Waiting', refs: waiting, what: waiting.map((ref) => nameOf(ref, present)) };
    for (let at = 0; at < wave.length; at += AT_ONCE) {
      const same = await Promise.all(
        wave.slice(at, at + AT_ONCE).map((item) => members.remove(item, instance)),
      );
      if (same.includes(false)) return { kind: 'Again' };
    }
  }
  return { kind: 'Again' };
}

/** What of an instance that is being deleted is there to remove, or why that cannot be said. */
export function removable(
  instance: KubeObject,
): { readonly inventory: Inventory } | { readonly blocked: string } | undefined {
  if (!instance.metadata.finalizers?.includes(FINALIZER)) return undefined;
  const reading = readInventory(instance);
  if (reading.kind === 'Read') return { inventory: reading.inventory };
  const problem =
    reading.kind === 'Invalid' ? reading.problem : 'the annotations that hold the inventory are gone';
  return {
    blocked: `deletion blocked: ${problem}; restore it, or remove the finalizer ${FINALIZER} after removing the objects by hand`,
  };
}

/** An object as people know it: what stands for one on another cluster is that one. */
function nameOf(ref: ObjectRef, present: readonly KubeObject[]): string {
  const object = present.find((item) => refKey(refOf(item)) === refKey(ref));
  const remote = object && (remoteText(object) ?? hubObjectText(object));
  const away =
    stringAt(object, 'status', 'state') === 'Stale' ||
    (object?.kind === HUB_OBJECT.kind && stringAt(object, 'status', 'message') !== undefined);
  const why = away ? ` (${stringAt(object, 'status', 'message') ?? ''})` : '';
  return remote === undefined ? refText(ref) : `${remote}${why}`;
}

export function waitingMessage(what: readonly string[]): string {
  const more = what.length > SHOWN ? ` and ${what.length - SHOWN} more` : '';
  return `waits until ${what.slice(0, SHOWN).join(', ')}${more} are gone`;
}
