import { afterEach, describe, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { createClient } from '../../kube/rest-client.ts';
import { failure } from '../../kube/status-error.ts';
import {
  appliedStatus,
  away,
  cluster,
  connected,
  deployment,
  dispatch,
  NOW,
  propagation,
  put,
  startApi,
} from '../fleet.fixture.ts';
import { HubUnreachable } from '../hub-access.ts';
import { plainPaint } from '../output.ts';
import { readCluster } from './show-cluster.ts';
import { clusterText } from './text.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function api(): Promise<Awaited<ReturnType<typeof startApi>>> {
  const started = await startApi();
  closers.push(started.close);
  return started;
}

/** A hub's answer for a spoke that is not connected. */
function refusing(error: Error): Client {
  return createClient(() => Promise.reject(error));
}

describe('cluster show', () => {
  it("[K30] --live returns the spoke's Cluster.status of now, read with the rights of a hub", async () => {
    const [hub, spoke] = await Promise.all([api(), api()]);
    await put(hub.client, connected('edge'));
    const cart = deployment('cart');
    const broken = {
      ref: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'cart' },
      health: 'Degraded' as const,
      reason: 'ImagePullBackOff',
      message: 'no such image',
    };
    await put(
      spoke.client,
      cluster('edge', 1),
      dispatch(propagation('all'), [cart], 4, appliedStatus(4, [broken])),
    );
    const report = await readCluster(hub.client, spoke.asHub, 'edge', NOW);
    expect(report).toMatchObject({
      source: 'live',
      asOf: '2026-03-01T12:00:00Z',
      stale: false,
      version: 'v1.35.0',
      engine: '0.2.0',
      objects: { healthy: 1, total: 4 },
      appliedRevision: 'sha256:bbbbbbbbbbbbbbbb',
      dispatches: [{ source: 'Propagation shop/all', generation: 4, appliedGeneration: 4 }],
      troubled: [{ object: 'Deployment shop/cart', reason: 'ImagePullBackOff' }],
    });
    const text = clusterText(report, NOW, plainPaint);
    expect(text).toContain('live, read from the spoke just now');
    expect(text).toContain('1 of 4 are healthy');
    expect(text).toContain('2 corrections, the last of Deployment shop/cart 60s ago');

    // Asked again it says what is true then, though the hub has not looked meanwhile.
    const present = await spoke.client.get(
      await spoke.client.resourceFor('core.oam.dev/v1beta1', 'Cluster'),
      'atoll-system',
      'edge',
    );
    const status = { ...cluster('edge', 4).status };
    await spoke.client.update(
      await spoke.client.resourceFor('core.oam.dev/v1beta1', 'Cluster'),
      { ...present, status },
      { subresource: 'status' },
    );
    expect((await readCluster(hub.client, spoke.asHub, 'edge', NOW)).objects).toEqual({
      healthy: 4,
      total: 4,
    });
  });

  it('[K30] an offline spoke shows what was cached, its age, and that it is cached', async () => {
    const hub = await api();
    await put(hub.client, away(connected('edge')));
    const offline = refusing(
      failure(
        503,
        'ServiceUnavailable',
        'spoke edge is not connected: cut. What was last known: atoll cluster show edge',
      ),
    );
    const report = await readCluster(hub.client, offline, 'edge', NOW);
    expect(report).toMatchObject({
      source: 'cached',
      asOf: '2026-03-01T11:55:00Z',
      stale: true,
      notLive: 'spoke edge is not connected: cut',
      version: 'v1.34.0',
      objects: { healthy: 3, total: 3 },
    });
    const text = clusterText(report, NOW, plainPaint);
    expect(text).toContain(
      'cached, last synced 5m ago: the spoke cannot be read now (spoke edge is not connected: cut)',
    );
    expect(text).toContain('aaaaaaaaaaaa (stale)');
  });

  it('[K30] a spoke that the hub takes for connected and that does not answer is cached as well', async () => {
    const hub = await api();
    await put(hub.client, connected('edge'));
    const report = await readCluster(hub.client, refusing(new Error('no answer within 5 s')), 'edge', NOW);
    expect(report).toMatchObject({
      source: 'cached',
      stale: true,
      asOf: '2026-03-01T11:55:00Z',
      notLive: 'no answer within 5 s',
    });
  });

  it('says where the cluster answers and no engine has reported there', async () => {
    const [hub, spoke] = await Promise.all([api(), api()]);
    await put(hub.client, connected('edge'));
    const report = await readCluster(hub.client, spoke.asHub, 'edge', NOW);
    expect(report.notLive).toMatch(/no spoke engine has reported there yet/);
  });

  it('without --live is as the hub sees it', async () => {
    const hub = await api();
    await put(hub.client, connected('edge', { env: 'prod' }), away(connected('far')));
    const report = await readCluster(hub.client, undefined, 'edge', NOW);
    expect(report).toMatchObject({
      source: 'cached',
      stale: false,
      labels: { env: 'prod' },
      asOf: '2026-03-01T12:00:00Z',
    });
    expect(clusterText(report, NOW, plainPaint)).toContain(
      'as the hub sees it; --live asks the spoke itself',
    );
    const far = await readCluster(hub.client, undefined, 'far', NOW);
    expect(clusterText(far, NOW, plainPaint)).toContain('cached, last synced 5m ago');
  });

  it('an unknown cluster is an error with similar names, a lost hub one of its own', async () => {
    const hub = await api();
    await put(hub.client, connected('edge-1'));
    await expect(readCluster(hub.client, undefined, 'egde-1', NOW)).rejects.toThrow(
      'no cluster "egde-1"; similar: edge-1',
    );
    await expect(readCluster(hub.client, undefined, 'other', NOW)).rejects.toThrow(
      'no cluster "other"; see: atoll cluster list',
    );
    const lost = new HubUnreachable('gone', 'start it');
    await expect(readCluster(hub.client, refusing(lost), 'edge-1', NOW)).rejects.toBe(lost);
  });
});
