import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonValue, listAt, stringAt } from '../../schema/json.ts';
import { type FieldPath, parseFieldPath } from './field-path.ts';

/**
 * Whose value of a field holds once an object is there.
 * - `fill`: the cluster's, where the hub states none.
 * - `keep`: the cluster's. The hub's is for the beginning only.
 * - `local`: the cluster's, also in the beginning: the hub's is never sent.
 * - `changed`: the hub's, until another writer changes it.
 */
export type RetentionMode = 'fill' | 'keep' | 'local' | 'changed';

export interface RetainedField {
  readonly path: FieldPath;
  readonly mode: RetentionMode;
  /** Where the rule holds only sometimes. */
  readonly when?: (wanted: KubeObject, live: KubeObject) => boolean;
}

type Table = Readonly<Record<string, readonly RetainedField[]>>;

function field(text: string, mode: RetentionMode = 'fill', when?: RetainedField['when']): RetainedField {
  const path = parseFieldPath(text);
  if (!path) throw new Error(`${text} is not a path`);
  return { path, mode, ...(when === undefined ? {} : { when }) };
}

const hasAddress: RetainedField['when'] = (wanted) => stringAt(wanted, 'spec', 'type') !== 'ExternalName';
const hasNodePorts: RetainedField['when'] = (wanted) =>
  ['NodePort', 'LoadBalancer'].includes(stringAt(wanted, 'spec', 'type') ?? '');
const isGenerated: RetainedField['when'] = (wanted) =>
  !(isObject(wanted['spec']) && wanted['spec']['manualSelector'] === true);
const sameClaim: RetainedField['when'] = (wanted, live) =>
  stringAt(wanted, 'spec', 'claimRef', 'name') === undefined ||
  (stringAt(wanted, 'spec', 'claimRef', 'name') === stringAt(live, 'spec', 'claimRef', 'name') &&
    stringAt(wanted, 'spec', 'claimRef', 'namespace') === stringAt(live, 'spec', 'claimRef', 'namespace'));

const WEBHOOKS = [field('webhooks[*].clientConfig.caBundle')];
const JOB_LABELS = [
  'controller-uid',
  'job-name',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
];

/** What the cluster owns of each kind, by group and kind: allocated, generated or injected there. */
export const RETAINED_BY_KIND: ReadonlyMap<string, readonly RetainedField[]> = new Map(
  Object.entries({
    '/Service': [
      field('spec.clusterIP', 'fill', hasAddress),
      field('spec.clusterIPs', 'fill', hasAddress),
      field('spec.ipFamilies', 'fill', hasAddress),
      field('spec.ipFamilyPolicy', 'fill', hasAddress),
      field('spec.healthCheckNodePort', 'fill', hasNodePorts),
    ],
    '/ServiceAccount': [field('secrets'), field('imagePullSecrets')],
    '/PersistentVolumeClaim': [field('spec.volumeName'), field('spec.storageClassName')],
    '/PersistentVolume': [
      field('spec.claimRef', 'fill'),
      field('spec.claimRef.uid', 'fill', sameClaim),
      field('spec.claimRef.resourceVersion', 'fill', sameClaim),
      field('spec.claimRef.apiVersion', 'fill', sameClaim),
      field('spec.claimRef.kind', 'fill', sameClaim),
    ],
    '/Pod': [
      field('spec.nodeName'),
      field('spec.serviceAccountName'),
      field('spec.serviceAccount'),
      field('spec.priority'),
      field('spec.preemptionPolicy'),
      field('spec.tolerations'),
      field('spec.enableServiceLinks'),
    ],
    'batch/Job': [
      field('spec.selector', 'fill', isGenerated),
      ...JOB_LABELS.map((label) => field(`spec.template.metadata.labels[${label}]`, 'fill', isGenerated)),
    ],
    'admissionregistration.k8s.io/MutatingWebhookConfiguration': WEBHOOKS,
    'admissionregistration.k8s.io/ValidatingWebhookConfiguration': WEBHOOKS,
    'apiextensions.k8s.io/CustomResourceDefinition': [field('spec.conversion.webhook.clientConfig.caBundle')],
    'apiregistration.k8s.io/APIService': [
      field(
        'spec.caBundle',
        'fill',
        (wanted) => !(isObject(wanted['spec']) && wanted['spec']['insecureSkipTLSVerify'] === true),
      ),
    ],
  } satisfies Table),
);

/** Items of lists that a cluster adds, which no path names: told apart, they are kept in a full replacement. */
export function retainItems(draft: KubeObject, live: KubeObject): void {
  if (draft.kind === 'Service' && draft.apiVersion === 'v1') retainNodePorts(draft, live);
  if (draft.kind === 'Pod' && draft.apiVersion === 'v1') retainTokenMounts(draft, live);
}

/** A port is the same by name, protocol and number; only then it keeps what was allocated for it. */
function retainNodePorts(draft: KubeObject, live: KubeObject): void {
  if (!hasNodePorts?.(draft, live)) return;
  const id = (port: JsonValue): string =>
    isObject(port) ? JSON.stringify([port['name'] ?? '', port['protocol'] ?? 'TCP', port['port'] ?? 0]) : '';
  const allocated = new Map(listAt(live, 'spec', 'ports').map((port) => [id(port), port]));
  for (const port of listAt(draft, 'spec', 'ports')) {
    const before = allocated.get(id(port));
    if (!isObject(port) || !isObject(before) || before['nodePort'] === undefined) continue;
    port['nodePort'] ??= before['nodePort'];
  }
}

const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';

function retainTokenMounts(draft: KubeObject, live: KubeObject): void {
  const spec = draft['spec'];
  if (!isObject(spec)) return;
  const mounted = new Set<JsonValue | undefined>();
  for (const list of ['containers', 'initContainers']) {
    const before = new Map(listAt(live, 'spec', list).map((item) => [stringAt(item, 'name'), item]));
    for (const container of listAt(spec, list)) {
      if (!isObject(container)) continue;
      const mounts = listAt(container, 'volumeMounts');
      if (mounts.some((mount) => stringAt(mount, 'mountPath') === TOKEN_PATH)) continue;
      const token = listAt(before.get(stringAt(container, 'name')), 'volumeMounts').find(
        (mount) => stringAt(mount, 'mountPath') === TOKEN_PATH,
      );
      if (token === undefined) continue;
      container['volumeMounts'] = [...mounts, token];
      mounted.add(stringAt(token, 'name'));
    }
  }
  const volumes = listAt(spec, 'volumes');
  const names = new Set(volumes.map((volume) => stringAt(volume, 'name')));
  const added = listAt(live, 'spec', 'volumes').filter((volume) => {
    const name = stringAt(volume, 'name');
    return mounted.has(name) && !names.has(name);
  });
  if (added.length > 0) spec['volumes'] = [...volumes, ...added];
}
