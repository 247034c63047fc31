import { type KubeObject, type ObjectRef, refKey, refOf } from '../../../kube/object.ts';
import { type JsonObject, stringAt } from '../../../schema/json.ts';
import type { CompiledGraph } from '../compile/index.ts';
import { type Contribution, contributionKey } from './inventory.ts';
import type { InstanceStep } from './step.ts';
import { ANNOTATIONS, LABELS, WISHES } from './words.ts';

/** An object to delete, if it still is the one that was seen. */
export interface Deletion {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly node: string;
  /** It is not deleted but let go: the engine's marks are taken off. */
  readonly retain?: JsonObject;
  /** It belongs to somebody else: the fields that the instance added are taken back. */
  readonly withdraw?: boolean;
  readonly subresource?: 'status';
}

/** An object to which an instance has added fields, as it is now. */
export interface Contributed extends Contribution {
  readonly uid: string;
}

/** Takes back what was added. The node is told where it did so by a manager of its own. */
export function withdrawal({ ref, uid, node = '', subresource }: Contributed): Deletion {
  return { ref, uid, node, withdraw: true, ...(subresource && { subresource }) };
}

function deletionOf(object: KubeObject): Deletion {
  return {
    ref: refOf(object),
    uid: object.metadata.uid ?? '',
    node: object.metadata.labels?.[LABELS.nodeId] ?? '',
    ...(object.metadata.annotations?.[WISHES.retain] === 'true' && { retain: releasePatch(object) }),
  };
}

/** A merge patch that takes the engine's marks off an object, if it is still as it was seen. */
export function releasePatch({
  metadata: { labels = {}, annotations = {}, uid, resourceVersion },
}: KubeObject): JsonObject {
  const own = new Set<string>([...Object.values(LABELS), ...Object.values(ANNOTATIONS)]);
  const marks = (entries: Readonly<Record<string, string>>): JsonObject =>
    Object.fromEntries(
      Object.keys(entries)
        .filter((key) => own.has(key) || own.has(key.replace(/^internal\./, '')))
        .map((key) => [key, null]),
    );
  return {
    metadata: {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      labels: marks(labels),
      annotations: marks(annotations),
    },
  };
}

/** The wave that an object was made in; 0, which goes last, where it does not say. */
function writtenWave(object: KubeObject): number {
  const text = stringAt(object, 'metadata', 'annotations', ANNOTATIONS.applyOrder) ?? '';
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
}

export interface DeletionStep {
  /** To delete now. */
  readonly delete: readonly Deletion[];
  /** Being deleted; what comes before them in the order waits until they are gone. */
  readonly waiting: readonly ObjectRef[];
  /** Nothing is left. */
  readonly done: boolean;
}

/**
 * What of an instance that is being deleted goes next: the highest wave of what is left. Needs neither graph nor expressions, since
 * each object says in which wave it was made.
 */
export function stepDeletion(
  members: readonly KubeObject[],
  contributed: readonly Contributed[] = [],
): DeletionStep {
  let highest = -1;
  for (const object of members) highest = Math.max(highest, writtenWave(object));
  for (const { wave } of contributed) highest = Math.max(highest, wave);
  const wave = members.filter((object) => writtenWave(object) === highest).toSorted(byKey);
  return {
    delete: [
      ...wave.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(deletionOf),
      ...contributed.filter((item) => item.wave === highest).map(withdrawal),
    ],
    waiting: wave.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(refOf),
    done: members.length + contributed.length === 0,
  };
}

function byKey(a: KubeObject, b: KubeObject): number {
  const [left, right] = [refKey(refOf(a)), refKey(refOf(b))];
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * What of the objects that carry the instance's mark is desired no longer, wave by wave: first what belongs to no node of the graph,
 * then from the last node to the first. Empty while the step is not settled: what is not known to be unwanted stays.
 */
export function pruneWaves(
  graph: CompiledGraph,
  step: InstanceStep,
  members: readonly KubeObject[],
  contributed: readonly Contributed[] = [],
): readonly (readonly Deletion[])[] {
  if (!step.settled) return [];
  const wanted = new Set(step.objects.map(({ ref }) => refKey(ref)));
  const position = new Map(graph.nodes.map((node, index) => [node.id, index]));
  const waves = new Map<number, KubeObject[]>();
  for (const object of members) {
    if (wanted.has(refKey(refOf(object)))) continue;
    const at = position.get(object.metadata.labels?.[LABELS.nodeId] ?? '') ?? Infinity;
    const wave = waves.get(at);
    if (wave) wave.push(object);
    else waves.set(at, [object]);
  }
  const added = new Set(step.shrunkInventory.contributions?.map(contributionKey));
  const withdrawn = contributed.filter((item) => !added.has(contributionKey(item))).map(withdrawal);
  return [
    ...(withdrawn.length > 0 ? [withdrawn] : []),
    ...[...waves]
      .toSorted(([a], [b]) => (a === b ? 0 : b - a))
      .map(([, objects]) => objects.toSorted(byKey).map(deletionOf)),
  ];
}
