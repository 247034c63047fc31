import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { isSoundSelector, matchesTemplate, selectorProblems, selectorUnchanged } from './deployment.ts';
import { notNegative } from './field-checks.ts';
import { required } from './field-errors.ts';
import { defaultWhenNull, ensureObject } from './fields.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { workloadNameWarnings } from './pod-name-warnings.ts';
import { validateTemplate } from './pod-validation.ts';
import { withTemplateWarnings } from './pod-warnings.ts';
import { replicaStatusProblems } from './replica-status.ts';

/** What is counted of a workload's replicas. */
const COUNTS: readonly string[] = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'];

export const replicaSetStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(workloadNameWarnings),
  validateTwice: true,
  generation: 'spec',
  resetFields: statusResetFields('spec'),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'replicas', 1);
    defaultPodTemplate(spec);
  },
  prepareForCreate: initialStatus({ replicas: 0 }),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) => replicaStatusProblems(object, COUNTS),
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = [
      ...notNegative(spec, 'spec', 'replicas', 'minReadySeconds'),
      ...selectorProblems(spec, 'deployment'),
    ];
    if (isSoundSelector(spec)) {
      problems.push(
        ...validateTemplate(objectAt(spec, 'template'), 'spec.template', {
          kind: 'ReplicaSet',
          matches: matchesTemplate(spec),
        }),
      );
    }
    return problems;
  },
  validateUpdate: (object, old) => selectorUnchanged(objectAt(object, 'spec'), objectAt(old, 'spec')),
});

/** `ReplicationController` (v1): its selector is a map, and comes from the template's labels where it is missing. */
export const replicationControllerStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(workloadNameWarnings),
  validateTwice: true,
  generation: 'spec',
  defaultPropagation: 'Orphan',
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['status.replicas'],
  fieldLabels: replicasLabel,
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'replicas', 1);
    const template = stringsAt(spec, 'template', 'metadata', 'labels');
    if (Object.keys(template).length > 0) {
      if (Object.keys(stringsAt(spec, 'selector')).length === 0) spec.selector = clone(template);
      if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = clone(template);
    }
    defaultPodTemplate(spec);
  },
  prepareForCreate: initialStatus({ replicas: 0 }),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) => replicaStatusProblems(object, COUNTS),
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = notNegative(spec, 'spec', 'minReadySeconds', 'replicas');
    if (Object.keys(stringsAt(spec, 'selector')).length === 0) problems.push(required('spec.selector'));
    if (!isObject(spec.template)) problems.push(required('spec.template'));
    else {
      problems.push(
        ...validateTemplate(spec.template, 'spec.template', {
          kind: 'ReplicationController',
          matches: mapMatches(spec),
        }),
      );
    }
    return problems;
  },
});

function mapMatches(spec: JsonObject): boolean {
  const selector = stringsAt(spec, 'selector');
  const labels = stringsAt(spec, 'template', 'metadata', 'labels');
  return Object.keys(selector).every((key) => labels[key] === selector[key]);
}

function replicasLabel(object: KubeObject): Record<string, string> {
  return { 'status.replicas': String(objectAt(object, 'status')?.replicas ?? 0) };
}
