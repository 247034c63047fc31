/** How sure the hub is of a spoke, damped: a link that flaps does not move workloads about. */
export interface Liveness {
  /** The settled word. `Unknown` until a spoke was seen, or while it has been gone for less than the grace. */
  readonly word: 'Live' | 'Unreachable' | 'Unknown';
  /** Milliseconds: when `word` began. */
  readonly since: number;
  /** What the link said last, and when that began. */
  readonly up: boolean;
  readonly changedAt: number;
  /** Times at which the link went down lately, oldest first. */
  readonly falls: readonly number[];
}

export interface LivenessRules {
  /** A spoke is unreachable when its link was down for this long without a break. */
  readonly downForMs: number;
  /** It is live again when its link was up for this long without a break. */
  readonly upForMs: number;
  /** Falls within this time are counted together. */
  readonly flapWindowMs: number;
  /** With more falls than this in the window, the link flaps and has to be up longer, twice as long for each fall more. */
  readonly flapsAllowed: number;
  readonly longestUpForMs: number;
}

/** 40 s and 20 s are what Karmada and KubeFed users expect of a lost and a returning cluster (A47, F54). */
export const LIVENESS_RULES: LivenessRules = {
  downForMs: 40_000,
  upForMs: 20_000,
  flapWindowMs: 600_000,
  flapsAllowed: 2,
  longestUpForMs: 320_000,
};

/**
 * What is known of a spoke after its link was seen `up` or not at `now` (milliseconds). The first sight of a link that is
 * up is taken at its word: a hub that starts shall not doubt its fleet.
 */
export function observeLink(
  before: Liveness | undefined,
  up: boolean,
  now: number,
  rules: LivenessRules = LIVENESS_RULES,
): Liveness {
  if (!before) return { word: up ? 'Live' : 'Unknown', since: now, up, changedAt: now, falls: [] };
  const falls = before.falls.filter((at) => now - at < rules.flapWindowMs);
  const changed = up !== before.up;
  const changedAt = changed ? now : before.changedAt;
  const fell = changed && !up;
  const next: Liveness = { ...before, up, changedAt, falls: fell ? [...falls, now] : falls };
  const word = settled(next, now, rules);
  return word === before.word ? next : { ...next, word, since: now };
}

/** How long until the word changes by itself if the link stays as it is; undefined where it does not. */
export function settlesInMs(
  liveness: Liveness,
  now: number,
  rules: LivenessRules = LIVENESS_RULES,
): number | undefined {
  const { up, word, changedAt } = liveness;
  if (up === (word === 'Live') && word !== 'Unknown') return undefined;
  const waitMs = up ? upForMs(liveness, rules) : rules.downForMs;
  return Math.max(0, changedAt + waitMs - now);
}

function settled(liveness: Liveness, now: number, rules: LivenessRules): Liveness['word'] {
  const { up, word, changedAt } = liveness;
  const heldMs = now - changedAt;
  if (!up) return heldMs >= rules.downForMs ? 'Unreachable' : word;
  if (word === 'Unknown') return 'Live';
  return heldMs >= upForMs(liveness, rules) ? 'Live' : word;
}

function upForMs({ falls }: Liveness, rules: LivenessRules): number {
  const extra = Math.max(0, falls.length - rules.flapsAllowed);
  return Math.min(rules.longestUpForMs, rules.upForMs * 2 ** Math.min(extra, 16));
}
