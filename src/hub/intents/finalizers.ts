import type { Client, ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';

/** Over what was read only: 409 where the object moved on. A no-op where it is gone. */
export async function setFinalizers(
  client: Client,
  resource: ResourceId,
  { metadata }: KubeObject,
  finalizers: readonly string[],
): Promise<void> {
  const { namespace = '', name = '', resourceVersion } = metadata;
  await ignoring(
    404,
    client.patch(resource, namespace, name, 'merge', { metadata: { finalizers, resourceVersion } }),
  );
}
