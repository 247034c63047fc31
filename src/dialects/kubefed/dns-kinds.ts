import type { AnyCustomKind, CustomKind } from '../../kube/custom-resource.ts';
import { flag, integer, list, mapOf, record, text } from '../../schema/schema-of.ts';

const GROUP = 'multiclusterdns.kubefed.io';
const VERSION = 'v1alpha1';

const loadBalancer = record({
  ingress: list(
    record({ ip: text(), hostname: text() }, undefined, { 'x-kubernetes-preserve-unknown-fields': true }),
  ),
});
const ttl = integer('Seconds that answers may be kept; 180 by default.', { format: 'int64' });

/** A DNS domain, by a name that records refer to. Its fields stand beside the metadata, not in a spec. */
export const DOMAIN: AnyCustomKind = {
  group: GROUP,
  version: VERSION,
  kind: 'Domain',
  plural: 'domains',
  scope: 'Namespaced',
  description: 'A DNS domain for records of Services.',
  fields: {
    domain: text('For example example.com.'),
    nameServer: text('Who answers for it.'),
  },
  required: ['domain'],
};

/** DNS names of a Service that runs on several clusters. */
export const SERVICE_DNS_RECORD: CustomKind = {
  group: GROUP,
  version: VERSION,
  kind: 'ServiceDNSRecord',
  plural: 'servicednsrecords',
  scope: 'Namespaced',
  description: 'DNS names of the Service of the same name, by zone, by region and for all clusters.',
  spec: record(
    {
      domainRef: text('Name of a Domain.'),
      recordTTL: ttl,
      dnsPrefix: text('One name more: <dnsPrefix>.<domain>.'),
      externalName: text('Stands in the names where the name of the Service would.'),
      allowServiceWithoutEndpoints: flag('Count clusters too where nothing is behind the Service.'),
    },
    undefined,
    { required: ['domainRef'] },
  ),
  status: record({
    domain: text(),
    dns: list(record({ cluster: text(), loadBalancer, zones: list(text()), region: text() })),
  }),
};

/** DNS names of an Ingress that is on several clusters. */
export const INGRESS_DNS_RECORD: CustomKind = {
  group: GROUP,
  version: VERSION,
  kind: 'IngressDNSRecord',
  plural: 'ingressdnsrecords',
  scope: 'Namespaced',
  description: 'DNS names of the Ingress of the same name.',
  spec: record({ hosts: list(text(), 'The names.'), recordTTL: ttl }),
  status: record({ dns: list(record({ cluster: text(), loadBalancer })) }),
};

/** What external-dns makes records of. */
export const DNS_ENDPOINT: CustomKind = {
  group: GROUP,
  version: VERSION,
  kind: 'DNSEndpoint',
  plural: 'dnsendpoints',
  scope: 'Namespaced',
  description: 'DNS records, for external-dns.',
  spec: record({
    endpoints: list(
      record({
        dnsName: text(),
        targets: list(text()),
        recordType: text('A or CNAME.'),
        recordTTL: integer(undefined, { format: 'int64' }),
        labels: mapOf(text()),
      }),
    ),
  }),
  status: record({ observedGeneration: integer(undefined, { format: 'int64' }) }),
};
