import type { MetricProgress } from './state.ts';
import type { Analysis, AnalysisMetric } from './strategy.ts';

type Operator = '<' | '<=' | '>' | '>=' | '==' | '!=';

export interface Condition {
  readonly operator: Operator;
  readonly value: number;
  /** The value is a multiple of what was measured before the rollout. */
  readonly ofBaseline: boolean;
}

const CONDITION =
  /^\s*(<=|>=|==|!=|<|>)\s*(?:(baseline)\s*(?:\*\s*)?)?(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)?\s*$/;
const DEFAULT_INTERVAL_S = 60;
const DEFAULT_DELAY_S = 300;

/** Reads `< 1` or `< baseline * 1.1`; `undefined` for what is neither. */
export function parseCondition(text: string): Condition | undefined {
  const [, operator, baseline, number] = text.length > 128 ? [] : (CONDITION.exec(text) ?? []);
  if (operator === undefined || (baseline === undefined && number === undefined)) return undefined;
  return {
    operator: operator as Operator,
    value: number === undefined ? 1 : Number(number),
    ofBaseline: baseline !== undefined,
  };
}

/** Whether a sample is what it must be. A baseline that nobody measured holds for nothing. */
export function holds(
  { operator, value, ofBaseline }: Condition,
  sample: number,
  baseline: number | undefined,
): boolean {
  if (ofBaseline && baseline === undefined) return false;
  const limit = ofBaseline ? value * (baseline ?? 0) : value;
  switch (operator) {
    case '<':
      return sample < limit;
    case '<=':
      return sample <= limit;
    case '>':
      return sample > limit;
    case '>=':
      return sample >= limit;
    case '==':
      return sample === limit;
    case '!=':
      return sample !== limit;
  }
}

export interface Timing {
  /** From when on samples count. */
  readonly from: number;
  readonly intervalMs: number;
}

export function timingOf(analysis: Analysis, stageStartedAt: number): Timing {
  const { intervalSeconds = DEFAULT_INTERVAL_S, initialDelaySeconds = DEFAULT_DELAY_S } = analysis;
  return { from: stageStartedAt + initialDelaySeconds * 1000, intervalMs: intervalSeconds * 1000 };
}

/** A metric with one sample more. Failures count in a row; a sample that is right ends the row. */
export function withSample(
  before: MetricProgress | undefined,
  metric: AnalysisMetric,
  condition: string,
  value: number,
  baseline: number | undefined,
  now: number,
): { readonly progress: MetricProgress; readonly failed: boolean } {
  const parsed = parseCondition(condition);
  const right = parsed !== undefined && Number.isFinite(value) && holds(parsed, value, baseline);
  const failures = right ? 0 : (before?.failures ?? 0) + 1;
  const asked = before?.askedAt === undefined ? {} : { askedAt: before.askedAt };
  return {
    progress: { ...asked, failures, value, sampledAt: now },
    failed: failures >= (metric.failureLimit ?? 1),
  };
}

/** Whether the newest sample of a metric is right and new enough to go by. */
export function isPassing(
  progress: MetricProgress | undefined,
  { from, intervalMs }: Timing,
  now: number,
): boolean {
  const at = progress?.sampledAt;
  return (
    progress !== undefined &&
    at !== undefined &&
    at >= from &&
    progress.failures === 0 &&
    now - at <= 2 * intervalMs
  );
}

/** When the next sample is to be asked for. */
export function nextSampleAt(progress: MetricProgress | undefined, { from, intervalMs }: Timing): number {
  return progress?.askedAt === undefined || progress.askedAt < from ? from : progress.askedAt + intervalMs;
}
