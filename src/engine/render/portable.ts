import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject, type JsonObject } from '../../schema/json.ts';
import { DISPATCH_LABEL } from '../dispatch/dispatch.ts';

const CLUSTER_ANNOTATIONS = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
];

/**
 * A copy of an object without what belongs to the cluster that it was read from: server-owned metadata, status,
 * allocated addresses, generated selectors. What is left means the same on any cluster.
 */
export function portable(object: KubeObject): KubeObject {
  const copy = clone(object);
  const { name, namespace, annotations } = copy.metadata;
  // A hub that is a spoke itself: the label says how the object came to this cluster.
  const { [DISPATCH_LABEL]: _dispatch, ...labels } = copy.metadata.labels ?? {};
  const kept = { ...annotations };
  for (const key of CLUSTER_ANNOTATIONS) delete kept[key];
  copy.metadata = {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined || namespace === '' ? {} : { namespace }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
  };
  delete copy['status'];
  const spec = copy['spec'];
  if (isObject(spec)) STRIP.get(copy.kind)?.(spec, copy);
  if (copy.kind === 'ServiceAccount') delete copy['secrets'];
  return dropNullTimestamps(copy);
}

type Strip = (spec: JsonObject, object: KubeObject) => void;

const STRIP_BY_KIND: Readonly<Record<string, Strip>> = {
  Service(spec) {
    if (spec['clusterIP'] !== 'None') {
      delete spec['clusterIP'];
      delete spec['clusterIPs'];
    }
    delete spec['healthCheckNodePort'];
    delete spec['ipFamilies'];
    delete spec['ipFamilyPolicy'];
    if (Array.isArray(spec['ports']))
      for (const port of spec['ports']) if (isObject(port)) delete port['nodePort'];
  },
  Job(spec) {
    if (spec['manualSelector'] === true) return;
    delete spec['selector'];
    const labels =
      isObject(spec['template']) && isObject(spec['template']['metadata'])
        ? spec['template']['metadata']['labels']
        : undefined;
    if (!isObject(labels)) return;
    for (const key of [
      'controller-uid',
      'job-name',
      'batch.kubernetes.io/controller-uid',
      'batch.kubernetes.io/job-name',
    ])
      delete labels[key];
  },
  PersistentVolumeClaim(spec) {
    delete spec['volumeName'];
  },
  Pod(spec) {
    delete spec['nodeName'];
  },
  Namespace(_spec, object) {
    delete object['spec'];
  },
};

const STRIP = new Map(Object.entries(STRIP_BY_KIND));

/** `creationTimestamp: null` in templates is how Go prints an empty time. It says nothing and would be owned by apply. */
function dropNullTimestamps(object: KubeObject): KubeObject {
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (isObject(value)) {
      if (value['creationTimestamp'] === null) delete value['creationTimestamp'];
      for (const key in value) visit(value[key]);
    }
  };
  visit(object);
  return object;
}
