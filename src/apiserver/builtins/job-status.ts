import type { KubeObject } from '../../kube/object.ts';
import { formatTime, parseTime } from '../../runtime/index.ts';
import { deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { notNegative, type Problems } from './field-checks.ts';
import { duplicate, IMMUTABLE, invalidAs, invalidValue, required } from './field-errors.ts';
import { integer, objectsOf, strings, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { readIndexes } from './job-indexes.ts';

const TERMINAL: readonly string[] = ['Failed', 'Complete', 'FailureTarget'];

/** What must hold of the status of a Job that somebody writes: by itself, and as a change of what was told before. */
export function jobStatusProblems(object: KubeObject, old: KubeObject): Problems {
  const status = objectAt(object, 'status') ?? {};
  const before = objectAt(old, 'status') ?? {};
  if (deepEqual(status, before)) return [];
  return [
    ...notNegative(status, 'status', 'active', 'succeeded', 'failed', 'ready', 'terminating'),
    ...uncountedProblems(objectAt(status, 'uncountedTerminatedPods')),
    ...conditionProblems(status),
    ...timeProblems(status),
    ...podProblems(status),
    ...changeProblems(status, before, objectAt(object, 'spec')?.suspend === true),
    ...indexProblems(objectAt(object, 'spec') ?? {}, status, before),
  ];
}

function isTrue(status: JsonObject, type: string): boolean {
  return objectsOf(status, 'conditions').some(
    (condition) => text(condition, 'type') === type && text(condition, 'status') === 'True',
  );
}

function isFinished(status: JsonObject): boolean {
  return isTrue(status, 'Complete') || isTrue(status, 'Failed');
}

function uncountedProblems(pods: JsonObject | undefined): Problems {
  const seen = new Set<string>();
  return ['succeeded', 'failed'].flatMap((key) =>
    strings(pods, key).flatMap((uid, index) => {
      const at = `status.uncountedTerminatedPods.${key}[${index}]`;
      if (uid === '') return [invalidValue(at, uid, 'must not be empty')];
      if (seen.has(uid)) return [duplicate(at, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

function conditionProblems(status: JsonObject): Problems {
  const complete = isTrue(status, 'Complete');
  const problems: Problems = [];
  const refuse = (detail: string): void => {
    problems.push(invalidAs('status.conditions', '', detail));
  };
  if (complete && isTrue(status, 'Failed')) refuse('cannot set Complete=True and Failed=true conditions');
  if (complete && isTrue(status, 'FailureTarget'))
    refuse('cannot set Complete=True and FailureTarget=true conditions');
  if (isTrue(status, 'SuccessCriteriaMet') && isTrue(status, 'FailureTarget'))
    refuse('cannot set FailureTarget=True and SuccessCriteriaMet=true conditions');
  if (isTrue(status, 'SuccessCriteriaMet') && isTrue(status, 'Failed'))
    refuse('cannot set Failed=True and SuccessCriteriaMet=true conditions');
  if (isTrue(status, 'Failed') && !isTrue(status, 'FailureTarget'))
    refuse('cannot set Failed=True condition without the FailureTarget=true condition');
  if (complete && !isTrue(status, 'SuccessCriteriaMet'))
    refuse('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  return problems;
}

function timeProblems(status: JsonObject): Problems {
  const complete = isTrue(status, 'Complete');
  const at = 'status.completionTime';
  const completion = text(status, 'completionTime');
  const start = text(status, 'startTime');
  const problems: Problems = [];
  if (completion !== '' && !complete)
    problems.push(
      invalidAs(
        at,
        timeText(completion),
        'cannot set completionTime when there is no Complete=True condition',
      ),
    );
  if (completion === '' && complete)
    problems.push(required(at, 'completionTime is required for Complete jobs'));
  if (completion !== '' && start !== '' && (parseTime(completion) ?? 0) < (parseTime(start) ?? 0))
    problems.push(invalidAs(at, timeText(completion), 'completionTime cannot be set before startTime'));
  if (start === '' && isFinished(status))
    problems.push(required('status.startTime', 'startTime is required for finished job'));
  return problems;
}

function podProblems(status: JsonObject): Problems {
  const finished = isFinished(status);
  const active = integer(status, 'active') ?? 0;
  const terminating = integer(status, 'terminating') ?? 0;
  const ready = integer(status, 'ready') ?? 0;
  const uncounted = objectAt(status, 'uncountedTerminatedPods');
  const problems: Problems = [];
  if (active > 0 && finished)
    problems.push(invalidValue('status.active', active, 'active>0 is invalid for finished job'));
  if (terminating > 0 && finished)
    problems.push(
      invalidValue('status.terminating', terminating, 'terminating>0 is invalid for finished job'),
    );
  if (finished && (strings(uncounted, 'succeeded').length > 0 || strings(uncounted, 'failed').length > 0))
    problems.push(
      invalidAs(
        'status.uncountedTerminatedPods',
        goDump('batch.UncountedTerminatedPods', uncounted),
        'uncountedTerminatedPods needs to be empty for finished job',
      ),
    );
  if (ready > active)
    problems.push(invalidValue('status.ready', ready, 'cannot set more ready pods than active'));
  return problems;
}

function changeProblems(status: JsonObject, before: JsonObject, suspended: boolean): Problems {
  const problems: Problems = TERMINAL.filter((type) => isTrue(before, type) && !isTrue(status, type)).map(
    (type) => invalidAs('status.conditions', '', `cannot disable the terminal ${type}=True condition`),
  );
  if (isTrue(before, 'SuccessCriteriaMet') && !isTrue(status, 'SuccessCriteriaMet'))
    problems.push(invalidAs('status.conditions', '', 'cannot disable the SuccessCriteriaMet=True condition'));
  for (const key of ['failed', 'succeeded']) {
    const count = integer(status, key) ?? 0;
    if (count < (integer(before, key) ?? 0))
      problems.push(invalidValue(`status.${key}`, count, `cannot decrease the ${key} counter`));
  }
  const completion = text(status, 'completionTime');
  if (
    completion !== '' &&
    text(before, 'completionTime') !== '' &&
    completion !== text(before, 'completionTime')
  )
    problems.push(invalidAs('status.completionTime', timeText(completion), IMMUTABLE));
  const start = text(status, 'startTime');
  if (!suspended && text(before, 'startTime') !== '' && start !== text(before, 'startTime'))
    // Kubernetes has these words for a change as well.
    problems.push(required('status.startTime', 'startTime cannot be removed for unsuspended job'));
  return problems;
}

/** Indexes that are done or given up, as far as they are told anew. */
function indexProblems(spec: JsonObject, status: JsonObject, before: JsonObject): Problems {
  const completions = integer(spec, 'completions');
  const problems: Problems = [];
  const completed = text(status, 'completedIndexes');
  const at = 'status.completedIndexes';
  if (completed !== text(before, 'completedIndexes')) {
    if (completed !== '' && text(spec, 'completionMode') !== 'Indexed') {
      const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode';
      problems.push(invalidValue(at, completed, detail));
    }
    const error = completions === undefined ? undefined : readIndexes(completed, completions).error;
    if (error !== undefined)
      problems.push(invalidValue(at, completed, `error parsing completedIndexes: ${error}`));
  }
  const failed = status.failedIndexes;
  if (typeof failed !== 'string' || failed === before.failedIndexes) return problems;
  const path = 'status.failedIndexes';
  if (spec.backoffLimitPerIndex == null) {
    const detail = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    return [...problems, invalidValue(path, failed, detail)];
  }
  const error = completions === undefined ? undefined : readIndexes(failed, completions).error;
  if (error !== undefined) problems.push(invalidValue(path, failed, `error parsing failedIndexes: ${error}`));
  const shared = problems.length === 0 ? sharedIndex(completed, failed) : undefined;
  if (shared !== undefined) {
    const detail = `failedIndexes and completedIndexes overlap at index: ${shared}`;
    problems.push(invalidValue(path, failed, detail));
  }
  return problems;
}

/** The first index that both lists have; both rise. */
function sharedIndex(left: string, right: string): number | undefined {
  const [spans = [], others = []] = [left, right].map((text) =>
    text
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split('-').map(Number)),
  );
  for (let i = 0, j = 0; i < spans.length && j < others.length; ) {
    const [from = 0, to = from] = spans[i] ?? [];
    const [first = 0, last = first] = others[j] ?? [];
    if (from <= last && first <= to) return Math.max(from, first);
    if (to < first) i += 1;
    else j += 1;
  }
  return undefined;
}

function timeText(time: string): string {
  const parsed = parseTime(time);
  return parsed === undefined
    ? JSON.stringify(time)
    : `${formatTime(parsed).replace('T', ' ').replace('Z', '')} +0000 UTC`;
}

/** Whether a Job has run: one that has not may still change where its pods go. */
export function hasStarted(job: KubeObject): boolean {
  return isObject(job.status) && job.status.startTime != null;
}
