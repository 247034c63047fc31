import { type ChildProcess, spawn } from 'node:child_process';

/** How a command ended, and what it said. */
export interface Outcome {
  /** Undefined where a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly text: string;
}

export interface CommandOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
  /** Called with the process, for tests that kill it. */
  readonly onStart?: (child: ChildProcess) => void;
  /** Called with all that it has said so far, whenever it says more. */
  readonly onOutput?: (text: string) => void;
}

/** Runs a command to its end. Never rejects for an exit code: failures are what many tests are about. */
export function run(file: string, args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const { input, env = {}, cwd, timeoutMs = 45_000, onStart, onOutput } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    for (const [stream, chunks] of [
      [child.stdout, out],
      [child.stderr, err],
    ] as const) {
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onOutput?.(text());
      });
    }
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(
        new Error(`${commandLine(file, args)} did not end within ${timeoutMs / 1000} s; it said: ${text()}`),
      );
    }, timeoutMs);
    const text = (): string => Buffer.concat([...out, ...err]).toString('utf8');
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`${file} cannot be run`, { cause: error }));
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      const stdout = Buffer.concat(out).toString('utf8');
      const stderr = Buffer.concat(err).toString('utf8');
      resolve({ code: code ?? undefined, stdout, stderr, text: stdout + stderr });
    });
    // A command that refuses early closes its input; its exit code tells more than EPIPE.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    onStart?.(child);
  });
}

/** The standard output of a command that must succeed. */
export async function must(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const outcome = await run(file, args, options);
  if (outcome.code !== 0)
    throw new Error(`${commandLine(file, args)} failed with ${outcome.code}:\n${outcome.text}`);
  return outcome.stdout;
}

/** The standard output of what must have succeeded. */
export function expectSuccess(command: string, outcome: Outcome): string {
  if (outcome.code !== 0)
    throw new Error(`${command.slice(0, 300)} failed with ${outcome.code}:\n${outcome.text}`);
  return outcome.stdout;
}

function commandLine(file: string, args: readonly string[]): string {
  return [file.slice(file.lastIndexOf('/') + 1), ...args].join(' ').slice(0, 400);
}
