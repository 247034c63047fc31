import { gvkOf, type KubeObject, type ObjectRef, refOf } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';

/** Finds the object that has to be there and working before an object of its kind can be made. */
export type Providers = (object: KubeObject) => ObjectRef | undefined;

/** What some objects bring along: kinds by their definitions, versions by API services. */
export function providersAmong(objects: Iterable<KubeObject>): Providers {
  const providers = new Map<string, ObjectRef>();
  for (const object of objects) {
    const kind = definedKind(object);
    if (kind !== undefined) providers.set(kind, refOf(object));
    const version = servedVersion(object);
    if (version !== undefined) providers.set(version, refOf(object));
  }
  return (object) => {
    if (providers.size === 0) return undefined;
    const { group, kind } = gvkOf(object);
    return providers.get(`${group}/${kind}`) ?? providers.get(object.apiVersion);
  };
}

function definedKind(object: KubeObject): string | undefined {
  if (object.kind !== 'CustomResourceDefinition') return undefined;
  const kind = stringAt(object, 'spec', 'names', 'kind');
  return kind === undefined ? undefined : `${stringAt(object, 'spec', 'group') ?? ''}/${kind}`;
}

function servedVersion(object: KubeObject): string | undefined {
  if (object.kind !== 'APIService' || stringAt(object, 'spec', 'service', 'name') === undefined)
    return undefined;
  return `${stringAt(object, 'spec', 'group') ?? ''}/${stringAt(object, 'spec', 'version') ?? ''}`;
}
