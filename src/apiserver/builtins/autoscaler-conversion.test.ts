import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const V1 = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
const V2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' };

describe('horizontal pod autoscalers in two versions', () => {
  it('shows what was written as v1 in v2', async () => {
    const api = await startServer();
    await api.post(V1, {
      metadata: { name: 'a' },
      spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
    });
    const { body } = await api.get(`${V2}/a`);
    expect(body).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: {
        minReplicas: 1,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
        ],
      },
    });
    expect(body).not.toHaveProperty('spec.targetCPUUtilizationPercentage');
    expect((await api.get(`${V1}/a`)).body).toMatchObject({
      apiVersion: 'autoscaling/v1',
      spec: { targetCPUUtilizationPercentage: 50 },
    });
  });

  it('keeps in annotations what v1 has no fields for, through writes of v1', async () => {
    const api = await startServer();
    const metrics = [
      {
        type: 'Pods',
        pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '10' } },
      },
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
      },
    ];
    const behavior = { scaleDown: { selectPolicy: 'Min', stabilizationWindowSeconds: 60 } };
    await api.post(V2, {
      metadata: { name: 'a' },
      spec: { scaleTargetRef, maxReplicas: 3, metrics, behavior },
    });
    const before = (await api.get(`${V2}/a`)).body as { spec: unknown };
    const old = (await api.get(`${V1}/a`)).body as { metadata: { annotations: Record<string, string> } };
    expect(old).toMatchObject({ spec: { targetCPUUtilizationPercentage: 70 } });
    expect(JSON.parse(old.metadata.annotations['autoscaling.alpha.kubernetes.io/metrics'] ?? '')).toEqual([
      { type: 'Pods', pods: { metricName: 'requests', targetAverageValue: '10' } },
    ]);
    expect(old.metadata.annotations['autoscaling.alpha.kubernetes.io/behavior']).toContain('"ScaleDown":');
    const changed = await api.merge(`${V1}/a`, { spec: { maxReplicas: 5 } });
    expect(changed.status).toBe(200);
    const after = (await api.get(`${V2}/a`)).body as { spec: Record<string, unknown>; metadata: object };
    expect(after.spec).toEqual({ ...(before.spec as object), maxReplicas: 5 });
    expect(after.metadata).not.toHaveProperty('annotations');
  });

  it('tells problems of v1 by the fields of v2', async () => {
    const api = await startServer();
    const { status, text } = await api.post(V1, {
      metadata: { name: 'a' },
      spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 0 },
    });
    expect(status).toBe(422);
    expect(text).toContain('spec.metrics[0].resource.target.averageUtilization');
  });
});
