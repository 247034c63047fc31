import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { ACCESS_GRANT, type AccessGrant } from '../../src/engine/access/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { bodyChunks, type Handler, isUpgraded, readBody } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { StatusError } from '../../src/kube/status-error.ts';
import { clusterRoleBindings, clusterRoles, configMaps, pods } from '../../src/kube/well-known.ts';
import { handlerUpgrader } from '../../src/kube/wire/index.ts';
import { formatTime } from '../../src/runtime/index.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, spokeCluster } from './fleet.ts';

const GRANTS = resourceIdOf(ACCESS_GRANT);
const WEB_SOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'v5.channel.k8s.io',
};
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
let fleet: SimulatedFleet;
afterEach(() => fleet?.stop());

interface User {
  readonly name: string;
  readonly groups: string[];
}
const ALICE: User = { name: 'alice', groups: ['devs'] };
const ROOT: User = { name: 'root', groups: ['system:masters'] };

/** A fleet of two with a role at the hub for looking and one for more. */
async function start(options: { workloads?: boolean } = {}): Promise<void> {
  fleet = await simulateFleet(7, ['east', 'west'], options);
  const rule = (verbs: string[]): object => ({
    apiGroups: ['core.oam.dev'],
    resources: ['spokeclusters/proxy'],
    verbs,
  });
  for (const [name, verbs] of [
    ['looker', ['get']],
    ['user', ['get', 'create']],
  ] as const)
    await fleet.run(
      fleet.hub.client.create(clusterRoles, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name },
        rules: [rule([...verbs])],
      }),
    );
}

async function bind(role: string, user: User): Promise<void> {
  await fleet.run(
    fleet.hub.client.create(clusterRoleBindings, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `${role}-${user.name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user.name }],
    }),
  );
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown> & { message?: string };
  readonly headers: Readonly<Record<string, string>>;
}

async function ask(
  user: User,
  path: string,
  more: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const handler: Handler = fleet.hub.server.as(user);
  return fleet.run(
    (async () => {
      const response = await handler({
        method: more.method ?? 'GET',
        path,
        headers: {
          accept: 'application/json',
          ...(more.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...more.headers,
        },
        ...(more.body === undefined ? {} : { body: Buffer.from(JSON.stringify(more.body)) }),
      });
      const text = Buffer.from(await readBody(response)).toString('utf8');
      let body = {};
      try {
        body = JSON.parse(text) as object;
      } catch {
        body = {};
      }
      return { status: response.status, text, body, headers: response.headers };
    })(),
  );
}

const map = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { a: '1' },
});
const MAPS = '/api/v1/namespaces/default/configmaps';

async function put(spoke: string, name: string): Promise<void> {
  await fleet.run(fleet.spoke(spoke).client.create(configMaps, map(name)));
}

async function grant(
  by: User,
  name: string,
  spec: Partial<AccessGrant['spec']> = {},
): Promise<AccessGrant | StatusError> {
  const now = fleet.runtime.clock.now();
  const client = createClient(fleet.hub.server.as(by));
  const object: AccessGrant = {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name },
    spec: {
      user: 'alice',
      clusters: { names: ['east'] },
      namespaces: ['default'],
      allow: ['write'],
      reason: 'incident 7',
      expiresAt: formatTime(now + 3_600_000),
      requestedBy: by.name,
      ...spec,
    },
  };
  try {
    return await fleet.run(client.create(GRANTS, object));
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

function grantAudits(user: string): string[] {
  return fleet
    .spoke('east')
    .audit.filter((event) => event.user.username === user)
    .map((event) => `${event.verb} ${event.objectRef?.resource ?? ''} ${event.user.groups.join(' ')}`);
}

describe('a spoke by its path at the hub', () => {
  it('[A68] is for whoever may get spokeclusters/proxy, and the spoke knows the user by name', async () => {
    await start();
    await put('east', 'note');
    const refused = await ask(ALICE, `/clusters/east${MAPS}/note`);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('"spokeclusters/proxy"');
    await bind('looker', ALICE);
    expect((await ask(ALICE, `/clusters/east${MAPS}/note`)).body).toMatchObject({ data: { a: '1' } });
    expect(grantAudits('hub:alice')).toEqual([
      'get configmaps atoll:hub-users hub:devs system:authenticated',
    ]);
    expect((await ask(ALICE, `/clusters/north${MAPS}`)).status).toBe(403);
    expect((await ask(ROOT, `/clusters/north${MAPS}`)).status).toBe(404);
  });

  it('acts under the rights that its owner gives there: no Secrets by default, and none at all once the binding is gone', async () => {
    await start();
    await bind('looker', ALICE);
    const refused = await ask(ALICE, '/clusters/east/api/v1/secrets');
    expect(refused.body.message).toContain('User "hub:alice" cannot list resource "secrets"');
    const east = fleet.spoke('east');
    await fleet.run(
      east.client.create(clusterRoleBindings, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'devs' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'hub:devs' }],
      }),
    );
    expect((await ask(ALICE, '/clusters/east/api/v1/secrets')).status).toBe(200);
    await fleet.run(east.client.delete(clusterRoleBindings, '', 'devs'));
    await fleet.run(east.client.delete(clusterRoleBindings, '', 'atoll:hub-users:view'));
    expect((await ask(ALICE, `/clusters/east${MAPS}`)).status).toBe(403);
    await fleet.kill('east');
    await fleet.start('east');
    expect((await ask(ALICE, `/clusters/east${MAPS}`)).status).toBe(403);
  });

  it('makes nobody an administrator: system:masters of the hub is a user like others', async () => {
    await start();
    const secretsThere = await ask(ROOT, '/clusters/east/api/v1/secrets');
    expect(secretsThere.body.message).toContain('User "hub:root" cannot list resource "secrets"');
    const written = await ask(ROOT, `/clusters/east${MAPS}`, { method: 'POST', body: map('x') });
    expect(written.status).toBe(403);
    expect(written.body.message).toContain('needs an AccessGrant');
    expect(written.body.message).toContain(
      'Next: atoll grant create write --user root --clusters east -n default',
    );
  });

  it('passes on neither credentials nor whom a client says it is', async () => {
    await start();
    await bind('looker', ALICE);
    const asOther = { 'impersonate-user': 'system:admin', 'impersonate-group': 'system:masters' };
    expect((await ask(ALICE, `/clusters/east${MAPS}`, { headers: asOther })).status).toBe(403);
    // Whoever may impersonate at the hub does so there, and is on the spoke whom the hub made of them.
    expect(
      (await ask(ROOT, `/clusters/east${MAPS}`, { headers: { 'impersonate-user': 'alice' } })).status,
    ).toBe(200);
    expect(grantAudits('hub:alice')).toHaveLength(1);
    await ask(ALICE, `/clusters/east${MAPS}`, {
      headers: { authorization: 'Bearer x', 'x-remote-user': 'admin', connection: 'x-a', 'x-a': '1' },
    });
    expect(grantAudits('admin')).toEqual([]);
  });

  it('lets a hub be nobody but itself and its own users', async () => {
    await start();
    const { link } = fleet.spoke('east');
    const as = async (headers: Record<string, string>): Promise<number> =>
      (await fleet.run(link.handler({ method: 'GET', path: MAPS, headers }))).status;
    expect(await as({ 'impersonate-user': 'system:kube-controller-manager' })).toBe(403);
    expect(await as({ 'impersonate-user': 'hub:x', 'impersonate-group': 'system:masters' })).toBe(403);
    expect(
      await as({ 'impersonate-user': 'hub:x', 'impersonate-group': 'hub:a, kubeadm:cluster-admins' }),
    ).toBe(403);
    expect(
      await as({
        'impersonate-user': 'hub:x',
        'impersonate-group': 'atoll:hub-users',
        'impersonate-uid': '1',
      }),
    ).toBe(403);
    expect(await as({ 'impersonate-user': 'hub:x', 'impersonate-group': 'atoll:hub-users' })).toBe(200);
    expect(await as({})).toBe(403);
  });

  it('[K24] answers on the path of the cluster gateway, watches too', async () => {
    await start();
    await bind('looker', ALICE);
    await put('east', 'one');
    const gateway = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/east/proxy';
    expect((await ask(ALICE, `${gateway}${MAPS}/one`)).body).toMatchObject({ data: { a: '1' } });
    const handler = fleet.hub.server.as(ALICE);
    const watch = await fleet.run(
      handler({
        method: 'GET',
        path: `${gateway}${MAPS}?watch=true&fieldSelector=metadata.name%3Dtwo`,
        headers: {},
      }),
    );
    await put('east', 'two');
    const events = bodyChunks(watch);
    const first = await fleet.run(events.next());
    expect(JSON.parse(Buffer.from(first.value ?? []).toString())).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'two' } },
    });
    await events.return();
    expect((await ask({ name: 'bob', groups: [] }, `${gateway}${MAPS}`)).status).toBe(403);
  });

  it('says what to do next where the spoke is away', async () => {
    await start();
    await bind('looker', ALICE);
    fleet.cut('east');
    const answer = await ask(ALICE, `/clusters/east${MAPS}`);
    expect(answer.status).toBe(503);
    expect(answer.body.message).toContain('the cluster east is not connected');
    expect(answer.body.message).toContain('atoll cluster show east');
  });

  it('shows what was dispatched only to whoever may see that at the hub', async () => {
    await start();
    await bind('looker', ALICE);
    const path = '/clusters/east/apis/atoll.dev/v1alpha1/namespaces/atoll-system/dispatches';
    expect((await ask(ALICE, path)).body.message).toContain(
      'User "hub:alice" cannot list resource "dispatches"',
    );
    expect((await ask(ROOT, path)).status).toBe(200);
  });
});

describe('a tree of clusters', () => {
  it('[S119] is gone down from its root: each level authorizes, and knows the user as the one above does', async () => {
    await start({ workloads: true });
    await bind('user', ALICE);
    const mid = fleet.spoke('east');
    const leaf = await fleet.add('leaf', mid);
    await fleet.run(mid.client.create(SPOKE_CLUSTERS, spokeCluster('leaf')));
    const path = '/clusters/east/clusters/leaf/api/v1/namespaces/default/pods';
    await fleet.until(
      () => mid.engine?.access()?.spaces('/clusters/leaf/api') !== undefined,
      'the middle is a hub',
    );
    expect((await ask(ALICE, path)).body.message).toContain(
      'User "hub:alice" cannot get resource "spokeclusters/proxy"',
    );
    await fleet.run(
      mid.client.create(clusterRoleBindings, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'devs' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atoll:spoke-user' },
        subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'hub:devs' }],
      }),
    );
    expect((await ask(ALICE, path)).status).toBe(200);
    expect(leaf.audit.map((event) => event.user.username)).toContain('hub:hub:alice');

    await fleet.run(
      leaf.client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web', namespace: 'default' },
        spec: { containers: [{ name: 'web', image: 'example/web:1' }] },
      }),
    );
    const isRunning = async (): Promise<boolean> =>
      (await ask(ALICE, `${path}/web`)).text.includes('"phase":"Running"');
    await fleet.until(isRunning, 'the pod runs');
    const exec = async (): Promise<number> => {
      const answer = await fleet.run(
        handlerUpgrader(fleet.hub.server.as(ALICE))({
          method: 'GET',
          path: `${path}/web/exec?command=true&stdout=true`,
          headers: WEB_SOCKET,
        }),
      );
      if (isUpgraded(answer)) answer.socket.destroy();
      return answer.status;
    };
    const now = fleet.runtime.clock.now();
    await grant(ROOT, 'top', { approvedBy: 'root', allow: ['exec'] });
    await fleet.rest(100);
    // The grant of the root opens the root's door only.
    expect(await exec()).toBe(403);
    await fleet.run(
      mid.client.create<AccessGrant>(GRANTS, {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'AccessGrant',
        metadata: { name: 'below' },
        spec: {
          user: 'hub:alice',
          clusters: { names: ['leaf'] },
          namespaces: ['default'],
          allow: ['exec'],
          reason: 'incident 7',
          expiresAt: formatTime(now + 3_600_000),
          requestedBy: 'admin',
          approvedBy: 'admin',
        },
      }),
    );
    await fleet.rest(100);
    expect(await exec()).toBe(101);
  });
});

describe('an AccessGrant', () => {
  it('lets its user write where, and as long as, it says; uses are counted', async () => {
    await start();
    await bind('user', ALICE);
    const write = (name: string, cluster = 'east', namespace = 'default'): Promise<Answer> =>
      ask(ALICE, `/clusters/${cluster}/api/v1/namespaces/${namespace}/configmaps`, {
        method: 'POST',
        body: { ...map(name), metadata: { name, namespace } },
      });
    expect((await write('a')).body.message).toContain('needs an AccessGrant');
    await grant(ROOT, 'g', { approvedBy: 'root' });
    await fleet.until(async () => (await write('a')).status === 201, 'the grant counts');
    expect((await write('b')).status).toBe(201);
    expect((await write('c', 'west')).status).toBe(403);
    expect((await write('c', 'east', 'kube-public')).status).toBe(403);
    expect(grantAudits('hub:alice').at(-1)).toContain('atoll:grant:write');
    // Reading does not become more by it.
    expect((await ask(ALICE, '/clusters/east/api/v1/namespaces/default/secrets')).status).toBe(403);
    const before = fleet.hub.server.store.revision;
    expect((await write('d')).status).toBe(201);
    expect(fleet.hub.server.store.revision).toBe(before);
    await fleet.rest(11_000);
    const used = await fleet.run(fleet.hub.client.get<AccessGrant>(GRANTS, '', 'g'));
    expect(used.status).toMatchObject({ state: 'Live', uses: 3 });
    expect(used.status?.lastUse).toBe('alice: write on east, namespace default');
    await fleet.rest(3_600_000);
    const late = await write('e');
    expect(late.status).toBe(403);
    expect(late.body.message).toContain('g is expired');
  });

  it('does not count until somebody approves it who may, and nobody signs for another', async () => {
    await start();
    await bind('user', ALICE);
    const admin = fleet.hub.client;
    await fleet.run(
      admin.create(clusterRoles, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'asker' },
        rules: [{ apiGroups: ['atoll.dev'], resources: ['accessgrants'], verbs: ['create', 'get', 'patch'] }],
      }),
    );
    await bind('asker', ALICE);
    expect(await grant(ALICE, 'forged', { requestedBy: 'root' })).toMatchObject({ code: 403 });
    expect(await grant(ALICE, 'own', { approvedBy: 'alice' })).toMatchObject({ code: 403 });
    expect(await grant(ALICE, 'other', { approvedBy: 'root' })).toMatchObject({ code: 403 });
    expect(await grant(ALICE, 'good')).toMatchObject({ kind: 'AccessGrant' });
    const patch = (user: User, spec: object): Promise<unknown> =>
      fleet.run(
        createClient(fleet.hub.server.as(user))
          .patch(GRANTS, '', 'good', 'merge', { spec })
          .catch((error: unknown) => error),
      );
    expect(await patch(ALICE, { approvedBy: 'alice' })).toMatchObject({ code: 403 });
    expect(await patch(ROOT, { clusters: { names: ['east', 'west'] } })).toMatchObject({ code: 422 });
    await fleet.rest(100);
    const pending = await ask(ALICE, `/clusters/east${MAPS}`, { method: 'POST', body: map('x') });
    expect(pending.body.message).toContain(
      'good is pending: nobody has approved it yet. Next: atoll grant approve good',
    );
    expect(await patch(ROOT, { approvedBy: 'root' })).toMatchObject({ kind: 'AccessGrant' });
    await fleet.rest(100);
    expect((await ask(ALICE, `/clusters/east${MAPS}`, { method: 'POST', body: map('x') })).status).toBe(201);
  });

  it('is worth nothing for more than 8 hours, and nothing to whoever may not create spokeclusters/proxy', async () => {
    await start();
    await bind('looker', ALICE);
    const now = fleet.runtime.clock.now();
    await grant(ROOT, 'short', { approvedBy: 'root' });
    await grant(ROOT, 'long', {
      approvedBy: 'root',
      user: 'bob',
      expiresAt: formatTime(now + 9 * 3_600_000),
    });
    await fleet.rest(100);
    const refused = await ask(ALICE, `/clusters/east${MAPS}`, { method: 'POST', body: map('x') });
    expect(refused.body.message).toContain('cannot create resource "spokeclusters/proxy"');
    const bob: User = { name: 'bob', groups: [] };
    await bind('user', bob);
    const long = await ask(bob, `/clusters/east${MAPS}`, { method: 'POST', body: map('x') });
    expect(long.body.message).toContain('long is refused: expiresAt is more than 8 hours');
  });

  it('[S103] opens a stream into a pod, which ends with the grant', async () => {
    await start({ workloads: true });
    await bind('user', ALICE);
    await fleet.run(
      fleet.spoke('east').client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web', namespace: 'default' },
        spec: { containers: [{ name: 'web', image: 'example/web:1', command: ['sleep', 'infinity'] }] },
      }),
    );
    await fleet.until(async () => {
      const pod = await fleet.run(fleet.spoke('east').client.get(pods, 'default', 'web'));
      return (pod['status'] as { phase?: string } | undefined)?.phase === 'Running';
    }, 'the pod runs');
    expect((await ask(ALICE, '/clusters/east/api/v1/namespaces/default/pods/web/log')).status).toBe(200);

    const path = '/clusters/east/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true';
    const exec = async (): Promise<Duplex | string> => {
      const answer = await fleet.run(
        handlerUpgrader(fleet.hub.server.as(ALICE))({
          method: 'GET',
          path,
          headers: WEB_SOCKET,
        }),
      );
      if (isUpgraded(answer)) return answer.socket;
      return Buffer.from(await readBody(answer)).toString('utf8');
    };
    expect(await exec()).toContain('exec on the cluster east in the namespace default');
    await grant(ROOT, 'g', { approvedBy: 'root', allow: ['exec'] });
    await fleet.rest(100);
    const socket = await exec();
    if (typeof socket === 'string') throw new Error(socket);
    let closed = false;
    socket.on('error', () => undefined);
    socket.once('close', () => {
      closed = true;
    });
    socket.resume();
    await fleet.rest(1_000);
    expect(closed).toBe(false);
    await fleet.run(fleet.hub.client.delete(GRANTS, '', 'g'));
    await fleet.until(() => closed, 'the stream is cut');
    expect(await exec()).toContain('needs an AccessGrant');
  });
});

describe('the fleet at one endpoint', () => {
  it('[A66] lists everywhere at once, with a column for the cluster, in chunks, and tells who is missing', async () => {
    await start();
    await bind('looker', ALICE);
    for (const name of ['a', 'b', 'c']) await put('east', name);
    await put('west', 'a');
    const rows = async (path: string): Promise<{ cells: string[][]; answer: Answer }> => {
      const answer = await ask(ALICE, path, { headers: { accept: TABLE } });
      const found = (answer.body['rows'] ?? []) as { cells: string[] }[];
      return { cells: found.map(({ cells }) => cells.slice(0, 2)), answer };
    };
    const own = '&fieldSelector=metadata.name!%3Dkube-root-ca.crt';
    const all = await rows(`/fleet${MAPS}?limit=500${own}`);
    expect((all.answer.body['columnDefinitions'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'Name',
      'Cluster',
      'Data',
      'Age',
    ]);
    expect(all.cells).toEqual([
      ['a', 'east'],
      ['b', 'east'],
      ['c', 'east'],
      ['a', 'west'],
    ]);
    const seen: string[] = [];
    let token = '';
    do {
      const { cells, answer } = await rows(`/fleet${MAPS}?limit=2${own}${token && `&continue=${token}`}`);
      seen.push(...cells.map(([name, cluster]) => `${cluster}/${name}`));
      expect(cells.length).toBeLessThanOrEqual(2);
      token = (answer.body['metadata'] as { continue?: string }).continue ?? '';
    } while (token !== '');
    expect(seen.sort()).toEqual(['east/a', 'east/b', 'east/c', 'west/a']);
    expect((await rows(`/fleet${MAPS}?clusterSelector=site%3Dwest${own}`)).cells).toEqual([['a', 'west']]);
    const nowhere = await ask(ALICE, `/fleet${MAPS}?clusterSelector=site%3Dnorth`);
    expect(nowhere.status).toBe(404);
    expect(nowhere.body['message']).toContain('no cluster has the labels');
    fleet.spoke('west').link.setLatency(20_000);
    const slow = await rows(`/fleet${MAPS}?limit=500${own}`);
    expect(slow.cells).toHaveLength(3);
    expect(slow.answer.body['missing']).toMatchObject([{ cluster: 'west', message: 'no answer within 5 s' }]);
    fleet.cut('west');
    const part = await rows(`/fleet${MAPS}?limit=500${own}`);
    expect(part.cells).toHaveLength(3);
    expect(part.answer.headers['warning']).toContain('missing: what is on the cluster west');
    expect(part.answer.body['missing']).toMatchObject([{ cluster: 'west', reason: 'ServiceUnavailable' }]);
    fleet.cut('east');
    expect((await rows(`/fleet${MAPS}`)).answer.status).toBe(503);
  });

  it('[A66] watches everywhere, and goes on from where the client was without loss', async () => {
    await start();
    await bind('looker', ALICE);
    const list = await ask(ALICE, `/fleet${MAPS}`);
    const begin = (list.body['metadata'] as { resourceVersion: string }).resourceVersion;
    const handler = fleet.hub.server.as(ALICE);
    const watch = async (version: string): Promise<AsyncGenerator<{ type: string; object: KubeObject }>> => {
      const response = await fleet.run(
        handler({ method: 'GET', path: `/fleet${MAPS}?watch=1&resourceVersion=${version}`, headers: {} }),
      );
      return (async function* () {
        for await (const chunk of bodyChunks(response)) yield JSON.parse(Buffer.from(chunk).toString());
      })();
    };
    const told = async (
      events: AsyncGenerator<{ type: string; object: KubeObject }>,
    ): Promise<{ text: string; version: string }> => {
      const { value } = await fleet.run(events.next());
      const { type, object } = value as { type: string; object: KubeObject };
      const { name, annotations, resourceVersion = '' } = object.metadata;
      return { text: `${type} ${annotations?.['atoll.dev/cluster']}/${name}`, version: resourceVersion };
    };
    const first = await watch(begin);
    await put('east', 'a');
    expect((await told(first)).text).toBe('ADDED east/a');
    // One that is away costs the others nothing, and is heard when it is back.
    fleet.cut('west');
    await put('west', 'w');
    await put('east', 'b');
    const last = await told(first);
    expect(last.text).toBe('ADDED east/b');
    await first.return(undefined);
    await put('east', 'c');
    fleet.heal('west');
    const second = await watch(last.version);
    const rest = [(await told(second)).text, (await told(second)).text];
    expect(rest.sort()).toEqual(['ADDED east/c', 'ADDED west/w']);
    await second.return(undefined);
  });

  it('[A67] sends writes and logs to the cluster that has the object', async () => {
    await start({ workloads: true });
    await bind('user', ALICE);
    await fleet.run(
      fleet.spoke('west').client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'only', namespace: 'default', annotations: { 'sim.atoll.dev/log': 'hello' } },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      }),
    );
    await fleet.until(async () => {
      const log = await ask(ALICE, '/fleet/api/v1/namespaces/default/pods/only/log');
      return log.text.includes('hello');
    }, 'the log');
    await put('east', 'x');
    await put('west', 'x');
    const twice = await ask(ALICE, `/fleet${MAPS}/x`);
    expect(twice.status).toBe(409);
    expect(twice.body.message).toContain('is on 2 clusters: east, west');
    expect((await ask(ALICE, `/fleet${MAPS}/x?cluster=west`)).status).toBe(200);
    expect((await ask(ALICE, `/fleet${MAPS}/nowhere`)).status).toBe(404);
    await grant(ROOT, 'g', { approvedBy: 'root', clusters: { selector: { matchLabels: { site: 'west' } } } });
    await fleet.rest(100);
    const items = (await ask(ALICE, `/fleet${MAPS}?clusterSelector=site%3Dwest`)).body[
      'items'
    ] as KubeObject[];
    const object = items.find((item) => item.metadata.name === 'x');
    const written = await ask(ALICE, `/fleet${MAPS}/x`, {
      method: 'PUT',
      body: { ...object, data: { a: '2' } },
    });
    expect(written.text).toContain('"a":"2"');
    const there = await fleet.run(fleet.spoke('west').client.get(configMaps, 'default', 'x'));
    expect(there).toMatchObject({ data: { a: '2' } });
    expect(there.metadata.annotations?.['atoll.dev/cluster']).toBeUndefined();
    expect((await ask(ALICE, `/fleet${MAPS}`, { method: 'POST', body: map('new') })).status).toBe(400);
    expect(
      (await ask(ALICE, `/fleet${MAPS}?cluster=east`, { method: 'POST', body: map('new') })).status,
    ).toBe(403);
    expect(
      (await ask(ALICE, `/fleet${MAPS}?cluster=west`, { method: 'POST', body: map('new') })).status,
    ).toBe(201);
  });

  it('is for whoever may look into a cluster, and shows those alone', async () => {
    await start();
    const refused = await ask(ALICE, `/fleet${MAPS}`);
    expect(refused.status).toBe(403);
    await fleet.run(
      fleet.hub.client.create(clusterRoles, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'west-only' },
        rules: [
          {
            apiGroups: ['core.oam.dev'],
            resources: ['spokeclusters/proxy'],
            resourceNames: ['west'],
            verbs: ['get'],
          },
        ],
      }),
    );
    await bind('west-only', ALICE);
    await put('east', 'a');
    await put('west', 'b');
    const { items } = (await ask(ALICE, `/fleet${MAPS}`)).body as unknown as { items: KubeObject[] };
    expect(new Set(items.map(({ metadata }) => metadata.annotations?.['atoll.dev/cluster']))).toEqual(
      new Set(['west']),
    );
    expect((await ask(ALICE, `/fleet${MAPS}?cluster=east`)).status).toBe(403);
    expect((await ask(ALICE, '/fleet/apis')).status).toBe(200);
  });
});
