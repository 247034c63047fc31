import { isObject, objectAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { oneOf, type Problems } from './field-checks.ts';
import { invalidAs, invalidValue, notSupported, notSupportedAs, required } from './field-errors.ts';
import {
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  integer,
  objectsOf,
  strings,
  text,
} from './fields.ts';
import { goDump } from './go-dump.ts';

const PRECEDENCE = { least: 1, most: 10000, normal: 1000 };
const SUBJECT_KINDS = ['Group', 'ServiceAccount', 'User'];

export const flowSchemaStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec', 'metadata'),
  defaults: (object) =>
    defaultWhenEmpty(ensureObject(object, 'spec'), 'matchingPrecedence', PRECEDENCE.normal),
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const precedence = integer(spec, 'matchingPrecedence') ?? 0;
    if (precedence < PRECEDENCE.least) {
      problems.push(invalidValue('spec.matchingPrecedence', precedence, 'must be a positive value'));
    }
    if (precedence > PRECEDENCE.most) {
      problems.push(
        invalidValue('spec.matchingPrecedence', precedence, `must not be greater than ${PRECEDENCE.most}`),
      );
    }
    if (text(objectAt(spec, 'priorityLevelConfiguration'), 'name') === '') {
      problems.push(required('spec.priorityLevelConfiguration.name', 'must reference a priority level'));
    }
    const method = objectAt(spec, 'distinguisherMethod');
    if (method && !['ByNamespace', 'ByUser'].includes(text(method, 'type'))) {
      problems.push(
        notSupportedAs(
          'spec.distinguisherMethod.type',
          goDump('flowcontrol.FlowDistinguisherMethod', method),
          ['ByNamespace', 'ByUser'],
        ),
      );
    }
    for (const [index, rule] of objectsOf(spec, 'rules').entries()) {
      const at = `spec.rules[${index}]`;
      const subjects = objectsOf(rule, 'subjects');
      if (subjects.length === 0) {
        problems.push(required(`${at}.subjects`, 'subjects must contain at least one value'));
      }
      for (const [i, subject] of subjects.entries()) {
        const path = `${at}.subjects[${i}]`;
        const kind = text(subject, 'kind');
        if (!SUBJECT_KINDS.includes(kind)) {
          problems.push(notSupported(`${path}.kind`, kind, SUBJECT_KINDS));
          continue;
        }
        const key = `${kind.slice(0, 1).toLowerCase()}${kind.slice(1)}`;
        if (!isObject(subject[key])) {
          problems.push(required(`${path}.${key}`, `${key} is required when subject kind is '${kind}'`));
        } else if (text(subject[key], 'name') === '') problems.push(required(`${path}.${key}.name`));
      }
      if (objectsOf(rule, 'resourceRules').length === 0 && objectsOf(rule, 'nonResourceRules').length === 0) {
        problems.push(required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
      }
      for (const [i, resources] of objectsOf(rule, 'resourceRules').entries()) {
        const path = `${at}.resourceRules[${i}]`;
        for (const key of ['verbs', 'apiGroups', 'resources']) {
          if (strings(resources, key).length === 0) problems.push(required(`${path}.${key}`));
        }
        if (resources.clusterScope !== true && strings(resources, 'namespaces').length === 0) {
          problems.push(
            required(
              `${path}.namespaces`,
              'resource rules that are not cluster scoped must supply at least one namespace',
            ),
          );
        }
      }
    }
    return problems;
  },
});

export const priorityLevelConfigurationStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec', 'metadata'),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    const exempt = objectAt(spec, 'exempt');
    if (exempt) {
      defaultWhenNull(exempt, 'nominalConcurrencyShares', 0);
      defaultWhenNull(exempt, 'lendablePercent', 0);
    }
    const limited = objectAt(spec, 'limited');
    if (!limited) return;
    defaultWhenNull(limited, 'nominalConcurrencyShares', 30);
    defaultWhenNull(limited, 'lendablePercent', 0);
    const queuing = objectAt(limited, 'limitResponse', 'queuing');
    if (queuing) {
      defaultWhenEmpty(queuing, 'handSize', 8);
      defaultWhenEmpty(queuing, 'queues', 64);
      defaultWhenEmpty(queuing, 'queueLengthLimit', 50);
    }
  },
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = oneOf(spec, 'spec', 'type', ['Exempt', 'Limited']);
    const type = text(spec, 'type');
    if (type === '') problems.push(notSupported('spec.type', type, ['Exempt', 'Limited']));
    if (type === 'Limited' && !isObject(spec.limited)) {
      problems.push(required('spec.limited', 'must not be empty when type is Limited'));
    }
    if (type === 'Exempt' && isObject(spec.limited)) {
      problems.push(invalidAs('spec.limited', '', 'must be nil if the type is not Limited'));
    }
    return problems;
  },
});
