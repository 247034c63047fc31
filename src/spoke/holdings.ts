import {
  type Dispatch,
  type DispatchSpec,
  judgeDispatch,
  manifestProblems,
  rememberingVerifier,
} from '../engine/dispatch/index.ts';
import type { LocalFacts } from '../engine/render/local-facts.ts';
import { dependsOnFacts } from '../engine/render/render.ts';
import type { Result } from '../kube/controller.ts';
import type { KubeObject } from '../kube/object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { deepEqual } from '../schema/json.ts';
import { type Claims, createClaims } from './claims.ts';
import { ContentMissing, type ContentStore } from './content.ts';
import { type Content, contentOf, giveUp, type Held, heldOf, keysOf, type Refusal, takes } from './held.ts';
import { claim, type SpokeMemory, tooMuchToRemember } from './memory.ts';

/** What a spoke holds: the dispatches that it took. */
export interface Holdings {
  get(name: string): Held | undefined;
  all(): Iterable<Held>;
  /** How many are held. */
  readonly size: number;
  /** Which of them has which object. */
  readonly claims: Claims;
  /** Why the newest word of a dispatch was refused. */
  refusal(name: string): Refusal | undefined;
  /** Takes a new word of the hub, if it may be taken: remembered durably before anything is done. */
  accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined>;
  /** After a restart: what was accepted before is held again, from the spoke's own API server. */
  recall(name: string, dispatch: Dispatch | undefined): Promise<void>;
  /** Whether a dispatch was ordered by another hub than the one that the spoke belongs to. */
  isOfAnotherHub(name: string): boolean;
  /**
   * Whether an order is of a former time: of another hub, or of an epoch before. A hub that was restored and confirmed says
   * everything again that it remembers; what it does not remember is kept up, and yields to what it says.
   */
  isFormer(held: Held): boolean;
  /** A dispatch wants nothing any more; what it made is still its own. */
  letGo(name: string): void;
  /** Nothing is left of a dispatch, on the spoke or in its orders. */
  forget(name: string): Promise<void>;
  /** Whether values of a dispatch were computed from facts of the cluster that are no more: then it is to be recalled. */
  outdated(name: string): boolean;
  /** Whether the next word of a dispatch is being taken: then only that may write what is remembered of it. */
  accepting(name: string): boolean;
}

export interface HoldingsOptions {
  readonly spoke: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: SpokeMemory;
  readonly content: ContentStore;
  /** Whether the spoke's hub was pinned when it joined: then no other is believed for being the first to say something. */
  readonly pinned?: boolean;
  /** What the cluster knows of itself, for values that depend on it. The same object as long as nothing of it changes. */
  readonly facts?: () => LocalFacts | undefined;
  /** Name of the contract by which no newer word is taken now. */
  readonly holding?: () => string | undefined;
  /** A dispatch has an object that it wanted and did not have, or has it no more. */
  readonly onMoved: (name: string) => void;
  readonly onRefused: (name: string) => void;
}

const CONTENT_RETRY_MS = { first: 100, longest: 2_000 };

export function createHoldings(options: HoldingsOptions): Holdings {
  const { memory, log } = options;
  const held = new Map<string, Held>();
  const claims = createClaims(held, { onMoved: options.onMoved, onContested: options.onRefused });
  /** Why first words were not taken, of dispatches of which nothing is held. */
  const refusals = new Map<string, Refusal>();
  /** Those whose next word is being taken: nothing is handed to them, since what they own is being written. */
  const accepting = new Set<string>();
  /** How long to wait before content that is missing is looked for again. */
  const waits = new Map<string, number>();
  const verify = rememberingVerifier();
  /** Lineage of the hub that the spoke belongs to, as it was read last. */
  let owner: string | undefined;
  /** The highest epoch of that hub that was accepted. */
  let newestEpoch = 0;

  async function accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined> {
    if (!dispatch) return undefined;
    accepting.add(name);
    try {
      return await take(name, dispatch);
    } finally {
      accepting.delete(name);
    }
  }

  async function take(name: string, dispatch: Dispatch): Promise<Result | undefined> {
    const before = memory.record(name);
    const trust = await memory.trust();
    owner = trust?.lineage;
    if (trust === undefined && options.pinned === true) {
      const message = 'this spoke has no hub any more; on the spoke: atoll takeover';
      refuse(dispatch, { reason: 'AnotherHub', message });
      return undefined;
    }
    const verdict = judgeDispatch(options.spoke, name, dispatch.spec, trust, before?.accepted, verify);
    if (verdict.verdict === 'refuse') {
      refuse(dispatch, verdict);
      return undefined;
    }
    const waitsFor = verdict.verdict === 'accept' ? heldBack(dispatch.spec) : undefined;
    if (waitsFor !== undefined) {
      refuse(dispatch, { reason: 'Held', message: `${waitsFor}; ${keptText(before?.accepted)}` });
      return undefined;
    }
    const current = held.get(name);
    if (current) current.refusal = undefined;
    if (verdict.verdict === 'known') return undefined;
    let objects: readonly KubeObject[];
    try {
      objects = await options.content.objects(dispatch.spec);
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      refuse(dispatch, { reason: 'ContentMissing', message: error.message });
      const wait = waits.get(name) ?? CONTENT_RETRY_MS.first;
      waits.set(name, Math.min(CONTENT_RETRY_MS.longest, wait * 2));
      return { requeueAfterMs: wait };
    }
    waits.delete(name);
    // What takes everything away orders nothing; the first word that orders nothing takes nothing away either.
    const { revision, tombstones } = dispatch.spec;
    const isVoid = revision !== '' && tombstones.length === 0 && before === undefined;
    const [problem, ...more] = objects.length > 0 || isVoid ? manifestProblems(objects) : [];
    if (problem) {
      const others = more.length > 0 ? ` (and ${more.length} more problems)` : '';
      refuse(dispatch, {
        reason: 'InvalidManifests',
        message: `${problem.message}${others}; ${keptText(before?.accepted)}`,
      });
      return undefined;
    }
    const { lineage, generation } = dispatch.spec.position;
    if (trust === undefined) {
      owner = (await memory.pin({ lineage, publicKey: dispatch.spec.publicKey })).lineage;
      // Another hub was first.
      if (owner !== lineage) return { requeueAfterMs: 10 };
    }
    newestEpoch = Math.max(newestEpoch, dispatch.spec.position.epoch);
    const content = contentOf(objects, dispatch.spec, options.facts?.());
    const owned = claim(current?.owned.values() ?? before?.owned ?? [], dispatch.spec, content.strategies);
    const tooMuch = tooMuchToRemember(dispatch.spec, owned);
    if (tooMuch !== undefined) {
      refuse(dispatch, { reason: 'TooManyObjects', message: `${tooMuch}; ${keptText(before?.accepted)}` });
      return undefined;
    }
    await memory.save(name, { accepted: dispatch.spec, owned });
    log.info('accepted a dispatch', { dispatch: name, generation, objects: objects.length });
    hold(name, dispatch, content);
    return undefined;
  }

  /** Why a word that may be taken is not taken yet. */
  function heldBack({ hold, position }: DispatchSpec): string | undefined {
    if (hold === true) return `the hub holds generation ${position.generation}`;
    const contract = options.holding?.();
    if (contract === undefined) return undefined;
    return `generation ${position.generation} waits, since SpokeContract ${contract} holds new orders`;
  }

  function refuse(
    { metadata: { name = '', generation = 0 } }: Dispatch,
    { reason, message }: Omit<Refusal, 'observedGeneration'>,
  ): void {
    const current = held.get(name);
    if (refusal(name)?.message !== message)
      log[reason === 'Held' ? 'info' : 'warn']('did not take a dispatch', {
        dispatch: name,
        reason,
        why: message,
      });
    const refused = { reason, message, observedGeneration: generation };
    if (current) current.refusal = refused;
    else refusals.set(name, refused);
    options.onRefused(name);
  }

  async function recall(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const record = memory.record(name);
    if (!record) return;
    owner ??= (await memory.trust())?.lineage;
    if (record.accepted.position.lineage === owner)
      newestEpoch = Math.max(newestEpoch, record.accepted.position.epoch);
    try {
      hold(
        name,
        dispatch,
        contentOf(await options.content.objects(record.accepted), record.accepted, options.facts?.()),
      );
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      const known = held.get(name);
      // What is held of the same word stays and is kept up.
      if (
        known &&
        known.missing === undefined &&
        known.wanted.size > 0 &&
        deepEqual(known.accepted, record.accepted)
      ) {
        log.warn('cannot compute a dispatch anew', { dispatch: name, why: error.message });
        return;
      }
      hold(name, dispatch, contentOf([], record.accepted, undefined), error.message);
    }
  }

  function hold(name: string, dispatch: Dispatch | undefined, content: Content, missing?: string): void {
    const record = memory.record(name);
    if (!record) return;
    const before = held.get(name);
    const at = options.clock.monotonic();
    const next = heldOf({ name, record, content, missing, before, told: dispatch?.status, at });
    held.set(name, next);
    refusals.delete(name);
    for (const other of held.values()) {
      if (isFormer(other) && !isFormer(next)) yieldTo(other, next);
      else if (isFormer(next) && !isFormer(other)) yieldTo(next, other);
    }
    claims.settle(before, next);
  }

  function isFormer({ accepted }: Held): boolean {
    const { lineage, epoch } = accepted.position;
    return owner !== undefined && (lineage !== owner || epoch < newestEpoch);
  }

  /** What the hub of now wants, orders of a hub before want no more. They keep the UIDs until those are taken over. */
  function yieldTo(old: Held, next: Held): void {
    const given = [...keysOf(old)].filter((key) => takes(next, key));
    for (const key of given) claims.yield(key, old.name, next.name);
    giveUp(old, given);
  }

  function refusal(name: string): Refusal | undefined {
    return held.get(name)?.refusal ?? refusals.get(name);
  }

  return {
    get: (name) => held.get(name),
    all: () => held.values(),
    get size() {
      return held.size;
    },
    claims,
    refusal,
    accept,
    recall,
    isFormer,
    outdated(name: string): boolean {
      const current = held.get(name);
      if (!current || !dependsOnFacts(current.accepted.patches)) return false;
      return current.facts !== options.facts?.();
    },
    accepting: (name) => accepting.has(name),
    isOfAnotherHub: (name) =>
      owner !== undefined && (held.get(name)?.accepted.position.lineage ?? owner) !== owner,
    letGo(name: string): void {
      const current = held.get(name);
      if (!current) return;
      const keys = [...keysOf(current)];
      giveUp(current, keys);
      for (const key of keys) claims.leave(key, name);
    },
    async forget(name: string): Promise<void> {
      await memory.forget(name);
      held.delete(name);
      waits.delete(name);
    },
  };
}

function keptText(accepted: DispatchSpec | undefined): string {
  return accepted === undefined
    ? 'nothing was taken before'
    : `generation ${accepted.position.generation} stays and is kept up`;
}
