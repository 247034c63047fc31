import { readFileSync } from 'node:fs';
import type { KubeObject } from '../../kube/object.ts';
import { errorText } from '../../runtime/log.ts';
import { isObject, type JsonObject, type JsonValue, listAt, objectAt } from '../../schema/json.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import { type AccessMode, graphAccess } from '../../spoke/graphs/access.ts';
import { PROCESS_FLAGS, processFlags } from '../../spoke/graphs/process-flags.ts';
import { GRAPH_SETTINGS, graphSettings } from '../../spoke/graphs/settings.ts';

/** What becomes of the manifests of a spoke. */
export type ManifestChanges = (objects: readonly KubeObject[]) => KubeObject[];

type Change = (objects: readonly KubeObject[], value: JsonValue) => KubeObject[];

interface Value {
  /** With dots, as in a values file. */
  readonly path: string;
  /** What the manifest says without it. */
  readonly byDefault: string;
  readonly change: Change;
}

/** Where values of one kind stand in the Deployment; what is given takes the place of what is there. */
function inPod(...path: string[]): Change {
  return (objects, value) =>
    ofDeployment(objects, (deployment) => setAt(deployment, [...POD, ...path], value));
}

function inContainer(key: string): Change {
  return (objects, value) => ofContainer(objects, (container) => ({ ...container, [key]: value }));
}

function inAccount(change: (account: KubeObject, value: JsonValue) => KubeObject): Change {
  return (objects, value) =>
    objects.map((object) => (object.kind === 'ServiceAccount' ? change(object, value) : object));
}

const POD = ['spec', 'template', 'spec'];

/** What the manifest of a spoke can be told, under the names of the values of kro's chart. */
export const JOIN_VALUES: readonly Value[] = [
  { path: 'image.pullPolicy', byDefault: '', change: inContainer('imagePullPolicy') },
  { path: 'imagePullSecrets', byDefault: '', change: inPod('imagePullSecrets') },
  {
    path: 'serviceAccount.annotations',
    byDefault: '',
    change: inAccount((account, value) => setAt(account, ['metadata', 'annotations'], value)),
  },
  { path: 'rbac.mode', byDefault: '', change: withRights },
  { path: 'deployment.replicaCount', byDefault: '1', change: withReplicas },
  {
    path: 'deployment.podAnnotations',
    byDefault: '',
    change: (objects, value) =>
      ofDeployment(objects, (deployment) =>
        setAt(deployment, ['spec', 'template', 'metadata', 'annotations'], value),
      ),
  },
  { path: 'deployment.podSecurityContext', byDefault: 'user 65532', change: inPod('securityContext') },
  { path: 'deployment.securityContext', byDefault: 'no rights', change: inContainer('securityContext') },
  {
    path: 'deployment.resources',
    byDefault: 'requests 50m and 128Mi, limit 512Mi',
    change: inContainer('resources'),
  },
  { path: 'deployment.nodeSelector', byDefault: '', change: inPod('nodeSelector') },
  { path: 'deployment.tolerations', byDefault: '', change: inPod('tolerations') },
  { path: 'deployment.affinity', byDefault: '', change: inPod('affinity') },
  {
    path: 'deployment.topologySpreadConstraints',
    byDefault: '',
    change: inPod('topologySpreadConstraints'),
  },
  { path: 'deployment.priorityClassName', byDefault: '', change: inPod('priorityClassName') },
  { path: 'deployment.env', byDefault: '', change: inContainer('env') },
  { path: 'deployment.extraVolumes', byDefault: '', change: inPod('volumes') },
  { path: 'deployment.extraVolumeMounts', byDefault: '', change: inContainer('volumeMounts') },
];

/** Values of kro's chart that make nothing here, and what there is in their place. */
const NO_VALUES: Readonly<Record<string, string>> = {
  'image.ko': 'the image is one whose entry point is atoll',
  'image.repository': 'the image is that of --image',
  'image.tag': 'the image is that of --image',
  metrics:
    'a spoke listens at no port: its metrics are read through the hub, or at the API server of atoll up',
  'debug.pprof': 'Node has a profiler of its own: NODE_OPTIONS=--cpu-prof in deployment.env',
};

/** Reads a values file, and what it changes of manifests. Throws an Error that names the file and what would be right. */
export function readValues(file: string): ManifestChanges {
  try {
    const parsed = parseYamlBody(readFileSync(file, 'utf8'));
    if (!parsed.ok) throw new Error(parsed.message);
    if (!isObject(parsed.value)) throw new Error('it is no map');
    return valuesOf(parsed.value);
  } catch (error) {
    throw new Error(`--values ${file}: ${errorText(error)}`, { cause: error });
  }
}

/** What values change of the manifests of a spoke. Throws an Error for one that there is not. */
export function valuesOf(values: JsonObject): ManifestChanges {
  const changes: [Change, JsonValue][] = [];
  for (const [group, value = null] of Object.entries(values)) {
    if (group === 'config') {
      if (!isObject(value)) throw new Error('config is no map');
      const texts = configOf(value);
      changes.push([(objects) => withArguments(objects, texts), value]);
      continue;
    }
    // A group is a map of values; anything else is a value itself.
    const whole = JOIN_VALUES.find(({ path }) => path === group);
    if (whole || Object.hasOwn(NO_VALUES, group)) {
      if (whole) changes.push([whole.change, value]);
      continue;
    }
    for (const [key, inner = null] of Object.entries(isObject(value) ? value : { '': value })) {
      const path = key === '' ? group : `${group}.${key}`;
      if (Object.hasOwn(NO_VALUES, path)) continue;
      const found = JOIN_VALUES.find((item) => item.path === path);
      if (!found)
        throw new Error(
          `there is no value ${path}; there are config, ${JOIN_VALUES.map((item) => item.path).join(', ')}`,
        );
      changes.push([found.change, inner]);
    }
  }
  const changed: ManifestChanges = (objects) =>
    changes.reduce<KubeObject[]>((made, [change, value]) => change(made, value), [...objects]);
  // What is wrong is told before there is a manifest.
  changed([]);
  return changed;
}

/** Settings are called as the flags, in camel case. */
function configOf(config: JsonObject): string[] {
  const names = [...GRAPH_SETTINGS, ...PROCESS_FLAGS].map(({ name }) => name);
  const texts = Object.entries(config).map(([key, value]) => {
    const name =
      key === 'enableLeaderElection'
        ? 'leader-elect'
        : names.find((item) => item.replaceAll('-', '') === key.toLowerCase());
    if (name === undefined || isObject(value) || Array.isArray(value))
      throw new Error(`there is no value config.${key}; there are the flags of graphs, such as clientQps`);
    return `${name}=${String(value ?? '')}`;
  });
  graphSettings(texts);
  processFlags(texts);
  return texts;
}

function withArguments(objects: readonly KubeObject[], texts: readonly string[]): KubeObject[] {
  return ofContainer(objects, (container) => ({
    ...container,
    args: [...listAt(container, 'args'), ...texts.map((text) => `--${text}`)],
  }));
}

function withReplicas(objects: readonly KubeObject[], value: JsonValue): KubeObject[] {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new Error(`deployment.replicaCount: ${JSON.stringify(value)} is no number of engines`);
  const counted = ofDeployment(objects, (deployment) => setAt(deployment, ['spec', 'replicas'], value));
  if (value < 2) return counted;
  // One at a time answers for the cluster.
  const taking = ofDeployment(counted, (deployment) =>
    setAt(deployment, ['spec', 'strategy'], { type: 'RollingUpdate' }),
  );
  return ofContainer(taking, (container) => ({
    ...container,
    args: [...listAt(container, 'args').filter((word) => word !== '--stand-by'), '--stand-by'],
  }));
}

function withRights(objects: readonly KubeObject[], value: JsonValue): KubeObject[] {
  if (value !== 'unrestricted' && value !== 'aggregation')
    throw new Error(`rbac.mode: ${JSON.stringify(value)} is neither unrestricted nor aggregation`);
  const mode: AccessMode = value;
  const account = objects.find(({ kind }) => kind === 'ServiceAccount');
  const { name = '', namespace = '' } = account?.metadata ?? {};
  return [...objects, ...graphAccess(mode, { kind: 'ServiceAccount', name, namespace })];
}

function ofDeployment(
  objects: readonly KubeObject[],
  change: (deployment: KubeObject) => KubeObject,
): KubeObject[] {
  return objects.map((object) => (object.kind === 'Deployment' ? change(object) : object));
}

function ofContainer(
  objects: readonly KubeObject[],
  change: (container: JsonObject) => JsonObject,
): KubeObject[] {
  return ofDeployment(objects, (deployment) =>
    setAt(
      deployment,
      [...POD, 'containers'],
      listAt(deployment, ...POD, 'containers').map((container) =>
        isObject(container) ? change(container) : container,
      ),
    ),
  );
}

function setAt<T extends object>(object: T, [key = '', ...rest]: readonly string[], value: JsonValue): T {
  const inner = rest.length === 0 ? value : setAt(objectAt(object, key) ?? {}, rest, value);
  return { ...object, [key]: inner };
}
