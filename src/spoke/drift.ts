import { correctionDelay, rememberCorrection } from '../engine/drift/back-off.ts';
import { healthOf } from '../engine/health/health.ts';
import type { Result } from '../kube/controller.ts';
import type { Change } from '../kube/informer.ts';
import { type KubeObject, refKey, refOf, refText } from '../kube/object.ts';
import { formatTime } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import type { Convergence } from './converge.ts';
import { revisionOf } from './fingerprint.ts';
import { noteEnd } from './finished.ts';
import { type Held, type LocalState, noteReturned } from './held.ts';
import type { Holdings } from './holdings.ts';
import { isKeptFrom } from './protected.ts';
import type { Rules } from './rules.ts';
import { lookOn, onlookers } from './sharing.ts';

/** Corrections of drift since the spoke's engine first ran. */
export interface DriftRecord {
  readonly corrections: number;
  readonly last?: Record<string, string>;
}

/** Watches over what others do to the objects that are held. */
export interface DriftWatch {
  /** A change of a managed object, by whomever. */
  onChange(change: Change): void;
  /** Corrects the object of an id that {@link DriftOptions.askToCorrect} was given. */
  correct(id: string): Promise<Result | undefined>;
  record(): DriftRecord;
}

export interface DriftOptions {
  readonly holdings: Holdings;
  readonly before: DriftRecord | undefined;
  readonly rules: Rules;
  readonly convergence: () => Convergence;
  readonly askToCorrect: (id: string, delayMs: number) => void;
  readonly askToConverge: (dispatch: string) => void;
  /** The state of an object changed: its dispatch has to be reported. */
  readonly onHealth: (dispatch: string) => void;
  readonly onCorrected: () => void;
  /** An object that others may wait for works now. */
  readonly onProvided: () => void;
}

const FAILED_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
/** What the owner of the cluster keeps Atoll from. Trying again changes nothing. */
const WAITING_FOR_OWNER = new Set(['ManagedLabelFalse', 'ContractRefused']);
/** Kinds that other objects wait for. */
const PROVIDERS = new Set(['CustomResourceDefinition', 'APIService']);

/** Drift is corrected when it happens; writers that fight are slowed down (`engine/drift`). */
export function createDriftWatch(runtime: Runtime, options: DriftOptions): DriftWatch {
  const { clock, log } = runtime;
  const { holdings } = options;
  const { claims } = holdings;
  let record: DriftRecord = options.before ?? { corrections: 0 };

  function onChange(change: Change): void {
    const key = refKey(refOf(change.object));
    const name = claims.claimant(key);
    const current = name === undefined ? undefined : holdings.get(name);
    const state = current?.states.get(key);
    // What is ordered away has no claimant: another label of it may be what the contract waits for.
    if (change.type === 'deleted' || name === undefined) {
      for (const other of holdings.all())
        if (other.pendingRemovals.some(({ ref }) => refKey(ref) === key)) options.askToConverge(other.name);
    }
    for (const reader of claims.readers(key)) tellReader(holdings.get(reader), key, change);
    if (!current || !state || !isInVersionOf(state, change)) return;
    if (state.applying > 0) {
      state.seen = change;
      return;
    }
    if (noteEnd(current, key, change.object, clock.now())) {
      log.info('an object has finished', { dispatch: name, object: refText(state.ref) });
      ask(current.name, key, state);
    }
    if (change.type !== 'deleted') {
      observe(current, key, state, change.object);
      return;
    }
    if (current.owned.get(key)?.finished !== undefined) {
      ask(current.name, key, state);
      return;
    }
    // Told late: the object is there again since.
    const uid = current.owned.get(key)?.uid;
    if (state.fingerprint !== '' && uid !== change.object.metadata.uid) return;
    state.fingerprint = '';
    state.seenFingerprint = '';
    state.returned = undefined;
    const message = 'it was deleted on the cluster and comes back';
    state.health = { state: 'Progressing', reason: 'Missing', message };
    ask(current.name, key, state);
  }

  /** A dispatch that only looks at an object hears of it as well, whoever has it. */
  function tellReader(reader: Held | undefined, key: string, change: Change): void {
    const { type, object } = change;
    const state = reader?.states.get(key);
    if (!reader || !state || !isInVersionOf(state, change)) return;
    if (type !== 'deleted') {
      observe(reader, key, state, object);
      return;
    }
    state.health = { state: 'Progressing', reason: 'Missing', message: 'it is not on the cluster' };
    state.returned = undefined;
    options.onHealth(reader.name);
  }

  /** A read of an object that is newer than our last apply: drift is corrected, health is reported. */
  function observe(current: Held, key: string, state: LocalState, object: KubeObject): void {
    if (revisionOf(object) < state.revision) return;
    const rule = options.rules.of(object);
    const health = state.update?.health ?? healthOf(object, rule?.health);
    const changed = !deepEqual(health, state.health);
    const provided = changed && health.state === 'Healthy' && PROVIDERS.has(object.kind);
    state.health = health;
    if (noteReturned(current, state, object, rule) || changed) {
      options.onHealth(current.name);
      for (const other of onlookers(holdings.all(), current, key)) {
        lookOn(other.held, current, key, other.state);
        options.onHealth(other.held.name);
      }
    }
    if (provided) options.onProvided();
    const { strategy } = current.strategies.get(key) ?? {};
    if (strategy === 'ReadOnly' || current.owned.get(key)?.finished !== undefined) return;
    // A CreateOnly object is its cluster's from then on; but whoever gave it to Atoll again is answered.
    if (strategy === 'CreateOnly' && state.settled) return;
    state.seenFingerprint = options.convergence().fingerprint(current, key, object);
    const gaveBack = state.failure?.word === 'ManagedLabelFalse' && !isKeptFrom(object);
    // Nothing of it was applied since the engine started: that is for its dispatch as a whole to do.
    if (state.revision === 0 && !gaveBack) return;
    const known = state.failure?.word === 'ManagedLabelFalse' && !gaveBack;
    if (state.update?.underWay === true && state.seenFingerprint === state.fingerprint)
      options.askToCorrect(`${current.name}\n${key}`, 0);
    if (gaveBack || (state.seenFingerprint !== state.fingerprint && !known)) ask(current.name, key, state);
  }

  function ask(name: string, key: string, state: LocalState): void {
    options.askToCorrect(`${name}\n${key}`, correctionDelay(state.corrections, clock.monotonic()));
  }

  async function correct(id: string): Promise<Result | undefined> {
    const [name = '', key = ''] = id.split('\n');
    const current = holdings.get(name);
    const state = current?.states.get(key);
    if (!current || !state) return undefined;
    const { revision, seenFingerprint, failure, update } = state;
    const drifted = revision > 0 && state.fingerprint !== seenFingerprint;
    await options.convergence().applyOne(current, key, drifted);
    if (failure !== undefined && state.failure === undefined) options.askToConverge(name);
    // What others change besides is no drift, and applying it changes nothing.
    const moved = !drifted && !deepEqual(update?.object, state.update?.object);
    if (state.failure === undefined && revision > 0 && !moved && state.fingerprint !== seenFingerprint) {
      state.corrections = rememberCorrection(state.corrections, clock.monotonic());
      record = {
        corrections: record.corrections + 1,
        last: { object: refText(state.ref), at: formatTime(clock.now()) },
      };
      log.info('corrected drift', { object: refText(state.ref) });
      options.onCorrected();
    }
    options.onHealth(name);
    // It is for the whole dispatch to wait until the contract allows it.
    if (state.failure?.word === 'ContractRefused') options.askToConverge(name);
    if (state.failure === undefined || WAITING_FOR_OWNER.has(state.failure.word)) {
      state.attempts = 0;
      return undefined;
    }
    state.attempts += 1;
    const backOff = Math.min(LONGEST_RETRY_MS, FAILED_RETRY_MS * 2 ** Math.min(state.attempts - 1, 10));
    return { requeueAfterMs: Math.max(backOff, correctionDelay(state.corrections, clock.monotonic())) };
  }

  return { onChange, correct, record: () => record };
}

/** The same object is seen in each version in which something of its kind is stated. */
function isInVersionOf({ ref }: LocalState, { object }: Change): boolean {
  return ref.apiVersion === object.apiVersion;
}
