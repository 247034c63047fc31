import { afterEach, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import { type Engine, startEngine } from '../../src/cli/engine.ts';
import { prefixedHandler } from '../../src/kube/exchange.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { memoryLink } from '../../src/link/index.ts';
import { hubDoor } from '../../src/spoke/hub-door.ts';
import { applyAll, enable, federated, federatedAt, openFederatedShop, propagation } from './federation.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, spokeCluster } from './fleet.ts';

const MEMBERS = 50;
const names = Array.from({ length: MEMBERS }, (_, index) => `m${index + 1}`);
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };

let fleet: SimulatedFleet;
let server: ApiServer;
const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines) await fleet.run(engine.stop());
  await fleet.stop();
  await fleet.run(server.close());
});

/** A member that is a logical cluster of the one server. */
async function join(name: string): Promise<void> {
  await fleet.run(server.createCluster(name));
  const prefix = `/clusters/${name}`;
  const door = hubDoor((user) => prefixedHandler(server.as(user), prefix));
  fleet.hub.tunnels.set(name, memoryLink(fleet.runtime, name, door));
  const client = createClient(prefixedHandler(server.as(ENGINE), prefix), { clock: fleet.runtime.clock });
  engines.push(
    await fleet.run(
      startEngine(fleet.runtime, {
        name,
        client,
        version: 'test',
        links: {
          tunnel: () => undefined,
          onTunnel: () => undefined,
          forget: () => undefined,
          direct: () => {
            throw new Error('a member reaches nobody');
          },
        },
        credentials: { resolve: async () => [], rules: {} },
        roles: { spoke: true },
      }),
    ),
  );
  await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster(name)));
}

it('[F62] fifty members on one API server each get their own', async () => {
  fleet = await simulateFleet(1, []);
  server = await fleet.run(createApiServer({ runtime: fleet.runtime, storage: memoryDriver() }));
  for (const name of names) await join(name);
  await enable(fleet, ['Namespace', 'ConfigMap']);
  await openFederatedShop(fleet, names);
  await applyAll(fleet, fleet.hub, [
    federated('ConfigMap', 'c', {
      template: { data: { colour: 'red' } },
      placement: { clusterSelector: {} },
      overrides: [{ clusterName: 'm7', clusterOverrides: [{ path: '/data/colour', value: 'blue' }] }],
    }),
  ]);
  await fleet.until(
    () => {
      const { is, clusters } = propagation(federatedAt(fleet, 'ConfigMap', 'c'));
      return is === 'True' && Object.keys(clusters).length === MEMBERS;
    },
    'on all of them',
    180_000,
  );
  const colours = new Map<string, number>();
  for (const name of names) {
    const client = createClient(prefixedHandler(server.as(ENGINE), `/clusters/${name}`));
    const map = await fleet.run(client.get(configMaps, 'shop', 'c'));
    const { colour = '' } = map['data'] as { colour?: string };
    colours.set(colour, (colours.get(colour) ?? 0) + 1);
  }
  expect(Object.fromEntries(colours)).toEqual({ red: MEMBERS - 1, blue: 1 });
});
