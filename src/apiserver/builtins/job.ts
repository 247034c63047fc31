import type { KubeObject } from '../../kube/object.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { isSoundSelector, matchesTemplate, selectorUnchanged } from './deployment.ts';
import { immutable, labelSelector, notNegative, oneOf, type Problems, selectorText } from './field-checks.ts';
import { IMMUTABLE, invalidAs, invalidValue, notSupported, required } from './field-errors.ts';
import { defaultWhenEmpty, defaultWhenNull, ensureObject, integer, objectsOf, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { templateMismatch, validatePodTemplate } from './pod-validation.ts';

const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid';
const JOB_NAME = 'batch.kubernetes.io/job-name';
const LEGACY_CONTROLLER_UID = 'controller-uid';
const LEGACY_JOB_NAME = 'job-name';
const MAX_INT32 = 2147483647;
const INDEXED_LIMIT = 100_000;

export const jobStrategy: Strategy = strategy({
  generation: 'spec',
  defaultPropagation: 'Orphan',
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['status.successful'],
  fieldLabels: (object) => ({
    'status.successful': String(objectAt(object, 'status')?.succeeded ?? 0),
  }),
  defaults: (object) => defaultJobSpec(ensureObject(object, 'spec')),
  prepareForCreate(object) {
    const spec = ensureObject(object, 'spec');
    if (spec.manualSelector !== true) generateSelector(object, spec);
    const labels = stringsAt(spec, 'template', 'metadata', 'labels');
    if (Object.keys(object.metadata.labels ?? {}).length === 0 && Object.keys(labels).length > 0) {
      object.metadata.labels = labels;
    }
    initialStatus({})(object);
  },
  prepareForUpdate(object) {
    // Labels that were emptied come back from the template, as on a read.
    const labels = stringsAt(object, 'spec', 'template', 'metadata', 'labels');
    if (Object.keys(object.metadata.labels ?? {}).length === 0 && Object.keys(labels).length > 0) {
      object.metadata.labels = labels;
    }
  },
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    if (spec.manualSelector !== true && isObject(spec.selector)) {
      if (!isGenerated(object, spec)) {
        problems.push(
          invalidAs('spec.selector', selectorText(spec.selector), '`selector` not auto-generated'),
        );
      }
    }
    problems.push(...validateJobSpec(spec, 'spec'));
    if (!isObject(spec.selector)) problems.push(required('spec.selector'));
    else {
      problems.push(...labelSelector(spec.selector, 'spec.selector'));
      if (isSoundSelector(spec) && !matchesTemplate(spec)) {
        problems.push(templateMismatch(objectAt(spec, 'template'), 'spec.template'));
      }
    }
    return problems;
  },
  validateUpdate(object, old) {
    const now = objectAt(object, 'spec') ?? {};
    const before = objectAt(old, 'spec') ?? {};
    const problems = selectorUnchanged(now, before);
    if (isSoundSelector(now) && isObject(now.selector) && !matchesTemplate(now)) {
      problems.push(templateMismatch(objectAt(now, 'template'), 'spec.template'));
    }
    problems.push(...templateUpdateProblems(now, before, old));
    const elastic =
      text(now, 'completionMode') === 'Indexed' &&
      now.completions != null &&
      before.completions != null &&
      now.completions === now.parallelism;
    if (!elastic) problems.push(...immutable(now, before, 'spec', 'completions'));
    problems.push(
      ...immutable(
        now,
        before,
        'spec',
        'completionMode',
        'podFailurePolicy',
        'backoffLimitPerIndex',
        'managedBy',
        'successPolicy',
      ),
    );
    return problems;
  },
});

function defaultJobSpec(spec: JsonObject): void {
  if (spec.completions == null && spec.parallelism == null) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  defaultWhenNull(spec, 'parallelism', 1);
  defaultWhenNull(spec, 'backoffLimit', spec.backoffLimitPerIndex == null ? 6 : MAX_INT32);
  defaultWhenNull(spec, 'completionMode', 'NonIndexed');
  defaultWhenNull(spec, 'suspend', false);
  defaultWhenNull(
    spec,
    'podReplacementPolicy',
    isObject(spec.podFailurePolicy) ? 'Failed' : 'TerminatingOrFailed',
  );
  defaultWhenNull(spec, 'manualSelector', false);
  defaultJobTemplateSpec(spec);
}

/** What the template of a CronJob gets too. */
export function defaultJobTemplateSpec(spec: JsonObject): void {
  for (const rule of objectsOf(objectAt(spec, 'podFailurePolicy'), 'rules')) {
    for (const condition of objectsOf(rule, 'onPodConditions')) defaultWhenEmpty(condition, 'status', 'True');
  }
  defaultPodTemplate(spec);
}

export function validateJobSpec(spec: JsonObject, path: string): Problems {
  const problems = notNegative(
    spec,
    path,
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  );
  problems.push(...oneOf(spec, path, 'completionMode', ['NonIndexed', 'Indexed']));
  const indexed = text(spec, 'completionMode') === 'Indexed';
  if (indexed) {
    if (spec.completions == null) {
      problems.push(required(`${path}.completions`, 'when completion mode is Indexed'));
    }
    if ((integer(spec, 'parallelism') ?? 0) > INDEXED_LIMIT) {
      problems.push(
        invalidValue(
          `${path}.parallelism`,
          spec.parallelism,
          `must be less than or equal to ${INDEXED_LIMIT} when completion mode is Indexed`,
        ),
      );
    }
  } else if (spec.backoffLimitPerIndex != null) {
    problems.push(
      invalidValue(
        `${path}.backoffLimitPerIndex`,
        spec.backoffLimitPerIndex,
        'requires indexed completion mode',
      ),
    );
  }
  problems.push(...oneOf(spec, path, 'podReplacementPolicy', ['Failed', 'TerminatingOrFailed']));
  problems.push(...failurePolicyProblems(objectAt(spec, 'podFailurePolicy'), `${path}.podFailurePolicy`));
  const template = objectAt(spec, 'template');
  problems.push(...validatePodTemplate(template, `${path}.template`));
  const restart = text(objectAt(template, 'spec'), 'restartPolicy');
  if (restart !== 'OnFailure' && restart !== 'Never') {
    // Unset became Always by defaulting; it is told as missing, because a Job needs another choice.
    problems.push(
      restart === 'Always' || restart === ''
        ? required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')
        : notSupported(`${path}.template.spec.restartPolicy`, restart, ['OnFailure', 'Never']),
    );
  } else if (restart !== 'Never' && isObject(spec.podFailurePolicy)) {
    problems.push(
      invalidValue(
        `${path}.template.spec.restartPolicy`,
        restart,
        'only "Never" is supported when podFailurePolicy is specified',
      ),
    );
  }
  return problems;
}

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

function failurePolicyProblems(policy: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  for (const [index, rule] of objectsOf(policy, 'rules').entries()) {
    const at = `${path}.rules[${index}]`;
    const action = text(rule, 'action');
    if (action === '')
      problems.push(
        required(`${at}.action`, `valid values: ${ACTIONS.map((a) => JSON.stringify(a)).join(', ')}`),
      );
    else problems.push(...oneOf(rule, at, 'action', ACTIONS));
    const exit = objectAt(rule, 'onExitCodes');
    const conditions = objectsOf(rule, 'onPodConditions');
    if (exit !== undefined && conditions.length > 0) {
      problems.push(invalidAs(at, '', 'specifying both OnExitCodes and OnPodConditions is not supported'));
    } else if (exit === undefined && conditions.length === 0) {
      problems.push(invalidAs(at, '', 'specifying one of OnExitCodes and OnPodConditions is required'));
    }
    if (exit !== undefined) {
      problems.push(...oneOf(exit, `${at}.onExitCodes`, 'operator', ['In', 'NotIn']));
      const values = exit.values;
      if (!Array.isArray(values) || values.length === 0) {
        problems.push(
          invalidAs(`${at}.onExitCodes.values`, '[]int32(nil)', 'at least one value is required'),
        );
      }
    }
  }
  return problems;
}

/** Adds the labels by which the Job knows its pods; what the user wrote beside them stays. */
function generateSelector(object: KubeObject, spec: JsonObject): void {
  const uid = object.metadata.uid ?? '';
  const metadata = ensureObject(ensureObject(spec, 'template'), 'metadata');
  const labels = ensureObject(metadata, 'labels');
  for (const key of [LEGACY_JOB_NAME, JOB_NAME]) labels[key] ??= object.metadata.name ?? '';
  for (const key of [LEGACY_CONTROLLER_UID, CONTROLLER_UID]) labels[key] ??= uid;
  const matchLabels = ensureObject(ensureObject(spec, 'selector'), 'matchLabels');
  matchLabels[CONTROLLER_UID] ??= uid;
}

function isGenerated(object: KubeObject, spec: JsonObject): boolean {
  const uid = object.metadata.uid ?? '';
  const selector = objectAt(spec, 'selector') ?? {};
  const expected = { matchLabels: { [CONTROLLER_UID]: uid } };
  const legacy = { matchLabels: { [LEGACY_CONTROLLER_UID]: uid } };
  return deepEqual(selector, expected) || deepEqual(selector, legacy);
}

/** A Job that is suspended and has not run may change where its pods go; a running one keeps its template. */
function templateUpdateProblems(now: JsonObject, before: JsonObject, old: KubeObject): Problems {
  const left = clone(objectAt(now, 'template') ?? {});
  const right = clone(objectAt(before, 'template') ?? {});
  const neverStarted = objectAt(old, 'status')?.startTime == null;
  if (before.suspend === true && neverStarted) {
    for (const template of [left, right]) {
      const spec = ensureObject(template, 'spec');
      for (const key of ['nodeSelector', 'affinity', 'tolerations', 'schedulingGates']) delete spec[key];
      const metadata = ensureObject(template, 'metadata');
      for (const key of ['labels', 'annotations']) delete metadata[key];
    }
  }
  return deepEqual(left, right)
    ? []
    : [invalidAs('spec.template', goDump('core.PodTemplateSpec', objectAt(now, 'template')), IMMUTABLE)];
}
