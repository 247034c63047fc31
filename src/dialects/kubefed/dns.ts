import type {
  ClusterDns,
  DNSEndpoint,
  DnsEndpointEntry,
  Domain,
  IngressDNSRecord,
  LoadBalancer,
  ServiceDNSRecord,
} from './types.ts';

/** Seconds that answers may be kept where nothing is said. */
export const DEFAULT_TTL = 180;

/** Addresses of the host names that load balancers give, as they were looked up; a name that is not there has none. */
export type HostAddresses = ReadonlyMap<string, readonly string[]>;

/** What is known of a Service or an Ingress on one cluster. */
export interface ClusterLoadBalancer {
  readonly cluster: string;
  readonly ready: boolean;
  readonly loadBalancer?: LoadBalancer;
  readonly zones?: readonly string[];
  readonly region?: string;
  /** Whether something is behind the Service. */
  readonly hasEndpoints?: boolean;
}

/** The status of a record of a Service. A cluster that is not ready keeps its entry, without a load balancer. */
export function reportServiceDns(
  record: ServiceDNSRecord,
  domain: Domain,
  clusters: readonly ClusterLoadBalancer[],
): NonNullable<ServiceDNSRecord['status']> {
  const counts = (cluster: ClusterLoadBalancer): boolean =>
    !cluster.ready || cluster.hasEndpoints === true || record.spec.allowServiceWithoutEndpoints === true;
  return {
    domain: domain.domain,
    dns: sortedByCluster(clusters.filter(counts)).map(
      ({ cluster, ready, loadBalancer, zones, region }): ClusterDns => ({
        cluster,
        loadBalancer: ready ? (loadBalancer ?? {}) : {},
        ...(zones === undefined ? {} : { zones }),
        ...(region === undefined ? {} : { region }),
      }),
    ),
  };
}

/** The status of a record of an Ingress. */
export function reportIngressDns(
  clusters: readonly ClusterLoadBalancer[],
): NonNullable<IngressDNSRecord['status']> {
  return {
    dns: sortedByCluster(clusters).map(({ cluster, ready, loadBalancer }) => ({
      cluster,
      loadBalancer: ready ? (loadBalancer ?? {}) : {},
    })),
  };
}

function sortedByCluster(clusters: readonly ClusterLoadBalancer[]): ClusterLoadBalancer[] {
  return [...clusters].sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
}

/**
 * DNS records of a Service: names for each zone, each region and all clusters. A name with load balancers behind it has their
 * addresses; one without is an alias of the next wider one. `undefined` until the status says which domain it is.
 */
export function serviceDnsEndpoint(
  record: ServiceDNSRecord,
  addresses: HostAddresses = new Map(),
): DNSEndpoint | undefined {
  const { name = '', namespace = '' } = record.metadata;
  const { domainRef, recordTTL, dnsPrefix, externalName } = record.spec;
  const { domain, dns = [] } = record.status ?? {};
  if (!domain) return undefined;
  const ttl = ttlOf(recordTTL);
  const labels = record.metadata.labels;
  const prefix = [externalName || name, namespace, domainRef, 'svc'].join('.');
  const global = `${prefix}.${domain}`;
  const entries: DnsEndpointEntry[] = [];
  const targetsOf = (clusters: readonly ClusterDns[]): string[] =>
    clusters.flatMap(({ loadBalancer }) => targets(loadBalancer, addresses));
  const add = (dnsName: string, clusters: readonly ClusterDns[], wider?: string): void => {
    const found = targetsOf(clusters);
    if (found.length > 0) entries.push(entry(dnsName, 'A', found, ttl, labels));
    else if (wider !== undefined) entries.push(entry(dnsName, 'CNAME', [wider], ttl, labels));
  };
  for (const { region, zones = [] } of dns) {
    if (!region) continue;
    const inRegion = dns.filter((other) => other.region === region);
    const regional = `${prefix}.${region}.${domain}`;
    for (const zone of zones) {
      const inZone = inRegion.filter((other) => other.zones?.includes(zone) === true);
      add(`${prefix}.${zone}.${region}.${domain}`, inZone, regional);
    }
    add(regional, inRegion, global);
  }
  add(global, dns);
  if (dnsPrefix) entries.push(entry(`${dnsPrefix}.${domain}`, 'CNAME', [global], ttl, labels));
  return endpointOf('service', name, namespace, entries);
}

/** DNS records of an Ingress: each host at the load balancers of all clusters. */
export function ingressDnsEndpoint(
  record: IngressDNSRecord,
  addresses: HostAddresses = new Map(),
): DNSEndpoint {
  const { name = '', namespace = '', labels } = record.metadata;
  const found = (record.status?.dns ?? []).flatMap(({ loadBalancer }) => targets(loadBalancer, addresses));
  const hosts = found.length === 0 ? [] : record.spec.hosts.filter((host) => host !== '');
  const ttl = ttlOf(record.spec.recordTTL);
  return endpointOf(
    'ingress',
    name,
    namespace,
    hosts.map((host) => entry(host, 'A', found, ttl, labels)),
  );
}

function ttlOf(seconds: number | undefined): number {
  return seconds === undefined || seconds <= 0 ? DEFAULT_TTL : seconds;
}

function targets(loadBalancer: LoadBalancer | undefined, addresses: HostAddresses): readonly string[] {
  return (loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) =>
    ip ? [ip] : hostname ? (addresses.get(hostname) ?? []) : [],
  );
}

function entry(
  dnsName: string,
  recordType: 'A' | 'CNAME',
  found: readonly string[],
  recordTTL: number,
  labels: Readonly<Record<string, string>> | undefined,
): DnsEndpointEntry {
  return { dnsName, targets: found, recordType, recordTTL, ...(labels === undefined ? {} : { labels }) };
}

/** Entries of the same name and type are one, with all their targets. */
function endpointOf(
  kind: 'service' | 'ingress',
  name: string,
  namespace: string,
  entries: readonly DnsEndpointEntry[],
): DNSEndpoint {
  const merged = new Map<string, { readonly first: DnsEndpointEntry; readonly targets: Set<string> }>();
  for (const item of entries) {
    const key = `${item.dnsName} ${item.recordType}`;
    const known = merged.get(key);
    if (known) for (const target of item.targets) known.targets.add(target);
    else merged.set(key, { first: item, targets: new Set(item.targets) });
  }
  return {
    apiVersion: 'multiclusterdns.kubefed.io/v1alpha1',
    kind: 'DNSEndpoint',
    metadata: { name: `${kind}-${name}`, namespace },
    spec: {
      endpoints: [...merged.values()].map(({ first, targets: all }) => ({
        ...first,
        targets: [...all].sort(),
      })),
    },
  };
}
