import type { KubeObject } from '../../kube/object.ts';
import { objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { notNegative, oneOf, type Problems, selectorText } from './field-checks.ts';
import { invalidAs, invalidValue, required } from './field-errors.ts';
import { defaultWhenEmpty, defaultWhenNull, ensureObject, text } from './fields.ts';
import { validateJobSpec } from './job.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { workloadNameWarnings } from './pod-name-warnings.ts';
import { withTemplateWarnings } from './pod-warnings.ts';
import { isTimeZone, scheduleProblem } from './schedule-syntax.ts';

/** Jobs made from a CronJob append up to eleven characters to its name. */
const NAME_LIMIT = 52;

export const cronJobStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(workloadNameWarnings, 'jobTemplate', 'spec'),
  generation: 'spec',
  resetFields: statusResetFields('spec'),
  validateName: (name) => [
    ...validateDns1123Subdomain(name),
    ...(name.length > NAME_LIMIT ? [`must be no more than ${NAME_LIMIT} characters`] : []),
  ],
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenEmpty(spec, 'concurrencyPolicy', 'Allow');
    defaultWhenNull(spec, 'suspend', false);
    defaultWhenNull(spec, 'successfulJobsHistoryLimit', 3);
    defaultWhenNull(spec, 'failedJobsHistoryLimit', 1);
    const template = objectAt(spec, 'jobTemplate');
    // The Jobs get the rest of their defaults when they are made.
    if (template) defaultPodTemplate(ensureObject(template, 'spec'));
  },
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validate,
});

function validate(object: KubeObject): Problems {
  const spec = objectAt(object, 'spec') ?? {};
  const problems: Problems = [];
  const schedule = text(spec, 'schedule');
  if (schedule === '') problems.push(required('spec.schedule'));
  else {
    if (schedule.includes('TZ')) {
      problems.push(
        invalidValue(
          'spec.schedule',
          schedule,
          'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
        ),
      );
    }
    const problem = scheduleProblem(schedule);
    if (problem !== undefined) problems.push(invalidValue('spec.schedule', schedule, problem));
  }
  const zone = spec.timeZone;
  if (typeof zone === 'string') problems.push(...timeZoneProblems(zone, 'spec.timeZone'));
  problems.push(
    ...notNegative(
      spec,
      'spec',
      'startingDeadlineSeconds',
      'successfulJobsHistoryLimit',
      'failedJobsHistoryLimit',
    ),
    ...oneOf(spec, 'spec', 'concurrencyPolicy', ['Allow', 'Forbid', 'Replace']),
  );
  const template = objectAt(spec, 'jobTemplate');
  const job = objectAt(template, 'spec') ?? {};
  problems.push(...validateJobSpec(job, 'spec.jobTemplate.spec'));
  if (job.selector != null) {
    problems.push(
      invalidAs(
        'spec.jobTemplate.spec.selector',
        selectorText(job.selector),
        '`selector` will be auto-generated',
      ),
    );
  }
  if (job.manualSelector === true) {
    problems.push(notSupportedManual());
  }
  return problems;
}

function timeZoneProblems(zone: string, path: string): Problems {
  if (zone === '') return [invalidValue(path, zone, 'timeZone must be nil or non-empty string')];
  const problems: Problems = [];
  if (zone.toLowerCase() === 'local') {
    const why = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    problems.push(invalidValue(path, zone, why));
  }
  // What is local is a place, as far as it is written as one.
  if (zone !== 'Local' && !isTimeZone(zone))
    problems.push(invalidValue(path, zone, `unknown time zone ${zone}`));
  return problems;
}

function notSupportedManual(): Problems[number] {
  return {
    type: 'NotSupported',
    path: 'spec.jobTemplate.spec.manualSelector',
    value: true,
    detail: '',
    supported: ['nil', 'false'],
  };
}
