import { asJson } from '../../kube/object.ts';
import { objectAt } from '../../schema/json.ts';
import { validateDns1123Label } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { immutable } from './field-checks.ts';
import { invalidEach } from './field-errors.ts';
import { text } from './fields.ts';
import { canonicalResources, notNegativeQuantity } from './resource-list.ts';

export const runtimeClassStrategy: Strategy = strategy({
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  defaults(object) {
    const overhead = objectAt(object, 'overhead');
    if (overhead) canonicalResources(overhead, 'podFixed');
  },
  validate(object) {
    const handler = text(asJson(object), 'handler');
    const problems = invalidEach('handler', handler, validateDns1123Label(handler));
    const fixed = objectAt(object, 'overhead', 'podFixed') ?? {};
    for (const name in fixed) problems.push(...notNegativeQuantity(fixed[name], `overhead.limits[${name}]`));
    return problems;
  },
  validateUpdate: (object, old) => immutable(asJson(object), asJson(old), '', 'handler'),
});
