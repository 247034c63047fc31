import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, inject } from 'vitest';
import { isAlive } from '../../../src/runtime/index.ts';
import { run } from './command.ts';
import { type FleetCommands, fleetCommands } from './fleet-commands.ts';
import { startRealFleet } from './real-fleet.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { until } from './until.ts';

/** `describe` of what needs kubectl; skipped where there is none (which the global setup says loudly). */
export const describeFleet: typeof describe.skip = inject('kubectls').length > 0 ? describe : describe.skip;

/** Users that a member's own processes are to its API server; none where these are one process. */
export type Insiders = readonly string[];

/** What a spoke was told when it joined, of its hub. */
export interface JoinedHub {
  readonly addresses: readonly string[];
  readonly ca: string;
}

/** Whether the servers of this run are kube-apiservers, and not those of the package: see `vitest.real.config.ts`. */
export const onRealServers: boolean = inject('servers') === 'real';

/** `describe` of what is about the fleet of `atoll up`, whose API servers are Atoll's: nothing of it is on others. */
export const describeOwnFleet: typeof describe.skip = onRealServers ? describe.skip : describeFleet;

/** A fleet of real processes in a directory of its own, and the hands of its user. */
export interface Fleet extends FleetCommands {
  readonly directory: string;
  readonly kubeconfig: string;
  /** The context by which people get to the spokes: `/clusters/<name>` and `/fleet` are behind its server. */
  readonly door: string;
  pid(member: string): number;
  /** SIGKILL; resolves when the process is gone. */
  kill(member: string): Promise<void>;
  log(member: string): string;
  /** The file in which the API server of a member records who writes what, one event a line. */
  audit(member: string): string;
  readonly insiders: Insiders;
  /** Where the API server of a member listens, and where a hub does for spokes. */
  ports(member: string): { readonly api: number; readonly link?: number };
  /** What a spoke shows its hub, PEM. */
  linkCredentials(spoke: string): Promise<{ readonly key: string; readonly certificate: string }>;
  joined(spoke: string): Promise<JoinedHub>;
  /** All texts that a spoke keeps, by where they are. */
  kept(spoke: string): Promise<ReadonlyMap<string, string>>;
  /** Puts a wire between a spoke and its hub, which a test can cut. Starts the spoke anew. */
  wire(spoke: string): Promise<TcpProxy>;
  /** Stops everything. */
  stop(): Promise<void>;
}

let count = 0;

/** A fleet that is not started yet: its directory does not exist. */
export function newFleet(): Fleet {
  count += 1;
  const directory = join(inject('temporaryRoot'), `fleet-${process.pid}-${count}`);
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const kubeconfig = join(directory, 'kubeconfig');
  const { commands, close } = fleetCommands({
    directory,
    kubeconfig,
    atoll: (args, options) =>
      run(process.execPath, [main, ...args, '--dir', directory], {
        timeoutMs: 90_000,
        cwd: inject('temporaryRoot'),
        ...options,
      }),
  });

  const fleet: Fleet = {
    directory,
    kubeconfig,
    door: 'hub',
    ...commands,
    pid: (member) => Number.parseInt(readFileSync(join(directory, 'run', `${member}.pid`), 'utf8'), 10),
    async kill(member): Promise<void> {
      const pid = fleet.pid(member);
      process.kill(pid, 'SIGKILL');
      await until(`the end of ${member}`, () => !isAlive(pid), { everyMs: 5 });
    },
    log: (member) => readFileSync(join(directory, 'log', `${member}.log`), 'utf8'),
    audit: (member) => join(directory, 'log', `${member}.audit.log`),
    insiders: [],
    ports(member) {
      const { members } = JSON.parse(readFileSync(join(directory, 'fleet.json'), 'utf8')) as {
        members: { name: string; port: number; linkPort?: number }[];
      };
      const found = members.find(({ name }) => name === member);
      if (!found) throw new Error(`the fleet has no member ${member}`);
      return { api: found.port, ...(found.linkPort === undefined ? {} : { link: found.linkPort }) };
    },
    async linkCredentials(spoke): Promise<{ key: string; certificate: string }> {
      const folder = join(directory, spoke, 'link');
      const [file = ''] = readdirSync(folder);
      return JSON.parse(readFileSync(join(folder, file), 'utf8'));
    },
    async joined(spoke): Promise<JoinedHub> {
      const { hubs } = JSON.parse(readFileSync(join(directory, spoke, 'join.json'), 'utf8')) as {
        hubs: JoinedHub[];
      };
      return hubs[0] ?? { addresses: [], ca: '' };
    },
    async kept(spoke): Promise<ReadonlyMap<string, string>> {
      const visit = (folder: string): string[] =>
        readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() ? visit(join(folder, entry.name)) : [join(folder, entry.name)],
        );
      const files = visit(join(directory, spoke)).filter((path) => !/data\.db/.test(path));
      return new Map(files.map((path) => [path, readFileSync(path, 'utf8')]));
    },
    async wire(spoke): Promise<TcpProxy> {
      const joinFile = join(directory, spoke, 'join.json');
      const joined = JSON.parse(readFileSync(joinFile, 'utf8')) as { hubs: { addresses: string[] }[] };
      const [host = '', port = ''] = joined.hubs[0]?.addresses[0]?.split(':') ?? [];
      const wire = await startTcpProxy({ host, port: Number(port) });
      await fleet.mustAtoll('stop', spoke);
      const hubs = [{ ...joined.hubs[0], addresses: [`127.0.0.1:${wire.port}`] }];
      writeFileSync(joinFile, JSON.stringify({ ...joined, hubs }));
      await fleet.mustAtoll('start', spoke);
      return wire;
    },
    async stop(): Promise<void> {
      await close();
      if (existsSync(join(directory, 'fleet.json'))) await fleet.mustAtoll('down');
    },
  };
  return fleet;
}

/** A running fleet with all spokes connected. */
export async function startFleet(spokes: number = 3): Promise<Fleet> {
  if (onRealServers) return startRealFleet(spokes);
  const fleet = newFleet();
  await fleet.mustAtoll('up', '--spokes', String(spokes));
  return fleet;
}
