import { atRevisionOf, pinOf } from '../../dialects/kro/index.ts';
import { digestOf } from '../../engine/digest.ts';
import {
  applySetId,
  type CompiledGraph,
  chooseRevision,
  covers,
  type DesiredObject,
  FINALIZER,
  type GraphMeter,
  type InstanceStep,
  instanceStatus,
  isSuspended,
  MANAGERS,
  type RenderedNode,
  readInventory,
  type StatusInput,
  stepInstance,
  withDefaults,
  writerKey,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { DeadlineExceeded, within } from '../../kube/deadline.ts';
import {
  type GroupVersionKind,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { type InstanceView, instanceView, wishesFor } from './instance-view.ts';
import { type InstanceWrites, instanceWrites } from './instance-writes.ts';
import type { Interest, Interests } from './interest.ts';
import type { KindWatches, WatchWish } from './kind-watch.ts';
import type { Members } from './members.ts';
import type { GraphMetrics } from './metrics.ts';
import type { OriginFinding, Origins } from './origins.ts';
import type { Pace } from './pace.ts';
import type { ReadsByHand } from './reads-by-hand.ts';
import { letGo, prune, type Removal, removable, removeAll, waitingMessage } from './removal.ts';
import { instanceResource, lean, type ServedGraph } from './served-graph.ts';
import { gvrText, type Transitions } from './transitions.ts';

export interface PassContext {
  readonly runtime: Runtime;
  readonly client: Client;
  /** Writes the objects of the instance: the same, or one with the rights of somebody else. */
  readonly childClient: Client;
  /** Whether what others made may only be read with the rights of `childClient`, too. */
  readonly actsForOthers: boolean;
  readonly watches: KindWatches;
  readonly members: Members;
  readonly interests: Interests;
  readonly reads: ReadsByHand;
  readonly pace: Pace;
  readonly origins: Origins;
  /** Whether instances of a kind stay here that come from other clusters. */
  readonly stays: (of: GroupVersionKind) => boolean;
  readonly transitions: Transitions;
  readonly metrics: GraphMetrics;
  readonly meter: GraphMeter;
  /** The name of the cluster, for messages. */
  readonly cluster?: ClusterName;
  /** Of one expression. */
  readonly costLimit?: number;
  readonly maxCollectionSize?: number;
  /** Objects of one instance written at the same time. */
  readonly applyConcurrency: number;
  /** After which an instance that waits is looked at again although nothing tells. */
  readonly requeueMs?: number;
  /** Pauses after passes in which something failed, doubled each time. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
}

export interface PassResult {
  /** What to be told of from now on. */
  readonly interest: Interest;
  readonly wishes: readonly WatchWish[];
  readonly requeueAfterMs?: number;
  /** The instance as the last step saw it, where there was one. */
  readonly looked?: KubeObject;
  /** The instance is gone. */
  readonly gone?: boolean;
}

const WRITE_MS = 10_000;
/** Timers go no further; then it is looked at how long it still is. */
const LONGEST_TIMER_MS = 86_400_000;
/** Somebody else was at it at the same time. */
const AGAIN_MS = 500;
/** So often one pass writes one object: what uses what uses it again may come to no end. */
const MOST_WRITES = 10;
/** Watches tell when objects are gone; this is for one that was missed. */
const LEAVING_POLL_MS = 30_000;
/** It is the same however often it is tried: too large, not allowed. */
const REFUSED: ReadonlySet<number> = new Set([400, 403, 413, 422]);
const NOTHING: Interest = { refs: new Set(), queries: [] };

/**
 * One pass over an instance: from how things are to what is to be done next, done. A pass may end anywhere: the finalizer is there
 * before anything else, the inventory before the objects that it names, and objects are gone before the inventory forgets them.
 */
export async function passInstance(
  context: PassContext,
  key: string,
  served: ServedGraph,
  instance: KubeObject,
  memory: InstanceMemory,
): Promise<PassResult> {
  const writes = instanceWrites(context.client, instanceResource(served.kind), served.owner);
  if (instance.metadata.deletionTimestamp !== undefined)
    return removeInstance(context, served, instance, memory, writes);
  if (served.abandoning === true) return abandonInstance(context, instance, writes);
  const { clock } = context.runtime;
  const { cluster, costLimit } = context;
  const at = { ...(cluster !== undefined && { cluster }), ...(costLimit !== undefined && { costLimit }) };
  const tell = async (input: Omit<StatusInput, 'instance' | 'now'>): Promise<void> => {
    const now = memory.instance ?? instance;
    const { status } = (served.statusOf ?? instanceStatus)({
      ...input,
      ...at,
      instance: now,
      now: clock.now(),
    });
    const written = await writes.status(now, status);
    context.transitions.told(served.kind.plural, now, status);
    memory.instance = written;
  };

  const gvr = gvrText({ ...served.kind, resource: served.kind.plural });
  const began = clock.monotonic();
  const choice = chooseRevision(
    served.revisions,
    (served.owner.alone ? undefined : pinOf(instance)) ?? served.pinned,
  );
  const turn = choice.kind === 'Use' ? itsTurn(context, served, instance, choice.number) : undefined;
  const graph = turn && served.graphs.get(turn.number);
  if (graph) context.metrics.count('instance_graph_resolution_success_total', { gvr });
  if (!graph) {
    if (choice.kind === 'Wait') context.metrics.count('instance_graph_resolution_pending_total', { gvr });
    else context.metrics.count('instance_graph_resolution_failures_total', { gvr, reason: choice.kind });
    await tell({ unresolved: choice.kind === 'Use' ? 'the graph is not compiled' : choice.message });
    return { interest: NOTHING, wishes: [] };
  }
  const before = readInventory(instance);
  if (before.kind === 'Invalid') {
    await tell({
      graph,
      unmanaged: `${before.problem}; restore it, or remove the applyset annotations to have them written anew`,
    });
    return { interest: NOTHING, wishes: [] };
  }
  memory.instance = await writes.manage(instance);
  if (turn && served.pace !== undefined)
    memory.instance = await writes.atRevision(memory.instance, turn.number);
  if (isSuspended(memory.instance)) {
    await tell({ graph, suspended: true });
    return { interest: NOTHING, wishes: [] };
  }
  const from = context.origins.of(memory.instance, key);
  if (from.kind === 'Unconfirmed') {
    await tell({ graph, unmanaged: from.message });
    return { interest: NOTHING, wishes: [] };
  }

  const { now: beforeNow = clock.now(), wakeAt } = memory.clock ?? {};
  const seen = wakeAt !== undefined && clock.now() >= wakeAt ? clock.now() : beforeNow;
  const pass: Pass = { context, key, from, graph, served, memory, writes, problems: [], now: seen };
  const { watches, interests, reads, childClient: client, actsForOthers } = context;
  const view = instanceView({
    client,
    actsForOthers,
    clock,
    watches,
    interests,
    reads,
    owner: key,
    graph,
    memory,
    fromElsewhere: from.kind === 'Elsewhere',
  });
  context.metrics.count('runtime_creation_total', {});
  context.metrics.observe('runtime_creation_duration_seconds', {}, clock.monotonic() - began);
  memory.failures.clear();
  let step: InstanceStep;
  try {
    step = await bringAbout(pass, view);
  } catch (error) {
    // Without it nothing is applied, and nothing else says so.
    if (error instanceof StatusError && REFUSED.has(error.code))
      await tell({ graph, unmanaged: `the inventory cannot be written: ${errorText(error)}` });
    throw error;
  }
  const looked = memory.instance;
  const waiting = await tidy(pass, step);
  memory.forgetOthers(new Set(step.objects.map((desired) => keyOf(desired))));
  const problems = [...view.problems, ...pass.problems];
  if (!view.starting || problems.length > 0)
    await tell({ graph, step, ...(problems.length > 0 && { failure: problems.join('; ') }) });

  const wakes = step.wakes.filter((instant) => instant > seen);
  const next = wakes.length === 0 ? undefined : Math.min(...wakes);
  memory.clock = { now: seen, wakeAt: next };
  const failed = problems.length > 0 || memory.failures.size > 0;
  memory.attempts = failed ? memory.attempts + 1 : 0;
  const retry = pauseAfter(context, memory.attempts);
  const times = [
    // An object that could not be corrected is due all the time.
    failed ? retry : memory.due(clock.monotonic()),
    view.againAfterMs,
    next === undefined ? undefined : Math.min(LONGEST_TIMER_MS, Math.max(1, next - clock.now())),
    waiting.length > 0 ? LEAVING_POLL_MS : undefined,
    turn?.againAfterMs,
    step.ready ? undefined : context.requeueMs,
  ].filter((time) => time !== undefined);
  return {
    interest: {
      refs: new Set([...view.interest.refs, ...waiting.map(refKey)]),
      queries: view.interest.queries,
    },
    wishes: [...view.wishes, ...wishesFor(waiting)],
    looked,
    ...(times.length > 0 && { requeueAfterMs: Math.min(...times) }),
  };
}

/** The pause after so many passes in a row in which something failed. */
function pauseAfter({ firstRetryMs, longestRetryMs }: PassContext, attempts: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 20));
}

/** The revision that an instance is made by now: where instances go on one after the other, that before until it is its turn. */
function itsTurn(
  { pace }: PassContext,
  served: ServedGraph,
  instance: KubeObject,
  wanted: number,
): { readonly number: number; readonly againAfterMs?: number } {
  const before = atRevisionOf(instance);
  const goesAtOnce =
    served.pace === undefined ||
    before === undefined ||
    before === wanted ||
    pinOf(instance) !== undefined ||
    !served.graphs.has(before);
  const waitMs = goesAtOnce ? 0 : pace.admit(served.owner.name, served.pace);
  return waitMs === 0 ? { number: wanted } : { number: before as number, againAfterMs: waitMs };
}

interface Pass {
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
async function bringAbout(pass: Pass, view: InstanceView): Promise<InstanceStep> {
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

function keyOf({ ref, contributedBy }: DesiredObject): string {
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
async function tidy(pass: Pass, step: InstanceStep): Promise<readonly ObjectRef[]> {
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

/** Lets an instance and its objects be, without anybody who looks after them. */
async function abandonInstance(
  { members }: PassContext,
  instance: KubeObject,
  writes: InstanceWrites,
): Promise<PassResult> {
  const gone: PassResult = { interest: NOTHING, wishes: [], gone: true };
  const reading = readInventory(instance);
  if (reading.kind === 'None' && !instance.metadata.finalizers?.includes(FINALIZER)) return gone;
  // Where the inventory is not to be believed marks may stay on objects; nothing is deleted by them without a finalizer.
  const removal = reading.kind === 'Read' ? await letGo(members, instance, reading.inventory) : undefined;
  if (removal?.kind === 'Again') return { interest: NOTHING, wishes: [], requeueAfterMs: AGAIN_MS };
  await writes.abandon(instance);
  return gone;
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

async function removeInstance(
  { client, members, runtime, cluster, transitions }: PassContext,
  served: ServedGraph,
  copy: KubeObject,
  memory: InstanceMemory,
  writes: InstanceWrites,
): Promise<PassResult> {
  const gone: PassResult = { interest: NOTHING, wishes: [], gone: true };
  const resource = await client.resourceFor(copy.apiVersion, copy.kind);
  const { namespace = '', name = '', uid } = copy.metadata;
  let instance: KubeObject;
  try {
    instance = lean(await client.get(resource, namespace, name));
  } catch (error) {
    if (hasCode(error, 404)) return gone;
    throw error;
  }
  const what = removable(instance);
  if (instance.metadata.uid !== uid || what === undefined) return gone;
  const tell = async (deleting: string): Promise<void> => {
    const now = runtime.clock.now();
    const { status } = (served.statusOf ?? instanceStatus)({
      ...{ instance, now, deleting },
      ...(cluster !== undefined && { cluster }),
    });
    const written = await writes.status(instance, status);
    transitions.told(resource.resource, instance, status);
    memory.instance = written;
  };
  if ('blocked' in what) {
    await tell(what.blocked);
    return { interest: NOTHING, wishes: [] };
  }
  let removal: Removal;
  try {
    removal = await removeAll(members, instance, what.inventory);
  } catch (error) {
    // It is tried again for as long as it takes; until then it is to say why it is there still.
    if (error instanceof StatusError || error instanceof DeadlineExceeded)
      await tell(`the deletion cannot go on: ${errorText(error)}`);
    throw error;
  }
  switch (removal.kind) {
    case 'Done':
      await writes.release(instance);
      return gone;
    case 'Again':
      return { interest: NOTHING, wishes: [], requeueAfterMs: AGAIN_MS };
    case 'Waiting':
      await tell(waitingMessage(removal.what));
      return {
        interest: { refs: new Set(removal.refs.map(refKey)), queries: [] },
        wishes: wishesFor(removal.refs),
        requeueAfterMs: LEAVING_POLL_MS,
      };
  }
}
