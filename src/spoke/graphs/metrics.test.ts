import { expect, it } from 'vitest';
import { createGraphMetrics } from './metrics.ts';

it('metrics are texts of Prometheus', () => {
  const metrics = createGraphMetrics(() => ({ dynamic_controller_watch_count: 3 }));
  metrics.count('graph_revision_compile_total', { result: 'success' });
  metrics.count('graph_revision_compile_total', { result: 'success' });
  metrics.observe('graph_revision_compile_duration_seconds', { result: 'a"b' }, 20);
  metrics.observe('graph_revision_compile_duration_seconds', { result: 'a"b' }, 20_000);
  const lines = metrics.text().split('\n');
  expect(lines).toContain('graph_revision_compile_total{result="success"} 2');
  expect(lines).toContain('dynamic_controller_watch_count 3');
  expect(lines).toContain('dynamic_controller_reconcile_panics_total 0');
  const histogram = lines.filter((line) => line.startsWith('graph_revision_compile_duration_seconds'));
  expect(histogram.at(0)).toBe('graph_revision_compile_duration_seconds_bucket{result="a\\"b",le="0.001"} 0');
  expect(histogram.slice(-5)).toEqual([
    'graph_revision_compile_duration_seconds_bucket{result="a\\"b",le="5"} 1',
    'graph_revision_compile_duration_seconds_bucket{result="a\\"b",le="10"} 1',
    'graph_revision_compile_duration_seconds_bucket{result="a\\"b",le="+Inf"} 2',
    'graph_revision_compile_duration_seconds_sum{result="a\\"b"} 20.02',
    'graph_revision_compile_duration_seconds_count{result="a\\"b"} 2',
  ]);
});

it('a series goes when what it tells of is gone', () => {
  const metrics = createGraphMetrics();
  const labels = {
    gvr: 'g/v/r',
    namespace: 'n',
    condition_type: 'Ready',
    condition_status: 'True',
    reason: 'Ready',
  };
  for (const name of ['a', 'b'])
    metrics.set('instance_condition_current_status_seconds', { ...labels, name }, 1);
  metrics.drop('instance_condition_current_status_seconds', { gvr: 'g/v/r', namespace: 'n', name: 'a' });
  expect(metrics.text()).not.toContain('name="a"');
  expect(metrics.text()).toContain('name="b"');
});
