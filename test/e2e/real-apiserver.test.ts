import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { must, type Outcome } from './harness/command.ts';
import { type EngineProcess, startEngineProcess } from './harness/engine-process.ts';
import {
  describeReal,
  REAL_CONTEXT,
  type RealApiServer,
  type RealApiServers,
  startRealApiServers,
} from './harness/real-api-server.ts';
import { until } from './harness/until.ts';

type Json = Record<string, unknown>;

let servers: RealApiServers;
let hub: RealApiServer;
let spoke: RealApiServer;
let second: RealApiServer;
let hubEngine: EngineProcess;
let spokeEngine: EngineProcess;
let secondEngine: EngineProcess;
let spokeKubeconfig: string;
const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
const ENGINE = 'system:serviceaccount:atoll-system:atoll-spoke';
const HUB_USER = 'atoll-hub';

const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

const startHub = (): Promise<EngineProcess> =>
  startEngineProcess('hub', hub.kubeconfigWith(HUB_USER), [
    ...['--data', join(hub.directory, 'engine'), '--link-port', hubPort],
    ...['--access-port', accessPort],
  ]);
let hubPort = '0';
let accessPort = '0';

const startSpoke = (): Promise<EngineProcess> =>
  startEngineProcess('spoke', spokeKubeconfig, ['--name', 'edge']);

async function atoll(on: RealApiServer, ...args: string[]): Promise<string> {
  return must(process.execPath, [main, ...args, '--kubeconfig', on.kubeconfig, '--context', REAL_CONTEXT], {
    cwd: inject('temporaryRoot'),
    timeoutMs: 60_000,
  });
}

const connected = (on: RealApiServer): Promise<string> =>
  on.kubectl('wait', 'spokecluster/edge', '--for=condition=Connected', '--timeout=30s');

function propagation(name: string, selector: Json, spec: Json = {}): Json {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    metadata: { name, namespace: 'default' },
    spec: {
      author: { username: 'admin', groups: ['system:masters'] },
      resourceSelectors: [selector],
      placement: { clusterNames: ['edge'] },
      ...spec,
    },
  };
}

const ready = (on: RealApiServer, name: string): Promise<string> =>
  on.kubectl('wait', `propagation/${name}`, '--for=condition=Ready', '--timeout=30s');

async function condition(on: RealApiServer, thing: string, type: string): Promise<string> {
  const path = `jsonpath={.status.conditions[?(@.type=="${type}")]['status','reason','message']}`;
  return on.kubectl('get', thing, '-o', path);
}

const configMap = (name: string, data: Json, labels: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels },
  data,
});

/** kubectl as somebody, whatever its exit code. */
const as = (on: RealApiServer, user: string, args: string[], input?: object): Promise<Outcome> =>
  on.tryKubectl(on.kubeconfigWith(user), args, input === undefined ? undefined : JSON.stringify(input));

describeReal('the engine on real API servers, as hub and as spoke', () => {
  beforeAll(async () => {
    servers = await startRealApiServers();
    [hub, spoke, second] = await Promise.all([
      servers.start('hub'),
      servers.start('spoke'),
      servers.start('second'),
    ]);
    const own = ['hub', 'rights', '--user', HUB_USER, '--access-port'];
    await hub.apply(await must(process.execPath, [main, ...own], { cwd: inject('temporaryRoot') }));
    // What the controller for aggregated roles would do.
    const bind = (name: string): Promise<string> =>
      hub.kubectl('create', 'clusterrolebinding', name, `--clusterrole=${name}`, `--user=${HUB_USER}`);
    await bind('atoll:hub-usual-kinds');
    await hub.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'widgets' },
      rules: [{ apiGroups: ['example.org'], resources: ['widgets'], verbs: ['get', 'list', 'watch'] }],
    });
    await bind('widgets');
  }, 90_000);
  afterAll(async () => {
    const engines = [hubEngine, spokeEngine, secondEngine].filter((engine) => engine !== undefined);
    for (const [i, engine] of engines.entries())
      writeFileSync(join(hub.directory, '..', `engine-${i}.log`), engine.log());
    await Promise.all(engines.map((engine) => engine.stop()));
    await servers?.stop();
  });

  it('join by one YAML, with the rights that it lists', async () => {
    hubEngine = await startHub();
    hubPort = /"linkPort":(\d+)/.exec(hubEngine.log())?.[1] ?? '';
    accessPort = /"server":"https:\/\/127.0.0.1:(\d+)\/clusters/.exec(hubEngine.log())?.[1] ?? '';
    // It may read roles that it may not change, and finds them as they should be.
    expect(hubEngine.log()).not.toContain('may not be changed from here');
    await spoke.apply(
      await atoll(hub, 'join', 'edge', '-o', 'yaml', '--hub-users', 'ann', 'admin', '--hub-groups', 'devs'),
    );
    const account = '--serviceaccount=atoll-system:atoll-spoke';
    // What the controller for aggregated roles would do.
    await spoke.kubectl(
      'create',
      'clusterrolebinding',
      'usual',
      '--clusterrole=atoll:spoke-usual-kinds',
      account,
    );
    const token = await spoke.kubectl('-n', 'atoll-system', 'create', 'token', 'atoll-spoke');
    spokeKubeconfig = spoke.kubeconfigWith(token.trim());
    spokeEngine = await startSpoke();
    await connected(hub);
  });

  it('believe no author but the one who writes', async () => {
    const selector = { apiVersion: 'v1', kind: 'ConfigMap', name: 'note' };
    await hub.kubectl('create', 'clusterrolebinding', 'ann', '--clusterrole=ann', '--user=ann');
    await hub.kubectl('create', 'clusterrole', 'ann', '--verb=*', '--resource=propagations.atoll.dev');
    for (const author of [
      undefined,
      { username: 'admin' },
      { username: 'ann', groups: ['system:masters'] },
    ]) {
      const { code, text } = await as(
        hub,
        'ann',
        ['create', '-f', '-'],
        propagation('anns', selector, { author }),
      );
      expect(code, text).not.toBe(0);
      expect(text).toContain('spec.author');
    }
  });

  it('carry a ConfigMap, a Service and a Deployment, and tell how they are', async () => {
    await hub.apply(configMap('note', { a: 'b' }));
    await hub.kubectl('create', 'service', 'clusterip', 'web', '--tcp=80:8080');
    await hub.kubectl('create', 'deployment', 'web', '--image=registry.example/web:1', '--replicas=2');
    for (const [kind, apiVersion, name] of [
      ['ConfigMap', 'v1', 'note'],
      ['Service', 'v1', 'web'],
      ['Deployment', 'apps/v1', 'web'],
    ])
      await hub.apply(propagation(`${kind}-${name}`.toLowerCase(), { apiVersion, kind, name }));
    await ready(hub, 'configmap-note');
    await ready(hub, 'service-web');
    expect(await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('b');
    await until('the Deployment', () => spoke.kubectl('get', 'deployment', 'web', '-o', 'name'));
    await until('what is missing', async () =>
      (await condition(hub, 'propagation/deployment-web', 'Ready')).startsWith('False'),
    );
    // What the controller for Deployments would write.
    const status = {
      observedGeneration: 1,
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      conditions: [{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: '' }],
    };
    await spoke.kubectl(
      'patch',
      'deployment',
      'web',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    );
    await ready(hub, 'deployment-web');
  });

  it('leave a Service its own address', async () => {
    const address = (): Promise<string> =>
      spoke.kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
    const before = await address();
    expect(before).toMatch(/^10\.1\./);
    await hub.kubectl(
      'patch',
      'service',
      'web',
      '--type=merge',
      '-p',
      '{"spec":{"sessionAffinity":"ClientIP"}}',
    );
    await until(
      'the change',
      async () =>
        (await spoke.kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.sessionAffinity}')) ===
        'ClientIP',
    );
    expect(await address()).toBe(before);
  });

  it('tell which right the hub has not, and go on when it has it', async () => {
    await hub.kubectl('create', 'secret', 'generic', 'key', '--from-literal=word=open');
    await hub.apply(propagation('secrets', { apiVersion: 'v1', kind: 'Secret', name: 'key' }));
    await until('the missing right to be told', async () =>
      (await condition(hub, 'propagation/secrets', 'Selected')).includes(
        'objects of kind Secret cannot be read by the hub: secrets is forbidden: User "atoll-hub" cannot list',
      ),
    );
    expect(await condition(hub, 'propagation/service-web', 'Ready')).toMatch(/^True/);
    expect(await hub.kubectl('get', 'propagation', 'secrets', '-o', 'yaml')).not.toContain('b3Blbg');
    await hub.kubectl('create', 'clusterrole', 'secrets', '--verb=get,list,watch', '--resource=secrets');
    await hub.kubectl(
      'create',
      'clusterrolebinding',
      'secrets',
      '--clusterrole=secrets',
      `--user=${HUB_USER}`,
    );
    await until('the Secret', () => spoke.kubectl('get', 'secret', 'key', '-o', 'name'));
  });

  it('carry a definition and its objects, in order', async () => {
    await spoke.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'widgets' },
      rules: [
        { apiGroups: ['example.org'], resources: ['*'], verbs: ALL },
        { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ALL },
      ],
    });
    await spoke.kubectl(
      'create',
      'clusterrolebinding',
      'widgets',
      '--clusterrole=widgets',
      '--serviceaccount=atoll-system:atoll-spoke',
    );
    await hub.apply({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: { type: 'object', properties: { size: { type: 'integer', default: 3 } } },
                },
              },
            },
          },
        ],
      },
    });
    await hub.kubectl('wait', 'crd/widgets.example.org', '--for=condition=Established');
    await until('the kind', () =>
      hub.apply({
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: 'w', namespace: 'default' },
        spec: {},
      }),
    );
    const { spec } = propagation('x', {});
    await hub.apply({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'ClusterPropagation',
      metadata: { name: 'widgets' },
      spec: {
        ...(spec as Json),
        resourceSelectors: [
          {
            apiVersion: 'apiextensions.k8s.io/v1',
            kind: 'CustomResourceDefinition',
            name: 'widgets.example.org',
          },
          { apiVersion: 'example.org/v1', kind: 'Widget', namespace: 'default' },
        ],
      },
    });
    await hub.kubectl('wait', 'clusterpropagation/widgets', '--for=condition=Ready', '--timeout=30s');
    expect(await spoke.kubectl('get', 'widget', 'w', '-o', 'jsonpath={.spec.size}')).toBe('3');
  });

  it('put back what is changed, and what is deleted, on the spoke', async () => {
    await spoke.kubectl('patch', 'cm', 'note', '--type=merge', '-p', '{"data":{"a":"x","mine":"y"}}');
    await until(
      'the value',
      async () =>
        (await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data}')) === '{"a":"b","mine":"y"}',
    );
    await spoke.kubectl('delete', 'cm', 'note');
    await until('the object', () => spoke.kubectl('get', 'cm', 'note', '-o', 'name'));
  });

  it('carry more than one object of the API can hold', async () => {
    for (let i = 0; i < 5; i += 1)
      await hub.kubectl(
        'create',
        '-f',
        await fileOf(
          `big-${i}`,
          configMap(`big-${i}`, { a: randomBytes(500_000).toString('base64') }, { big: 'yes' }),
        ),
      );
    await hub.apply(
      propagation('big', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        labelSelector: { matchLabels: { big: 'yes' } },
      }),
    );
    await ready(hub, 'big');
    expect((await spoke.kubectl('get', 'cm', '-l', 'big=yes', '-o', 'name')).trim().split('\n')).toHaveLength(
      5,
    );
  });

  it('refuse by the contract of the owner, and go on when it allows', async () => {
    await spoke.apply({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'SpokeContract',
      metadata: { name: 'owner' },
      spec: { deny: [{ kinds: [{ kind: 'ConfigMap' }], verbs: ['apply'] }] },
    });
    await hub.kubectl('patch', 'cm', 'note', '--type=merge', '-p', '{"data":{"a":"c"}}');
    await until('the refusal', async () =>
      /ContractRefused/.test(await spoke.kubectl('-n', 'atoll-system', 'get', 'dispatches', '-o', 'yaml')),
    );
    expect(await condition(hub, 'propagation/configmap-note', 'Permitted')).toMatch(
      /^False .*SpokeContract owner: admin may not apply ConfigMap default\/note/,
    );
    expect(await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('b');
    await spoke.kubectl('delete', 'spokecontract', 'owner');
    await until(
      'the change',
      async () => (await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data.a}')) === 'c',
    );
  });

  it('lead users of the hub to the spoke by a port of its own', async () => {
    const path = (user: string, what: string[]): Promise<Outcome> =>
      as(hub, user, [
        '--server',
        `https://127.0.0.1:${accessPort}/clusters/edge`,
        '--certificate-authority',
        join(hub.directory, 'engine', 'access-pki', 'ca.crt'),
        ...what,
      ]);
    const note = ['get', 'cm', 'note', '-o', 'jsonpath={.data.a}'];
    expect((await path('ann', note)).text).toContain('Forbidden');
    await hub.kubectl(
      'create',
      'clusterrolebinding',
      'anns-view',
      '--clusterrole=atoll:spoke-viewer',
      '--user=ann',
    );
    await spoke.kubectl(
      'create',
      'clusterrolebinding',
      'anns-view',
      '--clusterrole=system:aggregate-to-view',
      '--group=atoll:hub-users',
    );
    await until('the look', async () => (await path('ann', note)).stdout === 'c');
    // The spoke says no to the user, then the hub does.
    expect((await path('ann', ['get', 'secrets'])).text).toContain(
      'User "hub:ann" cannot list resource "secrets"',
    );
    expect((await path('ann', ['delete', 'cm', 'note'])).text).toContain(
      'User "ann" cannot create resource "spokeclusters/proxy"',
    );
    expect((await path('nobody', note)).code).not.toBe(0);
  });

  it('are looked into by commands at the hub', async () => {
    expect(await atoll(hub, 'why', 'configmap/note')).toMatch(/edge +Ready +/);
    expect(await atoll(hub, 'get', 'cm', '-n', 'default')).toMatch(/edge +note /);
    expect(await atoll(hub, 'hub', 'recover', '--from-spokes')).toMatch(/edge +6\n/);
  });

  it('write nothing at rest', async () => {
    await atRest();
    const before = engineWrites().length;
    let looks = 0;
    await until('ten seconds', () => ++looks > 10, { everyMs: 1_000 });
    expect(engineWrites().slice(before)).toEqual([]);
  });

  it('write nothing on the spoke because the hub starts once more, and change nothing there because the spoke does', async () => {
    const before = engineWrites('spoke').length;
    await hubEngine.kill();
    hubEngine = await startHub();
    await until('the link', () => hubEngine.log().includes('a link is up'));
    await atRest();
    expect(engineWrites('spoke').slice(before)).toEqual([]);

    const versions = await versionsOnSpoke();
    await spokeEngine.kill();
    spokeEngine = await startSpoke();
    await until('the link', () => spokeEngine.log().includes('the link is up'));
    await atRest();
    expect(await versionsOnSpoke()).toEqual(versions);
  });

  it('delete by tombstone what went while the spoke was away', async () => {
    await spokeEngine.kill();
    await hub.kubectl('delete', 'propagation', 'big', '--wait=false');
    await hub.kubectl('delete', 'deployment', 'web');
    await hubEngine.kill();
    [hubEngine, spokeEngine] = await Promise.all([startHub(), startSpoke()]);
    await until(
      'the end of the ConfigMaps',
      async () => (await spoke.kubectl('get', 'cm', '-l', 'big=yes', '-o', 'name')) === '',
      { withinMs: 30_000 },
    );
    await until(
      'the end of the Deployment',
      async () => (await spoke.kubectl('get', 'deployments', '-o', 'name')) === '',
      { withinMs: 30_000 },
    );
    expect(await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('c');
    await until(
      'the end of the order',
      async () =>
        !(await spoke.kubectl('-n', 'atoll-system', 'get', 'dispatches', '-o', 'name')).includes('big'),
    );
  });

  it('are handed over to another hub, with the same objects, and let go by it', async () => {
    const uid = (): Promise<string> => spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.metadata.uid}');
    const before = await uid();
    secondEngine = await startEngineProcess('hub', second.kubeconfig, [
      '--name',
      'second',
      '--data',
      join(second.directory, 'engine'),
      '--link-port',
      '0',
    ]);
    const file = join(second.directory, 'join.json');
    writeFileSync(file, await atoll(second, 'join', 'edge', '-o', 'file'));
    expect(
      await must(process.execPath, [main, 'takeover', '--kubeconfig', spoke.kubeconfig, '--join', file]),
    ).toContain("The spoke is second's now");
    await connected(second);
    await second.apply(configMap('note', { a: 'd' }));
    await second.apply(propagation('note', { apiVersion: 'v1', kind: 'ConfigMap', name: 'note' }));
    await ready(second, 'note');
    expect(await spoke.kubectl('get', 'cm', 'note', '-o', 'jsonpath={.data.a}')).toBe('d');
    expect(await uid()).toBe(before);
    expect(await atoll(second, 'detach', 'edge')).toContain('edge is detached; its objects stay');
    expect(await uid()).toBe(before);
    expect(await spoke.kubectl('get', 'cm', 'note', '-o', 'yaml')).not.toContain('atoll.dev/dispatch');
  });
});

/** What the engines, and the hub on the spoke, have written; questions to an API server are posted as well, and are no writes. */
function engineWrites(where?: 'hub' | 'spoke'): string[] {
  const users = [HUB_USER, ENGINE, 'atoll:hub'];
  return (
    Object.entries({ hub, spoke })
      .filter(([name]) => where === undefined || name === where)
      .flatMap(([name, server]) => server.writes().map((write) => ({ ...write, name })))
      .filter(({ user, path }) => users.includes(user) && !/reviews(\?|$)/.test(path))
      // What no order names any more is taken away a minute later, whatever happens meanwhile.
      .filter(({ verb, path }) => verb !== 'delete' || !path.includes('/bundles/'))
      .map(({ name, user, verb, path, code }) => `${name}: ${user} ${verb} ${path} ${code}`)
  );
}

/** Resolves when nothing was written for two seconds. */
async function atRest(): Promise<void> {
  let last = -1;
  let same = 0;
  await until(
    'the end of all work',
    () => {
      const now = engineWrites().length;
      same = now === last ? same + 1 : 0;
      last = now;
      return same >= 2;
    },
    { withinMs: 30_000, everyMs: 1_000 },
  );
}

/** Versions of what the spoke keeps, but for its reports. */
async function versionsOnSpoke(): Promise<string[]> {
  const kinds = 'ownershiprecords,crd,cm,secrets,services,deployments,widgets,clusterroles,roles';
  const { items } = JSON.parse(await spoke.kubectl('get', kinds, '-A', '-o', 'json')) as {
    items: { kind: string; metadata: { name: string; resourceVersion: string } }[];
  };
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`);
}

async function fileOf(name: string, object: Json): Promise<string> {
  const path = join(hub.directory, `${name}.json`);
  writeFileSync(path, JSON.stringify(object));
  return path;
}
