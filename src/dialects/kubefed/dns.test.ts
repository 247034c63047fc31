import { describe, expect, it } from 'vitest';
import {
  type ClusterLoadBalancer,
  ingressDnsEndpoint,
  reportIngressDns,
  reportServiceDns,
  serviceDnsEndpoint,
} from './dns.ts';
import type { ClusterDns, Domain, IngressDNSRecord, ServiceDNSRecord } from './types.ts';

const record = (
  dns: readonly ClusterDns[],
  spec: Partial<ServiceDNSRecord['spec']> = {},
): ServiceDNSRecord => ({
  apiVersion: 'multiclusterdns.kubefed.io/v1alpha1',
  kind: 'ServiceDNSRecord',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { domainRef: 'main', ...spec },
  status: { domain: 'example.com', dns },
});
const ip = (...ips: string[]) => ({ ingress: ips.map((each) => ({ ip: each })) });
const east = { region: 'east', zones: ['e1'] };
const west = { region: 'west', zones: ['w1'] };
const lines = (item: ServiceDNSRecord, hosts?: ReadonlyMap<string, string[]>): string[] =>
  (serviceDnsEndpoint(item, hosts)?.spec.endpoints ?? []).map(
    ({ dnsName, recordType, targets, recordTTL }) =>
      `${dnsName} ${recordType} ${targets.join(',')} ${recordTTL}`,
  );
const prefix = 'web.shop.main.svc';

describe('DNS records of a Service', () => {
  it('[F57] are names by zone, by region and for all, with the addresses of load balancers', () => {
    const item = record([
      { cluster: 'c1', loadBalancer: ip('2.2.2.2'), ...east },
      { cluster: 'c2', loadBalancer: ip('1.1.1.1'), ...west },
    ]);
    expect(lines(item)).toEqual([
      `${prefix}.e1.east.example.com A 2.2.2.2 180`,
      `${prefix}.east.example.com A 2.2.2.2 180`,
      `${prefix}.w1.west.example.com A 1.1.1.1 180`,
      `${prefix}.west.example.com A 1.1.1.1 180`,
      `${prefix}.example.com A 1.1.1.1,2.2.2.2 180`,
    ]);
    expect(serviceDnsEndpoint(item)?.metadata).toEqual({ name: 'service-web', namespace: 'shop' });
  });

  it('[F57] are aliases of the next wider name where nothing is near', () => {
    const item = record([
      { cluster: 'c1', loadBalancer: {}, ...east },
      { cluster: 'c2', loadBalancer: ip('3.3.3.3'), region: 'east', zones: ['e2'] },
      { cluster: 'c3', loadBalancer: {}, ...west },
    ]);
    expect(lines(item)).toEqual([
      `${prefix}.e1.east.example.com CNAME ${prefix}.east.example.com 180`,
      `${prefix}.east.example.com A 3.3.3.3 180`,
      `${prefix}.e2.east.example.com A 3.3.3.3 180`,
      `${prefix}.w1.west.example.com CNAME ${prefix}.west.example.com 180`,
      `${prefix}.west.example.com CNAME ${prefix}.example.com 180`,
      `${prefix}.example.com A 3.3.3.3 180`,
    ]);
  });

  it('[F57] have the TTL, the prefix and the other name that are asked for, and each target once', () => {
    const item = record(
      [
        { cluster: 'c1', loadBalancer: ip('1.1.1.1', '1.1.1.1') },
        { cluster: 'c2', loadBalancer: { ingress: [{ hostname: 'lb' }, { hostname: 'gone' }] } },
      ],
      { recordTTL: 60, dnsPrefix: 'shop', externalName: 'front' },
    );
    expect(lines(item, new Map([['lb', ['9.9.9.9', '1.1.1.1']]]))).toEqual([
      'front.shop.main.svc.example.com A 1.1.1.1,9.9.9.9 60',
      'shop.example.com CNAME front.shop.main.svc.example.com 60',
    ]);
  });

  it('wait for the domain', () => {
    const { status: _status, ...waiting } = record([]);
    expect(serviceDnsEndpoint(waiting as ServiceDNSRecord)).toBeUndefined();
  });

  const domain: Domain = {
    apiVersion: 'v',
    kind: 'Domain',
    metadata: { name: 'main' },
    domain: 'example.com',
  };
  const seen: ClusterLoadBalancer[] = [
    { cluster: 'c3', ready: true, loadBalancer: ip('3.3.3.3') },
    { cluster: 'c2', ready: false, loadBalancer: ip('2.2.2.2'), region: 'east' },
    { cluster: 'c1', ready: true, loadBalancer: ip('1.1.1.1'), hasEndpoints: true },
  ];

  it('come from a status in which clusters that are away have no load balancer', () => {
    expect(reportServiceDns(record([]), domain, seen)).toEqual({
      domain: 'example.com',
      dns: [
        { cluster: 'c1', loadBalancer: ip('1.1.1.1') },
        { cluster: 'c2', loadBalancer: {}, region: 'east' },
      ],
    });
    const all = reportServiceDns(record([], { allowServiceWithoutEndpoints: true }), domain, seen);
    expect(all.dns?.map(({ cluster }) => cluster)).toEqual(['c1', 'c2', 'c3']);
  });

  it('[F58] of an Ingress are its hosts at all load balancers', () => {
    const ingress: IngressDNSRecord = {
      apiVersion: 'multiclusterdns.kubefed.io/v1alpha1',
      kind: 'IngressDNSRecord',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { hosts: ['a.example.com', 'b.example.com'] },
      status: reportIngressDns(seen),
    };
    const targets = ['1.1.1.1', '3.3.3.3'];
    expect(ingressDnsEndpoint(ingress).spec.endpoints).toEqual([
      { dnsName: 'a.example.com', targets, recordType: 'A', recordTTL: 180 },
      { dnsName: 'b.example.com', targets, recordType: 'A', recordTTL: 180 },
    ]);
    expect(ingressDnsEndpoint({ ...ingress, status: { dns: [] } }).spec.endpoints).toEqual([]);
  });
});
