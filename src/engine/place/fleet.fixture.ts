import type { Decision } from './decide.ts';
import { rejectionIn, rejectionText } from './decision.ts';
import type { ClusterFacts } from './placement.ts';

/** A cluster of a test fleet. */
export function cluster(name: string, more: Partial<ClusterFacts> = {}): ClusterFacts {
  return { name, labels: {}, ...more };
}

/** Clusters `a1`, `a2`, `b1` … in regions `a`, `b` …, as many as each number says. */
export function regions(sizes: Readonly<Record<string, number>>): ClusterFacts[] {
  return Object.entries(sizes).flatMap(([region, size]) =>
    Array.from({ length: size }, (_, index) =>
      cluster(`${region}${index + 1}`, { fields: { region }, labels: { region } }),
    ),
  );
}

/** Why a decision leaves a cluster out, in a sentence; empty where it does not. */
export function why(decision: Decision, name: string): string {
  const rejection = rejectionIn(decision, name);
  return rejection ? rejectionText(rejection) : '';
}

export const everywhere = { clusterSelector: {} } as const;
