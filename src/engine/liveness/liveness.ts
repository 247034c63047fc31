/** How sure the hub is of a spoke, damped: a link that flaps does not move workloads about. */
export interface Liveness {
  /** The settled word. `Unknown` until a spoke was seen, or while it has been gone for less than the grace. */
  readonly word: 'Live' | 'Unreachable' | 'Unknown';
  /** Milliseconds: when `word` began. */
  readonly since: number;
  /** What the link said last, and when that began. */
  readonly up: boolean;
  readonly changedAt: number;
  /** Times at which the link went down lately, oldest first; no more of them than make a difference. */
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
  /** So many falls in the window are told as they come, and each return at once; after more it has to stay, see {@link steadyInMs}. */
  readonly flapsTold: number;
  readonly longestUpForMs: number;
}

/** 40 s and 20 s are what Karmada and KubeFed users expect of a lost and a returning cluster (A47, F54). */
export const LIVENESS_RULES: LivenessRules = {
  downForMs: 40_000,
  upForMs: 20_000,
  flapWindowMs: 600_000,
  flapsAllowed: 2,
  flapsTold: 5,
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
  const next: Liveness = {
    ...before,
    up,
    changedAt,
    falls: fell ? [...falls, now].slice(-fallsThatCount(rules)) : falls,
  };
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
  const settlesAt = up ? liveAt(liveness, rules) : changedAt + rules.downForMs;
  return Math.max(0, settlesAt - now);
}

/**
 * How long a link that is up has to stay so until it is told to be back: one that comes and goes without end would change what is
 * told without end. 0 where it fell rarely; undefined where it is down.
 */
export function steadyInMs(
  liveness: Liveness,
  now: number,
  rules: LivenessRules = LIVENESS_RULES,
): number | undefined {
  if (!liveness.up) return undefined;
  const waitMs = (falls: number): number =>
    falls > rules.flapsTold ? longer(falls - rules.flapsTold, rules) : 0;
  return Math.max(0, upAt(liveness, rules, waitMs) - now);
}

/** Whether a link comes and goes so often that neither what it does now is to be told, nor what it does next. */
export function isRestless(liveness: Liveness, now: number, rules: LivenessRules = LIVENESS_RULES): boolean {
  if (liveness.falls.length <= rules.flapsTold) return false;
  const steadyMs = steadyInMs(liveness, now, rules);
  return steadyMs === undefined ? now - liveness.changedAt < rules.downForMs : steadyMs > 0;
}

/** When a link that stays up is live again. */
function liveAt(liveness: Liveness, rules: LivenessRules): number {
  return upAt(liveness, rules, (falls) => upForMs(falls, rules));
}

/** When a link has been up for as long as its falls ask for: those that are forgotten meanwhile do not hold it up. */
function upAt(
  { falls, changedAt }: Liveness,
  { flapWindowMs }: LivenessRules,
  waitMs: (falls: number) => number,
): number {
  const waits = [0, ...falls.map((at) => at + flapWindowMs)].map((forgottenAt, gone) =>
    Math.max(forgottenAt, changedAt + waitMs(falls.length - gone)),
  );
  return Math.min(...waits);
}

function settled(liveness: Liveness, now: number, rules: LivenessRules): Liveness['word'] {
  const { up, word, changedAt } = liveness;
  const heldMs = now - changedAt;
  if (!up) return heldMs >= rules.downForMs ? 'Unreachable' : word;
  if (word === 'Unknown') return 'Live';
  return heldMs >= upForMs(liveness.falls.length, rules) ? 'Live' : word;
}

function upForMs(falls: number, rules: LivenessRules): number {
  return longer(falls - rules.flapsAllowed, rules);
}

function longer(extraFalls: number, { upForMs: shortest, longestUpForMs }: LivenessRules): number {
  return Math.min(longestUpForMs, shortest * 2 ** Math.min(Math.max(0, extraFalls), 16));
}

/** Before these the wait is the longest in any case. */
function fallsThatCount({
  flapsAllowed,
  flapsTold,
  longestUpForMs,
  upForMs: shortest,
}: LivenessRules): number {
  return Math.max(flapsAllowed, flapsTold) + 1 + Math.max(0, Math.ceil(Math.log2(longestUpForMs / shortest)));
}
