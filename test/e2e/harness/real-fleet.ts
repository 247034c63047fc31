import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { joinWord, parseJoin } from '../../../src/cli/join/join-file.ts';
import { formatKubeconfig, parseKubeconfig } from '../../../src/kube/kubeconfig.ts';
import { authored } from './authors.ts';
import { expectSuccess, type Outcome, run } from './command.ts';
import { type EngineProcess, startEngineProcess } from './engine-process.ts';
import type { Fleet, JoinedHub } from './fleet.ts';
import { fleetCommands } from './fleet-commands.ts';
import { type RealApiServer, startRealApiServers } from './real-api-server.ts';
import { type StandIns, startStandIns } from './stand-in-controllers.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { until } from './until.ts';

const HUB = 'hub';
/** The hub's engine is nobody's administrator. */
const HUB_USER = 'atoll-hub';
const ENGINE_USER = 'system:serviceaccount:atoll-system:atoll-spoke';

interface Member {
  readonly server: RealApiServer;
  readonly standIns: StandIns;
  engine: EngineProcess;
  /** Starts the engine. */
  run(): Promise<EngineProcess>;
}

/**
 * A fleet on kube-apiservers: a hub, and spokes that joined it by one YAML each, with `atoll hub` and `atoll spoke` beside them, which
 * have no rights but those that `atoll hub rights` and the YAML list. A member is an API server with its engine: both are killed.
 */
export async function startRealFleet(spokes: number): Promise<Fleet> {
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const servers = await startRealApiServers();
  const directory = servers.directory;
  const kubeconfig = join(directory, 'kubeconfig');
  const members = new Map<string, Member>();
  const names = Array.from({ length: spokes }, (_, index) => `spoke-${index + 1}`);
  const temporary = inject('temporaryRoot');
  const atoll = (args: readonly string[], options: object = {}): Promise<Outcome> =>
    run(process.execPath, [main, ...args], { cwd: temporary, timeoutMs: 90_000, ...options });

  const member = (name: string): Member => {
    const found = members.get(name);
    if (!found) throw new Error(`the fleet has no member ${name}`);
    return found;
  };

  async function addHub(server: RealApiServer): Promise<void> {
    await server.apply(
      expectSuccess(
        'atoll hub rights',
        await atoll([
          'hub',
          'rights',
          '--user',
          HUB_USER,
          '--access-port',
          '--credential-namespaces',
          'default',
        ]),
      ),
    );
    // What these tests propagate beside the usual kinds, and the Nodes of no cluster.
    await server.kubectl('create', 'clusterrole', 'more', '--verb=get,list,watch', '--resource=secrets');
    await server.kubectl('label', 'clusterrole', 'more', 'rbac.atoll.dev/aggregate-to-hub=true');
    const standIns = await startStandIns(HUB, server);
    let linkPort = '0';
    let accessPort = '0';
    const run = async (): Promise<EngineProcess> => {
      const started = await startEngineProcess('hub', server.kubeconfigWith(HUB_USER), [
        ...['--data', join(server.directory, 'engine'), '--allow-loopback'],
        ...['--link-port', linkPort, '--access-port', accessPort],
      ]);
      // The addresses stay.
      linkPort = /"linkPort":(\d+)/.exec(started.log())?.[1] ?? '';
      accessPort = /"server":"https:\/\/127.0.0.1:(\d+)\/clusters/.exec(started.log())?.[1] ?? '';
      return started;
    };
    members.set(HUB, { server, standIns, run, engine: await run() });
    writeKubeconfig(accessPort);
  }

  async function addSpoke(name: string, server: RealApiServer): Promise<void> {
    const standIns = await startStandIns(name, server);
    const users = ['--hub-users', 'admin'];
    await server.apply(
      expectSuccess('atoll join', await fleet.atoll(['join', name, '-o', 'yaml', ...users])),
    );
    const token = await server.kubectl('-n', 'atoll-system', 'create', 'token', 'atoll-spoke');
    const own = server.kubeconfigWith(token.trim());
    const run = (): Promise<EngineProcess> => startEngineProcess('spoke', own, ['--name', name]);
    members.set(name, { server, standIns, run, engine: await run() });
    await until(
      `${name} to be connected`,
      async () =>
        (await fleet.kubectl(HUB, 'get', 'spokecluster', name, '-o', 'jsonpath={.status.connection}')) ===
        'Connected',
      { withinMs: 30_000 },
    );
  }

  function writeKubeconfig(accessPort: string): void {
    const hub = started.get(HUB);
    if (!hub) return;
    const known = [...started].map(([name, server]) => ({
      name,
      ...parseKubeconfig(readFileSync(server.kubeconfig, 'utf8')),
    }));
    const ca = readFileSync(join(hub.directory, 'engine', 'access-pki', 'ca.crt')).toString('base64');
    const door = `https://127.0.0.1:${accessPort}`;
    const behind = [
      { name: 'door', server: door },
      ...names.map((name) => ({ name: `${name}@hub`, server: `${door}/clusters/${name}` })),
    ];
    const [first] = known;
    if (first === undefined) return;
    const config = {
      ...first,
      clusters: [
        ...known.flatMap(({ name, clusters }) => clusters.map((each) => ({ ...each, name }))),
        ...behind.map(({ name, server }) => ({
          name,
          cluster: { server, 'certificate-authority-data': ca },
        })),
      ],
      users: [{ name: 'admin', user: { token: 'admin' } }],
      contexts: [...known, ...behind].map(({ name }) => ({
        name,
        context: { cluster: name, user: 'admin' },
      })),
      'current-context': HUB,
    };
    const { name: _name, ...rest } = config;
    writeFileSync(kubeconfig, formatKubeconfig(rest), { mode: 0o600 });
  }

  const { commands, close } = fleetCommands({
    directory,
    kubeconfig,
    async atoll(args, options) {
      const [verb, name = ''] = args;
      if (verb === 'start' || verb === 'stop') {
        await (verb === 'start' ? start(name) : stop(name));
        return { code: 0, stdout: '', stderr: '', text: '' };
      }
      return atoll([...args, '--kubeconfig', kubeconfig, '--context', HUB], options);
    },
    written: authored,
  });
  const started = new Map<string, RealApiServer>();
  const fleet: Fleet = {
    directory,
    kubeconfig,
    door: 'door',
    ...commands,
    pid: (name) => member(name).engine.pid,
    async kill(name): Promise<void> {
      const { engine, server } = member(name);
      await Promise.all([engine.kill(), server.kill()]);
    },
    log: (name) => member(name).engine.log(),
    audit: (name) => member(name).server.audit,
    insiders: [HUB_USER, ENGINE_USER, 'controllers'],
    ports(name) {
      const api = Number(new URL(member(name).server.url).port);
      const link = /"linkPort":(\d+)/.exec(fleet.log(name))?.[1];
      return { api, ...(link === undefined ? {} : { link: Number(link) }) };
    },
    async linkCredentials(spoke): Promise<{ key: string; certificate: string }> {
      const { text } = await secretOf(spoke, 'atoll.dev/link');
      return { key: text('key'), certificate: text('certificate') };
    },
    async joined(spoke): Promise<JoinedHub> {
      const { text } = await secretOf(spoke, 'atoll.dev/join');
      return parseJoin(text('join')).hubs[0] ?? { addresses: [], ca: '' };
    },
    async kept(spoke): Promise<ReadonlyMap<string, string>> {
      const { items } = JSON.parse(
        await fleet.kubectl(spoke, 'get', 'secrets,configmaps', '-A', '-o', 'json'),
      ) as { items: { kind: string; metadata: { name: string }; data?: Record<string, string> }[] };
      return new Map(
        items.flatMap(({ kind, metadata, data = {} }) =>
          Object.entries(data).map(([key, value]) => [
            `${kind} ${metadata.name} ${key}`,
            kind === 'Secret' ? Buffer.from(value, 'base64').toString('utf8') : value,
          ]),
        ),
      );
    },
    async wire(spoke): Promise<TcpProxy> {
      const { name, text } = await secretOf(spoke, 'atoll.dev/join');
      const { hubs } = parseJoin(text('join'));
      const [host = '', port = ''] = hubs[0]?.addresses[0]?.split(':') ?? [];
      const wire = await startTcpProxy({ host, port: Number(port) });
      const through = hubs.map((hub) => ({ ...hub, addresses: [`127.0.0.1:${wire.port}`] }));
      const word = joinWord({ version: 2, hubs: through });
      const data = { join: Buffer.from(word).toString('base64') };
      const patch = ['--type=merge', '-p', JSON.stringify({ data })];
      await fleet.kubectl(spoke, '-n', 'atoll-system', 'patch', 'secret', name, ...patch);
      await stop(spoke);
      await start(spoke);
      return wire;
    },
    async stop(): Promise<void> {
      await close();
      for (const [name, { engine }] of members)
        writeFileSync(join(directory, `${name}.engine.log`), engine.log());
      await Promise.all(
        [...members.values()].flatMap(({ engine, standIns }) => [engine.kill(), standIns.stop()]),
      );
      await servers.stop();
    },
  };

  async function secretOf(spoke: string, type: string): Promise<{ name: string; text(key: string): string }> {
    const query = ['get', 'secrets', `--field-selector=type=${type}`, '-o', 'json'];
    const { items } = JSON.parse(await fleet.kubectl(spoke, '-n', 'atoll-system', ...query)) as {
      items: { metadata: { name: string }; data: Record<string, string> }[];
    };
    const [secret] = items;
    if (secret === undefined) throw new Error(`${spoke} has no Secret of type ${type}`);
    return {
      name: secret.metadata.name,
      text: (key) => Buffer.from(secret.data[key] ?? '', 'base64').toString('utf8'),
    };
  }

  async function start(name: string): Promise<void> {
    const found = member(name);
    await found.server.start();
    found.engine = await found.run();
  }

  async function stop(name: string): Promise<void> {
    const { engine, server } = member(name);
    await engine.stop();
    await server.kill();
  }

  mkdirSync(`${directory}.home`, { recursive: true });
  try {
    const all = [HUB, ...names];
    const ready = await Promise.all(all.map((name) => servers.start(name)));
    all.forEach((name, index) => {
      const server = ready[index];
      if (server) started.set(name, server);
    });
    for (const [name, server] of started) {
      if (name === HUB) await addHub(server);
      mkdirSync(join(directory, name), { recursive: true });
      writeFileSync(join(directory, name, 'kubeconfig'), readFileSync(server.kubeconfigWith('admin', name)));
    }
    await Promise.all(names.map((name) => addSpoke(name, ready[all.indexOf(name)] as RealApiServer)));
  } catch (error) {
    await fleet.stop();
    throw error;
  }
  return fleet;
}
