import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { listAt, stringAt } from '../../schema/json.ts';

/** What a cluster has to serve to take some objects, `apps/v1/Deployment`; not what they bring along themselves. */
export function requiredApis(objects: readonly KubeObject[]): readonly string[] {
  const brought = new Set<string>();
  for (const object of objects) {
    if (object.kind === 'CustomResourceDefinition')
      brought.add(
        `${stringAt(object, 'spec', 'group') ?? ''}/${stringAt(object, 'spec', 'names', 'kind') ?? ''}`,
      );
    // An API server that is installed along serves kinds that nobody can know before.
    if (object.kind === 'APIService')
      brought.add(`${stringAt(object, 'spec', 'group') ?? ''}/${stringAt(object, 'spec', 'version') ?? ''}/`);
  }
  const required = new Set<string>();
  for (const { apiVersion, kind } of objects) {
    const { group, version } = parseApiVersion(apiVersion);
    if (brought.has(`${group}/${kind}`) || brought.has(`${group}/${version}/`)) continue;
    required.add(`${apiVersion}/${kind}`);
  }
  return [...required].sort();
}

/** The kinds that a cluster's discovery lists, in the same words: its versions with the resources of each. */
export function servedApis(resourceLists: readonly unknown[]): readonly string[] {
  const served = new Set<string>();
  for (const resources of resourceLists) {
    const groupVersion = stringAt(resources, 'groupVersion');
    if (groupVersion === undefined) continue;
    for (const resource of listAt(resources, 'resources')) {
      const kind = stringAt(resource, 'kind');
      const name = stringAt(resource, 'name') ?? '';
      if (kind !== undefined && !name.includes('/')) served.add(`${groupVersion}/${kind}`);
    }
  }
  return [...served].sort();
}
