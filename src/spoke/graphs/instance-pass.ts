import { atRevisionOf, pinOf } from '../../dialects/kro/index.ts';
import { chooseRevision, type InstanceStep, isSuspended, readInventory } from '../../engine/graph/index.ts';
import { type KubeObject, refKey } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { bringAbout, keyOf, type Pass, pauseAfter, tidy } from './instance-objects.ts';
import { abandonInstance, removeInstance } from './instance-removal.ts';
import { instanceView, wishesFor } from './instance-view.ts';
import { instanceWrites } from './instance-writes.ts';
import {
  AT_REST,
  LEAVING_POLL_MS,
  type PassContext,
  type PassResult,
  type Said,
  tellInstance,
} from './pass-context.ts';
import { instanceResource, type ServedGraph } from './served-graph.ts';
import { gvrText } from './transitions.ts';

/** Timers go no further; then it is looked at how long it still is. */
const LONGEST_TIMER_MS = 86_400_000;
/** It is the same however often it is tried: too large, not allowed. */
const REFUSED: ReadonlySet<number> = new Set([400, 403, 413, 422]);

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
  const tell = (said: Said): Promise<void> =>
    tellInstance(context, served, writes, memory, memory.instance ?? instance, said);
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
    return AT_REST;
  }
  const before = readInventory(instance);
  if (before.kind === 'Invalid') {
    await tell({
      graph,
      unmanaged: `${before.problem}; restore it, or remove the applyset annotations to have them written anew`,
    });
    return AT_REST;
  }
  memory.instance = await writes.manage(instance);
  if (turn && served.pace !== undefined)
    memory.instance = await writes.atRevision(memory.instance, turn.number);
  if (isSuspended(memory.instance)) {
    await tell({ graph, suspended: true });
    return AT_REST;
  }
  const from = context.origins.of(memory.instance, key);
  if (from.kind === 'Unconfirmed') {
    await tell({ graph, unmanaged: from.message });
    return AT_REST;
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
