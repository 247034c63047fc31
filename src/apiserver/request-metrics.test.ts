import { describe, expect, it } from 'vitest';
import { createRequestMetrics } from './request-metrics.ts';
import { startServer } from './server.fixture.ts';

/** Every line of the text format: a comment, or a name with labels and a number. */
const LINE = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \S+)$/;

describe('metrics of requests', () => {
  it('[V70] are text that Prometheus reads, with cumulative buckets', async () => {
    const metrics = createRequestMetrics();
    metrics.count('get', 200, 3, false);
    metrics.count('get', 200, 40, false);
    metrics.count('watch', 200, 60_000, true);
    const lines = metrics.text().trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(LINE);
    expect(lines).toContain('atoll_apiserver_requests_total{verb="get",code="200"} 2');
    expect(lines).toContain('atoll_apiserver_request_duration_seconds_bucket{verb="get",le="0.005"} 1');
    expect(lines).toContain('atoll_apiserver_request_duration_seconds_bucket{verb="get",le="+Inf"} 2');
    expect(lines.filter((line) => line.includes('verb="watch"'))).toHaveLength(1);
  });

  it('[V70] have as many series whatever is asked for', async () => {
    const api = await startServer();
    const series = async (): Promise<number> => (await api.get('/metrics')).text.split('\n').length;
    const visit = async (name: string): Promise<void> => {
      await api.post('/api/v1/namespaces', { metadata: { name } });
      await api.post(`/api/v1/namespaces/${name}/configmaps`, { metadata: { name } });
      await api.get(`/clusters/${name}/api/v1/namespaces`);
      await api.call('BREW', `/api/v1/namespaces/${name}`);
      await api.call(`BREW-${name.toUpperCase()}`, '/api');
    };
    await visit('one');
    await series();
    const before = await series();
    for (const name of ['two', 'three', 'four']) await visit(name);
    expect(await series()).toBe(before);
  });
});
