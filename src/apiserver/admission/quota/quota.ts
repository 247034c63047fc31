import type { KubeObject } from '../../../kube/object.ts';
import { at, isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import { formatQuantity, parseQuantity, type Quantity, quantitiesOf } from '../../../schema/quantity.ts';

/** A ResourceQuota: how much of what, and of which objects. */
export interface Quota {
  readonly key: string;
  readonly name: string;
  readonly spec: unknown;
  readonly hard: ReadonlyMap<string, Quantity>;
  readonly terms: readonly Term[];
}

interface Term {
  readonly scope: string;
  readonly operator: string;
  readonly values: readonly string[];
}

export function quotaOf(key: string, object: KubeObject): Quota {
  const scopes = listAt(object, 'spec', 'scopes').map((scope) => ({
    scope: String(scope),
    operator: 'Exists',
    values: [],
  }));
  const expressions = listAt(object, 'spec', 'scopeSelector', 'matchExpressions')
    .filter(isObject)
    .map(termOf);
  return {
    key,
    name: object.metadata.name ?? '',
    spec: object.spec,
    hard: quantitiesOf(objectAt(object, 'spec', 'hard')),
    terms: [...scopes, ...expressions],
  };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function termOf(expression: JsonObject): Term {
  return {
    scope: stringAt(expression, 'scopeName') ?? '',
    operator: stringAt(expression, 'operator') ?? 'Exists',
    values: listAt(expression, 'values').map(String),
  };
}

/** Whether a quota is about an object: one with scopes is about pods that fit all of them. */
export function concerns({ terms }: Quota, group: string, resource: string, object: KubeObject): boolean {
  if (terms.length === 0) return true;
  if (group !== '') return false;
  if (resource === 'pods') return terms.every((term) => fitsPod(term, object));
  return (
    resource === 'persistentvolumeclaims' &&
    terms.every(
      (term) =>
        term.scope === 'VolumeAttributesClass' &&
        fitsValue(term, stringAt(object, 'spec', 'volumeAttributesClassName') ?? ''),
    )
  );
}

function fitsPod(term: Term, pod: KubeObject): boolean {
  switch (term.scope) {
    case 'Terminating':
      return at(pod, 'spec', 'activeDeadlineSeconds') !== undefined;
    case 'NotTerminating':
      return at(pod, 'spec', 'activeDeadlineSeconds') === undefined;
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass':
      return fitsValue(term, stringAt(pod, 'spec', 'priorityClassName') ?? '');
    case 'CrossNamespacePodAffinity':
      return reachesOtherNamespaces(pod);
    default:
      return false;
  }
}

function fitsValue({ operator, values }: Term, value: string): boolean {
  switch (operator) {
    case 'In':
      return values.includes(value);
    case 'NotIn':
      return !values.includes(value);
    case 'DoesNotExist':
      return value === '';
    default:
      return value !== '';
  }
}

/** No container asks for, or is limited in, processor time or memory. */
function isBestEffort(pod: KubeObject): boolean {
  return [...listAt(pod, 'spec', 'containers'), ...listAt(pod, 'spec', 'initContainers')].every((container) =>
    ['requests', 'limits'].every((kind) =>
      ['cpu', 'memory'].every((name) => {
        const quantity = parseQuantity(at(container, 'resources', kind, name));
        return quantity === undefined || quantity.nanos === 0n;
      }),
    ),
  );
}

function reachesOtherNamespaces(pod: KubeObject): boolean {
  const terms = ['podAffinity', 'podAntiAffinity'].flatMap((kind) => [
    ...listAt(pod, 'spec', 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'),
    ...listAt(pod, 'spec', 'affinity', kind, 'preferredDuringSchedulingIgnoredDuringExecution').map(
      (preferred) => at(preferred, 'podAffinityTerm') ?? null,
    ),
  ]);
  return terms.some(
    (term) => listAt(term, 'namespaces').length > 0 || at(term, 'namespaceSelector') !== undefined,
  );
}

/** `pods=1,requests.cpu=500m` */
export function amountsText(amounts: Iterable<readonly [string, Quantity]>): string {
  return [...amounts]
    .sort(byName)
    .map(([name, amount]) => `${name}=${formatQuantity(amount)}`)
    .join(',');
}
