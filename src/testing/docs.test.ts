/** The examples of `docs/testing.md`: each region here is a code block there, word for word. */
import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import type { KubeObject } from '../kube/index.ts';
import { virtualRuntime } from '../runtime/index.ts';
import { startTestFleet, startTestServer } from './index.ts';

vi.setConfig({ testTimeout: 20_000 });

// #region server
it('stores what is created', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const configMaps = await client.resourceFor('v1', 'ConfigMap');

  await client.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'greeting', namespace: 'default' },
  });

  const { items } = await client.list(configMaps, 'default');
  expect(items.map((item) => item.metadata.name)).toContain('greeting');
});
// #endregion

// #region time
it('waits an hour for a backup in no time', async () => {
  const { clock } = virtualRuntime(1);
  await using server = await startTestServer({ clock, workloads: true });
  const { client } = server;
  const pods = await client.resourceFor('v1', 'Pod');
  const began = clock.now();

  await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'backup',
      namespace: 'default',
      annotations: { 'sim.atoll.dev/run-for': '60m' },
    },
    spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example.com/backup:1' }] },
  });

  type Phased = KubeObject & { status?: { phase?: string } };
  const phase = async () => (await client.get<Phased>(pods, 'default', 'backup')).status?.phase;
  await server.until(async () => (await phase()) === 'Succeeded', 'that the backup is done', 2 * 3_600_000);
  expect(clock.now() - began).toBeGreaterThan(3_500_000);
});
// #endregion

// #region fleet
it('brings to a spoke what it missed', async () => {
  await using fleet = await startTestFleet({ spokes: 2, virtualTime: true });
  const { client } = fleet.hub;
  const configMaps = await fleet.run(client.resourceFor('v1', 'ConfigMap'));
  const propagations = await fleet.run(client.resourceFor('atoll.dev/v1alpha1', 'Propagation'));

  fleet.cut('spoke-2');
  await fleet.run(
    client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'greeting', namespace: 'default' },
    }),
  );
  await fleet.run(
    client.create(propagations, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'greeting', namespace: 'default' },
      spec: {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'greeting' }],
        placement: { clusterSelector: {} },
      },
    }),
  );

  const arrivedOn = async (spoke: string) => {
    const { items } = await fleet.spoke(spoke).client.list(configMaps, 'default');
    return items.some((item) => item.metadata.name === 'greeting');
  };
  await fleet.until(() => arrivedOn('spoke-1'), 'that spoke-1 has it');
  expect(await arrivedOn('spoke-2')).toBe(false);

  fleet.heal('spoke-2');
  await fleet.until(() => arrivedOn('spoke-2'), 'that spoke-2 has it');
});
// #endregion

it('is what the documentation shows', () => {
  const guide = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
  const examples = readFileSync(new URL(import.meta.url), 'utf8').matchAll(
    /^\/\/ #region \w+\n(.*?)\n\/\/ #endregion$/gms,
  );
  const code = [...examples].map((match) => match[1] ?? '');
  expect(code).toHaveLength(3);
  for (const example of code) expect(guide).toContain(example);
});
