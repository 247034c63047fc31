import type { KubeObject } from '../../kube/object.ts';
import { conditionOf, degraded, type Health, healthy, lookAt, notObserved, progressing } from './verdict.ts';

/** Types that say whether an object does its work, the most telling first. */
const READY_TYPES = ['Ready', 'Available', 'Healthy', 'Succeeded', 'Established', 'Complete'];
/** Words with which a False says that waiting does not help. */
const LASTING_REASON =
  /(fail|error|invalid|exceeded|denied|forbidden|crash|lost|expired|notfound|misconfigured)/i;

/**
 * Health by the conventions of conditions, for kinds without a rule: the controller has seen this generation; nothing is
 * `Stalled` or `Degraded`; nothing is `Reconciling` or `Progressing`; and of `Ready`, `Available` and their kin the first
 * that is there is true. A kind without conditions is well by being there.
 */
export function healthByConditions(object: KubeObject): Health {
  const stale = notObserved(object);
  if (stale) return stale;
  for (const type of ['Stalled', 'Degraded', 'Failed']) {
    const found = conditionOf(object, type);
    if (found?.status === 'True') return degraded(found.reason || type, text(object, found.message));
  }
  const reconciling = conditionOf(object, 'Reconciling');
  if (reconciling?.status === 'True')
    return progressing(reconciling.reason || 'Reconciling', text(object, reconciling.message));
  for (const type of READY_TYPES) {
    const found = conditionOf(object, type);
    if (!found) continue;
    if (found.status === 'True') return healthy(found.message);
    const reason = found.reason || `Not${type}`;
    return found.status === 'False' && LASTING_REASON.test(reason)
      ? degraded(reason, text(object, found.message))
      : progressing(reason, text(object, found.message));
  }
  const moving = conditionOf(object, 'Progressing');
  if (moving?.status === 'True') return progressing(moving.reason || 'Progressing', moving.message);
  return healthy();
}

function text(object: KubeObject, message: string): string {
  return message === '' ? lookAt(object) : message;
}
