import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { followedMembers } from '../../hub/access/index.ts';
import { createFleet } from '../../hub/fleet.ts';
import { DETACH_FINALIZER, type Inventory, startInventory } from '../../hub/inventory/index.ts';
import {
  certificatesFrom,
  decideEnrolment,
  readLinkNotice,
  spokeClusterNamed,
  tunnelCluster,
} from '../../hub/join/index.ts';
import { installKinds } from '../../kube/custom-resource.ts';
import type { Handler } from '../../kube/exchange.ts';
import {
  certificateIdentity,
  createCertificateAuthority,
  createSigningRequest,
  issueCertificate,
  requestKeyDigest,
} from '../../kube/pki.ts';
import { createClient } from '../../kube/rest-client.ts';
import { secrets } from '../../kube/well-known.ts';
import { spokeSubject } from '../../link/index.ts';
import { readTrust } from '../../spoke/trust.ts';
import { enrol } from '../commands/up.ts';
import { fleetDirectory, type Member } from '../fleet-directory.ts';
import { keepOut } from '../hub-replicas.ts';
import { fileCredentials } from '../key-store.ts';
import { linkFileName, listenForSpokes } from '../link-ends.ts';
import { createLinks } from '../links.ts';
import { decideOn } from './accept.ts';
import { expectSpoke, joinedHub } from './expect-spoke.ts';
import { joinDirectly } from './join-directly.ts';
import { type JoinedHub, joinWord, readJoin } from './join-file.ts';
import {
  bootstrapToken,
  client,
  dial,
  dialers,
  directory,
  echo,
  holds,
  hubWith,
  isUp,
  links,
  listen,
  listener,
  place,
  refused,
  runtime,
  SPOKE_CLUSTERS,
  tokenFor,
  wake,
} from './joining.fixture.ts';
import { pinFirst, startSpokeLink } from './spoke-link.ts';
import { handOver } from './takeover.ts';

describe('a spoke that was expected', () => {
  it('joins with its token, without a credential of it at the hub', async () => {
    dial('edge', await hubWith({ edge: await tokenFor('edge') }));
    const link = await isUp('edge');
    expect((await link.handler({ method: 'GET', path: '/livez', headers: {} })).status).toBe(200);
    const cluster = await client.get<SpokeCluster>(SPOKE_CLUSTERS, 'default', 'edge');
    expect(cluster.spec.credential).toEqual({ type: 'tunnel', tunnel: {} });
  });

  it('[F7] may be expected twice: the newest token counts, and the SpokeCluster stays', async () => {
    const first = await tokenFor('edge');
    const before = await client.get(SPOKE_CLUSTERS, 'default', 'edge');
    const second = await tokenFor('edge');
    expect((await client.get(SPOKE_CLUSTERS, 'default', 'edge')).metadata.uid).toBe(before.metadata.uid);
    await dial('edge', await hubWith({ edge: first })).until(refused('wrong, used or expired'));
    dial('edge', await hubWith({ edge: second }));
    await isUp('edge');
  });

  it('has a token for one key: whoever stole it comes too late, under its name and any other', async () => {
    const token = await tokenFor('edge');
    await tokenFor('other');
    dial('edge', await hubWith({ edge: token }));
    await isUp('edge');
    await dial('other', await hubWith({ other: token })).until(refused('wrong, used or expired'));
    await dialers[0]?.close();
    await dial('edge', await hubWith({ edge: token })).until(refused('wrong, used or expired'));
  });

  it('waits for its acceptance where it was expected so', async () => {
    const spoke = dial('edge', await hubWith({ edge: await tokenFor('edge', false) }));
    await spoke.until(refused('does not accept spoke edge'));
    await decideOn(runtime, client, 'edge');
    await isUp('edge');
  });

  it('by kubeconfig leaves nothing behind where the hub refuses its SpokeCluster, and touches no Secret of others', async () => {
    const file = join(directory, 'near.kubeconfig');
    const inline = Buffer.from('PEM').toString('base64');
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          { name: 'c', cluster: { server: 'https://near:6443', 'certificate-authority-data': inline } },
        ],
        users: [{ name: 'u', user: { token: 'secret' } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'c',
      }),
    );
    const wish = { name: 'near', namespace: 'default', file, asIs: true, force: false };
    const secretNames = async (): Promise<(string | undefined)[]> =>
      (await client.list(secrets, 'default')).items.map(({ metadata }) => metadata.name);
    await expect(joinDirectly(runtime, client, { ...wish, labels: { a: 'no label!' } })).rejects.toThrow(
      'metadata.labels',
    );
    expect(await secretNames()).toEqual([]);
    expect(await joinDirectly(runtime, client, { ...wish, labels: {} })).toContain('near joined');
    expect(await joinDirectly(runtime, client, { ...wish, labels: {} })).toContain('is joined');
    expect(await secretNames()).toEqual(['near-kubeconfig']);
    await tokenFor('edge');
    const other = { ...wish, name: 'edge', labels: {} };
    await expect(joinDirectly(runtime, client, other)).rejects.toThrow('--force');
    expect(await joinDirectly(runtime, client, { ...other, force: true })).toContain('joined anew');
    const { spec } = await client.get<SpokeCluster>(SPOKE_CLUSTERS, 'default', 'edge');
    expect(spec.credential).toEqual({
      type: 'kubeconfig',
      kubeconfig: { secretRef: { name: 'edge-kubeconfig', key: 'kubeconfig' } },
    });
    await client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'far-kubeconfig', namespace: 'default' },
      stringData: { mine: 'x' },
    });
    await expect(joinDirectly(runtime, client, { ...wish, name: 'far', labels: {} })).rejects.toThrow(
      'was not made by atoll join',
    );
  });

  it('is refused without a SpokeCluster, with another one’s certificate, and with a forged one', async () => {
    const hub = await hubWith({ edge: await tokenFor('edge') });
    const first = dial('edge', hub);
    await isUp('edge');
    await dialers[0]?.close();
    await client.delete(SPOKE_CLUSTERS, 'default', 'edge');
    const again = dial('edge', await hubWith({}), first.place);
    await again.until(refused('the hub has no SpokeCluster edge'));
    // The name of the hub's authority, another key.
    const twin = await createCertificateAuthority(runtime, 'atoll link hub');
    const options = { ...spokeSubject('edge'), usage: 'client', lifetimeMs: 60_000 } as const;
    const forged = await issueCertificate(runtime, twin, options);
    await dial('edge', await hubWith({}), place(forged)).until(refused('not accepted'));
  });

  it('keeps its key while the hub does not accept it, and needs no new token afterwards', async () => {
    const { place: kept, until, states } = dial('edge', await hubWith({ edge: await tokenFor('edge') }));
    const link = await isUp('edge');
    const { certificate = '' } = kept.kept ?? {};
    const stuck: Handler = link.handler;
    await decideOn(runtime, client, 'edge', { deny: true });
    await until(refused('does not accept spoke edge'));
    await expect(stuck({ method: 'GET', path: '/', headers: {} })).rejects.toThrow('cannot be reached');
    await decideOn(runtime, client, 'edge');
    await isUp('edge');
    expect(certificateIdentity(kept.kept?.certificate ?? '').keyDigest).toBe(
      certificateIdentity(certificate).keyDigest,
    );
    expect(states.filter((state) => state.phase === 'enrolling')).toHaveLength(1);
  });
});

describe('a SpokeCluster that is made anew', () => {
  let inventory: Inventory;
  beforeEach(() => {
    inventory = startInventory(runtime, client, createFleet(runtime), links, {
      resolve: async () => [],
      rules: {},
    });
  });
  afterEach(() => inventory.stop());

  /** By its finalizer, and the next one is made at once. */
  async function letGo(name: string, namespace = 'default'): Promise<void> {
    const over = new AbortController();
    const changes = client.watch<SpokeCluster>(SPOKE_CLUSTERS, namespace, {
      fieldSelector: `metadata.name=${name}`,
      signal: over.signal,
    });
    let asked = false;
    for await (const change of changes) {
      if (change.type === 'DELETED') break;
      if (asked || change.type === 'ERROR' || change.type === 'BOOKMARK') continue;
      if (!change.object.metadata.finalizers?.includes(DETACH_FINALIZER)) continue;
      asked = true;
      await client.delete(SPOKE_CLUSTERS, namespace, name);
    }
    over.abort();
  }

  it('is the new machine’s: the old one is cut and stays out, until it joins anew', async () => {
    const first = await tokenFor('edge');
    const old = dial('edge', await hubWith({ edge: first }));
    const link = await isUp('edge');
    const { key = '' } = old.place.kept ?? {};
    await letGo('edge');
    const token = await tokenFor('edge');
    expect(link.up).toBe(false);
    const fresh = dial('edge', await hubWith({ edge: token }));
    await fresh.until(({ phase }) => phase === 'up');
    await old.until(refused('is void: the hub let a spoke named edge go'));
    // Nor by the token that it used, with the key that it used it for.
    const { request } = await createSigningRequest(runtime, spokeSubject('edge'), key);
    const keyDigest = await requestKeyDigest(request);
    expect(await decideEnrolment(runtime, client, { spoke: 'edge', token: first, keyDigest, request })).toBe(
      false,
    );

    // A listener that starts, or any other replica, says the same, and the new one needs nothing.
    const { port } = listener;
    await listener.close();
    const count = fresh.states.length;
    await listen(port);
    await holds(() => fresh.states.slice(count).find(({ phase }) => phase === 'up'));
    expect(old.states.filter(({ phase }) => phase === 'up')).toHaveLength(1);

    await Promise.all(dialers.splice(0).map((dialer) => dialer.close()));
    const back = dial('edge', await hubWith({ edge: await tokenFor('edge') }), old.place);
    await back.until(({ phase }) => phase === 'up');
  });

  it('is nobody’s whose key was approved for the one before, however often and fast that goes', async () => {
    const hub = await hubWith({ '*': await bootstrapToken({ approved: true }) });
    const { request, key } = await createSigningRequest(runtime, spokeSubject('edge'));
    dial('edge', hub, place({ key }));
    await isUp('edge');
    await Promise.all(dialers.splice(0).map((dialer) => dialer.close()));
    const digests = { request, keyDigest: await requestKeyDigest(request) };
    const token = hub.tokens['*'] ?? '';
    const froms = new Set<number | undefined>();
    for (let count = 0; count < 3; count += 1) {
      if (count > 0) await tokenFor('edge', false);
      await letGo('edge');
      froms.add(await certificatesFrom(client, 'edge'));
      const decision = await decideEnrolment(runtime, client, { spoke: 'edge', token, ...digests });
      expect(decision).toMatchObject({ message: expect.stringContaining('waits for approval') });
    }
    expect(froms.size).toBe(3);
  });

  it('has its machine join anew where that is of a fleet that is started again', async () => {
    const fleet = fleetDirectory(join(directory, 'fleet'));
    const member = (name: string): Member => ({ name, role: 'spoke', clusters: [name], port: 1 });
    const start = async (): Promise<JoinedHub> => {
      await enrol(runtime, fleet, client, { ...member('hub'), role: 'hub' }, [member('edge')]);
      const [hub] = readJoin(fleet.joinFile('edge')).hubs;
      if (!hub) throw new Error('no hub to join');
      return hub;
    };
    const hub = await start();
    const file = linkFileName('edge', hub.trust.lineage);
    const credentials = fileCredentials(join(fleet.home('edge'), 'link'), file);
    const upWith = async (joined: JoinedHub): Promise<void> => {
      await dial('edge', joined, { ...credentials, kept: undefined }).until(({ phase }) => phase === 'up');
      await Promise.all(dialers.splice(0).map((dialer) => dialer.close()));
    };
    await upWith(hub);
    await upWith(await start());
    const [namespace = ''] = (await client.list(SPOKE_CLUSTERS, '')).items.map(
      (item) => item.metadata.namespace,
    );
    await letGo('edge', namespace);
    await upWith(await start());
  });

  it('takes nothing away from the one that has the name, where it is another of that name', async () => {
    const spoke = dial('edge', await hubWith({ edge: await tokenFor('edge') }));
    const link = await isUp('edge');
    await client.create(SPOKE_CLUSTERS, {
      ...tunnelCluster({ name: 'edge', namespace: 'atoll-system', accepted: true }),
    });
    // Of the same second either may be the older one.
    const owner = await spokeClusterNamed(client, 'edge');
    await letGo('edge', owner?.metadata.namespace === 'default' ? 'atoll-system' : 'default');
    expect(await certificatesFrom(client, 'edge')).toBeUndefined();
    expect(link.up).toBe(true);
    expect(spoke.states.filter(({ phase }) => phase === 'up')).toHaveLength(1);
  });
});

describe('a spoke that knows two hubs', () => {
  it('is the first one’s, is with the second while that is away, and is handed over only by its owner', async () => {
    const [own, other] = await Promise.all(
      [1, 2].map(() => createApiServer({ runtime, storage: memoryDriver() })),
    );
    if (!own || !other) throw new Error('no servers');
    const spokeClient = createClient(own.as({ name: 'engine', groups: ['system:masters'] }));
    const second = createClient(other.as({ name: 'admin', groups: ['system:masters'] }));
    await installKinds(runtime.clock, second, [SPOKE_CLUSTER]);
    const secondLinks = createLinks(runtime);
    secondLinks.onTunnel((spoke) => {
      secondLinks.tunnel(spoke)?.onChange(wake);
      wake();
    });
    const options = { name: 'second', port: 0, directory: join(directory, 'second') };
    const secondListener = await listenForSpokes(runtime, second, secondLinks, options);
    const expected = { name: 'edge', namespace: 'default', accepted: true };
    const notice = await readLinkNotice(second);
    if (!notice) throw new Error('the second hub tells nothing');
    const hubs = [
      await hubWith({ edge: await tokenFor('edge') }),
      joinedHub(notice, { tokens: { edge: await expectSpoke(runtime, second, expected) } }),
    ];
    const places = new Map(hubs.map((hub) => [hub.name, place()]));
    await pinFirst(runtime, spokeClient, hubs);
    const link = startSpokeLink(runtime, {
      cluster: 'edge',
      client: spokeClient,
      hubs: { current: () => hubs },
      credentials: (hub) => places.get(hub.name) ?? place(),
      serve: echo,
      graceMs: 20,
      onState: wake,
    });
    const isUpAtSecond = (): true | undefined => (secondLinks.tunnel('edge')?.up === true ? true : undefined);
    try {
      await isUp('edge');
      expect(isUpAtSecond()).toBeUndefined();
      const { port } = listener;
      await listener.close();
      await holds(isUpAtSecond);
      expect((await readTrust(spokeClient))?.lineage).toBe(hubs[0]?.trust.lineage);
      await listen(port);
      await handOver(runtime, spokeClient, { join: joinWord({ version: 2, hubs: hubs.slice(1) }) });
      await holds(isUpAtSecond);
      expect((await readTrust(spokeClient))?.lineage).toBe(hubs[1]?.trust.lineage);
      expect(await handOver(runtime, spokeClient, {})).toContain("The spoke is second's");
    } finally {
      await link.close();
      await secondListener.close();
      await Promise.all([own.close(), other.close()]);
    }
  });
});

describe('a replica of the hub that nobody tells anything', () => {
  it('[S15] cuts spokes that are no longer accepted, or that are gone', async () => {
    const own = createLinks(runtime);
    own.onTunnel((spoke) => void own.tunnel(spoke)?.onChange(wake));
    const options = { name: 'replica', port: 0, directory: join(directory, 'replica') };
    const replica = await listenForSpokes(runtime, client, own, options);
    const members = followedMembers(runtime, client, own, keepOut(runtime, client, replica));
    try {
      for (const [name, leave, why] of [
        ['edge', () => decideOn(runtime, client, 'edge', { deny: true }), 'does not accept spoke edge'],
        ['core', () => client.delete(SPOKE_CLUSTERS, 'default', 'core'), 'the hub has no SpokeCluster core'],
      ] as const) {
        const spoke = dial(name, await hubWith({ [name]: await tokenFor(name) }));
        await spoke.until(({ phase }) => phase === 'up');
        await leave();
        await spoke.until(refused(why));
        expect(replica.links.get(name)).toBeUndefined();
      }
    } finally {
      members.stop();
      await replica.close();
    }
  });
});
