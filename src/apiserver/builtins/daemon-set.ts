import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import {
  INVALID_SELECTOR,
  isSoundSelector,
  matchesTemplate,
  selectorProblems,
  selectorUnchanged,
} from './deployment.ts';
import { countOrPercent, isZeroCount, notNegative, type Problems } from './field-checks.ts';
import { goIntOrString, invalidAs, notSupportedAs, required } from './field-errors.ts';
import { assign, defaultWhenEmpty, defaultWhenNull, ensureObject, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { validateTemplate } from './pod-validation.ts';
import { withTemplateWarnings } from './pod-warnings.ts';

/** Counts changes of the template; kept by servers since the field that held it was removed. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

export const daemonSetStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(() => []),
  validateTwice: true,
  generation: 'spec',
  resetFields: statusResetFields('spec'),
  derivedAnnotations: [TEMPLATE_GENERATION],
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    const update = ensureObject(spec, 'updateStrategy');
    defaultWhenEmpty(update, 'type', 'RollingUpdate');
    const rolls = update.type === 'RollingUpdate';
    const rolling = rolls ? ensureObject(update, 'rollingUpdate') : objectAt(update, 'rollingUpdate');
    if (rolling) {
      defaultWhenNull(rolling, 'maxUnavailable', rolls ? 1 : 0);
      defaultWhenNull(rolling, 'maxSurge', 0);
    }
    defaultWhenNull(spec, 'revisionHistoryLimit', 10);
    defaultPodTemplate(spec);
    // Set while decoding, so that the writer owns the annotation.
    const annotations = object.metadata.annotations ?? {};
    if (annotations[TEMPLATE_GENERATION] === undefined) setTemplateGeneration(object, 0);
  },
  prepareForCreate(object) {
    setTemplateGeneration(object, 1);
    assign(object, 'status', {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    });
  },
  prepareForUpdate(object, old) {
    const before = templateGeneration(old);
    const changed = !deepEqual(objectAt(object, 'spec', 'template'), objectAt(old, 'spec', 'template'));
    setTemplateGeneration(object, changed ? before + 1 : before);
  },
  prepareForStatusUpdate(object, old) {
    keepSpec(object, old);
    setTemplateGeneration(object, templateGeneration(old));
  },
  validateStatusUpdate: (object) =>
    notNegative(
      objectAt(object, 'status'),
      'status',
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ),
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    // One that is not there at all selects nothing, which is told of the template.
    const problems = isObject(spec.selector)
      ? selectorProblems(spec, 'daemonset').filter(({ detail }) => detail !== INVALID_SELECTOR)
      : [];
    problems.push(
      ...validateTemplate(objectAt(spec, 'template'), 'spec.template', {
        kind: 'DaemonSet',
        matches: !isSoundSelector(spec) || matchesTemplate(spec),
      }),
      ...notNegative(spec, 'spec', 'minReadySeconds', 'revisionHistoryLimit'),
      ...updateProblems(objectAt(spec, 'updateStrategy') ?? {}),
    );
    return problems;
  },
  validateUpdate: (object, old) => selectorUnchanged(objectAt(object, 'spec'), objectAt(old, 'spec')),
});

function templateGeneration(object: KubeObject): number {
  return Number(object.metadata.annotations?.[TEMPLATE_GENERATION] ?? 0) || 0;
}

function setTemplateGeneration(object: KubeObject, value: number): void {
  object.metadata.annotations = { ...object.metadata.annotations, [TEMPLATE_GENERATION]: String(value) };
}

/** What is no number counts as none. */
function isNoCount(value: unknown): boolean {
  return typeof value === 'string' && !/^\d+%$/.test(value);
}

function updateProblems(update: JsonObject): Problems {
  const path = 'spec.updateStrategy';
  const type = text(update, 'type');
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate')
    return [
      notSupportedAs(path, goDump('apps.DaemonSetUpdateStrategy', update), ['RollingUpdate', 'OnDelete']),
    ];
  const rolling = objectAt(update, 'rollingUpdate');
  if (rolling === undefined) return [required(`${path}.rollingUpdate`)];
  const problems = [
    ...countOrPercent(rolling.maxUnavailable, `${path}.rollingUpdate.maxUnavailable`),
    ...countOrPercent(rolling.maxSurge, `${path}.rollingUpdate.maxSurge`),
  ];
  const noneUnavailable = isZeroCount(rolling.maxUnavailable) || isNoCount(rolling.maxUnavailable);
  const noSurge = isZeroCount(rolling.maxSurge) || isNoCount(rolling.maxSurge);
  if (!noneUnavailable && !noSurge) {
    problems.push(
      invalidAs(
        `${path}.rollingUpdate.maxSurge`,
        goIntOrString(rolling.maxSurge),
        'may not be set when maxUnavailable is non-zero',
      ),
    );
  } else if (noneUnavailable && noSurge) {
    problems.push(required(`${path}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  }
  return problems;
}
