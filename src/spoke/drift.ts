import { correctionDelay, rememberCorrection } from '../engine/drift/back-off.ts';
import { healthOf } from '../engine/health/health.ts';
import type { Result } from '../kube/controller.ts';
import type { Change } from '../kube/informer.ts';
import { type KubeObject, refKey, refOf, refText } from '../kube/object.ts';
import { formatTime } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { fingerprint, revisionOf } from './apply.ts';
import type { Convergence } from './converge.ts';
import type { LocalState } from './held.ts';
import type { Holdings } from './holdings.ts';

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
  readonly convergence: () => Convergence;
  readonly askToCorrect: (id: string, delayMs: number) => void;
  readonly askToConverge: (dispatch: string) => void;
  /** The state of an object changed: its dispatch has to be reported. */
  readonly onHealth: (dispatch: string) => void;
  readonly onCorrected: () => void;
}

const FAILED_RETRY_MS = 500;

/** Drift is corrected when it happens; writers that fight are slowed down (`engine/drift`). */
export function createDriftWatch(runtime: Runtime, options: DriftOptions): DriftWatch {
  const { clock, log } = runtime;
  const { holdings } = options;
  let record: DriftRecord = options.before ?? { corrections: 0 };

  function onChange(change: Change): void {
    const key = refKey(refOf(change.object));
    const name = holdings.claimant(key);
    const current = name === undefined ? undefined : holdings.get(name);
    const state = current?.states.get(key);
    if (change.type === 'deleted') {
      for (const other of holdings.all())
        if (other.pendingRemovals.some(({ ref }) => refKey(ref) === key)) options.askToConverge(other.name);
    }
    if (!current || !state) return;
    if (state.applying > 0) {
      state.seen = change;
      return;
    }
    if (change.type !== 'deleted') {
      observe(current.name, key, state, change.object);
      return;
    }
    // Told late: the object is there again since.
    const uid = current.owned.get(key)?.uid;
    if (state.fingerprint !== '' && uid !== change.object.metadata.uid) return;
    state.fingerprint = '';
    state.seenFingerprint = '';
    const message = 'it was deleted on the cluster and comes back';
    state.health = { state: 'Progressing', reason: 'Missing', message };
    ask(current.name, key, state);
  }

  /** A read of an object that is newer than our last apply: drift is corrected, health is reported. */
  function observe(name: string, key: string, state: LocalState, object: KubeObject): void {
    if (revisionOf(object) < state.revision) return;
    const health = healthOf(object);
    if (!deepEqual(health, state.health)) {
      state.health = health;
      options.onHealth(name);
    }
    state.seenFingerprint = fingerprint(object);
    if (state.seenFingerprint !== state.fingerprint) ask(name, key, state);
  }

  function ask(name: string, key: string, state: LocalState): void {
    options.askToCorrect(`${name}\n${key}`, correctionDelay(state.corrections, clock.now()));
  }

  async function correct(id: string): Promise<Result | undefined> {
    const [name = '', key = ''] = id.split('\n');
    const current = holdings.get(name);
    const state = current?.states.get(key);
    if (!current || !state) return undefined;
    const { revision, seenFingerprint, failure } = state;
    await options.convergence().applyOne(current, key);
    if (failure !== undefined && state.failure === undefined) options.askToConverge(name);
    // What others change besides is no drift, and applying it changes nothing.
    if (state.failure === undefined && revision > 0 && state.fingerprint !== seenFingerprint) {
      const now = clock.now();
      state.corrections = rememberCorrection(state.corrections, now);
      record = {
        corrections: record.corrections + 1,
        last: { object: refText(state.ref), at: formatTime(now) },
      };
      log.info('corrected drift', { object: refText(state.ref) });
      options.onCorrected();
    }
    options.onHealth(name);
    if (state.failure === undefined) return undefined;
    return { requeueAfterMs: Math.max(FAILED_RETRY_MS, correctionDelay(state.corrections, clock.now())) };
  }

  return { onChange, correct, record: () => record };
}
