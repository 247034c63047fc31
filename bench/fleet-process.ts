/** A process of the fleet benchmark that is told what to do over IPC, and the clock that all of them share. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface BenchProcess<C> {
  readonly pid: number;
  tell<T>(command: C): Promise<T>;
  kill(): Promise<void>;
}

/** How often links and spokes are asked whether they are there. */
export const HEARTBEAT_MS = 30_000;
/** A command that takes longer has failed. */
const COMMAND_LIMIT_MS = 600_000;

/** Milliseconds of the machine's monotonic clock: the same in all processes. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** `flags` are for Node, `settings` for its environment. */
export function startProcess<C extends { readonly do: string }>(
  file: string,
  flags: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): BenchProcess<C> {
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning', ...flags],
    env: { ...process.env, ...settings },
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  child.on('message', (answer: { id: number; value?: unknown; error?: string }) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.error === undefined) asked?.resolve(answer.value);
    else asked?.reject(new Error(answer.error));
  });
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended with ${signal ?? code}`));
    waiting.clear();
  });
  return {
    pid: child.pid ?? 0,
    tell<T>(command: C): Promise<T> {
      last += 1;
      const id = last;
      return new Promise<T>((resolve, reject) => {
        const timer = setTimeout(
          () =>
            reject(new Error(`${file} did not finish ${command.do} within ${COMMAND_LIMIT_MS / 1_000} s`)),
          COMMAND_LIMIT_MS,
        );
        const settled = (): void => clearTimeout(timer);
        waiting.set(id, {
          resolve: (value) => {
            settled();
            resolve(value as T);
          },
          reject: (error) => {
            settled();
            reject(error);
          },
        });
        child.send({ id, command });
      });
    },
    kill: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}

export function answerCommands<C>(run: (command: C) => Promise<unknown>): void {
  process.on('message', ({ id, command }: { id: number; command: C }) => {
    run(command).then(
      (value) => process.send?.({ id, value: value ?? null }),
      (error: unknown) =>
        process.send?.({
          id,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
    );
  });
  // Nobody is there to be answered any more.
  process.on('disconnect', () => process.exit(0));
}
