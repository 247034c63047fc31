import { BASELINE_CHECKS } from './baseline-checks.ts';
import type { PodParts } from './pod-parts.ts';
import type { LeveledVersion } from './policy.ts';
import { RESTRICTED_CHECKS } from './restricted-checks.ts';

/** What a check finds wrong with a pod. */
export interface Finding {
  readonly reason: string;
  readonly detail?: string;
}

/** One rule of a level. Checks of a level are in the order in which their findings are told. */
export interface Check {
  readonly name: string;
  /** The first release that has it; all when absent. */
  readonly since?: number;
  /** A check of the baseline that this one is stricter than, and is made instead of. */
  readonly replaces?: string;
  /** `undefined` for a pod that passes. */
  find(parts: PodParts, minor: number): Finding | undefined;
}

/** All that a level finds wrong with a pod. */
export function evaluate(parts: PodParts, { level, minor }: LeveledVersion): Finding[] {
  const of = (checks: readonly Check[]): readonly Check[] => checks.filter(({ since = 0 }) => minor >= since);
  const restricted = level === 'restricted' ? of(RESTRICTED_CHECKS) : [];
  const replaced = new Set(restricted.map(({ replaces }) => replaces));
  const baseline =
    level === 'privileged' ? [] : of(BASELINE_CHECKS).filter(({ name }) => !replaced.has(name));
  const findings: Finding[] = [];
  for (const check of [...baseline, ...restricted]) {
    const finding = check.find(parts, minor);
    if (finding) findings.push(finding);
  }
  return findings;
}

/** Findings with where they were found. */
export function describe(findings: readonly Finding[]): string {
  return findings
    .map(({ reason, detail }) => (detail === undefined ? reason : `${reason} (${detail})`))
    .join(', ');
}
