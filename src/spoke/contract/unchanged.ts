import { projectOn } from '../../engine/drift/projection.ts';
import { forCreation, type RetainedField } from '../../engine/retain/index.ts';
import { asJson, type KubeObject } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';

/**
 * Whether an object is on the cluster as it is wanted, as far as can be told without the server: what others state besides and
 * the fields that the cluster owns do not count. A value that the server writes in another form counts as a change.
 */
export function isAsWanted(
  live: KubeObject,
  wanted: KubeObject,
  retained: readonly RetainedField[],
): boolean {
  const stated = asJson(
    forCreation(
      wanted,
      retained.map((field) => (field.mode === 'fill' ? field : { ...field, mode: 'local' })),
    ),
  );
  return deepEqual(projectOn(stated, asJson(live)), projectOn(stated, stated));
}
