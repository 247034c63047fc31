import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { inject } from 'vitest';
import { until, within } from './until.ts';

/** `atoll hub` or `atoll spoke` as a process of its own. */
export interface EngineProcess {
  readonly pid: number;
  /** All that it printed. */
  log(): string;
  stop(): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

const STOP_MS = 15_000;
const READY_MS = 45_000;

/** Resolves when it is ready. */
export async function startEngineProcess(
  role: 'hub' | 'spoke',
  kubeconfig: string,
  args: readonly string[],
): Promise<EngineProcess> {
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const child: ChildProcess = spawn(process.execPath, [main, role, '--kubeconfig', kubeconfig, ...args], {
    cwd: inject('temporaryRoot'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await within(`the end of a ${role}`, STOP_MS, closed);
  };
  try {
    await until(
      `the ${role} to be ready`,
      () => {
        if (!text.includes('"msg":"ready"')) throw new Error(text.slice(-2000));
        return true;
      },
      { withinMs: READY_MS },
    );
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
  return { pid: child.pid ?? 0, log: () => text, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}
