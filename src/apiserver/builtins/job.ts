import type { KubeObject } from '../../kube/object.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { isSoundSelector, matchesTemplate, selectorUnchanged } from './deployment.ts';
import {
  domainPrefixedPath,
  immutable,
  labelSelector,
  notNegative,
  oneOf,
  type Problems,
  selectorText,
} from './field-checks.ts';
import {
  duplicate,
  goStringMap,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from './field-errors.ts';
import {
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  integer,
  isSet,
  objectsOf,
  text,
} from './fields.ts';
import { goDump } from './go-dump.ts';
import { readIndexes } from './job-indexes.ts';
import { hasStarted, jobStatusProblems } from './job-status.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { workloadNameWarnings } from './pod-name-warnings.ts';
import { templateMismatch, validatePodTemplate } from './pod-validation.ts';
import { withTemplateWarnings } from './pod-warnings.ts';

const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid';
const JOB_NAME = 'batch.kubernetes.io/job-name';
const LEGACY_CONTROLLER_UID = 'controller-uid';
const LEGACY_JOB_NAME = 'job-name';
const MAX_INT32 = 2147483647;
const INDEXED_LIMIT = 100_000;
/** Of rules of a policy, and of conditions of a rule. */
const RULES_LIMIT = 20;
const EXIT_CODES_LIMIT = 255;

export const jobStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(workloadNameWarnings),
  generation: 'spec',
  defaultPropagation: 'Orphan',
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['status.successful'],
  fieldLabels: (object) => ({
    'status.successful': String(objectAt(object, 'status')?.succeeded ?? 0),
  }),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultJobSpec(spec);
    const labels = objectAt(spec, 'template', 'metadata', 'labels');
    // The very same labels, so that the Job gets what is added to them.
    if (isSet(labels) && Object.keys(object.metadata.labels ?? {}).length === 0)
      object.metadata.labels = labels as Record<string, string>;
  },
  prepareForCreate(object) {
    const spec = ensureObject(object, 'spec');
    const own: unknown = object.metadata.labels;
    const shared = own === undefined || own === objectAt(spec, 'template', 'metadata', 'labels');
    if (spec.manualSelector !== true) generateSelector(object, spec);
    const labels = stringsAt(spec, 'template', 'metadata', 'labels');
    if (shared && Object.keys(labels).length > 0) object.metadata.labels = { ...labels };
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
  validateStatusUpdate: jobStatusProblems,
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
    return [...problems, ...specProblems(spec)];
  },
  validateCreate: (object) => generatedLabelProblems(object),
  validateUpdate(object, old) {
    const now = objectAt(object, 'spec') ?? {};
    const before = objectAt(old, 'spec') ?? {};
    const problems = [...specProblems(now), ...selectorUnchanged(now, before)];
    problems.push(...templateUpdateProblems(now, before, old));
    const elastic =
      text(now, 'completionMode') === 'Indexed' &&
      now.completions != null &&
      before.completions != null &&
      now.completions === now.parallelism;
    if (!elastic)
      problems.push(
        ...immutable(now, before, 'spec', 'completions').map((problem) =>
          text(now, 'completionMode') === 'Indexed' && now.completions != null && before.completions != null
            ? { ...problem, detail: 'can only be modified in tandem with spec.parallelism' }
            : problem,
        ),
      );
    problems.push(
      ...immutable(now, before, 'spec', 'completionMode', 'backoffLimitPerIndex', 'managedBy'),
      ...policyUnchanged(now, before, 'podFailurePolicy', 'batch.PodFailurePolicy'),
      ...policyUnchanged(now, before, 'successPolicy', 'batch.SuccessPolicy'),
    );
    return problems;
  },
});

function policyUnchanged(now: JsonObject, before: JsonObject, key: string, type: string): Problems {
  if (deepEqual(now[key] ?? null, before[key] ?? null)) return [];
  const shown = now[key] === undefined ? '"null"' : goDump(type, now[key]);
  return [invalidAs(`spec.${key}`, shown, IMMUTABLE)];
}

function specProblems(spec: JsonObject): Problems {
  const problems = validateJobSpec(spec, 'spec');
  if (!isObject(spec.selector)) problems.push(required('spec.selector'));
  else problems.push(...labelSelector(spec.selector, 'spec.selector'));
  if (isSoundSelector(spec) && !matchesTemplate(spec)) {
    problems.push(templateMismatch(objectAt(spec, 'template'), 'spec.template'));
  }
  return problems;
}

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
  } else if (spec.backoffLimitPerIndex != null && text(spec, 'completionMode') === 'NonIndexed') {
    problems.push(
      invalidValue(
        `${path}.backoffLimitPerIndex`,
        spec.backoffLimitPerIndex,
        'requires indexed completion mode',
      ),
    );
  }
  problems.push(
    ...oneOf(
      spec,
      path,
      'podReplacementPolicy',
      isObject(spec.podFailurePolicy) ? ['Failed'] : ['Failed', 'TerminatingOrFailed'],
    ),
  );
  const template = objectAt(spec, 'template');
  const podSpec = objectAt(template, 'spec');
  const containers = new Set(
    [...objectsOf(podSpec, 'containers'), ...objectsOf(podSpec, 'initContainers')].map((item) =>
      text(item, 'name'),
    ),
  );
  problems.push(
    ...failurePolicyProblems(
      objectAt(spec, 'podFailurePolicy'),
      `${path}.podFailurePolicy`,
      containers,
      spec.backoffLimitPerIndex != null,
    ),
    ...managerProblems(spec, path),
    ...successPolicyProblems(spec, path, indexed),
    ...failedIndexProblems(spec, path),
  );
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

function failedIndexProblems(spec: JsonObject, path: string): Problems {
  const most = integer(spec, 'maxFailedIndexes');
  if (most === undefined) return [];
  const at = `${path}.maxFailedIndexes`;
  const completions = integer(spec, 'completions');
  const problems: Problems = [];
  if (completions !== undefined && most > completions) {
    problems.push(invalidValue(at, most, 'must be less than or equal to completions'));
  }
  if (spec.backoffLimitPerIndex == null) {
    problems.push(required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
  return problems;
}

/** Who runs the Job, where it is not Kubernetes' own controller. */
function managerProblems(spec: JsonObject, path: string): Problems {
  const manager = spec.managedBy;
  if (typeof manager !== 'string') return [];
  const at = `${path}.managedBy`;
  if (manager === '') return [required(at)];
  if (manager.length > MANAGER_LIMIT) return [tooLong(at, MANAGER_LIMIT)];
  return domainPrefixedPath(manager, at);
}

const MANAGER_LIMIT = 63;

function successPolicyProblems(spec: JsonObject, path: string, indexed: boolean): Problems {
  const policy = objectAt(spec, 'successPolicy');
  if (policy === undefined) return [];
  const at = `${path}.successPolicy`;
  if (!indexed)
    return [invalidAs(at, goDump('batch.SuccessPolicy', policy), 'requires indexed completion mode')];
  const rules = objectsOf(policy, 'rules');
  if (rules.length > RULES_LIMIT) return [tooMany(`${at}.rules`, rules.length, RULES_LIMIT)];
  if (rules.length === 0)
    return [
      required(`${at}.rules`, 'at least one rules must be specified when the successPolicy is specified'),
    ];
  return rules.flatMap((rule, index) => {
    const own = `${at}.rules[${index}]`;
    if (rule.succeededCount === undefined && rule.succeededIndexes === undefined) {
      return [required(own, 'at least one of succeededCount or succeededIndexes must be specified')];
    }
    const problems = notNegative(rule, own, 'succeededCount');
    const count = integer(rule, 'succeededCount') ?? 0;
    const completions = integer(spec, 'completions') ?? 0;
    if (typeof rule.succeededIndexes === 'string') {
      const read = readIndexes(rule.succeededIndexes, completions);
      if (read.error !== undefined) {
        const detail = `error parsing succeededIndexes: ${read.error}`;
        problems.push(invalidValue(`${own}.succeededIndexes`, rule.succeededIndexes, detail));
      }
      if (count > read.total) {
        const detail = `must be less than or equal to ${read.total} (the number of indexes in the specified succeededIndexes field)`;
        problems.push(invalidValue(`${own}.succeededCount`, count, detail));
      }
    }
    if (count > completions) {
      const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
      problems.push(invalidValue(`${own}.succeededCount`, count, detail));
    }
    return problems;
  });
}

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

function failurePolicyProblems(
  policy: JsonObject | undefined,
  path: string,
  containers: ReadonlySet<string>,
  perIndex: boolean,
): Problems {
  const problems: Problems = [];
  const rules = objectsOf(policy, 'rules');
  if (rules.length > RULES_LIMIT) problems.push(tooMany(`${path}.rules`, rules.length, RULES_LIMIT));
  for (const [index, rule] of rules.entries()) {
    const at = `${path}.rules[${index}]`;
    const action = text(rule, 'action');
    if (action === '')
      problems.push(
        required(`${at}.action`, `valid values: [${ACTIONS.map((a) => JSON.stringify(a)).join(' ')}]`),
      );
    else problems.push(...oneOf(rule, at, 'action', ACTIONS));
    if (action === 'FailIndex' && !perIndex)
      problems.push(invalidValue(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'));
    const exit = objectAt(rule, 'onExitCodes');
    const conditions = objectsOf(rule, 'onPodConditions');
    if (conditions.length > RULES_LIMIT)
      problems.push(tooMany(`${at}.onPodConditions`, conditions.length, RULES_LIMIT));
    for (const [i, condition] of conditions.entries()) {
      const path = `${at}.onPodConditions[${i}]`;
      const type = text(condition, 'type');
      problems.push(...invalidEach(`${path}.type`, type, validateQualifiedName(type)));
      const status = text(condition, 'status');
      if (status === '')
        problems.push(required(`${path}.status`, 'valid values: ["False" "True" "Unknown"]'));
      else problems.push(...oneOf(condition, path, 'status', ['False', 'True', 'Unknown']));
    }
    if (exit !== undefined && conditions.length > 0) {
      problems.push(invalidAs(at, '', 'specifying both OnExitCodes and OnPodConditions is not supported'));
    } else if (exit === undefined && conditions.length === 0) {
      problems.push(invalidAs(at, '', 'specifying one of OnExitCodes and OnPodConditions is required'));
    }
    if (exit !== undefined) {
      if (text(exit, 'operator') === '') {
        problems.push(required(`${at}.onExitCodes.operator`, 'valid values: ["In" "NotIn"]'));
      } else problems.push(...oneOf(exit, `${at}.onExitCodes`, 'operator', ['In', 'NotIn']));
      if (typeof exit.containerName === 'string' && !containers.has(exit.containerName)) {
        const detail = 'must be one of the container or initContainer names in the pod template';
        problems.push(invalidValue(`${at}.onExitCodes.containerName`, exit.containerName, detail));
      }
      const values = exit.values;
      if (!Array.isArray(values) || values.length === 0) {
        problems.push(
          invalidAs(
            `${at}.onExitCodes.values`,
            Array.isArray(values) ? '[]int32{}' : '[]int32(nil)',
            'at least one value is required',
          ),
        );
      } else if (values.length > EXIT_CODES_LIMIT) {
        problems.push(tooMany(`${at}.onExitCodes.values`, values.length, EXIT_CODES_LIMIT));
      } else problems.push(...exitCodeProblems(values, text(exit, 'operator'), `${at}.onExitCodes.values`));
    }
  }
  return problems;
}

function exitCodeProblems(values: readonly unknown[], operator: string, path: string): Problems {
  const problems: Problems = [];
  for (const [index, value] of values.entries()) {
    if (operator === 'In' && value === 0) {
      problems.push(invalidValue(`${path}[${index}]`, 0, 'must not be 0 for the In operator'));
    }
    if (values.indexOf(value) < index) problems.push(duplicate(`${path}[${index}]`, value));
  }
  if (values.some((value, index) => Number(value) < Number(values[index - 1] ?? value))) {
    problems.push(invalidAs(path, `[]int32{${values.join(', ')}}`, 'must be ordered'));
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

/** The labels by which a Job knows its pods are what the Job makes them. */
function generatedLabelProblems(object: KubeObject): Problems {
  const spec = objectAt(object, 'spec') ?? {};
  if (spec.manualSelector === true) return [];
  const labels = stringsAt(spec, 'template', 'metadata', 'labels');
  const { uid = '', name = '' } = object.metadata;
  const expected = {
    [CONTROLLER_UID]: uid,
    [LEGACY_CONTROLLER_UID]: uid,
    [JOB_NAME]: name,
    [LEGACY_JOB_NAME]: name,
  };
  return Object.entries(expected)
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) =>
      invalidAs(`spec.template.metadata.labels[${key}]`, goStringMap(labels), `must be '${value}'`),
    );
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
  if (before.suspend === true && !hasStarted(old)) {
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
