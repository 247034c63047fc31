import { isApplied } from '../schema/apply/index.ts';
import { deepEqual } from '../schema/json.ts';
import type { Client } from './client.ts';
import { asJson, type KubeObject, refOf, refText } from './object.ts';
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

/** An object of RBAC that is not as it is to be, where whoever keeps it in place may not change it. */
export class NotKept extends Error {
  constructor(object: KubeObject, cause: unknown) {
    super(`${refText(refOf(object))} is not as this version has it, and may not be changed from here`, {
      cause,
    });
    this.name = 'NotKept';
  }
}

/**
 * {@link keepApplied} for roles and bindings, for those too who may only read them: one that says what is stated is left to
 * whoever made it so, since all that can be stated of it is replaced as a whole. Throws {@link NotKept} where it says something
 * else and may not be written.
 */
export async function keepGranted(client: Client, object: KubeObject, fieldManager: string): Promise<void> {
  const { namespace = '', name = '' } = object.metadata;
  const resource = await client.resourceFor(object.apiVersion, object.kind);
  try {
    if (says(await client.get(resource, namespace, name), object)) return;
  } catch (error) {
    if (!hasCode(error, 404) && !hasCode(error, 403)) throw error;
  }
  try {
    await client.apply(resource, object, { fieldManager, force: true });
  } catch (error) {
    throw hasCode(error, 403) ? new NotKept(object, error) : error;
  }
}

function says(live: KubeObject, { metadata, ...content }: KubeObject): boolean {
  const { labels = {}, annotations = {} } = metadata;
  return (
    Object.entries(content).every(([field, value]) => deepEqual(live[field], value)) &&
    Object.entries(labels).every(([key, value]) => live.metadata.labels?.[key] === value) &&
    Object.entries(annotations).every(([key, value]) => live.metadata.annotations?.[key] === value)
  );
}
