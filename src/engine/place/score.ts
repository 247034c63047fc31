import { compileClusterScore } from './cluster-expression.ts';
import { type CompiledMatch, compileMatch, saysWhich } from './cluster-match.ts';
import { type ClusterSet, has } from './cluster-set.ts';
import type { PlacementExtension } from './decide.ts';
import { type FleetIndex, timeOf } from './fleet-index.ts';
import type { ScoreTerm } from './placement.ts';

/** What scoring is told of a decision, beside the fleet. */
export interface ScoringContext {
  readonly fleet: FleetIndex;
  readonly existing: ClusterSet;
  readonly nowMs: number;
  /** How many intents each cluster has. */
  readonly placed: ((cluster: string) => number) | undefined;
}

/** A term, compiled: scores from -100 to 100 for clusters, in their order. */
export interface CompiledScoreTerm {
  /** For people and in decisions. */
  readonly name: string;
  readonly type: ScoreTerm['type'];
  readonly weight: number;
  scores(clusters: readonly number[], context: ScoringContext): readonly number[];
  /** When a score of one of the clusters ends. */
  endsAtMs?(clusters: readonly number[], context: ScoringContext): number;
}

const BEST = 100;
const WORST = -100;
const MAX_WEIGHT = 100;

/** Where nothing is said the less loaded cluster is better. */
export const DEFAULT_TERMS: readonly CompiledScoreTerm[] = [balance(1)];

export function compileScoreTerm(
  term: ScoreTerm,
  path: string,
  issues: string[],
): CompiledScoreTerm | undefined {
  const { type, weight = 1, name = '', source = '', order = 'Descending', expression } = term;
  if (!Number.isInteger(weight) || Math.abs(weight) > MAX_WEIGHT)
    issues.push(`${path}.weight: a whole number from -${MAX_WEIGHT} to ${MAX_WEIGHT}`);
  switch (type) {
    case 'Affinity': {
      if (!saysWhich(term)) issues.push(`${path}: it names no cluster to prefer`);
      return affinity(compileMatch(term, path, issues), weight);
    }
    case 'Balance':
      return balance(weight);
    case 'Steady':
      return {
        name: 'Steady',
        type,
        weight,
        scores: (clusters, { existing }) => clusters.map((at) => (has(existing, at) ? BEST : 0)),
      };
    case 'Property':
    case 'Resource': {
      if (name === '') issues.push(`${path}.name: which ${type === 'Property' ? 'property' : 'resource'}`);
      const kind = type === 'Property' ? 'property' : 'resource';
      return {
        name: `${type} ${name}`,
        type,
        weight,
        scores: (clusters, { fleet }) =>
          relative(valuesAt(clusters, fleet.amounts(kind, name)), order === 'Ascending'),
      };
    }
    case 'External':
      if (source === '' || name === '') issues.push(`${path}: source and name say which score`);
      return external(source, name, weight);
    case 'Expression': {
      const { evaluate, problem } = compileClusterScore(expression ?? '');
      if (!evaluate) {
        issues.push(`${path}.expression: ${problem}`);
        return undefined;
      }
      return {
        name: 'Expression',
        type,
        weight,
        scores: (clusters, { fleet }) =>
          clusters.map((at) => {
            const entry = fleet.entries[at];
            const score = entry === undefined ? undefined : evaluate(entry);
            return typeof score === 'number' ? bounded(score) : WORST;
          }),
      };
    }
    default:
      issues.push(`${path}.type: ${JSON.stringify(type)} is no type of score`);
      return undefined;
  }
}

/** What rules of others say of clusters, as terms beside those of the placement. */
export function extensionTerms(extensions: readonly PlacementExtension[]): readonly CompiledScoreTerm[] {
  return extensions.flatMap((extension) =>
    extension.score === undefined
      ? []
      : [
          {
            name: `Plugin ${extension.name}`,
            type: 'External',
            weight: extension.weight ?? 1,
            scores: (clusters, { fleet }) =>
              clusters.map((at) => {
                const entry = fleet.entries[at];
                return entry === undefined ? 0 : bounded(extension.score?.(entry.facts) ?? 0);
              }),
          } satisfies CompiledScoreTerm,
        ],
  );
}

function affinity(match: CompiledMatch, weight: number): CompiledScoreTerm {
  return {
    name: 'Affinity',
    type: 'Affinity',
    weight,
    scores: (clusters, { fleet }) => {
      const set = match.set(fleet);
      return clusters.map((at) => (has(set, at) ? BEST : 0));
    },
  };
}

/** From 100 for a cluster without intents to -100 for the one with most. What this intent itself adds does not count. */
function balance(weight: number): CompiledScoreTerm {
  return {
    name: 'Balance',
    type: 'Balance',
    weight,
    scores: (clusters, { fleet, existing, placed }) => {
      const counts = clusters.map((at) => {
        const count = placed?.(fleet.entries[at]?.facts.name ?? '') ?? 0;
        return Math.max(0, count - (has(existing, at) ? 1 : 0));
      });
      let most = 0;
      for (const count of counts) most = Math.max(most, count);
      return counts.map((count) => (most === 0 ? 0 : 2 * (BEST * (0.5 - count / most))));
    },
  };
}

function external(source: string, name: string, weight: number): CompiledScoreTerm {
  return {
    name: `External ${source}/${name}`,
    type: 'External',
    weight,
    scores: (clusters, { fleet, nowMs }) =>
      clusters.map((at) => {
        const scores = fleet.entries[at]?.facts.scores?.[source];
        const until = timeOf(scores?.validUntil);
        if (scores === undefined || (until !== undefined && until <= nowMs)) return 0;
        return bounded(scores.values[name] ?? 0);
      }),
    endsAtMs: (clusters, { fleet, nowMs }) =>
      clusters.reduce((earliest, at) => {
        const until = timeOf(fleet.entries[at]?.facts.scores?.[source]?.validUntil);
        return until !== undefined && until > nowMs ? Math.min(earliest, until) : earliest;
      }, Infinity),
  };
}

function bounded(score: number): number {
  return Number.isNaN(score) ? WORST : Math.min(BEST, Math.max(WORST, score));
}

/** Puts values between -100 and 100 by their place between the least and the most. What has none is worst. */
function relative(values: readonly (number | undefined)[], smallerIsBetter: boolean): number[] {
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    if (value === undefined) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return values.map((value) => {
    if (value === undefined) return WORST;
    if (least === most) return BEST;
    const score = ((value - least) / (most - least) - 0.5) * 200;
    return smallerIsBetter ? -score : score;
  });
}

function valuesAt<T>(clusters: readonly number[], values: readonly T[]): (T | undefined)[] {
  return clusters.map((at) => values[at]);
}
