import { afterEach, describe, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import { type Engine, startEngine } from '../../src/cli/engine.ts';
import type { Client, ResourceId } from '../../src/kube/client.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps, secrets } from '../../src/kube/well-known.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
  writesBy,
} from './fleet.ts';
import { colour, configMap, openShop, paint, ready, shop, shopStatus } from './shop.ts';

/** One member, reached in one of the ways: what is promised of members does not depend on it. */
interface Member {
  readonly client: Client;
  cut(): void;
  heal(): void;
}

let fleet: SimulatedFleet;
let engine: Engine | undefined;
afterEach(async () => {
  await fleet.run(engine?.stop() ?? Promise.resolve());
  engine = undefined;
  await fleet.stop();
});

/** The member dials; the hub knows no address of it and has no credential for it. */
async function pulled(): Promise<Member> {
  fleet = await simulateFleet(61, ['far']);
  const spoke = fleet.spoke('far');
  return { client: spoke.client, cut: () => fleet.cut('far'), heal: () => fleet.heal('far') };
}

const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'main',
  contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
  clusters: [
    {
      name: 'main',
      cluster: {
        server: 'https://far.test',
        'certificate-authority-data': Buffer.from(
          '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
        ).toString('base64'),
      },
    },
  ],
  users: [{ name: 'main', user: { token: 'sesame' } }],
});

/** The hub calls, with a kubeconfig that it keeps. */
async function pushed(): Promise<Member> {
  let outage = new AbortController();
  let away = false;
  const target: { handler?: Handler } = {};
  const gate: Handler = (request) => {
    if (away || !target.handler) return Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
    const signal = request.signal ? AbortSignal.any([request.signal, outage.signal]) : outage.signal;
    return target.handler({ ...request, signal });
  };
  fleet = await simulateFleet(61, [], { direct: { far: gate } });
  const { runtime, hub } = fleet;
  const server = await fleet.run(createApiServer({ runtime, storage: memoryDriver() }));
  const admin = { name: 'admin', groups: ['system:masters'] };
  target.handler = server.as(admin);
  const client = createClient(server.as(admin), { clock: runtime.clock });
  const refuse = (): undefined => undefined;
  engine = await fleet.run(
    startEngine(runtime, {
      name: 'far',
      client,
      version: 'test',
      links: {
        tunnel: refuse,
        onTunnel: refuse,
        forget: refuse,
        direct: () => {
          throw new Error('no links');
        },
      },
      credentials: { resolve: async () => [], rules: {} },
      roles: { spoke: true },
    }),
  );
  await fleet.run(
    hub.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'far', namespace: 'default' },
      stringData: { kubeconfig: KUBECONFIG },
    }),
  );
  const spec = {
    credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far' } } },
    probeIntervalSeconds: 10,
  };
  await fleet.run(hub.client.create(SPOKE_CLUSTERS, { ...spokeCluster('far'), spec }));
  return {
    client,
    cut: () => {
      away = true;
      outage.abort(new Error('read ECONNRESET'));
    },
    heal: () => {
      outage = new AbortController();
      away = false;
    },
  };
}

async function colourOn(member: Member, name = 'settings'): Promise<string> {
  const list = await member.client.list(configMaps as ResourceId, 'shop');
  const found = list.items.find(({ metadata }) => metadata.name === name);
  return (found?.['data'] as Record<string, string> | undefined)?.['colour'] ?? '';
}

describe.each([
  ['dials, by a transport in memory (Pull)', pulled],
  ['is called, with a kubeconfig (Push)', pushed],
] as const)('a member that %s', (_way, join) => {
  it('[A45] [S68] gets objects, changes and removals', async () => {
    const member = await join();
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await fleet.until(async () => (await colourOn(member)) === 'red', 'the objects');
    await ready(fleet, 1);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(async () => (await colourOn(member)) === 'blue', 'the change');
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(async () => (await colourOn(member, 'prices')) === '', 'the removal');
    await ready(fleet, 1);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => shop(fleet) === undefined, 'the end');
    expect(await fleet.run(colourOn(member))).toBe('');
  });

  it('[A45] [S68] is kept as it shall be while the hub is away, and gets the newest state after', async () => {
    const member = await join();
    await openShop(fleet);
    await ready(fleet, 1);
    member.cut();
    await fleet.rest(15_000);
    expect(shopStatus(fleet)).toMatchObject({ ready: 0, stale: 1 });
    await paint(fleet, fleet.hub, 'blue');
    await paint(fleet, fleet.hub, 'green');
    await fleet.run(
      member.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'grey' } }),
    );
    await fleet.until(async () => (await colourOn(member)) === 'red', 'drift corrected', 5_000);
    member.heal();
    await fleet.until(async () => (await colourOn(member)) === 'green', 'the newest state', 120_000);
    await ready(fleet, 1);
  });

  it('[A45] [S68] is written to when something changes, and not again while nothing does', async () => {
    const member = await join();
    await openShop(fleet);
    await ready(fleet, 1);
    const revision = async (): Promise<string> => {
      const found = await member.client.list(
        { ...PROPAGATIONS, resource: 'dispatches', kind: 'Dispatch' },
        'atoll-system',
      );
      return found.items.map(({ metadata }) => metadata.resourceVersion).join();
    };
    const before = await fleet.run(revision());
    await fleet.rest(300_000);
    expect(await fleet.run(revision())).toBe(before);
  });
});

describe('a member that dials', () => {
  it('[F64] repairs by server-side apply while the hub is off, and is spoken to on the way that it dialled only', async () => {
    const { client } = await pulled();
    await openShop(fleet);
    await ready(fleet, 1);
    const spoke = fleet.spoke('far');
    await fleet.kill(fleet.hub);
    await fleet.run(client.delete(configMaps, 'shop', 'settings'));
    const settings = () => stored(spoke, 'core/configmaps/shop/settings');
    await fleet.until(() => colour(spoke) === 'red', 'drift repaired', 5_000);
    expect(settings()?.metadata.managedFields).toMatchObject([{ manager: 'atoll', operation: 'Apply' }]);
    await fleet.start(fleet.hub);
    await ready(fleet, 1);
    fleet.cut('far');
    await fleet.rest(1_000);
    const from = spoke.audit.length;
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(600_000);
    expect(new Set(spoke.audit.slice(from).map(({ user }) => user.username))).not.toContain(HUB_USER);
    fleet.heal('far');
    await fleet.until(() => colour(spoke) === 'blue', 'the newest state');
    await ready(fleet, 1);
    // What the member has to tell is its own, and only read there.
    expect(writesBy(fleet.hub.audit, HUB_USER)).toEqual([]);
    expect(writesBy(spoke.audit, HUB_USER)).toEqual([
      'create bundles',
      'create dispatches',
      'update dispatches',
    ]);
  });

  it('[A45] is known at the hub by no address and no credential', async () => {
    await pulled();
    await openShop(fleet);
    await ready(fleet, 1);
    const [entry] = storedBelow(fleet.hub, 'core.oam.dev/spokeclusters/default');
    expect(entry?.['status']).toMatchObject({ clusterInfo: { apiServerEndpoint: 'tunnel' } });
    expect(entry?.['spec']).toMatchObject({ credential: { type: 'tunnel', tunnel: {} } });
    expect(
      JSON.stringify(storedBelow(fleet.hub, 'core/secrets').map(({ metadata }) => metadata.name)),
    ).not.toContain('far');
  });
});
