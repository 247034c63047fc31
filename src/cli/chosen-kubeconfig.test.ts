import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { contextKubeconfig } from '../kube/context-kubeconfig.ts';
import { formatKubeconfig } from '../kube/kubeconfig.ts';
import { systemRuntime } from '../runtime/runtime.ts';
import { kubeconfigWith, listedKubeconfigs, readNamedKubeconfig } from './chosen-kubeconfig.ts';
import { openCluster } from './join/cluster-access.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'atoll-chosen-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

function kubeconfig(name: string, port: number): string {
  const path = join(dir, name);
  const server = `https://127.0.0.1:${port}`;
  const credentials = { certificate: 'certificate', key: 'key' };
  const context = { name, server, authority: 'authority', user: 'admin', credentials };
  writeFileSync(path, formatKubeconfig(contextKubeconfig([context])));
  return path;
}

it('takes of a list of kubeconfigs the one with the context, and passes over what is missing', async () => {
  const [a, b] = [kubeconfig('a', 7001), kubeconfig('b', 7002)];
  const missing = join(dir, 'missing');
  const listed = listedKubeconfigs([missing, a, '', b].join(delimiter));
  expect(listed).toEqual([missing, a, b]);
  expect(kubeconfigWith('b', listed)).toBe(b);
  expect(kubeconfigWith('nope', listed)).toBe(a);
  expect(kubeconfigWith(undefined, listed)).toBe(a);
  expect(kubeconfigWith(undefined, [missing])).toBeUndefined();
  expect(listedKubeconfigs(undefined)).toEqual([]);

  // The commands for owners of spokes, and the engine, know $KUBECONFIG as kubectl does.
  vi.stubEnv('KUBECONFIG', listed.join(delimiter));
  const { clock } = systemRuntime();
  const cluster = openCluster(clock, 'test', { context: 'b' });
  expect(cluster.url).toBe('https://127.0.0.1:7002');
  await cluster.close();
  vi.stubEnv('KUBECONFIG', missing);
  expect(() => openCluster(clock, 'test', {})).toThrow(`there is no kubeconfig at ${missing}`);
});

it('names the file that is no kubeconfig', () => {
  const path = join(dir, 'empty');
  writeFileSync(path, '');
  expect(() => readNamedKubeconfig(path)).toThrow(`${path}: the kubeconfig is empty or not a map`);
});
