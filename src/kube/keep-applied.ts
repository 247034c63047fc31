import { isApplied } from '../schema/apply/index.ts';
import type { Client } from './client.ts';
import { asJson, type KubeObject } from './object.ts';
import { hasCode } from './status-error.ts';

/**
 * Applies an object as `fieldManager`, with force, unless it is so already: whoever keeps objects in place at each start
 * mostly asks for no write. Throws what applying throws.
 */
export async function keepApplied(client: Client, object: KubeObject, fieldManager: string): Promise<void> {
  const { namespace = '', name = '' } = object.metadata;
  const resource = await client.resourceFor(object.apiVersion, object.kind);
  try {
    const live = await client.get(resource, namespace, name);
    if (isApplied(asJson(live), asJson(object), fieldManager)) return;
  } catch (error) {
    // It is not there, or may be written but not read.
    if (!hasCode(error, 404) && !hasCode(error, 403)) throw error;
  }
  await client.apply(resource, object, { fieldManager, force: true });
}
