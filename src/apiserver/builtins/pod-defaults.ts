import { isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { defaultWhenEmpty, defaultWhenNull, ensureObject, isSet, objectsOf, text } from './fields.ts';
import { canonicalResources } from './resource-list.ts';

/** Defaults of a pod spec, in pods and in the templates of every workload. */
export function defaultPodSpec(spec: JsonObject): void {
  defaultWhenEmpty(spec, 'dnsPolicy', 'ClusterFirst');
  defaultWhenEmpty(spec, 'restartPolicy', 'Always');
  defaultWhenEmpty(spec, 'schedulerName', 'default-scheduler');
  defaultWhenNull(spec, 'securityContext', {});
  defaultWhenNull(spec, 'terminationGracePeriodSeconds', 30);
  mirrorServiceAccount(spec);
  for (const volume of objectsOf(spec, 'volumes')) defaultVolume(volume);
  for (const container of allContainers(spec)) defaultContainer(container);
  if (isObject(spec.overhead)) canonicalResources(spec, 'overhead');
}

/** What only pods get, not the templates that they come from. */
export function defaultPodOnly(spec: JsonObject): void {
  defaultWhenNull(spec, 'enableServiceLinks', true);
  const hostNetwork = spec.hostNetwork === true;
  for (const container of [...objectsOf(spec, 'containers'), ...objectsOf(spec, 'initContainers')]) {
    requestsFromLimits(container);
    if (!hostNetwork) continue;
    for (const port of objectsOf(container, 'ports')) {
      if (!isSet(port.hostPort) && isSet(port.containerPort)) port.hostPort = port.containerPort;
    }
  }
}

/** A template with its spec, made where they are missing, so that validation can say what is required. */
export function defaultPodTemplate(parent: JsonObject): void {
  if (!isObject(parent.template)) return;
  defaultPodSpec(ensureObject(parent.template, 'spec'));
}

export function allContainers(spec: JsonObject): JsonObject[] {
  return [
    ...objectsOf(spec, 'initContainers'),
    ...objectsOf(spec, 'containers'),
    ...objectsOf(spec, 'ephemeralContainers'),
  ];
}

/** `serviceAccount` is the old name of the field and is served with the same value. */
function mirrorServiceAccount(spec: JsonObject): void {
  const name = text(spec, 'serviceAccountName') || text(spec, 'serviceAccount');
  if (name === '') return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function requestsFromLimits(container: JsonObject): void {
  const limits = objectAt(container, 'resources', 'limits');
  if (limits === undefined || Object.keys(limits).length === 0) return;
  const requests = ensureObject(ensureObject(container, 'resources'), 'requests');
  for (const key in limits) if (requests[key] === undefined) requests[key] = limits[key];
}

function defaultContainer(container: JsonObject): void {
  defaultWhenEmpty(container, 'imagePullPolicy', pullPolicyOf(text(container, 'image')));
  defaultWhenEmpty(container, 'terminationMessagePath', '/dev/termination-log');
  defaultWhenEmpty(container, 'terminationMessagePolicy', 'File');
  const resources = ensureObject(container, 'resources');
  canonicalResources(resources, 'limits');
  canonicalResources(resources, 'requests');
  for (const port of objectsOf(container, 'ports')) defaultWhenEmpty(port, 'protocol', 'TCP');
  for (const key of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = objectAt(container, key);
    if (probe) defaultProbe(probe);
  }
  for (const key of ['postStart', 'preStop']) {
    const get = objectAt(container, 'lifecycle', key, 'httpGet');
    if (get) defaultHttpGet(get);
  }
  for (const variable of objectsOf(container, 'env')) {
    const fieldRef = objectAt(variable, 'valueFrom', 'fieldRef');
    if (fieldRef) defaultWhenEmpty(fieldRef, 'apiVersion', 'v1');
    const resourceRef = objectAt(variable, 'valueFrom', 'resourceFieldRef');
    if (resourceRef) defaultWhenEmpty(resourceRef, 'divisor', '0');
  }
}

/** `Always` for the tag `latest`, also where no tag is written; a digest pins the content. */
export function pullPolicyOf(image: string): string {
  const at = image.indexOf('@');
  const named = at < 0 ? image : image.slice(0, at);
  if (named.trim() === '') return 'IfNotPresent';
  const last = named.slice(named.lastIndexOf('/') + 1);
  const colon = last.indexOf(':');
  if (colon < 0) return at < 0 ? 'Always' : 'IfNotPresent';
  return last.slice(colon + 1) === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: JsonObject): void {
  defaultWhenEmpty(probe, 'timeoutSeconds', 1);
  defaultWhenEmpty(probe, 'periodSeconds', 10);
  defaultWhenEmpty(probe, 'successThreshold', 1);
  defaultWhenEmpty(probe, 'failureThreshold', 3);
  const get = objectAt(probe, 'httpGet');
  if (get) defaultHttpGet(get);
  const grpc = objectAt(probe, 'grpc');
  if (grpc) defaultWhenNull(grpc, 'service', '');
}

function defaultHttpGet(get: JsonObject): void {
  defaultWhenEmpty(get, 'path', '/');
  defaultWhenEmpty(get, 'scheme', 'HTTP');
}

const FILE_MODE = 0o644;
const TOKEN_SECONDS = 3600;

/** Defaults of a volume, in pods and (for its sources) in persistent volumes. */
export function defaultVolume(volume: JsonObject): void {
  if (!Object.keys(volume).some((key) => key !== 'name' && isObject(volume[key]))) volume.emptyDir = {};
  for (const key of ['secret', 'configMap', 'downwardAPI', 'projected']) {
    const source = objectAt(volume, key);
    if (source) defaultWhenNull(source, 'defaultMode', FILE_MODE);
  }
  defaultDownwardItems(objectAt(volume, 'downwardAPI'));
  const projected = objectAt(volume, 'projected');
  for (const source of objectsOf(projected, 'sources')) {
    const token = objectAt(source, 'serviceAccountToken');
    if (token) defaultWhenNull(token, 'expirationSeconds', TOKEN_SECONDS);
    defaultDownwardItems(objectAt(source, 'downwardAPI'));
  }
  const claim = objectAt(volume, 'ephemeral', 'volumeClaimTemplate', 'spec');
  if (claim) defaultWhenNull(claim, 'volumeMode', 'Filesystem');
  defaultVolumeSource(volume);
}

/** Sources that pods and persistent volumes have in common. */
export function defaultVolumeSource(source: JsonObject): void {
  const hostPath = objectAt(source, 'hostPath');
  if (hostPath) defaultWhenNull(hostPath, 'type', '');
  const iscsi = objectAt(source, 'iscsi');
  if (iscsi) defaultWhenEmpty(iscsi, 'iscsiInterface', 'default');
  const rbd = objectAt(source, 'rbd');
  if (rbd) {
    defaultWhenEmpty(rbd, 'pool', 'rbd');
    defaultWhenEmpty(rbd, 'user', 'admin');
    defaultWhenEmpty(rbd, 'keyring', '/etc/ceph/keyring');
  }
  const azureDisk = objectAt(source, 'azureDisk');
  if (azureDisk) {
    defaultWhenNull(azureDisk, 'cachingMode', 'ReadWrite');
    defaultWhenNull(azureDisk, 'kind', 'Shared');
    defaultWhenNull(azureDisk, 'fsType', 'ext4');
    defaultWhenNull(azureDisk, 'readOnly', false);
  }
  const scaleIO = objectAt(source, 'scaleIO');
  if (scaleIO) {
    defaultWhenEmpty(scaleIO, 'storageMode', 'ThinProvisioned');
    defaultWhenEmpty(scaleIO, 'fsType', 'xfs');
  }
}

function defaultDownwardItems(source: JsonObject | undefined): void {
  for (const item of objectsOf(source, 'items')) {
    const fieldRef = objectAt(item, 'fieldRef');
    if (fieldRef) defaultWhenEmpty(fieldRef, 'apiVersion', 'v1');
  }
}
