import { DISPATCH_LABEL } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { gvkOf, type KubeObject } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { namespaces } from '../kube/well-known.ts';
import { errorText } from '../runtime/log.ts';
import { canonicalJson } from '../schema/json.ts';

/** The name under which a spoke owns fields. */
export const SPOKE_MANAGER = 'atoll';
/** On a source object: take over an object that is on the spoke already and was made by someone else. */
export const ADOPT_ANNOTATION = 'atoll.dev/adopt';

export type Applied =
  | { readonly outcome: 'applied'; readonly live: KubeObject }
  | { readonly outcome: 'failed'; readonly reason: string; readonly message: string };

/**
 * Applies one object for a dispatch by server-side apply. `ownedUid` is the UID that the spoke made before, '' when it
 * never did: then an object that is there already and is not ours is left alone, unless its source says to adopt it.
 */
export async function applyOwned(
  client: Client,
  dispatch: string,
  object: KubeObject,
  ownedUid: string,
): Promise<Applied> {
  try {
    const resource = await client.resourceFor(object.apiVersion, object.kind);
    const { namespace = '' } = object.metadata;
    if (ownedUid === '') {
      const stranger = await strangerAt(client, dispatch, object);
      if (stranger !== undefined) return { outcome: 'failed', reason: 'AlreadyExists', message: stranger };
    }
    const wanted = marked(object, dispatch);
    const apply = (): Promise<KubeObject> =>
      client.apply(resource, wanted, { fieldManager: SPOKE_MANAGER, force: true });
    try {
      return { outcome: 'applied', live: await apply() };
    } catch (error) {
      if (!hasCode(error, 404) || namespace === '' || error.status.details?.kind !== 'namespaces')
        throw error;
    }
    await ensureNamespace(client, namespace);
    return { outcome: 'applied', live: await apply() };
  } catch (error) {
    if (error instanceof StatusError)
      return { outcome: 'failed', reason: error.reason || `Status${error.code}`, message: error.message };
    return { outcome: 'failed', reason: 'Unreachable', message: errorText(error) };
  }
}

async function strangerAt(client: Client, dispatch: string, object: KubeObject): Promise<string | undefined> {
  const resource = await client.resourceFor(object.apiVersion, object.kind);
  const { namespace = '', name = '', annotations } = object.metadata;
  let present: KubeObject;
  try {
    present = await client.get(resource, namespace, name);
  } catch (error) {
    if (hasCode(error, 404)) return undefined;
    throw error;
  }
  const owner = present.metadata.labels?.[DISPATCH_LABEL];
  if (owner === dispatch || annotations?.[ADOPT_ANNOTATION] === 'true') return undefined;
  if (owner !== undefined)
    return `it is claimed by dispatch ${owner} as well; select it in one propagation only`;
  return `it is on the cluster already and was not made by Atoll; delete it there, or annotate the source object with ${ADOPT_ANNOTATION}=true to take it over`;
}

/** Creates a namespace if it is absent. It is nobody's: it is never pruned. */
async function ensureNamespace(client: Client, name: string): Promise<void> {
  try {
    await client.create(
      namespaces,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      { fieldManager: SPOKE_MANAGER },
    );
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
  }
}

function marked(object: KubeObject, dispatch: string): KubeObject {
  return {
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, [DISPATCH_LABEL]: dispatch } },
  };
}

/** Annotations that controllers of the cluster keep on objects; a change of them is not drift. */
const CONTROLLER_ANNOTATIONS =
  /^(deployment\.kubernetes\.io|autoscaling\.alpha\.kubernetes\.io|pv\.kubernetes\.io|volume\.|control-plane\.alpha\.kubernetes\.io)/;

/** Equal for two reads of an object between which nobody changed what could be drift: status and bookkeeping do not count. */
export function fingerprint(object: KubeObject): string {
  const { uid, generation, labels, annotations = {}, deletionTimestamp } = object.metadata;
  const own = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => !CONTROLLER_ANNOTATIONS.test(key)),
  );
  const body: Record<string, unknown> = {};
  if (generation === undefined) {
    for (const key in object) if (key !== 'status' && key !== 'metadata') body[key] = object[key];
  }
  const { group, kind } = gvkOf(object);
  return canonicalJson({ group, kind, uid, generation, labels, own, body, deletionTimestamp });
}

/** resourceVersions of one API server grow; they tell which of two reads is newer. */
export function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
