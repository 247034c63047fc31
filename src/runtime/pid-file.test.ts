import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AlreadyRunning, PROCESS_TITLE, readPidFile, takePidFile } from './pid-file.ts';

const DEAD = 2 ** 22 + 1;
const title = process.title;
let directory: string;
let path: string;

beforeEach(() => {
  process.title = `${PROCESS_TITLE} a test`;
  directory = mkdtempSync(join(tmpdir(), 'atoll-pid-'));
  path = join(directory, 'run', 'x.pid');
});

afterEach(() => {
  process.title = title;
  rmSync(directory, { recursive: true });
});

describe('a pid file', () => {
  it('is held by one, and given back', () => {
    const release = takePidFile(path);
    expect(readPidFile(path)).toBe(process.pid);
    expect(() => takePidFile(path)).toThrow(AlreadyRunning);
    // For `kill $(cat x.pid)`.
    expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
    expect(readdirSync(join(directory, 'run'))).toEqual(['x.pid', 'x.pid.started']);
    release();
    expect(readdirSync(join(directory, 'run'))).toEqual([]);
  });

  it('of a process that died, or of which nothing is left, is taken over', () => {
    takePidFile(path);
    for (const left of [`${DEAD}\n`, '']) {
      writeFileSync(path, left);
      expect(readPidFile(path)).toBeUndefined();
      takePidFile(path);
      expect(readPidFile(path)).toBe(process.pid);
    }
  });

  it.runIf(process.platform === 'linux')('of an earlier process with the same pid is taken over', () => {
    takePidFile(path);
    const [pid = '', started = ''] = readFileSync(`${path}.started`, 'utf8').trim().split(' ');
    expect(pid).toBe(String(process.pid));
    writeFileSync(`${path}.started`, `${pid} ${Number(started) - 1}\n`);
    expect(readPidFile(path)).toBeUndefined();
    const release = takePidFile(path);
    expect(readPidFile(path)).toBe(process.pid);
    release();
  });

  it('without the time when its process started is read as before', () => {
    takePidFile(path);
    rmSync(`${path}.started`);
    expect(readPidFile(path)).toBe(process.pid);
  });

  it('that somebody else took meanwhile is not given back', () => {
    const release = takePidFile(path);
    writeFileSync(path, `${process.ppid}\n`);
    release();
    expect(existsSync(path)).toBe(true);
  });
});
