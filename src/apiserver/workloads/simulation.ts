import type { KubeObject } from '../../kube/object.ts';

/**
 * How a pod misbehaves, by annotations on the pod or (usually) on the template that it is made from. They are read
 * whenever the pod is looked at, so taking one off a running pod heals it.
 *
 * | annotation | value | effect |
 * |---|---|---|
 * | `sim.atoll.dev/start-delay` | `5s`, `300ms`, `1m` | time from scheduled to running, instead of 200–600 ms |
 * | `sim.atoll.dev/fail` | `image-pull` | stays in `ErrImagePull`, then `ImagePullBackOff` |
 * | | `crash-loop` | starts, exits after a second, `CrashLoopBackOff` with growing delays |
 * | | `never-ready` | runs, but never becomes Ready |
 * | `sim.atoll.dev/run-for` | `10s` | containers exit after this time, instead of running for ever (Jobs: about a second) |
 * | `sim.atoll.dev/exit-code` | `3` | the code with which they exit (0; 1 in a crash loop); a pod that has this and no `run-for` exits after a second |
 *
 * On a Node, `sim.atoll.dev/fail: not-ready` makes it NotReady, with all of its pods.
 */
export const START_DELAY = 'sim.atoll.dev/start-delay';
export const FAIL = 'sim.atoll.dev/fail';
export const RUN_FOR = 'sim.atoll.dev/run-for';
export const EXIT_CODE = 'sim.atoll.dev/exit-code';

export interface PodBehaviour {
  readonly startDelayMs: number | undefined;
  readonly fail: 'image-pull' | 'crash-loop' | 'never-ready' | undefined;
  /** `undefined`: for ever. */
  readonly runForMs: number | undefined;
  readonly exitCode: number;
}

const DEFAULT_RUN_MS = 1_000;
const LONGEST_MS = 365 * 24 * 3_600_000;

/** What the annotations of a pod ask for. Values that make no sense are as if absent. */
export function behaviourOf(pod: KubeObject, isJob: boolean): PodBehaviour {
  const annotations = pod.metadata.annotations ?? {};
  const asked = annotations[FAIL];
  const fail =
    asked === 'image-pull' || asked === 'crash-loop' || asked === 'never-ready' ? asked : undefined;
  const code = Number(annotations[EXIT_CODE] ?? Number.NaN);
  const hasCode = Number.isInteger(code) && code >= 0 && code <= 255;
  const ends = isJob || hasCode || fail === 'crash-loop';
  return {
    startDelayMs: parseDuration(annotations[START_DELAY]),
    fail,
    runForMs: parseDuration(annotations[RUN_FOR]) ?? (ends ? DEFAULT_RUN_MS : undefined),
    exitCode: hasCode ? code : fail === 'crash-loop' ? 1 : 0,
  };
}

/** Whether a Node is asked to be NotReady. */
export function isNodeFailing(node: KubeObject): boolean {
  return node.metadata.annotations?.[FAIL] === 'not-ready';
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `1m30s`, `300ms`, `2h`; a bare number is seconds. */
export function parseDuration(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(LONGEST_MS, Number(text) * 1_000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  return Math.min(LONGEST_MS, total);
}
