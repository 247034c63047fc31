import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import type { ContainerPort, Pod, Service, ServicePort } from './kinds.ts';
import type { Mirror } from './mirror.ts';
import { controllerReference, isDeleting, keyOf, splitKey } from './owner.ts';
import { isFinished, isReady } from './pod-state.ts';
import type { World } from './world.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const MANAGER = 'endpointslice-controller.k8s.io';
const HEADLESS = 'service.kubernetes.io/headless';
const SLICE_SIZE = 100;
/** Readiness of many pods is written together. */
const GATHER_MS = 30;

interface Endpoint {
  readonly pod: Pod;
  readonly ip: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

interface Port {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

/** Keeps Endpoints and EndpointSlices of Services that select pods. */
export function startEndpoints(world: World): void {
  const { services, pods, endpoints, endpointSlices } = world;

  const controller = world.control({
    name: 'endpoints',
    writes: [endpoints, endpointSlices],
    reconcile: async (key) => {
      const service = services.get(...splitKey(key));
      if (service && !isDeleting(service)) await reconcileService(world, service);
    },
  });
  services.onChange(({ type, object }) => {
    if (type !== 'deleted') controller.enqueue(keyOf(object));
  });
  pods.onChange(({ object, previous }) => {
    for (const service of services.list(object.metadata.namespace ?? ''))
      if (selectsPod(service, object) || (previous && selectsPod(service, previous)))
        controller.enqueue(keyOf(service), GATHER_MS);
  });
  for (const mirror of [endpoints, endpointSlices] as Mirror<KubeObject>[])
    mirror.onChange(({ object }) => {
      const name = object.metadata.labels?.[SERVICE_NAME] ?? object.metadata.name ?? '';
      const key = `${object.metadata.namespace ?? ''}/${name}`;
      if (services.get(...splitKey(key))) controller.enqueue(key);
    });
}

function selectsPod(service: Service, pod: Pod): boolean {
  const selector = service.spec.selector;
  if (selector === undefined || Object.keys(selector).length === 0) return false;
  const labels = pod.metadata.labels ?? {};
  for (const key in selector) if (labels[key] !== selector[key]) return false;
  return true;
}

async function reconcileService(world: World, service: Service): Promise<void> {
  const selector = service.spec.selector ?? {};
  if (Object.keys(selector).length === 0 || service.spec.type === 'ExternalName') return;
  const selected = world.pods
    .list(service.metadata.namespace ?? '')
    .filter((pod) => selectsPod(service, pod) && !isFinished(pod) && pod.status?.podIP !== undefined)
    .map((pod) => endpointOf(service, pod));
  await writeSlices(world, service, selected);
  await writeEndpoints(world, service, selected);
}

function endpointOf(service: Service, pod: Pod): Endpoint {
  const terminating = isDeleting(pod);
  const serving = isReady(pod);
  return {
    pod,
    ip: pod.status?.podIP ?? '',
    serving,
    terminating,
    ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating),
  };
}

/** The ports of a service at one pod: a port by name is where that pod says it is. */
function portsAt(service: Service, pod: Pod): Port[] {
  const out: Port[] = [];
  for (const port of service.spec.ports ?? []) {
    const number = targetOf(port, pod);
    if (number === undefined) continue;
    out.push({
      name: port.name ?? '',
      port: number,
      protocol: port.protocol ?? 'TCP',
      ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
    });
  }
  return out;
}

function targetOf(port: ServicePort, pod: Pod): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target;
  for (const container of pod.spec.containers)
    for (const each of container.ports ?? ([] as ContainerPort[]))
      if (each.name === target && (each.protocol ?? 'TCP') === (port.protocol ?? 'TCP'))
        return each.containerPort;
  return undefined;
}

/** Endpoints with the same ports go together. */
function groupByPorts(
  service: Service,
  selected: readonly Endpoint[],
): { ports: Port[]; members: Endpoint[] }[] {
  const groups = new Map<string, { ports: Port[]; members: Endpoint[] }>();
  for (const endpoint of selected) {
    const ports = portsAt(service, endpoint.pod);
    const key = JSON.stringify(ports);
    const group = groups.get(key);
    if (group) group.members.push(endpoint);
    else groups.set(key, { ports, members: [endpoint] });
  }
  return [...groups.values()];
}

function targetRef(pod: Pod): JsonObject {
  return {
    kind: 'Pod',
    name: pod.metadata.name ?? '',
    namespace: pod.metadata.namespace ?? '',
    uid: pod.metadata.uid ?? '',
  };
}

/** Labels that slices and Endpoints take over from their service. */
function handedDown(service: Service): Record<string, string> {
  const labels = { ...service.metadata.labels };
  if (service.spec.clusterIP === 'None') labels[HEADLESS] = '';
  return labels;
}

async function writeSlices(world: World, service: Service, selected: readonly Endpoint[]): Promise<void> {
  const { endpointSlices, nodes } = world;
  const wanted: { ports: Port[]; members: Endpoint[] }[] = [];
  for (const { ports, members } of groupByPorts(service, selected))
    for (let i = 0; i < members.length; i += SLICE_SIZE)
      wanted.push({ ports, members: members.slice(i, i + SLICE_SIZE) });
  if (wanted.length === 0) wanted.push({ ports: [], members: [] });

  const existing = endpointSlices
    .ownedBy(service.metadata.uid ?? '')
    .filter((slice) => slice.metadata.labels?.[MANAGED_BY] === MANAGER && !isDeleting(slice));
  const labels = {
    ...handedDown(service),
    [SERVICE_NAME]: service.metadata.name ?? '',
    [MANAGED_BY]: MANAGER,
  };
  for (const [index, { ports, members }] of wanted.entries()) {
    const content = {
      endpoints: members.map(({ pod, ip, ready, serving, terminating }) => {
        const zone = nodes.get('', pod.spec.nodeName ?? '')?.metadata.labels?.['topology.kubernetes.io/zone'];
        return {
          addresses: [ip],
          conditions: { ready, serving, terminating },
          ...(pod.spec.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
          targetRef: targetRef(pod),
          ...(zone === undefined ? {} : { zone }),
          ...(pod.spec.hostname !== undefined && pod.spec.subdomain === service.metadata.name
            ? { hostname: pod.spec.hostname }
            : {}),
        };
      }),
      ports: ports.map((port) => ({ ...port })),
    };
    const slice = existing[index];
    if (!slice) {
      await endpointSlices.create({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          generateName: `${(service.metadata.name ?? '').slice(0, 57)}-`,
          namespace: service.metadata.namespace ?? '',
          labels,
          ownerReferences: [controllerReference(service)],
        },
        addressType: 'IPv4',
        ...content,
      });
    } else if (
      !deepEqual(slice.endpoints ?? [], content.endpoints) ||
      !deepEqual(slice.ports ?? [], content.ports) ||
      !deepEqual(slice.metadata.labels, labels)
    ) {
      await endpointSlices.patch(slice, {
        metadata: { labels: labelPatch(slice.metadata.labels, labels) },
        ...content,
      });
    }
  }
  for (const surplus of existing.slice(wanted.length)) await endpointSlices.remove(surplus);
}

async function writeEndpoints(world: World, service: Service, selected: readonly Endpoint[]): Promise<void> {
  const { endpoints } = world;
  const { name = '', namespace = '' } = service.metadata;
  const address = ({ pod, ip }: Endpoint): JsonObject => ({
    ip,
    ...(pod.spec.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    targetRef: targetRef(pod),
  });
  const subsets = groupByPorts(
    service,
    selected.filter((each) => !each.terminating || each.ready),
  ).map(({ ports, members }) => {
    const ready = members.filter((each) => each.ready).map(address);
    const notReady = members.filter((each) => !each.ready).map(address);
    return {
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
      ports: ports.map(({ name: portName, ...port }) => ({
        ...(portName === '' ? {} : { name: portName }),
        ...port,
      })),
    };
  });
  const labels = handedDown(service);
  const existing = endpoints.get(namespace, name);
  if (!existing) {
    try {
      await endpoints.create({
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: {
          name,
          namespace,
          ...(Object.keys(labels).length > 0 ? { labels } : {}),
          ownerReferences: [controllerReference(service)],
        },
        ...(subsets.length > 0 ? { subsets } : {}),
      });
    } catch (error) {
      if (!hasCode(error, 409)) throw error; // made by a user: seen at the next reconcile
    }
    return;
  }
  const same =
    deepEqual(existing.subsets ?? [], subsets) && deepEqual(existing.metadata.labels ?? {}, labels);
  if (same) return;
  await endpoints.patch(existing, {
    metadata: { labels: labelPatch(existing.metadata.labels, labels) },
    subsets: subsets.length > 0 ? subsets : null,
  });
}

/** A merge patch of a map that also takes out what is no longer wanted. */
function labelPatch(
  before: Record<string, string> | undefined,
  wanted: Record<string, string>,
): Record<string, string | null> {
  const out: Record<string, string | null> = { ...wanted };
  for (const key in before) if (!(key in wanted)) out[key] = null;
  return out;
}
