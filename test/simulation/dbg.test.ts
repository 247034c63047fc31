import { it } from 'vitest';
import { configMaps } from '../../src/kube/well-known.ts';
import { simulateFleet } from './fleet.ts';
import { colour, configMap, openShop, ready } from './shop.ts';
it('dbg', async () => {
  const log: any = { debug() {}, info(m: string, f: any) { console.log('I', m, JSON.stringify(f)); }, warn(m: string, f: any) { console.log('W', m, JSON.stringify(f)); }, error(m: string, f: any) { console.log('E', m, JSON.stringify(f)); }, with() { return log; } };
  const fleet = await simulateFleet(2, ['a', 'b'], { log });
  await openShop(fleet, [configMap('settings', 'red')]);
  await ready(fleet, 2);
    for (let i = 0; i < 40; i++) {
      await fleet.run(
        fleet.hub.client.create(
          { ...configMaps, group: 'atoll.dev', version: 'v1alpha1', resource: 'propagations', kind: 'Propagation' },
          {
            apiVersion: 'atoll.dev/v1alpha1',
            kind: 'Propagation',
            metadata: { name: `more-${i}`, namespace: 'shop' },
            spec: { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: `more-${i}` }], placement: { clusterSelector: {} } },
          },
        ),
      );
    }
    await fleet.rest(1_000);
    console.log('--- slow');
    fleet.spoke('a').link.setLatency(1_000_000);
    for (let i = 0; i < 40; i++) await fleet.run(fleet.hub.client.create(configMaps, configMap(`more-${i}`, 'grey')));
    await fleet.rest(3000);
    console.log('t', fleet.runtime.clock.monotonic());
    await fleet.stop();
});
