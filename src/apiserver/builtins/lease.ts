import { objectAt } from '../../schema/json.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { notNegative, type Problems } from './field-checks.ts';
import { invalidValue } from './field-errors.ts';
import { integer } from './fields.ts';

export const leaseStrategy: Strategy = strategy({
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate(lease) {
    const spec = objectAt(lease, 'spec');
    const problems: Problems = [];
    const seconds = integer(spec, 'leaseDurationSeconds');
    if (seconds !== undefined && seconds <= 0) {
      problems.push(invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
    }
    return [...problems, ...notNegative(spec, 'spec', 'leaseTransitions')];
  },
});
