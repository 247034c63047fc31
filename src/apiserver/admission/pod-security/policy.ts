import type { FieldError } from '../../../kube/status-error.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';

/** A level as of a release: what it forbade then. */
export interface LeveledVersion {
  readonly level: Level;
  /** The minor of the release, `Infinity` for the latest. */
  readonly minor: number;
  /** Level and version as messages show them, for example `baseline:latest`. */
  readonly text: string;
}

const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted'];
const PREFIX = 'pod-security.kubernetes.io/';

export type Mode = 'enforce' | 'audit' | 'warn';
const MODES: readonly Mode[] = ['enforce', 'audit', 'warn'];

export type Labels = Readonly<Record<string, string>> | undefined;

/** What the labels of a namespace say for a mode. What cannot be read is as strict as can be. */
export function policyOf(labels: Labels, mode: Mode): LeveledVersion {
  const given = labels?.[PREFIX + mode];
  const level = given === undefined ? 'privileged' : isLevel(given) ? given : 'restricted';
  const minor = minorOf(labels?.[`${PREFIX}${mode}-version`] ?? LATEST) ?? Number.POSITIVE_INFINITY;
  return { level, minor, text: `${level}:${minor === Number.POSITIVE_INFINITY ? LATEST : `v1.${minor}`}` };
}

/** What is wrong with the labels of a namespace. */
export function labelProblems(labels: Labels): FieldError[] {
  const problems: FieldError[] = [];
  for (const mode of MODES) {
    const level = labels?.[PREFIX + mode];
    if (level !== undefined && !isLevel(level))
      problems.push(problem(PREFIX + mode, level, `must be one of ${LEVELS.join(', ')}`));
    const version = labels?.[`${PREFIX}${mode}-version`];
    if (version !== undefined && minorOf(version) === undefined)
      problems.push(problem(`${PREFIX}${mode}-version`, version, 'must be "latest" or "v1.x"'));
  }
  return problems;
}

/** Whether a level of the same release forbids more than another. */
export function isStricter(left: Level, right: Level): boolean {
  return LEVELS.indexOf(left) > LEVELS.indexOf(right);
}

const LATEST = 'latest';

function isLevel(text: string): text is Level {
  return (LEVELS as readonly string[]).includes(text);
}

function minorOf(version: string): number | undefined {
  if (version === LATEST) return Number.POSITIVE_INFINITY;
  const minor = /^v1\.(0|[1-9]\d{0,8})$/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

function problem(label: string, value: string, detail: string): FieldError {
  return { type: 'Invalid', path: `metadata.labels[${label}]`, value, detail };
}
