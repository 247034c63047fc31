import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSchedulerPlugins } from './scheduler-plugins.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atoll-plugins-'));
});
afterAll(async () => rm(directory, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

describe('rules for placing from files', () => {
  it('are one or several a file, in their order', async () => {
    const one = await file('one.mjs', "export default { name: 'one', filter: () => 'no' };");
    const two = await file(
      'two.mjs',
      "export default [{ name: 'a', score: () => 5, weight: 2 }, { name: 'b', score: () => 1 }];",
    );
    const plugins = await loadSchedulerPlugins([one, two]);
    expect(plugins.map(({ name }) => name)).toEqual(['one', 'a', 'b']);
  });

  it('that cannot be used keep the hub from starting', async () => {
    await expect(loadSchedulerPlugins([join(directory, 'none.mjs')])).rejects.toThrow('it cannot be loaded');
    for (const text of ['export default 3;', "export default { name: 'x' };", 'export const other = 1;']) {
      const path = await file(`${text.length}.mjs`, text);
      await expect(loadSchedulerPlugins([path])).rejects.toThrow('is no plug-in');
    }
    const again = await file('again.mjs', "export default { name: 'same', score: () => 1 };");
    await expect(loadSchedulerPlugins([again, again])).rejects.toThrow('two plug-ins have the name same');
  });
});
