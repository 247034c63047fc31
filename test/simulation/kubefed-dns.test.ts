import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { ingresses, nodes, services } from '../../src/kube/well-known.ts';
import { at, listAt, stringAt } from '../../src/schema/json.ts';
import { applyAll, enable, federated, federatedAt, openFederatedShop, propagation } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const onBoth = { placement: { clusters: [{ name: 'a' }, { name: 'b' }] } };
const web = federated('Service', 'web', {
  template: { spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] } },
  ...onBoth,
});

function dns(kind: string, name: string, spec: object): KubeObject {
  return {
    apiVersion: 'multiclusterdns.kubefed.io/v1alpha1',
    kind,
    metadata: { name, namespace: 'shop' },
    spec,
  };
}

/** `name type target,target` for each entry. */
function entries(name: string): string[] {
  const endpoint = stored(fleet.hub, `multiclusterdns.kubefed.io/dnsendpoints/shop/${name}`);
  return listAt(endpoint, 'spec', 'endpoints').map((entry) =>
    [stringAt(entry, 'dnsName'), stringAt(entry, 'recordType'), listAt(entry, 'targets').join()].join(' '),
  );
}

/** The load balancer of a cluster gives its objects addresses. */
async function balance(
  name: string,
  resource: typeof services,
  object: string,
  ingress: object[],
): Promise<void> {
  await fleet.until(
    () =>
      stored(fleet.spoke(name), `${resource.group || 'core'}/${resource.resource}/shop/${object}`) !==
      undefined,
    `${object} on ${name}`,
  );
  await fleet.run(
    fleet
      .spoke(name)
      .client.patch(
        resource,
        'shop',
        object,
        'merge',
        { status: { loadBalancer: { ingress } } },
        { subresource: 'status' },
      ),
  );
}

async function open(kinds: string[]): Promise<void> {
  fleet = await simulateFleet(7, ['a', 'b']);
  for (const [name, region] of [
    ['a', 'eu'],
    ['b', 'us'],
  ] as const)
    await fleet.run(
      fleet.spoke(name).client.create(nodes, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {
          name: 'n1',
          labels: { 'topology.kubernetes.io/region': region, 'topology.kubernetes.io/zone': `${region}-1` },
        },
      }),
    );
  await enable(fleet, ['Namespace', ...kinds]);
  await openFederatedShop(fleet, ['a', 'b']);
  await fleet.until(
    () =>
      ['a', 'b'].every(
        (name) =>
          (stringAt(
            stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`),
            'status',
            'clusterInfo',
            'region',
          ) ?? 'N/A') !== 'N/A',
      ),
    'regions are known',
    120_000,
  );
}

describe('DNS records', () => {
  it('[F57] of a Service lead to the load balancers of its clusters, and away from one that is away', async () => {
    await open(['Service']);
    await applyAll(fleet, fleet.hub, [
      web,
      {
        apiVersion: 'multiclusterdns.kubefed.io/v1alpha1',
        kind: 'Domain',
        metadata: { name: 'company', namespace: DEFAULT_NAMESPACE },
        domain: 'example.com',
      },
      dns('ServiceDNSRecord', 'web', { domainRef: 'company', allowServiceWithoutEndpoints: true }),
    ]);
    await balance('a', services, 'web', [{ ip: '1.1.1.1' }]);
    await balance('b', services, 'web', [{ ip: '2.2.2.2' }]);
    const prefix = 'web.shop.company.svc';
    await fleet.until(
      () => entries('service-web').includes(`${prefix}.example.com A 1.1.1.1,2.2.2.2`),
      'both addresses',
      120_000,
    );
    expect(entries('service-web')).toContain(`${prefix}.eu.example.com A 1.1.1.1`);
    expect(entries('service-web')).toContain(`${prefix}.us.example.com A 2.2.2.2`);
    fleet.cut('b');
    await fleet.until(
      () => entries('service-web').includes(`${prefix}.example.com A 1.1.1.1`),
      'the one that is there',
      300_000,
    );
    expect(entries('service-web')).toContain(`${prefix}.us.example.com CNAME ${prefix}.example.com`);
    const record = stored(fleet.hub, 'multiclusterdns.kubefed.io/servicednsrecords/shop/web');
    expect(at(record, 'status', 'domain')).toBe('example.com');
    const endpoint = stored(fleet.hub, 'multiclusterdns.kubefed.io/dnsendpoints/shop/service-web');
    expect(endpoint?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'ServiceDNSRecord', name: 'web' });
    expect(at(listAt(endpoint, 'spec', 'endpoints')[0], 'recordTTL')).toBe(180);
  });

  it('[F58] of an Ingress have its hosts, and addresses of load balancers that have names', async () => {
    await open(['Ingress']);
    await applyAll(fleet, fleet.hub, [
      federated('Ingress', 'web', {
        template: { spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } },
        ...onBoth,
      }),
      dns('IngressDNSRecord', 'web', { hosts: ['shop.example.com', 'www.example.com'], recordTTL: 60 }),
    ]);
    await balance('a', ingresses, 'web', [{ ip: '1.1.1.1' }]);
    await balance('b', ingresses, 'web', [{ hostname: 'lb.cloud.test' }]);
    await fleet.until(
      () =>
        entries('ingress-web').join('; ') ===
        'shop.example.com A 1.1.1.1,10.0.0.5; www.example.com A 1.1.1.1,10.0.0.5',
      'the hosts',
      120_000,
    );
  });
});

describe('a type with a kind for its status', () => {
  it('[F56] lists what load balancers there are on each cluster', async () => {
    fleet = await simulateFleet(7, ['a', 'b']);
    await enable(fleet, ['Namespace']);
    await enable(fleet, ['Service'], {
      statusCollection: 'Enabled',
      statusType: {
        group: 'core.kubefed.io',
        version: 'v1alpha1',
        kind: 'FederatedServiceStatus',
        pluralName: 'federatedservicestatuses',
        scope: 'Namespaced',
      },
    });
    await openFederatedShop(fleet, ['a', 'b']);
    await applyAll(fleet, fleet.hub, [web]);
    await balance('a', services, 'web', [{ ip: '1.1.1.1' }]);
    await balance('b', services, 'web', [{ ip: '2.2.2.2' }]);
    const collected = (): unknown =>
      stored(fleet.hub, 'core.kubefed.io/federatedservicestatuses/shop/web')?.['clusterStatus'];
    await fleet.until(
      () =>
        JSON.stringify(collected() ?? '').includes('1.1.1.1') &&
        JSON.stringify(collected()).includes('2.2.2.2'),
      'both',
      120_000,
    );
    expect(collected()).toMatchObject([
      { clusterName: 'a', status: { loadBalancer: { ingress: [{ ip: '1.1.1.1' }] } } },
      { clusterName: 'b', status: { loadBalancer: { ingress: [{ ip: '2.2.2.2' }] } } },
    ]);
    expect(propagation(federatedAt(fleet, 'Service', 'web')).is).toBe('True');
  });
});
