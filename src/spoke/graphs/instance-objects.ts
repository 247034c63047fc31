import { digestOf } from '../../engine/digest.ts';
import {
  applySetId,
  type CompiledGraph,
  covers,
  type DesiredObject,
  type InstanceStep,
  MANAGERS,
  type RenderedNode,
  readInventory,
  stepInstance,
  withDefaults,
  writerKey,
} from '../../engine/graph/index.ts';
import { within } from '../../kube/deadline.ts';
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { InstanceMemory } from './instance-memory.ts';
import type { InstanceView } from './instance-view.ts';
import type { InstanceWrites } from './instance-writes.ts';
import type { OriginFinding } from './origins.ts';
import type { PassContext } from './pass-context.ts';
import { prune } from './removal.ts';
import { lean, type ServedGraph } from './served-graph.ts';

const WRITE_MS = 10_000;
/** So often one pass writes one object: what uses what uses it again may come to no end. */
const MOST_WRITES = 10;

/** One pass over an instance whose graph is known. */
export interface Pass {
  readonly context: PassContext;
  readonly key: string;
  readonly from: OriginFinding;
  readonly graph: CompiledGraph;
  readonly served: ServedGraph;
  readonly memory: InstanceMemory;
  readonly writes: InstanceWrites;
  /** What went wrong around the step. */
  readonly problems: string[];
  /** The time that expressions see. */
  readonly now: number;
}

/** Looks and applies until nothing more can be done now. */
export async function bringAbout(pass: Pass, view: InstanceView): Promise<InstanceStep> {
  const { memory, served, graph, writes, from } = pass;
  const { origins, stays } = pass.context;
  /** What was written last in this pass, by digest: the instance may be changed meanwhile, which nothing else tells of. */
  const tried = new Map<string, { readonly digest: string; readonly times: number }>();
  const rendered = new Map<string, RenderedNode>();
  const { clock } = pass.context.runtime;
  const letBe = restlessNow(pass);
  let copy = memory.instance as KubeObject;
  let instance = withDefaults(copy, graph);
  for (;;) {
    if (memory.instance !== copy) {
      copy = memory.instance as KubeObject;
      instance = withDefaults(copy, graph);
    }
    const { costLimit, maxCollectionSize, applyConcurrency } = pass.context;
    const step = stepInstance(graph, instance, view.observed, {
      owner: served.owner,
      now: pass.now,
      rendered,
      meter: pass.context.meter,
      ...(from.kind === 'Elsewhere' && { origin: { ...from.origin, stays } }),
      ...(costLimit !== undefined && { costLimit }),
      ...(maxCollectionSize !== undefined && { maxCollectionSize }),
    });
    const looked = step.reads.length > 0 && view.look(step.reads);
    if (looked) continue;
    // Before they are there: whoever sees them first must know it.
    if (from.kind === 'Elsewhere') origins.made(pass.key, step.objects);
    const open = step.objects.filter(
      ({ ref, digest, held, contributedBy }) =>
        held !== true &&
        tried.get(writerKey(ref, contributedBy))?.digest !== digest &&
        // Whose it is must be known first.
        view.observed.object(ref) !== undefined &&
        view.observed.applied?.(ref, contributedBy) !== digest,
    );
    const due = open.filter(
      (desired) => !letBe.has(keyOf(desired)) && (tried.get(keyOf(desired))?.times ?? 0) < MOST_WRITES,
    );
    if (due.length === 0) {
      const until = clock.monotonic() + pauseAfter(pass.context, memory.attempts + 1);
      for (const desired of open)
        if (!letBe.has(keyOf(desired))) memory.restless.set(keyOf(desired), { of: wishOf(pass), until });
      const [restless] = open;
      if (restless)
        pass.problems.push(
          `${refText(restless.ref)} is to be another each time that it is written: nodes that use each other do not come to an end`,
        );
      return step;
    }
    const remembered = readInventory(instance);
    if (
      remembered.kind !== 'Read' ||
      remembered.unsigned === true ||
      !covers(remembered.inventory, step.inventory)
    )
      memory.instance = await writes.inventory(copy, step.inventory);
    for (const desired of due) {
      const times = (tried.get(keyOf(desired))?.times ?? 0) + 1;
      tried.set(keyOf(desired), { digest: desired.digest, times });
    }
    for (let at = 0; at < due.length; at += applyConcurrency)
      await Promise.all(
        due.slice(at, at + applyConcurrency).map((desired) => applyObject(pass, desired, view)),
      );
  }
}

/** Objects that came to no end in a pass before, and are let be for a while: watches tell of those writes, and there would be no pause. */
function restlessNow(pass: Pass): ReadonlySet<string> {
  const { restless } = pass.memory;
  const now = pass.context.runtime.clock.monotonic();
  for (const [key, { of, until }] of restless) if (until <= now || of !== wishOf(pass)) restless.delete(key);
  return new Set(restless.keys());
}

/** What objects are made of: where it is another they may come to an end. */
function wishOf({ graph, memory }: Pass): string {
  return `${graph.digest.digest} ${memory.instance?.metadata.generation ?? ''}`;
}

async function applyObject(
  { context: { childClient: client, runtime, reads }, memory, key }: Pass,
  desired: DesiredObject,
  view: InstanceView,
): Promise<void> {
  const { ref, object, contributedBy, subresource } = desired;
  try {
    const result = await within(runtime.clock, WRITE_MS, async (signal) => {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      return contributedBy === undefined
        ? client.apply(resource, object, { fieldManager: MANAGERS.children, force: true, signal })
        : // Fields of others are not taken, and what is gone meanwhile is not made.
          client.apply(resource, onlyTo(view.observed.object(ref), object), {
            signal,
            fieldManager: contributedBy,
            ...(subresource && { subresource, force: true }),
          });
    });
    memory.wrote(desired, lean(result), runtime.clock.monotonic());
    memory.failures.delete(keyOf(desired));
    reads.forget(key, refKey(ref));
  } catch (error) {
    memory.uncertain ||= !(error instanceof StatusError);
    if (!(error instanceof StatusError))
      runtime.log.debug('an object could not be applied', told(ref, error));
    memory.failures.set(keyOf(desired), errorText(error));
  }
}

export function keyOf({ ref, contributedBy }: DesiredObject): string {
  return writerKey(ref, contributedBy);
}

function onlyTo(live: KubeObject | null | undefined, object: KubeObject): KubeObject {
  const { uid } = live?.metadata ?? {};
  return uid === undefined ? object : { ...object, metadata: { ...object.metadata, uid } };
}

function told(ref: ObjectRef, error: unknown): { object: string; error: string } {
  return { object: refText(ref), error: errorText(error) };
}

/** Removes what is desired no longer. Returns the objects that are about to go. */
export async function tidy(pass: Pass, step: InstanceStep): Promise<readonly ObjectRef[]> {
  const { memory, graph, context, writes } = pass;
  if (!step.settled || memory.failures.size > 0) return [];
  const instance = memory.instance as KubeObject;
  const wanted = digestOf([graph.digest.digest, ...step.objects.map(({ ref }) => refKey(ref)).toSorted()]);
  const reading = readInventory(instance);
  const wide = reading.kind !== 'Read' || !covers(step.shrunkInventory, reading.inventory);
  if (memory.prunedFor === wanted && !wide) return [];
  if (!wide && nothingElse(pass, step, instance)) {
    memory.prunedFor = wanted;
    return [];
  }
  try {
    const removal = await prune(context.members, instance, graph, step);
    if (removal.kind === 'Waiting') return removal.refs;
    if (removal.kind === 'Again') {
      pass.problems.push('objects that are not wanted any more were made anew while they were removed');
      return [];
    }
    if (wide) memory.instance = await writes.inventory(instance, step.shrunkInventory);
    memory.prunedFor = wanted;
    memory.uncertain = false;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    pass.problems.push(`what is not wanted any more cannot be removed: ${errorText(error)}`);
  }
  return [];
}

/**
 * Whether the watches, which know all that was there when they began, and the memory, which knows what was written since, show
 * nothing but what is wanted. To ask the API server instead would be to have it look through all objects for each instance.
 */
function nothingElse({ context, memory }: Pass, step: InstanceStep, instance: KubeObject): boolean {
  const wanted = new Set(step.objects.map(({ ref }) => refKey(ref)));
  const members = context.watches.members(step.inventory.groupKinds, applySetId(instance));
  return (
    !memory.uncertain &&
    members?.every((object) => wanted.has(refKey(refOf(object)))) === true &&
    memory.wroteOnly(new Set(step.objects.map((desired) => keyOf(desired))))
  );
}

/** The pause after so many passes in a row in which something failed. */
export function pauseAfter({ firstRetryMs, longestRetryMs }: PassContext, attempts: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 20));
}
