import { percentProblems } from '../../schema/int-or-percent.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { parseCondition } from './analysis.ts';
import { gateProblems } from './gates.ts';
import { type MaintenanceWindow, windowProblems } from './maintenance-window.ts';

/** When each cluster gets a new revision. With nothing said, all of them at once. */
export interface RolloutStrategy {
  /** In order. A cluster belongs to the first that means it and is not full; those left over come last, by themselves. */
  readonly stages?: readonly RolloutStage[];
  readonly paused?: boolean;
  /** Clusters that are being changed at a time, of all (`5`, `"20%"`, rounded up). */
  readonly maxConcurrency?: number | string;
  /** Clusters that may be not known to be Ready at a time, those being changed included (rounded down, at least 1). */
  readonly maxUnavailable?: number | string;
  /** Clusters of a stage that may fail before the stage does (of its size, rounded down). 0 by default. */
  readonly maxFailures?: number | string;
  readonly startsPerMinute?: number;
  /** Lengthens the time between two starts by up to so much, at random. */
  readonly jitterPercent?: number;
  /** A cluster counts as done after being Ready for so long. 0 by default. */
  readonly readySeconds?: number;
  /** A cluster that is not Ready after so long has failed; time out of sight does not count. 30 minutes by default. */
  readonly timeoutSeconds?: number;
  /** A cluster that is Degraded for so long has failed. 60 s by default. */
  readonly degradedSeconds?: number;
  /** What to do about clusters that nothing is known of: wait (the default), or go on and catch up when they are back. */
  readonly unreachable?: 'Wait' | 'Skip';
  readonly maintenance?: MaintenancePolicy;
  readonly analysis?: Analysis;
  readonly rollback?: RollbackPolicy;
  /** Severities of incidents that pause, such as `P1`. */
  readonly pauseOnIncidents?: readonly string[];
  /** Clusters that do not belong to some stages: to the next one that means them instead. */
  readonly skipStages?: readonly StageSkip[];
}

/** Both must hold where both are given. */
export interface StageSkip {
  readonly stages: readonly string[];
  readonly clusterNames?: readonly string[];
  readonly clusterSelector?: LabelSelector;
}

export interface RolloutStage {
  readonly name: string;
  /** Both must hold where both are given; neither means every cluster. Names also give the order. */
  readonly clusterNames?: readonly string[];
  readonly clusterSelector?: LabelSelector;
  /** At most so many (`2`, `"10%"` of all clusters, rounded up). */
  readonly size?: number | string;
  readonly maxConcurrency?: number | string;
  readonly maxUnavailable?: number | string;
  readonly maxFailures?: number | string;
  /** So many, then a wait after all of them are done, and so on. */
  readonly batch?: { readonly size: number; readonly intervalSeconds?: number };
  /** The stage is done when all of its clusters have been Ready, without a break, for so long. */
  readonly soakSeconds?: number;
  /** CEL over `fleet`, `stage`, `stages`, `clusters` and `metrics`; all must be true before the stage starts. */
  readonly gates?: readonly RolloutGate[];
  readonly approval?: Approval;
}

export interface RolloutGate {
  readonly expression: string;
  /** What people read while it is not true. */
  readonly message?: string;
}

/** Someone must agree before the stage starts. With neither users nor groups named, anybody may who may command the rollout. */
export interface Approval {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  /** Without an answer after so long the stage has failed. Nothing is rolled back for it. */
  readonly timeoutSeconds?: number;
  readonly autoApproveAfterSeconds?: number;
}

export interface MaintenancePolicy {
  /** Windows for all clusters, on top of their own. */
  readonly windows?: readonly MaintenanceWindow[];
  /** Mind the windows of clusters. True by default; clusters that enforce theirs are minded in any case. */
  readonly respectClusterWindows?: boolean;
  /** Pass over a cluster outside of its windows and catch up when they open (the default), or wait for it. */
  readonly outside?: 'Skip' | 'Wait';
  /** With `Wait`: after so long the cluster has failed. A week by default. */
  readonly maxWaitSeconds?: number;
  /** A window ends while a cluster is being changed: go on, finish the step and hold, or hold at once and keep a checkpoint. */
  readonly atWindowEnd?: 'Continue' | 'Graceful' | 'Checkpoint';
}

export interface Analysis {
  readonly metrics: readonly AnalysisMetric[];
  /** 60 s by default. */
  readonly intervalSeconds?: number;
  /** From the start of a stage. 5 minutes by default. */
  readonly initialDelaySeconds?: number;
}

export interface AnalysisMetric {
  readonly name: string;
  /** What a sample must be: `< 1`, `>= 99.9`, `< baseline * 1.1`. */
  readonly condition: string;
  /** So many samples in a row that are not fail the stage. 1 by default. */
  readonly failureLimit?: number;
  /** The server that measures it, and what it is asked. Without them samples come from elsewhere. */
  readonly provider?: string;
  readonly query?: string;
}

export interface RollbackPolicy {
  /** When a cluster or an analysis fails. False by default: then it stops and waits for someone. */
  readonly automatic?: boolean;
  /** What goes back: the clusters that failed, all of the stage (the default), or all. */
  readonly scope?: RollbackScope;
}

export type RollbackScope = 'Cluster' | 'Stage' | 'Fleet';

/** What a rollout knows of a cluster. */
export interface RolloutCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What was dispatched there last; nothing for a cluster that has nothing yet. */
  readonly revision?: string;
  readonly windows?: readonly MaintenanceWindow[];
  /** The cluster's owner wants nothing changed outside of its windows, whatever the strategy says. */
  readonly enforceWindows?: boolean;
  /** An emergency goes through outside of its windows. */
  readonly allowEmergency?: boolean;
  readonly skipStages?: readonly string[];
  /** Conditions of metrics that are stricter or laxer here, by metric. */
  readonly conditions?: Readonly<Record<string, string>>;
}

/** The stages that a cluster does not belong to. */
export function skippedStages(
  { skipStages = [] }: RolloutStrategy,
  { name, labels }: Pick<RolloutCluster, 'name' | 'labels'>,
): readonly string[] {
  return skipStages.flatMap(({ stages, clusterNames, clusterSelector }) => {
    if (clusterNames?.includes(name) === false) return [];
    if (clusterSelector && !matchesSelector(selectorFromObject(clusterSelector).selector, labels)) return [];
    return clusterNames === undefined && clusterSelector === undefined ? [] : stages;
  });
}

/** What is wrong with a strategy, each with its place; empty where nothing is. */
export function strategyProblems(strategy: RolloutStrategy): readonly string[] {
  const problems: string[] = [];
  const limit = (at: string, value: number | string | undefined, least: number): void => {
    if (value === undefined) return;
    const fine =
      typeof value === 'number'
        ? Number.isInteger(value) && value >= least
        : percentProblems(value).length === 0;
    if (!fine) problems.push(`${at}: must be a whole number from ${least} or a percentage such as "25%"`);
  };
  const limits = (at: string, of: RolloutStrategy | RolloutStage): void => {
    limit(`${at}maxConcurrency`, of.maxConcurrency, 1);
    limit(`${at}maxUnavailable`, of.maxUnavailable, 1);
    limit(`${at}maxFailures`, of.maxFailures, 0);
  };
  const positive = (at: string, value: number | undefined, least = 0): void => {
    if (value !== undefined && !(Number.isFinite(value) && value >= least))
      problems.push(`${at}: must be a number from ${least}`);
  };
  limits('', strategy);
  positive('startsPerMinute', strategy.startsPerMinute, 0.001);
  positive('jitterPercent', strategy.jitterPercent);
  positive('readySeconds', strategy.readySeconds);
  positive('timeoutSeconds', strategy.timeoutSeconds, 1);
  positive('degradedSeconds', strategy.degradedSeconds);
  const names = new Set<string>();
  for (const [index, stage] of (strategy.stages ?? []).entries()) {
    const at = `stages[${index}].`;
    if (stage.name === '' || names.has(stage.name)) problems.push(`${at}name: must be there, and not twice`);
    names.add(stage.name);
    limits(at, stage);
    limit(`${at}size`, stage.size, 1);
    positive(`${at}soakSeconds`, stage.soakSeconds);
    positive(`${at}batch.size`, stage.batch?.size, 1);
    positive(`${at}batch.intervalSeconds`, stage.batch?.intervalSeconds);
    positive(`${at}approval.timeoutSeconds`, stage.approval?.timeoutSeconds, 1);
    positive(`${at}approval.autoApproveAfterSeconds`, stage.approval?.autoApproveAfterSeconds, 0);
    if (stage.clusterSelector)
      for (const { detail } of selectorFromObject(stage.clusterSelector).issues)
        problems.push(`${at}clusterSelector: ${detail}`);
    for (const [gate, { expression }] of (stage.gates ?? []).entries())
      for (const problem of gateProblems(expression))
        problems.push(`${at}gates[${gate}].expression: ${problem}`);
  }
  for (const [index, { stages, clusterNames, clusterSelector }] of (strategy.skipStages ?? []).entries()) {
    const at = `skipStages[${index}]`;
    if (clusterNames === undefined && clusterSelector === undefined)
      problems.push(`${at}: must say which clusters, by clusterNames or clusterSelector`);
    if (clusterSelector)
      for (const { detail } of selectorFromObject(clusterSelector).issues)
        problems.push(`${at}.clusterSelector: ${detail}`);
    for (const name of stages) if (!names.has(name)) problems.push(`${at}.stages: there is no stage ${name}`);
  }
  for (const [index, metric] of (strategy.analysis?.metrics ?? []).entries()) {
    if (!parseCondition(metric.condition))
      problems.push(`analysis.metrics[${index}].condition: must be such as "< 1" or "< baseline * 1.1"`);
    positive(`analysis.metrics[${index}].failureLimit`, metric.failureLimit, 1);
  }
  positive('analysis.intervalSeconds', strategy.analysis?.intervalSeconds, 1);
  positive('analysis.initialDelaySeconds', strategy.analysis?.initialDelaySeconds);
  positive('maintenance.maxWaitSeconds', strategy.maintenance?.maxWaitSeconds, 1);
  for (const [index, window] of (strategy.maintenance?.windows ?? []).entries())
    for (const problem of windowProblems(window)) problems.push(`maintenance.windows[${index}]: ${problem}`);
  return problems;
}
