import {
  type ClusterLoadBalancer,
  DNS_ENDPOINT,
  type DNSEndpoint,
  DOMAIN,
  type Domain,
  type HostAddresses,
  INGRESS_DNS_RECORD,
  type IngressDNSRecord,
  ingressDnsEndpoint,
  isReady,
  reportIngressDns,
  reportServiceDns,
  SERVICE_DNS_RECORD,
  type ServiceDNSRecord,
  serviceDnsEndpoint,
} from '../../dialects/kubefed/index.ts';
import type { ResourceId } from '../../kube/client.ts';
import type { Resolve } from '../../kube/cluster-endpoint.ts';
import type { Result } from '../../kube/controller.ts';
import { type AnyCustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import { endpointSlices, ingresses, services } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, listAt, objectAt, stringAt } from '../../schema/json.ts';
import type { Inventory } from '../inventory/index.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Federation } from './federation.ts';
import { type KindWatch, watchKind } from './kind-watch.ts';
import { startCountedController } from './metrics.ts';
import type { Remote } from './remote.ts';

const ENDPOINTS = resourceIdOf(DNS_ENDPOINT);
const FIELD_MANAGER = 'atoll-kubefed';
const GATHER_MS = 50;
/** Nothing tells of endpoints that come and go, nor of names that lead elsewhere. */
const LOOK_AGAIN_MS = 60_000;
const MAX_HOSTS = 100;

export interface DnsOptions {
  readonly controlPlane: ControlPlane;
  readonly definitions: Informer;
  readonly federation: Federation;
  readonly inventory: Inventory;
  readonly remote: Remote;
  /** Looks a host name up. */
  readonly resolve: Resolve;
}

type Kind = 'service' | 'ingress';
const TARGETS: Readonly<Record<Kind, ResourceId>> = { service: services, ingress: ingresses };

/** Keeps the status of DNS records, and the DNSEndpoints that external-dns makes names of. */
export function startDns(runtime: Runtime, options: DnsOptions): { stop(): Promise<void> } {
  const { controlPlane, definitions, federation, inventory, remote } = options;
  const { client } = controlPlane;
  const loop = startCountedController(runtime, { name: 'kubefed-dns', concurrency: 4, reconcile });
  const watch = <T extends KubeObject>(
    kind: AnyCustomKind,
    onChange: (change: Change<T>) => void,
  ): KindWatch<T> =>
    watchKind<T>(runtime, client, definitions, {
      definition: `${kind.plural}.${kind.group}`,
      version: kind.version,
      seat: controlPlane,
      onChange,
      onServed: all,
    });
  const record =
    (kind: Kind) =>
    ({ object, previous }: Change): void => {
      if (
        previous &&
        deepEqual(object['spec'], previous['spec']) &&
        deepEqual(object.metadata.labels, previous.metadata.labels)
      )
        return;
      loop.enqueue(`${kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`, GATHER_MS);
    };
  const domains = watch<Domain>(DOMAIN, () => all());
  const serviceRecords = watch<ServiceDNSRecord>(SERVICE_DNS_RECORD, record('service'));
  const ingressRecords = watch<IngressDNSRecord>(INGRESS_DNS_RECORD, record('ingress'));

  function all(): void {
    for (const { metadata } of serviceRecords.list())
      loop.enqueue(`service/${metadata.namespace ?? ''}/${metadata.name ?? ''}`, GATHER_MS);
    for (const { metadata } of ingressRecords.list())
      loop.enqueue(`ingress/${metadata.namespace ?? ''}/${metadata.name ?? ''}`, GATHER_MS);
  }
  inventory.onChange(all);
  remote.onChange((_cluster, resource, namespace, name) => {
    for (const kind of ['service', 'ingress'] as const)
      if (TARGETS[kind].resource === resource.resource && TARGETS[kind].group === resource.group)
        loop.enqueue(`${kind}/${namespace}/${name}`, GATHER_MS);
  });

  async function reconcile(key: string): Promise<Result | undefined> {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    if (!domains.synced) return undefined;
    if (kind === 'service') {
      const found = serviceRecords.get(namespace, name);
      if (!found || found.metadata.deletionTimestamp !== undefined) return undefined;
      const domain =
        domains.get(federation.controlPlane, found.spec.domainRef) ??
        domains.get(namespace, found.spec.domainRef);
      if (!domain) return undefined;
      const status = reportServiceDns(found, domain, await clustersOf('service', namespace, name));
      await tell(serviceRecords, found, status);
      await publish(found, serviceDnsEndpoint({ ...found, status }, await addressesIn(status.dns ?? [])));
    } else {
      const found = ingressRecords.get(namespace, name);
      if (!found || found.metadata.deletionTimestamp !== undefined) return undefined;
      const status = reportIngressDns(await clustersOf('ingress', namespace, name));
      await tell(ingressRecords, found, status);
      await publish(found, ingressDnsEndpoint({ ...found, status }, await addressesIn(status.dns ?? [])));
    }
    return { requeueAfterMs: LOOK_AGAIN_MS };
  }

  /** The clusters that have it, or that had it when they were seen last. */
  async function clustersOf(kind: Kind, namespace: string, name: string): Promise<ClusterLoadBalancer[]> {
    const out: ClusterLoadBalancer[] = [];
    for (const { name: cluster } of inventory.clusters()) {
      const spoke = inventory.get(cluster);
      if (!spoke) continue;
      const ready = isReady(spoke);
      const { object } = remote.object(cluster, TARGETS[kind], namespace, name);
      if (ready && !object) continue;
      const { zones, region } = spoke.status?.clusterInfo ?? {};
      out.push({
        cluster,
        ready,
        loadBalancer: objectAt(object, 'status', 'loadBalancer') ?? {},
        ...(zones === undefined ? {} : { zones }),
        ...(region === undefined || region === 'N/A' ? {} : { region }),
        hasEndpoints: kind === 'service' && ready && (await hasEndpoints(cluster, namespace, name)),
      });
    }
    return out;
  }

  async function hasEndpoints(cluster: string, namespace: string, name: string): Promise<boolean> {
    const reader = remote.client(cluster);
    if (!reader) return false;
    try {
      const labelSelector = `kubernetes.io/service-name=${name}`;
      const { items } = await reader.list(endpointSlices, namespace, { labelSelector });
      return items.some((slice) =>
        listAt(slice, 'endpoints').some((endpoint) => listAt(endpoint, 'addresses').length > 0),
      );
    } catch (error) {
      runtime.log.debug('endpoints of a service could not be read', { cluster, why: errorText(error) });
      return false;
    }
  }

  /** Load balancers with a host name are found by their addresses. */
  async function addressesIn(dns: readonly { readonly loadBalancer?: unknown }[]): Promise<HostAddresses> {
    const hosts = new Set<string>();
    for (const { loadBalancer } of dns)
      for (const item of listAt(loadBalancer, 'ingress')) {
        const host = stringAt(item, 'hostname');
        if (host !== undefined && host !== '' && hosts.size < MAX_HOSTS) hosts.add(host);
      }
    const out = new Map<string, readonly string[]>();
    for (const host of hosts) {
      try {
        out.set(host, [...(await options.resolve(host))].sort());
      } catch (error) {
        runtime.log.debug('a load balancer could not be looked up', { host, why: errorText(error) });
      }
    }
    return out;
  }

  async function tell<T extends ServiceDNSRecord | IngressDNSRecord>(
    records: KindWatch<T>,
    { metadata, status: before }: KubeObject,
    status: object,
  ): Promise<void> {
    const { resource, hasStatus } = records;
    if (!resource || deepEqual(status, before)) return;
    const { namespace = '', name = '' } = metadata;
    const subresource = hasStatus ? { subresource: 'status' } : {};
    await ignoring(404, client.patch(resource, namespace, name, 'merge', { status }, subresource));
  }

  /** Writes what has changed only. It goes with its record. */
  async function publish(owner: KubeObject, endpoint: DNSEndpoint | undefined): Promise<void> {
    if (!endpoint) return;
    const { namespace = '', name = '' } = endpoint.metadata;
    const present = await ignoring(404, client.get(ENDPOINTS, namespace, name));
    if (present && deepEqual(present['spec'], endpoint.spec)) return;
    const { apiVersion, kind, metadata } = owner;
    const reference = {
      apiVersion,
      kind,
      name: metadata.name ?? '',
      uid: metadata.uid ?? '',
      controller: true,
    };
    const owned = { ...endpoint, metadata: { ...endpoint.metadata, ownerReferences: [reference] } };
    await client.apply(ENDPOINTS, owned, { fieldManager: FIELD_MANAGER, force: true });
  }

  return {
    async stop(): Promise<void> {
      for (const item of [domains, serviceRecords, ingressRecords]) item.stop();
      await loop.stop();
    },
  };
}
