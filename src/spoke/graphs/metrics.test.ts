import { expect, it } from 'vitest';
import { createMetrics } from '../../runtime/index.ts';
import { GRAPH_METRICS } from './metric-table.ts';
import { createGraphMetrics } from './metrics.ts';

/** Families as kro names them: prefix, then names with the labels that are part of what people ask for. */
const FAMILIES: Readonly<Record<string, string>> = {
  cel_expr_eval: 'total duration_seconds',
  rest_client: 'requests_total{code,method,host} request_duration_seconds{verb,host}',
  dynamic_controller: `reconcile_total{gvr} requeue_total{gvr,type} reconcile_duration_seconds{gvr} gvr_count queue_length
    handler_count_total{type} handler_attach_total{type} handler_detach_total{type} handler_errors_total{gvr}
    reconcile_panics_total informer_sync_duration_seconds{gvr} informer_events_total{gvr,event_type} watch_count
    instance_watch_count{parent_gvr} watch_request_count{gvr,type} route_total{gvr} route_match_total{gvr}`,
  graph_revision: `compile_total{result} compile_duration_seconds{result} status_update_errors_total
    activation_deferred_total finalizer_evictions_total registry_entries{state} registry_transitions_total{from,to}
    registry_evictions_total`,
  instance: `state_transitions_total{gvr,from_state,to_state} reconcile_duration_seconds{gvr} reconcile_total{gvr}
    reconcile_errors_total{gvr} graph_resolution_success_total{gvr} graph_resolution_failures_total{gvr,reason}
    graph_resolution_pending_total{gvr}
    condition_current_status_seconds{gvr,namespace,name,condition_type,condition_status,reason}`,
  rgd: `graph_build_total{name} graph_build_duration_seconds{name} graph_build_errors_total{name}
    state_transitions_total{name,from,to} deletions_total{name} deletion_duration_seconds{name}
    graph_revision_issue_total{reason} graph_revision_wait_total{reason} graph_revision_resolution_total{result}
    graph_revision_registry_miss_total{reason} graph_revision_gc_deleted_total graph_revision_gc_errors_total`,
  runtime: `node_eval_total node_eval_duration_seconds node_eval_errors_total creation_total creation_duration_seconds
    node_ignored_check_total node_ignored_total node_ready_check_total node_not_ready_total collection_size`,
  schema_resolver: `cache_hits_total cache_misses_total cache_size cache_evictions_total api_call_duration_seconds
    singleflight_deduplicated_total errors_total`,
};

it('[R99] metrics have the names and labels of kro, and none has a label for the cluster', () => {
  const wanted = Object.entries(FAMILIES).flatMap(([prefix, names]) =>
    names.split(/\s+/).map((name) => `${prefix}_${name}`),
  );
  const ours = Object.entries(GRAPH_METRICS).map(
    ([name, { labels }]) => `${name}${labels.length === 0 ? '' : `{${labels.join(',')}}`}`,
  );
  expect(ours.toSorted()).toEqual(wanted.toSorted());
  expect(ours.join()).not.toContain('cluster');
});

it('[R99] all of them are among the metrics of the process', () => {
  const metrics = createMetrics();
  const graph = createGraphMetrics(metrics, { dynamic_controller_watch_count: () => [{ value: 3 }] });
  graph.count('graph_revision_compile_total', { result: 'success' });
  graph.count('graph_revision_compile_total', { result: 'success' });
  graph.observe('graph_revision_compile_duration_seconds', { result: 'success' }, 20);
  graph.observe('runtime_collection_size', {}, 20);
  const lines = metrics.text().split('\n');
  for (const [name, { kind }] of Object.entries(GRAPH_METRICS))
    expect(lines).toContain(`# TYPE ${name} ${kind}`);
  expect(lines).toContain('graph_revision_compile_total{result="success"} 2');
  expect(lines).toContain('graph_revision_compile_duration_seconds_sum{result="success"} 0.02');
  expect(lines).toContain('runtime_collection_size_bucket{le="16"} 0');
  expect(lines).toContain('runtime_collection_size_bucket{le="32"} 1');
  expect(lines).toContain('dynamic_controller_watch_count 3');
  expect(lines).toContain('dynamic_controller_reconcile_panics_total 0');
  graph.stop();
  expect(metrics.text()).not.toContain('dynamic_controller_watch_count');
});
