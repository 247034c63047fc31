import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { seededRandom, virtualRuntime } from '../../runtime/index.ts';
import { sqliteDriver } from '../storage/sqlite-driver.ts';
import { openStore } from './mvcc-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atoll-crash-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Lets the writer run until it has acknowledged `lines` writes, kills it, and returns all that it has acknowledged. */
function writeAndKill(path: string, salt: string, lines: number): Promise<string[]> {
  const writer = fileURLToPath(new URL('./testing/fixtures/crash-writer.ts', import.meta.url));
  const child = spawn(process.execPath, [writer, path, salt], { stdio: ['ignore', 'pipe', 'pipe'] });
  let problem = '';
  child.stderr.on('data', (data: Buffer) => {
    problem += data.toString();
  });
  const acknowledged: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged.push(line);
    if (acknowledged.length === lines + 1) child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.on('close', (_code, signal) =>
      signal === 'SIGKILL' ? resolve(acknowledged) : reject(new Error(`the writer ended: ${problem}`)),
    );
  });
}

it('[V71] a process killed at any moment loses no acknowledged write, and revisions do not go back', async () => {
  const path = join(folder, 'store.db');
  const random = seededRandom(71);
  let highest = 0;
  for (let round = 0; round < 4; round++) {
    const lines = await writeAndKill(path, `r${round}`, 1 + Math.floor(random.next() * 150));
    const [start = '', ...acknowledged] = lines;
    expect(Number(start.split(' ')[1])).toBeGreaterThanOrEqual(highest);
    const last = new Map<string, { revision: number; value: string }>();
    for (const line of acknowledged) {
      const [key = '', revision = '', value = ''] = line.split(' ');
      expect(Number(revision)).toBeGreaterThan(highest);
      last.set(key, { revision: Number(revision), value });
    }
    for (const { revision } of last.values()) highest = Math.max(highest, revision);

    const store = await openStore(virtualRuntime(1), sqliteDriver(path));
    expect(store.revision).toBeGreaterThanOrEqual(highest);
    for (const [key, { revision, value }] of last) {
      const record = store.get(key);
      // A write made durable but not yet acknowledged when the process died may be on top.
      if (record === undefined ? value === '-' : record.revision === revision) {
        if (record) expect(record.object.data).toMatchObject({ value });
        continue;
      }
      const later: number[] = [];
      store.watch(key, revision, (events) => later.push(...events.map((event) => event.revision))).stop();
      expect(later.length, `${key} at ${revision}`).toBeGreaterThan(0);
    }
    highest = store.revision;
    await store.close();
  }
}, 20_000);
