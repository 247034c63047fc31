import { forApply, forCreation, forUpdate, TRACKING_ANNOTATION, trackingOf } from '../engine/retain/index.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import { asJson, type KubeObject } from '../kube/object.ts';
import { hasCode, ignoring } from '../kube/status-error.ts';
import { namespaces } from '../kube/well-known.ts';
import { isApplied } from '../schema/apply/index.ts';
import { deepEqual } from '../schema/json.ts';
import type { ApplyRequest } from './apply.ts';
import { marked } from './marks.ts';

/** The name under which a spoke owns fields. */
export const SPOKE_MANAGER = 'atoll';
/** On a namespace that was made because something had to lie in it. */
export const ENSURED_ANNOTATION = 'atoll.dev/ensured';
/** One try to bring an object to what it shall be. */
export interface Attempt {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly request: ApplyRequest;
}

/** Writes an object by its strategy; `live` is what is there. Writes nothing where that is so already. */
export async function write(
  attempt: Attempt,
  resource: ResourceId,
  live: KubeObject | undefined,
  strategy: 'ServerSideApply' | 'Update' | 'CreateOnly',
): Promise<KubeObject> {
  const { client, signal, request } = attempt;
  const { retained, object, dispatch, origin } = request;
  const wanted = marked(object, dispatch, origin);
  const options = { fieldManager: SPOKE_MANAGER, signal };
  if (strategy === 'ServerSideApply') {
    const force = request.strategy.force ?? true;
    const config = live
      ? forApply(wanted, live, retained, SPOKE_MANAGER).object
      : forCreation(wanted, retained);
    if (live && isApplied(asJson(live), asJson(config), SPOKE_MANAGER)) return live;
    return inNamespace(attempt, () => client.apply(resource, config, { ...options, force }));
  }
  if (live === undefined) {
    const fresh = forCreation(wanted, retained);
    const made = strategy === 'CreateOnly' ? fresh : withTracking(fresh);
    return inNamespace(attempt, () => client.create(resource, made, options));
  }
  if (strategy === 'CreateOnly') return live;
  const next = forUpdate(wanted, live, retained, SPOKE_MANAGER);
  return sameContent(next, live) ? live : client.update(resource, next, options);
}

/**
 * An object was replaced before and is to be applied now. What was stated then is put under the name that applies, so that
 * it goes when it is no longer stated.
 */
export async function takeUpApplying(
  { client, signal }: Attempt,
  resource: ResourceId,
  live: KubeObject,
): Promise<KubeObject> {
  const { namespace = '', name = '', resourceVersion, managedFields = [] } = live.metadata;
  const entries = managedFields.map((entry) =>
    entry.manager === SPOKE_MANAGER && entry.operation === 'Update' && entry.subresource === undefined
      ? { ...entry, operation: 'Apply' as const }
      : entry,
  );
  const patch = {
    metadata: { resourceVersion, managedFields: entries, annotations: { [TRACKING_ANNOTATION]: null } },
  };
  const options = { fieldManager: SPOKE_MANAGER, signal };
  return client.patch(resource, namespace, name, 'merge', patch, options);
}

/** Whether an object was replaced as a whole before. */
export function wasReplaced(live: KubeObject): boolean {
  return live.metadata.annotations?.[TRACKING_ANNOTATION] !== undefined;
}

function withTracking(object: KubeObject): KubeObject {
  const annotations = { ...object.metadata.annotations, ...trackingOf(object) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Whether replacing would change nothing, as far as that can be told without the server's defaults. */
function sameContent(next: KubeObject, live: KubeObject): boolean {
  const { managedFields: _record, ...metadata } = live.metadata;
  const { status: _status, ...rest } = live;
  const { creationTimestamp, generation, ...own } = metadata;
  return deepEqual({ ...rest, metadata: own }, next);
}

/** Makes the namespace that an object needs, where it is absent. It is nobody's: it is never pruned. */
async function inNamespace(
  { client, signal, request }: Attempt,
  act: () => Promise<KubeObject>,
): Promise<KubeObject> {
  const { namespace = '' } = request.object.metadata;
  try {
    return await act();
  } catch (error) {
    if (!hasCode(error, 404) || namespace === '' || error.status.details?.kind !== 'namespaces') throw error;
  }
  const metadata = { name: namespace, annotations: { [ENSURED_ANNOTATION]: 'true' } };
  const options = { fieldManager: SPOKE_MANAGER, signal };
  await ignoring(409, client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata }, options));
  return act();
}
