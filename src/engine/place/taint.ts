import type { Taint, TaintEffect, Toleration } from './placement.ts';

/** The three effects that there are, whichever words they came in. */
export type KnownEffect = 'NoSelect' | 'NoSelectIfNew' | 'PreferNoSelect';

export interface KnownTaint {
  readonly key: string;
  readonly value: string;
  readonly effect: KnownEffect;
  readonly sinceMs: number | undefined;
}

const EFFECTS: Readonly<Record<TaintEffect, KnownEffect>> = {
  NoSelect: 'NoSelect',
  NoExecute: 'NoSelect',
  NoSelectIfNew: 'NoSelectIfNew',
  NoSchedule: 'NoSelectIfNew',
  PreferNoSelect: 'PreferNoSelect',
  PreferNoSchedule: 'PreferNoSelect',
};

export const TAINT_EFFECTS: readonly TaintEffect[] = Object.keys(EFFECTS) as TaintEffect[];

export function knownTaints(taints: readonly Taint[]): readonly KnownTaint[] {
  return taints.map(({ key, value = '', effect, timeAdded }) => {
    const since = timeAdded === undefined ? Number.NaN : Date.parse(timeAdded);
    return { key, value, effect: EFFECTS[effect], sinceMs: Number.isNaN(since) ? undefined : since };
  });
}

export interface TaintVerdict {
  /** The taint that keeps the intent away or sends it away. */
  readonly refusedBy?: KnownTaint;
  /** Taints that one would rather avoid. */
  readonly disliked: number;
  /** When the intent will have to go. */
  readonly untilMs?: number;
}

const ACCEPTED: TaintVerdict = { disliked: 0 };

/**
 * What the taints of a cluster mean for an intent. `present` says whether it is there already: then `NoSelectIfNew` does
 * nothing, and a toleration for some seconds holds until they are over since the taint was added. A taint without a time is
 * tolerated by such a toleration for good, since nothing says when the seconds began.
 */
export function judgeTaints(
  taints: readonly KnownTaint[],
  tolerations: readonly Toleration[],
  present: boolean,
  nowMs: number,
): TaintVerdict {
  if (taints.length === 0) return ACCEPTED;
  let disliked = 0;
  let untilMs = Infinity;
  for (const taint of taints) {
    if (present && taint.effect === 'NoSelectIfNew') continue;
    const until = toleratedUntil(taint, tolerations, present);
    const tolerated = until !== undefined && until > nowMs;
    if (taint.effect === 'PreferNoSelect') {
      if (!tolerated) disliked += 1;
      continue;
    }
    if (!tolerated) return { refusedBy: taint, disliked };
    untilMs = Math.min(untilMs, until);
  }
  return untilMs === Infinity ? { disliked } : { disliked, untilMs };
}

/** Until when the most patient toleration holds; `undefined` where there is none. */
function toleratedUntil(
  taint: KnownTaint,
  tolerations: readonly Toleration[],
  present: boolean,
): number | undefined {
  let until: number | undefined;
  for (const toleration of tolerations) {
    if (!tolerates(toleration, taint)) continue;
    const { tolerationSeconds } = toleration;
    if (tolerationSeconds === undefined) return Infinity;
    if (!present || tolerationSeconds <= 0) continue;
    const end = taint.sinceMs === undefined ? Infinity : taint.sinceMs + tolerationSeconds * 1000;
    until = Math.max(until ?? end, end);
  }
  return until;
}

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: KnownTaint): boolean {
  if (effect !== undefined && EFFECTS[effect] !== taint.effect) return false;
  if (key !== undefined && key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || value === taint.value;
}

/** `key=value:NoSelect`, as people write taints. */
export function taintText({ key, value, effect }: KnownTaint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}
