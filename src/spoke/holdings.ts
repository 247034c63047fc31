import { type Dispatch, judgeDispatch } from '../engine/dispatch/index.ts';
import { render } from '../engine/render/render.ts';
import type { Result } from '../kube/controller.ts';
import { type KubeObject, refKey, refOf } from '../kube/object.ts';
import type { Logger } from '../runtime/log.ts';
import { ContentMissing, type ContentStore } from './content.ts';
import { type Held, type LocalState, madeBy, newState } from './held.ts';
import { claim, type SpokeMemory } from './memory.ts';

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** What a spoke holds: the dispatches that it took, and which of them wants which object. */
export interface Holdings {
  get(name: string): Held | undefined;
  all(): Iterable<Held>;
  /** The dispatch that has the say over an object. Another that wants it too reports so. */
  claimant(key: string): string | undefined;
  /** Why nothing is held of a dispatch whose first word was refused. */
  refusal(name: string): Refusal | undefined;
  /** Takes a new word of the hub, if it may be taken: remembered durably before anything is done. */
  accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined>;
  /** After a restart: what was accepted before is held again, from the spoke's own API server. */
  recall(name: string, dispatch: Dispatch | undefined): Promise<void>;
  /** Nothing is left of a dispatch, on the spoke or in its orders. */
  forget(name: string): Promise<void>;
}

export interface HoldingsOptions {
  readonly spoke: string;
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly content: ContentStore;
  /** An object is free for a dispatch that wanted it and did not have it. */
  readonly onFreed: (name: string) => void;
  readonly onRefused: (name: string) => void;
}

/** The owner may hand the spoke over to another hub. */
const ANOTHER_HUB_RETRY_MS = 30_000;
const CONTENT_RETRY_MS = 2_000;

export function createHoldings(options: HoldingsOptions): Holdings {
  const { memory, content, log } = options;
  const held = new Map<string, Held>();
  const claimants = new Map<string, string>();
  const refusals = new Map<string, Refusal>();

  async function accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined> {
    if (!dispatch) return undefined;
    const before = memory.record(name);
    const trust = await memory.trust();
    const verdict = judgeDispatch(options.spoke, name, dispatch.spec, trust, before?.accepted);
    if (verdict.verdict === 'refuse') {
      refuse(name, verdict);
      return verdict.reason === 'AnotherHub' ? { requeueAfterMs: ANOTHER_HUB_RETRY_MS } : undefined;
    }
    const current = held.get(name);
    if (current) current.refusal = undefined;
    if (verdict.verdict === 'known') return undefined;
    let objects: readonly KubeObject[];
    try {
      objects = await content.objects(dispatch.spec);
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      refuse(name, { reason: 'ContentMissing', message: error.message });
      return { requeueAfterMs: CONTENT_RETRY_MS };
    }
    const { lineage, generation } = dispatch.spec.position;
    if (trust === undefined) await memory.pin({ lineage, publicKey: dispatch.spec.publicKey });
    const owned = claim(current?.owned.values() ?? before?.owned ?? [], dispatch.spec);
    await memory.save(name, { accepted: dispatch.spec, owned });
    log.info('accepted a dispatch', { dispatch: name, generation, objects: objects.length });
    hold(name, dispatch, objects);
    return undefined;
  }

  function refuse(name: string, { reason, message }: Refusal): void {
    const current = held.get(name);
    if ((current?.refusal ?? refusals.get(name))?.message !== message)
      log.warn('refused a dispatch', { dispatch: name, reason, why: message });
    if (current) current.refusal = { reason, message };
    else refusals.set(name, { reason, message });
    options.onRefused(name);
  }

  async function recall(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const record = memory.record(name);
    if (!record) return;
    try {
      hold(name, dispatch, await content.objects(record.accepted));
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      hold(name, dispatch, [], error.message);
    }
  }

  function hold(
    name: string,
    dispatch: Dispatch | undefined,
    objects: readonly KubeObject[],
    missing?: string,
  ): void {
    const record = memory.record(name);
    if (!record) return;
    const rendered = render(objects, record.accepted.patches);
    const before = held.get(name);
    const wanted = new Map(rendered.objects.map((object) => [refKey(refOf(object)), object]));
    const states = new Map<string, LocalState>();
    for (const [key, object] of wanted) states.set(key, before?.states.get(key) ?? newState(refOf(object)));
    // Generations of another epoch say nothing about this one.
    const { epoch } = record.accepted.position;
    const applied = [before && { ...before, position: before.accepted.position }, dispatch?.status].find(
      (known) => known?.position?.epoch === epoch,
    );
    const next: Held = {
      name,
      accepted: record.accepted,
      owned: new Map(record.owned.map((object) => [refKey(object.ref), object])),
      wanted,
      problems: rendered.problems,
      missing,
      refusal: undefined,
      states,
      pendingRemovals: [],
      removed: [],
      complete: false,
      appliedGeneration: applied?.appliedGeneration,
      appliedAt: applied?.appliedAt,
      attempts: missing === undefined ? 0 : (before?.attempts ?? 0),
    };
    held.set(name, next);
    refusals.delete(name);
    settleClaims(before, next);
  }

  /** What is no longer wanted goes to the next that wants it; what is free, or was made by this dispatch, is claimed. */
  function settleClaims(before: Held | undefined, next: Held): void {
    const { name, wanted } = next;
    for (const key of before?.wanted.keys() ?? [])
      if (claimants.get(key) === name && !wanted.has(key)) passOn(key);
    for (const key of wanted.keys()) {
      const claimant = claimants.get(key);
      const made = madeBy(next, key) && !(claimant !== undefined && madeBy(held.get(claimant), key));
      if (claimant === undefined || made) claimants.set(key, name);
    }
  }

  function passOn(key: string): void {
    claimants.delete(key);
    for (const other of held.values()) {
      if (!other.wanted.has(key)) continue;
      claimants.set(key, other.name);
      options.onFreed(other.name);
      return;
    }
  }

  return {
    get: (name) => held.get(name),
    all: () => held.values(),
    claimant: (key) => claimants.get(key),
    refusal: (name) => refusals.get(name),
    accept,
    recall,
    async forget(name: string): Promise<void> {
      await memory.forget(name);
      held.delete(name);
    },
  };
}
