import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readManifests } from './manifests.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'manifests-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;

it('reads files, folders and standard input in order, with where each object is', async () => {
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'b.yaml'), `${map('b1')}---\n${map('b2')}`);
  await writeFile(join(folder, 'a.yml'), map('a'));
  await writeFile(join(folder, 'notes.txt'), 'not: [a manifest');
  await writeFile(
    join(folder, 'sub', 'c.json'),
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}',
  );
  const flat = await readManifests([folder, '-'], { stdin: map('in') });
  expect(flat.problems).toEqual([]);
  expect(flat.manifests.map((each) => [each.object.metadata.name, each.line])).toEqual([
    ['a', 1],
    ['b1', 1],
    ['b2', 6],
    ['in', 1],
  ]);
  expect(flat.manifests.at(-1)?.source).toBe('stdin');
  const deep = await readManifests([folder], { recursive: true });
  expect(deep.manifests.map((each) => each.object.metadata.name)).toEqual(['a', 'b1', 'b2', 'c']);
});

it('tells of what cannot be read and goes on', async () => {
  await writeFile(join(folder, 'bad.yaml'), 'a: [');
  await writeFile(join(folder, 'good.yaml'), map('good'));
  await mkdir(join(folder, 'empty'));
  const { manifests, problems } = await readManifests([
    join(folder, 'gone.yaml'),
    join(folder, 'empty'),
    folder,
  ]);
  expect(manifests.map((each) => each.object.metadata.name)).toEqual(['good']);
  expect(problems.map((each) => each.line)).toEqual([0, 0, 1]);
  expect(problems[0]?.message).toMatch(/cannot be read/);
});
