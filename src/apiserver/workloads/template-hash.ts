import { createHash } from 'node:crypto';
import { canonicalJson, deepEqual, isObject } from '../../schema/json.ts';
import { compareQuantities, parseQuantity } from '../../schema/quantity.ts';
import type { PodTemplate } from './kinds.ts';

export const POD_TEMPLATE_HASH = 'pod-template-hash';
export const REVISION_HASH = 'controller-revision-hash';

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** A short name for a pod template, the same for equal templates. `collisions` makes another when it is taken. */
export function templateHash(template: PodTemplate, collisions: number = 0): string {
  const digest = createHash('sha256').update(canonicalJson(template)).update(`/${collisions}`).digest();
  let out = '';
  for (let i = 0; i < 10; i++) out += ALPHABET[(digest[i] ?? 0) % ALPHABET.length] ?? 'x';
  return out;
}

/** Equality of templates but for the hash label that the controller adds. */
export function sameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return meansSame(withoutHash(a), withoutHash(b));
}

/** Equality of templates where `1000Mi` is as good as `1048576000`: how an amount is written depends on who wrote it, and when. */
export function meansSame(a: unknown, b: unknown): boolean {
  return equalAt(a, b, TEMPLATE);
}

/** Where amounts are: at a field, in all fields of an object (`*`), or of all elements where there is a list. */
type Amounts = 'amount' | { readonly [field: string]: Amounts };

const RESOURCES: Amounts = { limits: { '*': 'amount' }, requests: { '*': 'amount' } };
const OF_CONTAINER: Amounts = { resourceFieldRef: { divisor: 'amount' } };
const CONTAINERS: Amounts = { resources: RESOURCES, env: { valueFrom: OF_CONTAINER } };
const DOWNWARD: Amounts = { items: OF_CONTAINER };
const TEMPLATE: Amounts = {
  spec: {
    overhead: { '*': 'amount' },
    resources: RESOURCES,
    containers: CONTAINERS,
    initContainers: CONTAINERS,
    ephemeralContainers: CONTAINERS,
    volumes: {
      emptyDir: { sizeLimit: 'amount' },
      downwardAPI: DOWNWARD,
      projected: { sources: { downwardAPI: DOWNWARD } },
      ephemeral: { volumeClaimTemplate: { spec: { resources: RESOURCES } } },
    },
  },
};

function equalAt(a: unknown, b: unknown, amounts: Amounts | undefined): boolean {
  if (amounts === undefined) return deepEqual(a, b);
  if (amounts === 'amount') {
    const [one, other] = [parseQuantity(a), parseQuantity(b)];
    return one && other ? compareQuantities(one, other) === 0 : deepEqual(a, b);
  }
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => equalAt(item, b[index], amounts));
  if (!isObject(a) || !isObject(b)) return deepEqual(a, b);
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalAt(a[name], b[name], amounts[name] ?? amounts['*']))
  );
}

export function withoutHash(template: PodTemplate): PodTemplate {
  const labels = template.metadata?.labels;
  if (labels?.[POD_TEMPLATE_HASH] === undefined) return template;
  const { [POD_TEMPLATE_HASH]: _hash, ...rest } = labels;
  return { ...template, metadata: { ...template.metadata, labels: rest } };
}
