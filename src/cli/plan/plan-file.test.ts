import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadPlan, type SavedPlan, savePlan, shortHash } from './plan-file.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atoll-plan-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const saved = (hash: string): SavedPlan => ({
  hash,
  server: 'https://127.0.0.1:1',
  context: 'hub',
  filename: ['shop.yaml'],
  recursive: false,
  inputs: { asked: 'sha256:1', hub: 'sha256:2', clusters: { a: 'sha256:3' } },
});
const HASH = 'ab'.repeat(32);

describe('saved plans', () => {
  it('are found by their hash, or the beginning of it, and readable by their owner only', () => {
    const path = savePlan(directory, saved(HASH));
    expect(statSync(path).mode & 0o077).toBe(0);
    for (const name of [HASH, `sha256:${HASH}`, shortHash(HASH), HASH.slice(0, 8)])
      expect(loadPlan(directory, name)).toEqual(saved(HASH));
  });

  it('are not found by less, by another one, or where there is none', () => {
    expect(() => loadPlan(directory, HASH)).toThrow(/has no plan/);
    savePlan(directory, saved(HASH));
    savePlan(directory, saved(`abababff${'0'.repeat(56)}`));
    expect(() => loadPlan(directory, '../ab')).toThrow(/no hash of a plan/);
    expect(() => loadPlan(directory, 'ababab')).toThrow(/more than one/);
    expect(() => loadPlan(directory, `${shortHash(HASH)}ffff`)).toThrow(/is no plan/);
  });

  it('do not pile up', () => {
    for (let index = 0; index < 110; index += 1)
      savePlan(directory, saved(`${String(index).padStart(12, '0')}${'0'.repeat(52)}`));
    const files = readdirSync(join(directory, 'plans'));
    expect(files.length).toBeLessThanOrEqual(100);
    expect(files.every((name) => readFileSync(join(directory, 'plans', name), 'utf8').includes('hash'))).toBe(
      true,
    );
  });
});
