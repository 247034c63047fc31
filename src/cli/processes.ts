import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Clock, sleep } from '../runtime/clock.ts';
import { isAlive, readPidFile } from '../runtime/pid-file.ts';
import type { FleetDirectory, Member } from './fleet-directory.ts';

/**
 * Memory is what many spokes on one machine run out of first. A process with one spoke has little to compute, so it does
 * without the middle compilers and with a small young generation. A hub, and a process of many spokes, has bursts, in which that
 * would cost more than half of its speed: it gives memory back at rest instead (`memory-at-rest.ts`).
 */
export function nodeFlags(member: Pick<Member, 'role' | 'clusters'>): readonly string[] {
  if (hasBursts(member)) return ['--max-semi-space-size=16'];
  return [
    '--max-semi-space-size=1',
    '--v8-pool-size=1',
    '--optimize-for-size',
    '--no-sparkplug',
    '--no-maglev',
  ];
}

export function hasBursts({ role, clusters }: Pick<Member, 'role' | 'clusters'>): boolean {
  return role === 'hub' || clusters.length > 1;
}

/**
 * What glibc is told for a process with bursts: few arenas, and buffers from 64 KiB on of their own, which go back to the system
 * when they are freed. A tenth of the memory of a hub; other C libraries do not look at it.
 */
export const MALLOC_SETTINGS: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

const STOP_TIMEOUT_MS = 8_000;

/** Starts a member as a process of its own that outlives this one. Its output goes to its log. */
export function spawnMember(directory: FleetDirectory, member: Member): number {
  const logFile = directory.logFile(member.name);
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, 'a', 0o600);
  try {
    const main = fileURLToPath(
      new URL(`./member-process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
    );
    const child = spawn(
      process.execPath,
      [...nodeFlags(member), '--disable-warning=ExperimentalWarning', main, member.name, directory.root],
      {
        detached: true,
        stdio: ['ignore', log, log],
        env: { ...(hasBursts(member) ? MALLOC_SETTINGS : {}), ...process.env },
      },
    );
    child.unref();
    if (child.pid === undefined)
      throw new Error(`${member.name} could not be started with ${process.execPath}`);
    return child.pid;
  } finally {
    closeSync(log);
  }
}

export function runningPid(directory: FleetDirectory, member: string): number | undefined {
  return readPidFile(directory.pidFile(member));
}

/** Asks a member to stop, waits, and kills it when it does not. Resolves to how it ended; `absent` when it did not run. */
export async function stopMember(
  clock: Clock,
  directory: FleetDirectory,
  member: string,
): Promise<'stopped' | 'killed' | 'absent'> {
  const pid = runningPid(directory, member);
  if (pid === undefined) return 'absent';
  signalTo(pid, 'SIGTERM');
  const deadline = clock.monotonic() + STOP_TIMEOUT_MS;
  while (clock.monotonic() < deadline) {
    if (!isAlive(pid)) return 'stopped';
    await sleep(clock, 25);
  }
  signalTo(pid, 'SIGKILL');
  while (isAlive(pid)) await sleep(clock, 25);
  return 'killed';
}

/** One that has just ended needs none. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The last lines of a member's log, for messages about members that did not come up. */
export function logTail(directory: FleetDirectory, member: string, lines: number = 5): string {
  const path = directory.logFile(member);
  if (!existsSync(path)) return '(no log)';
  const text = readFileSync(path, 'utf8').slice(-16_384);
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
