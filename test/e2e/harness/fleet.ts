import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, inject } from 'vitest';
import type { Client } from '../../../src/kube/client.ts';
import { type HttpHandler, httpHandler } from '../../../src/kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../../src/kube/kubeconfig-endpoint.ts';
import { createClient } from '../../../src/kube/rest-client.ts';
import { isAlive } from '../../../src/runtime/index.ts';
import { type CommandOptions, type Outcome, run } from './command.ts';
import { until } from './until.ts';

/** `describe` of what needs kubectl; skipped where there is none (which the global setup says loudly). */
export const describeFleet: typeof describe.skip = inject('kubectls').length > 0 ? describe : describe.skip;

/** A fleet of real processes in a directory of its own, and the hands of its user. */
export interface Fleet {
  readonly directory: string;
  readonly kubeconfig: string;
  /** `atoll <args> --dir <directory>`, whatever its exit code. */
  atoll(args: readonly string[], options?: CommandOptions): Promise<Outcome>;
  /** The same, which must succeed. */
  mustAtoll(...args: string[]): Promise<string>;
  /** kubectl with a context, whatever its exit code; the newest one unless `binary` says otherwise. */
  tryKubectl(context: string, args: readonly string[], options?: KubectlOptions): Promise<Outcome>;
  /** The same, which must succeed: its standard output. */
  kubectl(context: string, ...args: string[]): Promise<string>;
  /** `kubectl apply -f -`, which must succeed. */
  apply(context: string, manifests: string, ...args: string[]): Promise<string>;
  /** `kubectl create -f -` of one object, which must succeed. */
  create(context: string, object: object): Promise<string>;
  /** An API client with the administrator's rights, for watching what kubectl cannot time. Closed with the fleet. */
  client(context: string): Client;
  pid(member: string): number;
  /** SIGKILL; resolves when the process is gone. */
  kill(member: string): Promise<void>;
  log(member: string): string;
  /** Stops everything. */
  stop(): Promise<void>;
}

export interface KubectlOptions extends CommandOptions {
  readonly binary?: string;
}

let count = 0;

/** A fleet that is not started yet: its directory does not exist. */
export function newFleet(): Fleet {
  count += 1;
  const directory = join(inject('temporaryRoot'), `fleet-${process.pid}-${count}`);
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const newest = inject('kubectls').at(-1)?.path ?? 'kubectl';
  const kubeconfig = join(directory, 'kubeconfig');
  const handlers: HttpHandler[] = [];

  const fleet: Fleet = {
    directory,
    kubeconfig,
    atoll: (args, options) =>
      run(process.execPath, [main, ...args, '--dir', directory], {
        timeoutMs: 90_000,
        cwd: inject('temporaryRoot'),
        ...options,
      }),
    async mustAtoll(...args): Promise<string> {
      return expectSuccess(`atoll ${args.join(' ')}`, await fleet.atoll(args));
    },
    tryKubectl(context, args, options = {}): Promise<Outcome> {
      const { binary = newest, env = {}, ...rest } = options;
      return run(binary, ['--context', context, ...args], {
        ...rest,
        env: { KUBECONFIG: kubeconfig, HOME: `${directory}.home`, ...env },
      });
    },
    async kubectl(context, ...args): Promise<string> {
      return expectSuccess(`kubectl ${args.join(' ')}`, await fleet.tryKubectl(context, args));
    },
    async apply(context, manifests, ...args): Promise<string> {
      return expectSuccess(
        'kubectl apply',
        await fleet.tryKubectl(context, ['apply', '-f', '-', ...args], { input: manifests }),
      );
    },
    async create(context, object): Promise<string> {
      return expectSuccess(
        'kubectl create',
        await fleet.tryKubectl(context, ['create', '-f', '-'], { input: JSON.stringify(object) }),
      );
    },
    client(context): Client {
      const endpoint = endpointFromKubeconfig(readFileSync(kubeconfig, 'utf8'), { stored: false, context });
      const handler = httpHandler(endpoint);
      handlers.push(handler);
      return createClient(handler, { userAgent: 'e2e' });
    },
    pid: (member) => Number(readFileSync(join(directory, 'run', `${member}.pid`), 'utf8').trim()),
    async kill(member): Promise<void> {
      const pid = fleet.pid(member);
      process.kill(pid, 'SIGKILL');
      await until(`the end of ${member}`, () => !isAlive(pid), { everyMs: 5 });
    },
    log: (member) => readFileSync(join(directory, 'log', `${member}.log`), 'utf8'),
    async stop(): Promise<void> {
      await Promise.all(handlers.map((handler) => handler.close()));
      if (existsSync(join(directory, 'fleet.json'))) await fleet.mustAtoll('down');
    },
  };
  return fleet;
}

/** A running fleet with all spokes connected. */
export async function startFleet(spokes: number = 3): Promise<Fleet> {
  const fleet = newFleet();
  await fleet.mustAtoll('up', '--spokes', String(spokes));
  return fleet;
}

function expectSuccess(command: string, outcome: Outcome): string {
  if (outcome.code !== 0)
    throw new Error(`${command.slice(0, 300)} failed with ${outcome.code}:\n${outcome.text}`);
  return outcome.stdout;
}
