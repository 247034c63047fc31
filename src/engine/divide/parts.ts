import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import { at, isObject } from '../../schema/json.ts';
import { type FieldPath, parseFieldPath, readField } from '../retain/index.ts';
import type { ReplicaNeeds } from './capacity.ts';
import { replicaNeeds } from './node-summary.ts';
import { readReplicas, replicasPathOf } from './replicas-path.ts';
import type { DivisionOptions } from './request.ts';

/** Something that is divided: replicas of an object, of which some kinds have several. */
export interface Part {
  readonly object: KubeObject;
  /** What its shares are remembered under. */
  readonly key: string;
  /** For people. */
  readonly name: string;
  readonly path: FieldPath;
  /** `undefined` where the object states no whole number. */
  readonly total: number | undefined;
  /** What one replica needs; a function, as few want to know. */
  readonly needs: () => ReplicaNeeds;
}

/** All that is divided of some objects, in their order. */
export function partsOf(objects: readonly KubeObject[], options: DivisionOptions | undefined): Part[] {
  const rule = options?.replicasPath === undefined ? undefined : parseFieldPath(options.replicasPath);
  return objects.flatMap((object): Part[] => {
    const known = replicasPathOf(object);
    const path = known ?? rule;
    const key = refKey(refOf(object));
    const name = refText(refOf(object));
    // A path that was given is for the kinds that have it.
    if (path !== undefined && (known !== undefined || readField(object, path) !== undefined))
      return [
        { object, key, name, path, total: readReplicas(object, path), needs: () => replicaNeeds(object) },
      ];
    return (options?.components ?? []).flatMap(({ replicasPath, templatePath }): Part[] => {
      const replicas = parseFieldPath(replicasPath);
      const template = templatePath.split('.');
      if (!replicas || !isObject(at(object, ...template))) return [];
      const spec = isObject(at(object, ...template, 'spec')) ? [...template, 'spec'] : template;
      return [
        {
          object,
          key: `${key} ${replicasPath}`,
          name: `${name} ${replicasPath}`,
          path: replicas,
          total: readReplicas(object, replicas),
          needs: () => replicaNeeds(object, spec),
        },
      ];
    });
  });
}
