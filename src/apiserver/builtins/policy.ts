import { objectAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { conditionProblems } from './conditions.ts';
import { countOrPercent, labelSelector, notNegative, oneOf } from './field-checks.ts';
import { invalidAs } from './field-errors.ts';
import { goDump } from './go-dump.ts';

export const podDisruptionBudgetStrategy: Strategy = strategy({
  // Names are not looked at.
  validateName: () => [],
  generation: 'spec',
  allowUnconditionalUpdate: false,
  resetFields: statusResetFields('spec'),
  prepareForCreate: initialStatus({
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  }),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object) => [
    ...conditionProblems(objectAt(object, 'status'), 'status.conditions'),
    ...notNegative(
      objectAt(object, 'status'),
      'status',
      'disruptionsAllowed',
      'currentHealthy',
      'desiredHealthy',
      'expectedPods',
    ),
  ],
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = labelSelector(spec.selector, 'spec.selector');
    if (spec.minAvailable != null && spec.maxUnavailable != null) {
      problems.push(
        invalidAs(
          'spec',
          goDump('policy.PodDisruptionBudgetSpec', spec),
          'minAvailable and maxUnavailable cannot be both set',
        ),
      );
    }
    problems.push(
      ...countOrPercent(spec.minAvailable, 'spec.minAvailable'),
      ...countOrPercent(spec.maxUnavailable, 'spec.maxUnavailable'),
      ...oneOf(spec, 'spec', 'unhealthyPodEvictionPolicy', ['AlwaysAllow', 'IfHealthyBudget']),
    );
    return problems;
  },
});
