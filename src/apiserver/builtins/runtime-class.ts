import { asJson } from '../../kube/object.ts';
import { deepEqual, objectAt, stringsAt } from '../../schema/json.ts';
import { validateDns1123Label, validateLabels } from '../../schema/names.ts';
import { parseQuantity, quantityMillis } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { immutableText } from './field-checks.ts';
import { duplicateAs, invalidAs, invalidEach } from './field-errors.ts';
import { objectsOf, text } from './fields.ts';
import { goDump, quantityDump } from './go-dump.ts';
import { validateToleration } from './pod-placement.ts';
import {
  canonicalResources,
  containerResourceName,
  isExtendedResource,
  notNegativeQuantity,
} from './resource-list.ts';

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
    for (const name in fixed) {
      const at = `overhead.limits[${name}]`;
      problems.push(...containerResourceName(name, at), ...notNegativeQuantity(fixed[name], at));
      const amount = parseQuantity(fixed[name]);
      if (isExtendedResource(name) && amount !== undefined && quantityMillis(amount) % 1000n !== 0n)
        problems.push(invalidAs(at, quantityDump(fixed[name]), 'must be an integer'));
    }
    const scheduling = objectAt(object, 'scheduling');
    problems.push(...validateLabels(stringsAt(scheduling, 'nodeSelector'), 'scheduling.nodeSelector'));
    const tolerations = objectsOf(scheduling, 'tolerations');
    for (const [index, toleration] of tolerations.entries()) {
      if (tolerations.slice(0, index).some((other) => deepEqual(other, toleration))) {
        problems.push(duplicateAs(`scheduling.tolerations[${index}]`, goDump('core.Toleration', toleration)));
      }
      problems.push(...validateToleration(toleration, `scheduling.tolerations.tolerations[${index}]`));
    }
    return problems;
  },
  validateUpdate: (object, old) => immutableText(asJson(object), asJson(old), '', 'handler'),
});
