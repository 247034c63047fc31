import { gvkOf, type KubeObject, type ObjectRef } from '../../kube/object.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../schema/json.ts';

/** An object that another one names. */
export interface Reference {
  readonly ref: ObjectRef;
  /** The one that names it says that it may be absent. */
  readonly optional: boolean;
  /** What the reference is, for choosing which to follow. */
  readonly by: 'Workload' | 'Backend';
}

/** Where the pod template of a kind is. */
const TEMPLATES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/Pod', []],
  ['/PodTemplate', ['template']],
  ['/ReplicationController', ['spec', 'template']],
  ['apps/Deployment', ['spec', 'template']],
  ['apps/ReplicaSet', ['spec', 'template']],
  ['apps/StatefulSet', ['spec', 'template']],
  ['apps/DaemonSet', ['spec', 'template']],
  ['batch/Job', ['spec', 'template']],
  ['batch/CronJob', ['spec', 'jobTemplate', 'spec', 'template']],
]);

/** The objects that an object of a known kind names, each once. Claims that a StatefulSet makes itself are not among them. */
export function referencesOf(object: KubeObject): readonly Reference[] {
  const { group, kind } = gvkOf(object);
  const namespace = object.metadata.namespace ?? '';
  const found = createFinder(namespace);
  const path = TEMPLATES.get(`${group}/${kind}`);
  if (path) {
    const own = new Set(
      listAt(object, 'spec', 'volumeClaimTemplates').map((claim) => stringAt(claim, 'metadata', 'name')),
    );
    const spec = objectAt(object, ...path, 'spec');
    if (spec) podReferences(spec, own, found);
  }
  switch (`${group}/${kind}`) {
    case '/ServiceAccount':
      for (const item of listAt(object, 'imagePullSecrets'))
        found.add('Secret', stringAt(item, 'name'), true);
      break;
    case 'networking.k8s.io/Ingress':
      for (const item of listAt(object, 'spec', 'tls')) found.add('Secret', stringAt(item, 'secretName'));
      ingressBackends(object, found);
      break;
    case 'gateway.networking.k8s.io/Gateway':
      for (const listener of listAt(object, 'spec', 'listeners'))
        for (const item of listAt(listener, 'tls', 'certificateRefs'))
          found.addNamed(item, 'Secret', 'Workload');
      break;
    default:
      if (group === 'gateway.networking.k8s.io' && kind.endsWith('Route')) routeBackends(object, found);
  }
  return found.list();
}

interface Finder {
  add(kind: string, name: string | undefined, optional?: boolean, by?: Reference['by']): void;
  /** A reference of the Gateway API: group, kind, namespace, name. */
  addNamed(item: unknown, kind: string, by: Reference['by']): void;
  list(): readonly Reference[];
}

function createFinder(namespace: string): Finder {
  const found = new Map<string, Reference>();
  const put = (ref: ObjectRef, optional: boolean, by: Reference['by']): void => {
    const key = `${ref.apiVersion}/${ref.kind}/${ref.namespace}/${ref.name}`;
    const before = found.get(key);
    if (!before || (before.optional && !optional)) found.set(key, { ref, optional, by });
  };
  return {
    add(kind, name, optional = false, by = 'Workload'): void {
      if (name === undefined || name === '') return;
      put({ apiVersion: 'v1', kind, namespace, name }, optional, by);
    },
    addNamed(item, kind, by): void {
      const name = stringAt(item, 'name');
      // What is not of the core group is somebody else's kind, whose version is not known.
      if (name === undefined || (stringAt(item, 'group') ?? '') !== '') return;
      const ref = { apiVersion: 'v1', kind: stringAt(item, 'kind') ?? kind, namespace, name };
      put({ ...ref, namespace: stringAt(item, 'namespace') ?? namespace }, false, by);
    },
    list: () => [...found.values()],
  };
}

function podReferences(spec: JsonObject, ownClaims: ReadonlySet<string | undefined>, found: Finder): void {
  const account = stringAt(spec, 'serviceAccountName') ?? stringAt(spec, 'serviceAccount');
  // Each namespace has its own.
  if (account !== 'default') found.add('ServiceAccount', account);
  for (const item of listAt(spec, 'imagePullSecrets')) found.add('Secret', stringAt(item, 'name'), true);
  for (const volume of listAt(spec, 'volumes')) {
    if (isObject(volume)) volumeReferences(volume, ownClaims, found);
  }
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of listAt(spec, list)) {
      for (const source of listAt(container, 'envFrom')) {
        sourceReference(source, 'configMapRef', 'ConfigMap', found);
        sourceReference(source, 'secretRef', 'Secret', found);
      }
      for (const variable of listAt(container, 'env')) {
        const from = objectAt(variable, 'valueFrom');
        sourceReference(from, 'configMapKeyRef', 'ConfigMap', found);
        sourceReference(from, 'secretKeyRef', 'Secret', found);
      }
    }
  }
}

/** Fields of volumes that name a Secret by one of these words. */
const SECRET_REFS = ['azureFile', 'cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'];

function volumeReferences(
  volume: JsonObject,
  ownClaims: ReadonlySet<string | undefined>,
  found: Finder,
): void {
  const claim = stringAt(volume, 'persistentVolumeClaim', 'claimName');
  if (!ownClaims.has(stringAt(volume, 'name'))) found.add('PersistentVolumeClaim', claim);
  sourceReference(volume, 'configMap', 'ConfigMap', found);
  const secret = objectAt(volume, 'secret');
  found.add('Secret', stringAt(secret, 'secretName'), secret?.['optional'] === true);
  for (const source of listAt(volume, 'projected', 'sources')) {
    sourceReference(source, 'configMap', 'ConfigMap', found);
    sourceReference(source, 'secret', 'Secret', found);
  }
  found.add('Secret', stringAt(volume, 'csi', 'nodePublishSecretRef', 'name'));
  found.add('Secret', stringAt(volume, 'azureFile', 'secretName'));
  for (const kind of SECRET_REFS) found.add('Secret', stringAt(volume, kind, 'secretRef', 'name'));
}

function sourceReference(holder: unknown, field: string, kind: string, found: Finder): void {
  const source = objectAt(holder, field);
  if (source) found.add(kind, stringAt(source, 'name'), source['optional'] === true);
}

function ingressBackends(object: KubeObject, found: Finder): void {
  const backend = (holder: unknown): void =>
    found.add('Service', stringAt(holder, 'service', 'name'), false, 'Backend');
  backend(objectAt(object, 'spec', 'defaultBackend'));
  for (const rule of listAt(object, 'spec', 'rules'))
    for (const path of listAt(rule, 'http', 'paths')) backend(objectAt(path, 'backend'));
}

function routeBackends(object: KubeObject, found: Finder): void {
  for (const rule of listAt(object, 'spec', 'rules'))
    for (const item of listAt(rule, 'backendRefs')) found.addNamed(item, 'Service', 'Backend');
}
