import type { KubeObject } from '../../kube/object.ts';
import { clone, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { DISPATCH_LABEL, MANAGED_BY_ANNOTATION, WORKLOAD_UPDATE_ANNOTATION } from '../dispatch/dispatch.ts';

const CLUSTER_ANNOTATIONS = [
  'kubectl.kubernetes.io/last-applied-configuration',
  MANAGED_BY_ANNOTATION,
  WORKLOAD_UPDATE_ANNOTATION,
  'atoll.dev/applied-metadata',
  'atoll.dev/ensured',
  'deployment.kubernetes.io/revision',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'deprecated.daemonset.template.generation',
  'batch.kubernetes.io/job-tracking',
  'kubernetes.io/service-account.uid',
  'volume.kubernetes.io/selected-node',
  'volume.kubernetes.io/storage-provisioner',
  'volume.beta.kubernetes.io/storage-provisioner',
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
  PersistentVolume(spec) {
    // Whom it was promised to may be the author's wish; which object that was is the cluster's.
    if (!isObject(spec['claimRef'])) return;
    delete spec['claimRef']['uid'];
    delete spec['claimRef']['resourceVersion'];
  },
  Pod(spec) {
    delete spec['nodeName'];
    dropTokenVolumes(spec);
  },
  Namespace(_spec, object) {
    delete object['spec'];
  },
};

const STRIP = new Map(Object.entries(STRIP_BY_KIND));

/** The volume with the account's token is added by each cluster, with a name of its own. */
function dropTokenVolumes(spec: JsonObject): void {
  const isToken = (item: JsonValue): boolean =>
    isObject(item) && typeof item['name'] === 'string' && item['name'].startsWith('kube-api-access-');
  const strip = (holder: JsonObject, field: string): void => {
    const list = holder[field];
    if (!Array.isArray(list) || !list.some(isToken)) return;
    const rest = list.filter((item) => !isToken(item));
    if (rest.length > 0) holder[field] = rest;
    else delete holder[field];
  };
  strip(spec, 'volumes');
  for (const field of ['containers', 'initContainers', 'ephemeralContainers']) {
    const containers = spec[field];
    if (Array.isArray(containers))
      for (const container of containers) if (isObject(container)) strip(container, 'volumeMounts');
  }
}

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
