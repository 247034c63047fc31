import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyKubeconfig, type Kubeconfig, parseKubeconfig } from '../kube/kubeconfig.ts';
import { writePrivate } from './fleet-directory.ts';
import { addToKubeconfig, mergeMemberKubeconfigs, renewMergedKubeconfig } from './member-kubeconfig.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atoll-kubeconfig-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function config(name: string, server: string): Kubeconfig {
  return {
    ...emptyKubeconfig(),
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: { token: 't' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}

describe('a kubeconfig that is added to', () => {
  it('keeps what else it holds, and takes the newest of each name', () => {
    const path = join(directory, 'deep', 'config');
    addToKubeconfig(path, config('work', 'https://work'));
    addToKubeconfig(path, config('atoll', 'https://127.0.0.1:1'));
    addToKubeconfig(path, config('atoll', 'https://127.0.0.1:2'));
    const written = parseKubeconfig(readFileSync(path, 'utf8'));
    expect(written.clusters.map(({ name, cluster }) => [name, cluster.server])).toEqual([
      ['work', 'https://work'],
      ['atoll', 'https://127.0.0.1:2'],
    ]);
    expect(written.contexts).toHaveLength(2);
    expect(written['current-context']).toBe('atoll');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('stays at the context that somebody chose where it is only renewed', () => {
    const path = join(directory, 'config');
    addToKubeconfig(path, config('atoll', 'https://127.0.0.1:1'));
    addToKubeconfig(path, config('work', 'https://work'));
    addToKubeconfig(path, config('atoll', 'https://127.0.0.1:2'), true);
    const written = parseKubeconfig(readFileSync(path, 'utf8'));
    expect(written.clusters[0]?.cluster.server).toBe('https://127.0.0.1:2');
    expect(written['current-context']).toBe('work');
  });

  it('stays a link, and stays what it is where it is no kubeconfig', () => {
    const path = join(directory, 'config');
    const link = join(directory, 'link');
    writeFileSync(path, '');
    symlinkSync(path, link);
    addToKubeconfig(link, config('atoll', 'https://a'));
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(parseKubeconfig(readFileSync(path, 'utf8'))['current-context']).toBe('atoll');
    writeFileSync(path, 'my notes');
    expect(() => addToKubeconfig(link, config('atoll', 'https://a'))).toThrow('is left alone');
    expect(readFileSync(path, 'utf8')).toBe('my notes');
  });
});

it('what only its owner may read is not written into a file that is there already', () => {
  const path = join(directory, 'key');
  const draft = `${path}.${process.pid}.new`;
  const foreign = join(directory, 'foreign');
  writeFileSync(foreign, '');
  symlinkSync(foreign, draft);
  writePrivate(path, 'secret');
  expect(readFileSync(foreign, 'utf8')).toBe('');
  expect(lstatSync(path).isSymbolicLink()).toBe(false);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("the kubeconfig of a fleet follows what its members renew, and is its user's otherwise", () => {
  const paths = ['hub', 'one'].map((name) => join(directory, name));
  const merged = join(directory, 'kubeconfig');
  const tokens = (): [string, string | undefined][] =>
    parseKubeconfig(readFileSync(merged, 'utf8')).users.map(({ name, user }) => [name, user.token]);
  const member = (name: string, token: string): Kubeconfig => ({
    ...config(name, `https://${name}`),
    users: [{ name, user: { token } }],
  });
  renewMergedKubeconfig(paths, merged);
  expect(existsSync(merged)).toBe(false);
  writePrivate(join(directory, 'hub'), JSON.stringify(member('hub', 'h1')));
  writePrivate(join(directory, 'one'), JSON.stringify(member('one', 'o1')));
  mergeMemberKubeconfigs(paths, merged);
  const text = readFileSync(merged, 'utf8').replace('current-context: hub', 'current-context: one@hub');
  writePrivate(merged, text);
  const written = statSync(merged).ino;
  renewMergedKubeconfig(paths, merged);
  expect(statSync(merged).ino).toBe(written);
  writePrivate(join(directory, 'one'), JSON.stringify(member('one', 'o2')));
  renewMergedKubeconfig(paths, merged);
  expect(tokens()).toEqual([
    ['hub', 'h1'],
    ['one', 'o2'],
  ]);
  expect(readFileSync(merged, 'utf8')).toBe(text.replace('o1', 'o2'));
});
