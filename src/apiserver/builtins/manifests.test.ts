import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject } from '../../schema/json.ts';
import { create, strategyOf, update } from './testdata/write.ts';

/** A web shop of twelve services, kept beside the repository where it is worked on. */
const FILE = new URL('../../../../shared/data/apps/online-boutique.yaml', import.meta.url);

const RESOURCES: Record<string, string> = {
  Deployment: 'apps/deployments',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
};

/** Whether a stored object still says all that a manifest says, so that applying it again finds no difference. */
function contains(stored: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(stored) &&
      stored.length === wanted.length &&
      wanted.every((item, i) => contains(stored[i], item))
    );
  }
  if (isObject(wanted))
    return isObject(stored) && Object.keys(wanted).every((key) => contains(stored[key], wanted[key]));
  return stored === wanted;
}

describe.skipIf(!existsSync(FILE))('the manifests of a real application', () => {
  const objects = existsSync(FILE)
    ? parseAllDocuments(readFileSync(FILE, 'utf8')).flatMap((document) => {
        const value: unknown = document.toJS();
        return isObject(value) ? [value as unknown as KubeObject] : [];
      })
    : [];

  it('[V39] are accepted, keep what they say and do not change when they are applied again', () => {
    expect(objects.length).toBeGreaterThan(30);
    const others: KubeObject[] = [];
    for (const given of objects) {
      const name = RESOURCES[given.kind] ?? '';
      const { object: stored, errors } = create(name, given, others);
      expect(errors, `${given.kind} ${given.metadata.name}`).toEqual([]);
      expect(contains(stored, given), `${given.kind} ${given.metadata.name}`).toBe(true);
      others.push(stored);

      const again = clone(stored);
      strategyOf(name).defaults?.(again);
      expect(again).toEqual(stored);

      const replaced = update(name, given, stored, others);
      expect(replaced.errors).toEqual([]);
      expect(replaced.object).toEqual(stored);
    }
  });
});
