import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { jsonText } from '../../schema/json-text.ts';
import { clusterOfKey } from '../store/key.ts';
import type { StoreRecord } from '../store/store.ts';
import { type Scope, spansClusters } from './scope.ts';
import { type View, viewOf } from './view.ts';

/**
 * The annotation that tells, in answers about all logical clusters, of which one an object is. It is put there when the
 * object is shown: what somebody writes into it is neither believed nor shown.
 */
export const CLUSTER_ANNOTATION = 'atoll.dev/cluster';

const annotated = new WeakMap<View, View>();

/**
 * A record as a collection shows it. Over all logical clusters each is shown as its own cluster serves it; `undefined`
 * where that does not serve it.
 */
export function scopedView(scope: Scope, record: StoreRecord): View | undefined {
  const { resource, server } = scope;
  if (!spansClusters(scope)) return viewOf(resource, record);
  const cluster = clusterOfKey(record.key);
  const own = resource.custom
    ? server.resources(cluster).find(resource.group, resource.version, resource.resource)
    : resource;
  // Who has taken an API over serves it by the very same resource; one of the same name is none of the provider's.
  if (scope.consumersOf !== undefined && (own !== resource || cluster === scope.consumersOf))
    return undefined;
  return own && annotatedView(viewOf(own, record), cluster);
}

/**
 * How an object that has gone is told of over all logical clusters where its own serves it no longer: as it was stored. Whoever came
 * late would keep it for ever otherwise.
 */
export function lastView(scope: Scope, record: StoreRecord): View | undefined {
  const { group, version } = scope.resource;
  if (!spansClusters(scope) || scope.consumersOf !== undefined) return undefined;
  const object = { ...record.object, apiVersion: formatApiVersion(group, version) };
  return annotatedView({ object, bytes: record.bytes }, clusterOfKey(record.key));
}

function annotatedView(view: View, cluster: string): View {
  let known = annotated.get(view);
  if (!known) {
    const { metadata } = view.object;
    const object: KubeObject = {
      ...view.object,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [CLUSTER_ANNOTATION]: cluster } },
    };
    known = { object, bytes: Buffer.from(jsonText(object)) };
    annotated.set(view, known);
  }
  return known;
}
