import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type HttpHandler, httpHandler } from '../../../src/kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../../src/kube/kubeconfig-endpoint.ts';
import { type CommandOptions, type Outcome, run } from './command.ts';
import type { KubectlBinary } from './kubectl-binaries.ts';
import { within } from './until.ts';

/** `atoll apiserver` as a process of its own, and the hands of its administrator. */
export interface ApiServerProcess {
  readonly directory: string;
  /** For files about it: the folder that `directory` is in. */
  readonly home: string;
  readonly kubeconfig: string;
  readonly url: string;
  readonly pid: number;
  /** All that the process printed. */
  log(): string;
  /** Requests with the administrator's certificate. Closed with the server. */
  handler(): HttpHandler;
  /** `atoll <args>`, whatever its exit code. */
  atoll(...args: string[]): Promise<Outcome>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface ApiServerProcessOptions {
  /** That of an earlier server, to start it once more. */
  readonly directory?: string;
  /** In memory where this is set: what a test of behaviour needs, without a disk. */
  readonly memory?: boolean;
  readonly flags?: readonly string[];
}

let count = 0;

/** Starts a server that is ready when this resolves. */
export async function startApiServerProcess(
  options: ApiServerProcessOptions = {},
): Promise<ApiServerProcess> {
  count += 1;
  const directory =
    options.directory ?? join(inject('temporaryRoot'), `apiserver-${process.pid}-${count}`, 'data');
  const home = join(directory, '..');
  const kubeconfig = join(home, 'kubeconfig');
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  mkdirSync(join(home, 'run'), { recursive: true });
  const kept = options.memory === true ? ['--memory'] : ['--data', directory];
  const args = [
    'apiserver',
    '--port',
    '0',
    ...kept,
    '--kubeconfig-out',
    kubeconfig,
    ...(options.flags ?? []),
  ];
  const child = spawn(process.execPath, [main, ...args], {
    cwd: inject('temporaryRoot'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Whoever cleans up after a test that was interrupted finds it here.
  writeFileSync(join(home, 'run', `apiserver-${count}.pid`), String(child.pid));
  let text = '';
  let notice = (): void => undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      notice();
    });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const ready = new Promise<string>((resolve, reject) => {
    notice = () => {
      const address = /listens on (https:\S+)/.exec(text)?.[1];
      if (address !== undefined) resolve(address);
    };
    void closed.then(() => reject(new Error(`the server ended with ${child.exitCode}:\n${text}`)));
  });
  const url = await within('the server to be ready', 15_000, ready);
  const handlers: HttpHandler[] = [];
  const closeHandlers = async (): Promise<void> => {
    await Promise.all(handlers.splice(0).map((handler) => handler.close()));
  };
  return {
    directory,
    home,
    kubeconfig,
    url,
    pid: child.pid ?? 0,
    log: () => text,
    handler() {
      const handler = httpHandler(
        endpointFromKubeconfig(readFileSync(kubeconfig, 'utf8'), { stored: false }),
      );
      handlers.push(handler);
      return handler;
    },
    atoll: (...command) => run(process.execPath, [main, ...command], { cwd: inject('temporaryRoot') }),
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await closed;
      await closeHandlers();
    },
    async stop(): Promise<void> {
      await closeHandlers();
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await closed;
    },
  };
}

/** One kubectl in a namespace of its own. */
export interface Kubectl {
  readonly binary: KubectlBinary;
  readonly namespace: string;
  /** Whatever its exit code. */
  attempt(args: readonly string[], options?: CommandOptions): Promise<Outcome>;
  /** What it prints on its standard output; it must succeed. */
  run(...args: string[]): Promise<string>;
  /** The same with manifests on its standard input. */
  feed(input: string | object, ...args: string[]): Promise<string>;
  /** `get -o jsonpath=` of one thing. */
  field(thing: string, path: string): Promise<string>;
}

export function kubectlOf(
  server: Pick<ApiServerProcess, 'home' | 'kubeconfig'>,
  binary: KubectlBinary,
  concern: string,
): Kubectl {
  const namespace = `${concern}-${binary.version.replace('.', '-')}`;
  const home = join(server.home, 'home');
  if (!existsSync(home)) mkdirSync(home, { recursive: true });
  const attempt: Kubectl['attempt'] = (args, options = {}) =>
    run(binary.path, ['-n', namespace, ...args], {
      ...options,
      env: { KUBECONFIG: server.kubeconfig, HOME: home, ...options.env },
    });
  const must = async (args: readonly string[], options?: CommandOptions): Promise<string> => {
    const outcome = await attempt(args, options);
    if (outcome.code !== 0)
      throw new Error(
        `kubectl ${binary.version} ${args.join(' ')} failed with ${outcome.code}:\n${outcome.text}`,
      );
    return outcome.stdout;
  };
  return {
    binary,
    namespace,
    attempt,
    run: (...args) => must(args),
    feed: (input, ...args) =>
      must([...args, '-f', '-'], { input: typeof input === 'string' ? input : JSON.stringify(input) }),
    field: (thing, path) => must(['get', thing, '-o', `jsonpath={${path}}`]),
  };
}
