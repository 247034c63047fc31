import type { JsonObject } from '../../schema/json.ts';
import {
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  isSet,
  objectsOf,
  strings,
  text,
} from './fields.ts';

const AFFINITY_SECONDS = 10800;

/** Service types that give the service an address outside of the cluster's own network. */
export function isExternallyReachable(spec: JsonObject): boolean {
  const type = text(spec, 'type');
  return (
    type === 'NodePort' ||
    type === 'LoadBalancer' ||
    (type === 'ClusterIP' && strings(spec, 'externalIPs').length > 0)
  );
}

export function defaultServiceSpec(spec: JsonObject): void {
  defaultWhenEmpty(spec, 'sessionAffinity', 'None');
  if (text(spec, 'sessionAffinity') === 'None') delete spec.sessionAffinityConfig;
  else if (text(spec, 'sessionAffinity') === 'ClientIP') {
    const clientIP = ensureObject(ensureObject(spec, 'sessionAffinityConfig'), 'clientIP');
    defaultWhenNull(clientIP, 'timeoutSeconds', AFFINITY_SECONDS);
  }
  defaultWhenEmpty(spec, 'type', 'ClusterIP');
  const type = text(spec, 'type');
  for (const port of objectsOf(spec, 'ports')) {
    defaultWhenEmpty(port, 'protocol', 'TCP');
    if (!isSet(port.targetPort)) port.targetPort = port.port ?? 0;
  }
  if (isExternallyReachable(spec)) defaultWhenEmpty(spec, 'externalTrafficPolicy', 'Cluster');
  if (type === 'NodePort' || type === 'LoadBalancer' || type === 'ClusterIP') {
    defaultWhenNull(spec, 'internalTrafficPolicy', 'Cluster');
  }
  if (type === 'LoadBalancer') defaultWhenNull(spec, 'allocateLoadBalancerNodePorts', true);
}

/**
 * Drops what belonged to the type that an update leaves, when the client did not change it: clients often change
 * the type and nothing else, and should not need to know which fields depend on it.
 */
export function dropFieldsOfOldType(spec: JsonObject, old: JsonObject): void {
  const same = (key: string): boolean => JSON.stringify(spec[key]) === JSON.stringify(old[key]);
  const type = text(spec, 'type');
  const oldType = text(old, 'type');
  const had = (types: readonly string[]): boolean => types.includes(oldType);
  const has = (types: readonly string[]): boolean => types.includes(type);

  if (had(WITH_CLUSTER_IP) && !has(WITH_CLUSTER_IP)) {
    for (const key of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']) {
      if (same(key)) delete spec[key];
    }
  }
  if (had(WITH_NODE_PORTS) && !has(WITH_NODE_PORTS)) {
    const before = objectsOf(old, 'ports').map((port) => port.nodePort ?? 0);
    const now = objectsOf(spec, 'ports');
    if (now.length === before.length && now.every((port, i) => (port.nodePort ?? 0) === before[i])) {
      for (const port of now) delete port.nodePort;
    }
  }
  if (isExternallyReachable(old) && !isExternallyReachable(spec) && same('externalTrafficPolicy')) {
    delete spec.externalTrafficPolicy;
  }
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec) && same('healthCheckNodePort')) {
    delete spec.healthCheckNodePort;
  }
  if (oldType === 'LoadBalancer' && type !== 'LoadBalancer') {
    for (const key of ['allocateLoadBalancerNodePorts', 'loadBalancerClass']) if (same(key)) delete spec[key];
  }
}

export function needsHealthCheckPort(spec: JsonObject): boolean {
  return text(spec, 'type') === 'LoadBalancer' && text(spec, 'externalTrafficPolicy') === 'Local';
}

function takesNodePorts(spec: JsonObject): boolean {
  const type = text(spec, 'type');
  return type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

const WITH_CLUSTER_IP = ['ClusterIP', 'NodePort', 'LoadBalancer'];
const WITH_NODE_PORTS = ['NodePort', 'LoadBalancer'];

/** `spec.clusterIP` and the first of `spec.clusterIPs` are one value; whichever the client changed wins. */
export function syncClusterIP(spec: JsonObject, old: JsonObject | undefined): void {
  const first = text(spec, 'clusterIP');
  const all = strings(spec, 'clusterIPs');
  if (old === undefined) {
    if (first !== '' && all.length === 0) spec.clusterIPs = [first];
    return;
  }
  const oldFirst = text(old, 'clusterIP');
  const oldAll = strings(old, 'clusterIPs');
  if (first !== oldFirst) {
    if (first === '' && sameList(all, oldAll)) delete spec.clusterIPs;
    else if (first !== '' && (all.length === 0 || sameList(all, oldAll))) {
      spec.clusterIPs = [first, ...all.slice(1)];
    }
  } else if (!sameList(all, oldAll)) {
    if (all.length === 0) delete spec.clusterIP;
    else spec.clusterIP = all[0];
  }
}

function sameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

/** Fields that an update leaves out keep what the server allocated; a PUT of a manifest does not lose its address. */
export function keepAllocations(spec: JsonObject, old: JsonObject): void {
  if (text(spec, 'type') === 'ExternalName' || text(old, 'type') === 'ExternalName') return;
  if (text(spec, 'clusterIP') === '' && strings(spec, 'clusterIPs').length === 0) {
    if (text(old, 'clusterIP') !== '') spec.clusterIP = text(old, 'clusterIP');
    if (strings(old, 'clusterIPs').length > 0) spec.clusterIPs = strings(old, 'clusterIPs');
  }
  defaultWhenNull(spec, 'ipFamilyPolicy', old.ipFamilyPolicy ?? 'SingleStack');
  if (strings(spec, 'ipFamilies').length === 0 && strings(old, 'ipFamilies').length > 0) {
    spec.ipFamilies = strings(old, 'ipFamilies');
  }
  if (!takesNodePorts(spec) || !takesNodePorts(old)) return;
  const taken = new Set(objectsOf(spec, 'ports').map((port) => port.nodePort));
  for (const port of objectsOf(spec, 'ports')) {
    if (isSet(port.nodePort)) continue;
    const before = objectsOf(old, 'ports').find(
      (item) => item.port === port.port && text(item, 'protocol') === text(port, 'protocol'),
    );
    if (before !== undefined && isSet(before.nodePort) && !taken.has(before.nodePort)) {
      port.nodePort = before.nodePort;
    }
  }
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(old) && !isSet(spec.healthCheckNodePort)) {
    spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}
