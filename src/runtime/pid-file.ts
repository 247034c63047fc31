import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Thrown when a pid file belongs to a process that is alive. */
export class AlreadyRunning extends Error {
  readonly pid: number;
  constructor(path: string, pid: number) {
    super(`process ${pid} holds ${path} and is running`);
    this.name = 'AlreadyRunning';
    this.pid = pid;
  }
}

/** The process that a pid file names, if it is alive; what dead processes left behind counts as absent. */
export function readPidFile(path: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const pid = Number(text.trim());
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return isAlive(pid) && isOurs(pid) ? pid : undefined;
}

/**
 * Takes a pid file for this process, atomically. Throws {@link AlreadyRunning} when a living process has it.
 * Returns how to give it back.
 */
export function takePidFile(path: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const file = openSync(path, 'wx');
      writeSync(file, `${process.pid}\n`);
      closeSync(file);
      return () => {
        if (readPidFile(path) === process.pid) rmSync(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readPidFile(path);
    if (holder !== undefined) throw new AlreadyRunning(path, holder);
    rmSync(path, { force: true });
  }
  throw new Error(`${path} cannot be taken: other processes keep taking it`);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What the title of every process of ours begins with. Set it before taking a pid file. */
export const PROCESS_TITLE = 'atoll';

/** Pids are used again: where the system tells (Linux), a process with another title is a stranger. */
function isOurs(pid: number): boolean {
  const title = readProc(pid, 'cmdline');
  return title === undefined || title.startsWith(PROCESS_TITLE);
}

function isZombie(pid: number): boolean {
  const stat = readProc(pid, 'stat');
  return stat?.slice(stat.lastIndexOf(')') + 2).startsWith('Z') ?? false;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Not Linux, or the process has just gone: then nothing is known.
    return undefined;
  }
}
