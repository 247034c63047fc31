import { stringify } from 'yaml';
import type { KubeObject } from '../../kube/object.ts';
import { harmless } from '../output.ts';

/** Objects as documents of YAML. */
export function documents(objects: readonly KubeObject[]): string {
  return objects
    .map((object) =>
      stringify(harmless(object), { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' }),
    )
    .join('---\n');
}
