import { ipPool } from './ip-pool.ts';
import type { Service } from './kinds.ts';
import { isDeleting, keyOf, splitKey } from './owner.ts';
import type { World } from './world.ts';

/** Addresses that look like those of a local network's load balancer. */
const RANGE = ['172.18.0.0', 65_536] as const;

/** Gives Services of type LoadBalancer an address, and takes it back when they become something else. */
export function startLoadBalancers(world: World): void {
  const { services } = world;
  const addresses = ipPool(...RANGE);
  const controller = world.control({
    name: 'loadbalancer',
    concurrency: 1,
    writes: [services],
    reconcile: async (key) => {
      const service = services.get(...splitKey(key));
      if (service && !isDeleting(service)) await reconcileService(service);
    },
  });
  services.onChange(({ type, object }) => {
    const uid = object.metadata.uid ?? '';
    const ip = object.status?.loadBalancer?.ingress?.[0]?.ip;
    if (type === 'deleted') addresses.release(uid);
    else {
      if (ip !== undefined) addresses.hold(uid, ip);
      controller.enqueue(keyOf(object));
    }
  });

  async function reconcileService(service: Service): Promise<void> {
    const uid = service.metadata.uid ?? '';
    const present = service.status?.loadBalancer?.ingress ?? [];
    const mine = service.spec.type === 'LoadBalancer' && service.spec.loadBalancerClass === undefined;
    if (mine && present.length === 0) {
      const ingress = [{ ip: addresses.take(uid), ipMode: 'VIP' }];
      await services.setStatus(service, { ...service.status, loadBalancer: { ingress } });
    } else if (service.spec.type !== 'LoadBalancer' && present.length > 0) {
      await services.setStatus(service, { ...service.status, loadBalancer: {} });
      addresses.release(uid);
    }
  }
}
