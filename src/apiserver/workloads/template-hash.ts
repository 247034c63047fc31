import { createHash } from 'node:crypto';
import { canonicalJson, deepEqual } from '../../schema/json.ts';
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
  return deepEqual(withoutHash(a), withoutHash(b));
}

export function withoutHash(template: PodTemplate): PodTemplate {
  const labels = template.metadata?.labels;
  if (labels?.[POD_TEMPLATE_HASH] === undefined) return template;
  const { [POD_TEMPLATE_HASH]: _hash, ...rest } = labels;
  return { ...template, metadata: { ...template.metadata, labels: rest } };
}
