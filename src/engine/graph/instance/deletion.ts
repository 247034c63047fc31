import { type KubeObject, type ObjectRef, refKey, refOf } from '../../../kube/object.ts';
import { stringAt } from '../../../schema/json.ts';
import type { CompiledGraph } from '../compile/index.ts';
import type { InstanceStep } from './step.ts';
import { ANNOTATIONS, LABELS } from './words.ts';

/** An object to delete, if it still is the one that was seen. */
export interface Deletion {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly node: string;
}

function deletionOf(object: KubeObject): Deletion {
  return {
    ref: refOf(object),
    uid: object.metadata.uid ?? '',
    node: object.metadata.labels?.[LABELS.nodeId] ?? '',
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
export function stepDeletion(members: readonly KubeObject[]): DeletionStep {
  const highest = Math.max(-1, ...members.map(writtenWave));
  const wave = members.filter((object) => writtenWave(object) === highest).toSorted(byKey);
  return {
    delete: wave.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(deletionOf),
    waiting: wave.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(refOf),
    done: members.length === 0,
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
  return [...waves]
    .toSorted(([a], [b]) => (a === b ? 0 : b - a))
    .map(([, objects]) => objects.toSorted(byKey).map(deletionOf));
}
