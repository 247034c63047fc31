import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  const text = textOf(path);
  return text === undefined ? undefined : holderOf(text, path);
}

/** When who holds a pid file started, beside it: the file itself is for `kill $(cat …)` and has the pid alone. */
function startedFile(path: string): string {
  return `${path}.started`;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function holderOf(text: string, path: string): number | undefined {
  const pid = Number(text.trim());
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const [startedPid, started = ''] = (textOf(startedFile(path)) ?? '').trim().split(' ');
  return isAlive(pid) && isOurs(pid, startedPid === String(pid) ? started : '') ? pid : undefined;
}

/**
 * Takes a pid file for this process, atomically. Throws {@link AlreadyRunning} when a living process has it.
 * Returns how to give it back.
 */
export function takePidFile(path: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  // It appears with its content: one that is still empty would be taken for one that a dead process left.
  const draft = `${path}.${process.pid}.new`;
  const content = `${process.pid}\n`;
  for (let attempt = 0; attempt < 3; attempt++) {
    rmSync(draft, { force: true });
    writeFileSync(draft, content, { flag: 'wx' });
    try {
      appear(draft, path, content);
      writeFileSync(startedFile(path), `${process.pid} ${startOf(process.pid) ?? ''}\n`);
      return () => {
        if (readPidFile(path) !== process.pid) return;
        rmSync(path, { force: true });
        rmSync(startedFile(path), { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    const holder = readPidFile(path) ?? clearAway(path);
    if (holder !== undefined) throw new AlreadyRunning(path, holder);
  }
  throw new Error(`${path} cannot be taken: other processes keep taking it`);
}

function appear(draft: string, path: string, content: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    // File systems without links cannot do it in one step.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    writeFileSync(path, content, { flag: 'wx' });
  }
}

/** Removes what a dead process left. Another may have been faster and hold the file by now: then it stays that one's. */
function clearAway(path: string): number | undefined {
  const aside = `${path}.${process.pid}.old`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const holder = holderOf(readFileSync(aside, 'utf8'), path);
  try {
    if (holder !== undefined) appear(aside, path, readFileSync(aside, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
  return holder;
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

/**
 * Pids are used again, in containers by the very next process: where the system tells (Linux), a process that started at another
 * time is a stranger, and so is one with another title.
 */
function isOurs(pid: number, started: string): boolean {
  if (started !== '' && (startOf(pid) ?? started) !== started) return false;
  const title = readProc(pid, 'cmdline');
  return title === undefined || title.startsWith(PROCESS_TITLE);
}

/** When a process started, in ticks of the system. */
function startOf(pid: number): string | undefined {
  return statOf(pid)?.[19];
}

function isZombie(pid: number): boolean {
  return statOf(pid)?.[0] === 'Z';
}

/** What the system tells of a process behind its name, which may hold anything. */
function statOf(pid: number): string[] | undefined {
  const stat = readProc(pid, 'stat');
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Not Linux, or the process has just gone: then nothing is known.
    return undefined;
  }
}
