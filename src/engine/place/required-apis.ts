import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';

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
