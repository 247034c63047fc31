/**
 * What the engine of graphs counts, under the names and labels that kro gives them. Those of clusters
 * without an engine have the label `cluster` besides (`metrics.ts`).
 */
export const GRAPH_METRICS = {
  cel_expr_eval_total: { kind: 'counter', labels: [], help: 'Expressions that were evaluated.' },
  cel_expr_eval_duration_seconds: { kind: 'histogram', labels: [], help: 'How long that took.' },
  rest_client_requests_total: {
    kind: 'counter',
    labels: ['code', 'method', 'host'],
    help: 'Requests to the API server.',
  },
  rest_client_request_duration_seconds: {
    kind: 'histogram',
    labels: ['verb', 'host'],
    help: 'How long their answers took, but for watches.',
  },
  dynamic_controller_reconcile_total: { kind: 'counter', labels: ['gvr'], help: 'Passes over instances.' },
  dynamic_controller_requeue_total: {
    kind: 'counter',
    labels: ['gvr', 'type'],
    help: 'Passes that asked for another one.',
  },
  dynamic_controller_reconcile_duration_seconds: {
    kind: 'histogram',
    labels: ['gvr'],
    help: 'How long passes took.',
  },
  dynamic_controller_gvr_count: { kind: 'gauge', labels: [], help: 'Kinds of instances that are served.' },
  dynamic_controller_queue_length: {
    kind: 'gauge',
    labels: [],
    help: 'Instances that wait or are being looked at.',
  },
  dynamic_controller_handler_count_total: {
    kind: 'gauge',
    labels: ['type'],
    help: 'Kinds that are listened to: those of instances, and those of their objects.',
  },
  dynamic_controller_handler_attach_total: {
    kind: 'counter',
    labels: ['type'],
    help: 'Kinds that began to be listened to.',
  },
  dynamic_controller_handler_detach_total: {
    kind: 'counter',
    labels: ['type'],
    help: 'Kinds that ended to be listened to.',
  },
  dynamic_controller_handler_errors_total: { kind: 'counter', labels: ['gvr'], help: 'Passes that failed.' },
  dynamic_controller_reconcile_panics_total: {
    kind: 'counter',
    labels: [],
    help: 'Passes that ended by a defect.',
  },
  dynamic_controller_informer_sync_duration_seconds: {
    kind: 'histogram',
    labels: ['gvr'],
    help: 'How long watches took until they knew all that is there.',
  },
  dynamic_controller_informer_events_total: {
    kind: 'counter',
    labels: ['gvr', 'event_type'],
    help: 'Changes that watches told of.',
  },
  dynamic_controller_watch_count: { kind: 'gauge', labels: [], help: 'Watches of objects.' },
  dynamic_controller_instance_watch_count: {
    kind: 'gauge',
    labels: ['parent_gvr'],
    help: 'Instances that are told of changes of objects.',
  },
  dynamic_controller_watch_request_count: {
    kind: 'gauge',
    labels: ['gvr', 'type'],
    help: 'Instances that want to be told, for each kind, of objects by name (scalar) or by labels (collection).',
  },
  dynamic_controller_route_total: {
    kind: 'counter',
    labels: ['gvr'],
    help: 'Changes of objects that were passed on to whom they concern.',
  },
  dynamic_controller_route_match_total: {
    kind: 'counter',
    labels: ['gvr'],
    help: 'Those that concerned an instance.',
  },
  graph_revision_compile_total: {
    kind: 'counter',
    labels: ['result'],
    help: 'Revisions that were compiled.',
  },
  graph_revision_compile_duration_seconds: {
    kind: 'histogram',
    labels: ['result'],
    help: 'How long that took.',
  },
  graph_revision_status_update_errors_total: {
    kind: 'counter',
    labels: [],
    help: 'Revisions whose status could not be written.',
  },
  graph_revision_activation_deferred_total: {
    kind: 'counter',
    labels: [],
    help: 'Revisions that could not serve yet because their status could not be written.',
  },
  graph_revision_finalizer_evictions_total: {
    kind: 'counter',
    labels: [],
    help: 'Compiled revisions that were let go because the revision is gone.',
  },
  graph_revision_registry_entries: {
    kind: 'gauge',
    labels: ['state'],
    help: 'Compiled revisions that are kept.',
  },
  graph_revision_registry_transitions_total: {
    kind: 'counter',
    labels: ['from', 'to'],
    help: 'Changes of their states.',
  },
  graph_revision_registry_evictions_total: {
    kind: 'counter',
    labels: [],
    help: 'Compiled revisions that were let go.',
  },
  instance_state_transitions_total: {
    kind: 'counter',
    labels: ['gvr', 'from_state', 'to_state'],
    help: 'Changes of states.',
  },
  instance_reconcile_duration_seconds: {
    kind: 'histogram',
    labels: ['gvr'],
    help: 'How long passes took that found their graph.',
  },
  instance_reconcile_total: { kind: 'counter', labels: ['gvr'], help: 'Passes that found their graph.' },
  instance_reconcile_errors_total: { kind: 'counter', labels: ['gvr'], help: 'Those that failed.' },
  instance_graph_resolution_success_total: {
    kind: 'counter',
    labels: ['gvr'],
    help: 'Passes that found their graph.',
  },
  instance_graph_resolution_failures_total: {
    kind: 'counter',
    labels: ['gvr', 'reason'],
    help: 'Passes that found none.',
  },
  instance_graph_resolution_pending_total: {
    kind: 'counter',
    labels: ['gvr'],
    help: 'Passes whose graph was not compiled yet.',
  },
  instance_condition_current_status_seconds: {
    kind: 'gauge',
    labels: ['gvr', 'namespace', 'name', 'condition_type', 'condition_status', 'reason'],
    help: 'For how long a condition has been as it is.',
  },
  rgd_graph_build_total: { kind: 'counter', labels: ['name'], help: 'Definitions that were compiled.' },
  rgd_graph_build_duration_seconds: { kind: 'histogram', labels: ['name'], help: 'How long that took.' },
  rgd_graph_build_errors_total: {
    kind: 'counter',
    labels: ['name'],
    help: 'Definitions that were found to be wrong.',
  },
  rgd_state_transitions_total: {
    kind: 'counter',
    labels: ['name', 'from', 'to'],
    help: 'Changes of states.',
  },
  rgd_deletions_total: { kind: 'counter', labels: ['name'], help: 'Definitions that went.' },
  rgd_deletion_duration_seconds: { kind: 'histogram', labels: ['name'], help: 'How long they took to go.' },
  rgd_graph_revision_issue_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Revisions that were issued.',
  },
  rgd_graph_revision_wait_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Looks at a definition that had to wait for a revision.',
  },
  rgd_graph_revision_resolution_total: {
    kind: 'counter',
    labels: ['result'],
    help: 'Looks at a definition, by what serves.',
  },
  rgd_graph_revision_registry_miss_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Revisions that were stored and not compiled yet.',
  },
  rgd_graph_revision_gc_deleted_total: {
    kind: 'counter',
    labels: [],
    help: 'Revisions that nobody needed any longer.',
  },
  rgd_graph_revision_gc_errors_total: {
    kind: 'counter',
    labels: [],
    help: 'Those that could not be deleted.',
  },
  runtime_node_eval_total: { kind: 'counter', labels: [], help: 'Looks at a node of an instance.' },
  runtime_node_eval_duration_seconds: { kind: 'histogram', labels: [], help: 'How long they took.' },
  runtime_node_eval_errors_total: { kind: 'counter', labels: [], help: 'Those that ended in an error.' },
  runtime_creation_total: {
    kind: 'counter',
    labels: [],
    help: 'Passes that began to look at an instance with its graph.',
  },
  runtime_creation_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'How long it took until they could.',
  },
  runtime_node_ignored_check_total: {
    kind: 'counter',
    labels: [],
    help: 'Questions whether a node is left out.',
  },
  runtime_node_ignored_total: { kind: 'counter', labels: [], help: 'Nodes that are.' },
  runtime_node_ready_check_total: { kind: 'counter', labels: [], help: 'Questions whether a node is ready.' },
  runtime_node_not_ready_total: { kind: 'counter', labels: [], help: 'Nodes that are not.' },
  runtime_collection_size: { kind: 'histogram', labels: [], help: 'Objects of collections.' },
  schema_resolver_cache_hits_total: { kind: 'counter', labels: [], help: 'Schemas that were known.' },
  schema_resolver_cache_misses_total: {
    kind: 'counter',
    labels: [],
    help: 'Schemas that the API server was asked for.',
  },
  schema_resolver_cache_size: { kind: 'gauge', labels: [], help: 'Schemas of groups that are known.' },
  schema_resolver_cache_evictions_total: {
    kind: 'counter',
    labels: [],
    help: 'Those that were let go because the group changed.',
  },
  schema_resolver_api_call_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'How long the API server took to tell schemas.',
  },
  schema_resolver_singleflight_deduplicated_total: {
    kind: 'counter',
    labels: [],
    help: 'Questions that shared the answer to another one.',
  },
  schema_resolver_errors_total: { kind: 'counter', labels: [], help: 'Schemas that could not be read.' },
} as const;
