import { asJson } from '../../kube/object.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import {
  countOrPercent,
  isEmptySelector,
  isZeroCount,
  labelSelector,
  notNegative,
  type Problems,
  selectorMatches,
  selectorText,
} from './field-checks.ts';
import {
  goIntOrString,
  IMMUTABLE,
  invalidAs,
  invalidValue,
  notSupportedAs,
  required,
} from './field-errors.ts';
import { assign, defaultWhenEmpty, defaultWhenNull, ensureObject, integer, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { workloadNameWarnings } from './pod-name-warnings.ts';
import { validateTemplate } from './pod-validation.ts';
import { withTemplateWarnings } from './pod-warnings.ts';
import { collisionCountKept, replicaStatusProblems } from './replica-status.ts';

export const deploymentStrategy: Strategy = strategy({
  generation: 'spec-and-annotations',
  resetFields: statusResetFields('spec', 'metadata.labels'),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'replicas', 1);
    const rollout = ensureObject(spec, 'strategy');
    defaultWhenEmpty(rollout, 'type', 'RollingUpdate');
    if (rollout.type === 'RollingUpdate') {
      const rolling = ensureObject(rollout, 'rollingUpdate');
      defaultWhenNull(rolling, 'maxUnavailable', '25%');
      defaultWhenNull(rolling, 'maxSurge', '25%');
    }
    defaultWhenNull(spec, 'revisionHistoryLimit', 10);
    defaultWhenNull(spec, 'progressDeadlineSeconds', 600);
    defaultPodTemplate(spec);
  },
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate(object, old) {
    keepSpec(object, old);
    assign(asJson(object).metadata as JsonObject, 'labels', clone(old.metadata.labels));
  },
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = notNegative(spec, 'spec', 'replicas');
    problems.push(...selectorProblems(spec, 'deployment'));
    if (isSoundSelector(spec)) {
      const template = objectAt(spec, 'template');
      problems.push(
        ...validateTemplate(template, 'spec.template', {
          kind: 'ReplicaSet',
          matches: matchesTemplate(spec),
        }),
      );
    }
    problems.push(...rolloutProblems(objectAt(spec, 'strategy') ?? {}, 'spec.strategy'));
    problems.push(
      ...notNegative(spec, 'spec', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds'),
    );
    const deadline = integer(spec, 'progressDeadlineSeconds');
    if (deadline !== undefined && deadline <= (integer(spec, 'minReadySeconds') ?? 0)) {
      problems.push(
        invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'),
      );
    }
    return problems;
  },
  validateUpdate: (object, old) => [
    ...selectorUnchanged(objectAt(object, 'spec'), objectAt(old, 'spec')),
    ...replicaStatusProblems(object, ['updatedReplicas', 'readyReplicas', 'availableReplicas']),
    ...collisionCountKept(object, old),
  ],
  warnings: withTemplateWarnings(workloadNameWarnings),
});

/** Said of a selector as a whole, besides what is wrong with it. */
export const INVALID_SELECTOR = 'invalid label selector';

/** The selector of a workload must be there, be sound and select something. */
export function selectorProblems(
  spec: JsonObject,
  kind: string,
  detail: string = INVALID_SELECTOR,
): Problems {
  const selector = spec.selector;
  if (!isObject(selector)) return [required('spec.selector')];
  const problems = labelSelector(selector, 'spec.selector');
  if (problems.length > 0) {
    problems.push(invalidAs('spec.selector', selectorText(selector), detail));
  }
  if (isEmptySelector(selector)) {
    problems.push(
      invalidAs('spec.selector', selectorText(selector), `empty selector is invalid for ${kind}`),
    );
  }
  return problems;
}

/** A template is compared only with a selector that can be understood; an absent one matches nothing. */
export function isSoundSelector(spec: JsonObject): boolean {
  return labelSelector(spec.selector, '').length === 0;
}

export function matchesTemplate(spec: JsonObject): boolean {
  return selectorMatches(spec.selector, stringsAt(spec, 'template', 'metadata', 'labels'));
}

export function selectorUnchanged(now: JsonObject | undefined, old: JsonObject | undefined): Problems {
  return deepEqual(now?.selector ?? null, old?.selector ?? null)
    ? []
    : [invalidAs('spec.selector', selectorText(now?.selector), IMMUTABLE)];
}

function rolloutProblems(rollout: JsonObject, path: string): Problems {
  const type = text(rollout, 'type');
  const rolling = objectAt(rollout, 'rollingUpdate');
  if (type === 'Recreate') {
    return rolling === undefined
      ? []
      : [
          {
            type: 'Forbidden',
            path: `${path}.rollingUpdate`,
            detail: "may not be specified when strategy `type` is 'Recreate'",
          },
        ];
  }
  if (type !== 'RollingUpdate')
    return [notSupportedAs(path, goDump('apps.DeploymentStrategy', rollout), ['Recreate', 'RollingUpdate'])];
  if (rolling === undefined)
    return [required(`${path}.rollingUpdate`, 'this should be defaulted and never be nil')];
  const problems = [
    ...countOrPercent(rolling.maxUnavailable, `${path}.rollingUpdate.maxUnavailable`),
    ...countOrPercent(rolling.maxSurge, `${path}.rollingUpdate.maxSurge`, false),
  ];
  if (isZeroCount(rolling.maxUnavailable) && isZeroCount(rolling.maxSurge)) {
    problems.push(
      invalidAs(
        `${path}.rollingUpdate.maxUnavailable`,
        goIntOrString(rolling.maxUnavailable),
        'may not be 0 when `maxSurge` is 0',
      ),
    );
  }
  return problems;
}
