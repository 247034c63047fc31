import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fleetDirectory } from '../fleet-directory.ts';
import { down, reset } from './down.ts';

let dir: string;
const title = process.title;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'atoll-reset-'));
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.title = title;
  rmSync(dir, { recursive: true, force: true });
});

it.each(['{"version":1,"mem', '{"version":2}'])(
  'a fleet whose file holds %s can be forgotten',
  async (text) => {
    const directory = fleetDirectory(dir);
    mkdirSync(join(dir, 'run'));
    writeFileSync(directory.pidFile('spoke-2'), '4194305\n');
    writeFileSync(directory.fleetFile, text);
    await expect(down({ dir })).rejects.toThrow('npm run reset');
    await reset({ dir });
    expect(existsSync(dir)).toBe(false);
  },
);

it('what is no fleet is not deleted', async () => {
  writeFileSync(join(dir, 'notes'), '');
  await expect(reset({ dir })).rejects.toThrow('is not a fleet');
  expect(existsSync(dir)).toBe(true);
});
