import {
  definitionOfRevision,
  GRAPH_REVISION,
  type GraphRevision,
  graphReport,
  graphRevisionOf,
  issuesMessage,
  type ResourceGraphDefinition,
} from '../../dialects/kro/index.ts';
import {
  type CompiledGraph,
  compileGraph,
  type GraphDefinition,
  type GraphIssue,
  LABELS,
  type RevisionRecord,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import { setCondition } from '../../kube/conditions.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Sample } from '../../runtime/metrics.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import { type ClusterSchemas, defines, kindsOf } from './cluster-schemas.ts';
import type { GraphMetrics } from './metrics.ts';

export const GRAPH_REVISIONS: ReturnType<typeof resourceIdOf> = resourceIdOf(GRAPH_REVISION);

/** A revision that is stored, and what became of it when it was compiled. */
export interface CompiledRevision extends RevisionRecord {
  readonly object: GraphRevision;
  readonly graph?: CompiledGraph;
}

export interface Revisions {
  /** Compiles a definition against the kinds that the cluster serves now. */
  compile(
    definition: GraphDefinition,
  ): Promise<{ readonly graph?: CompiledGraph; readonly issues: readonly GraphIssue[] }>;
  /** Compiles a stored revision, or finds it compiled. It serves once its status says so. */
  load(revision: GraphRevision): Promise<CompiledRevision>;
  create(definition: ResourceGraphDefinition, number: number): Promise<GraphRevision>;
  remove(revision: GraphRevision): Promise<void>;
  /** A kind changed: what was compiled with it is compiled anew. */
  kindChanged(definition: KubeObject): void;
  forget(uid: string): void;
  /** How many of those that are kept compiled are in each state. */
  states(): Iterable<Sample>;
}

interface Compiled {
  readonly name: string;
  readonly kinds: ReturnType<typeof kindsOf>;
  readonly graph?: CompiledGraph;
  readonly message?: string;
}

function stateOf({ graph }: Compiled): 'Active' | 'Failed' {
  return graph ? 'Active' : 'Failed';
}

export interface RevisionOptions {
  /** Whether `omit()` may be used. */
  readonly omit?: boolean;
  readonly dynamicKeys?: boolean;
  readonly maxDimensions?: number;
  /** They are stored on another cluster, where somebody else issues them and says how they are. */
  readonly elsewhere?: boolean;
}

export function createRevisions(
  client: Client,
  clock: Clock,
  schemas: ClusterSchemas,
  metrics: GraphMetrics,
  options: RevisionOptions = {},
): Revisions {
  /** By UID of the revision, whose content never changes. */
  const compiled = new Map<string, Compiled>();
  /** Counts changes of kinds: what was compiled while one changed may be of what was before. */
  let changes = 0;

  async function compile(definition: GraphDefinition): ReturnType<Revisions['compile']> {
    const source = await schemas.fetch(kindsOf(definition));
    const began = clock.monotonic();
    const { graph, issues = [] } = compileGraph(definition, { ...options, schemas: source });
    const took = clock.monotonic() - began;
    metrics.observe('rgd_graph_build_duration_seconds', { name: definition.name }, took);
    metrics.count('rgd_graph_build_total', { name: definition.name });
    if (!graph) metrics.count('rgd_graph_build_errors_total', { name: definition.name });
    return { ...(graph && { graph }), issues };
  }

  async function compileRevision(object: GraphRevision): Promise<Compiled> {
    const name = object.metadata.name ?? '';
    const { definition, issues } = definitionOfRevision(object);
    if (!definition) return { name, kinds: [], message: issuesMessage(issues) };
    const kinds = kindsOf(definition);
    const began = clock.monotonic();
    const compilation = await compile(definition);
    const result = compilation.graph ? 'success' : 'error';
    metrics.count('graph_revision_compile_total', { result });
    metrics.observe('graph_revision_compile_duration_seconds', { result }, clock.monotonic() - began);
    return compilation.graph
      ? { name, kinds, graph: compilation.graph }
      : { name, kinds, message: issuesMessage(compilation.issues) };
  }

  async function writeStatus(object: GraphRevision, { graph, message }: Compiled): Promise<void> {
    if (options.elsewhere === true) return;
    const verified = graph
      ? ({ status: 'True', reason: 'Verified', message: 'the graph compiles' } as const)
      : ({ status: 'False', reason: 'InvalidGraph', message: message ?? '' } as const);
    let conditions = object.status?.conditions ?? [];
    const { generation } = object.metadata;
    const observed = generation === undefined ? {} : { observedGeneration: generation };
    const ready = graph ? ({ ...verified, reason: 'Ready' } as const) : verified;
    for (const condition of [
      { type: 'GraphVerified', ...verified },
      { type: 'Ready', ...ready },
    ])
      conditions = setCondition(conditions, { ...condition, ...observed }, clock.now()).conditions;
    const status = { ...(graph && graphReport(graph)), conditions };
    if (deepEqual(object.status as unknown, status)) return;
    const patch = [{ op: 'add', path: '/status', value: status as unknown as JsonObject }];
    try {
      await client.patch(GRAPH_REVISIONS, '', object.metadata.name ?? '', 'json', patch, {
        subresource: 'status',
      });
    } catch (error) {
      metrics.count('graph_revision_status_update_errors_total', {});
      // It serves when the next look could write it.
      metrics.count('graph_revision_activation_deferred_total', {});
      throw error;
    }
  }

  function keep(uid: string, made: Compiled): void {
    compiled.set(uid, made);
    metrics.count('graph_revision_registry_transitions_total', { from: 'Pending', to: stateOf(made) });
  }

  function letGo(uid: string): boolean {
    const evicted = compiled.delete(uid);
    if (evicted) metrics.count('graph_revision_registry_evictions_total', {});
    return evicted;
  }

  return {
    compile,
    async load(object) {
      const uid = object.metadata.uid ?? '';
      let found = compiled.get(uid);
      if (!found) {
        const before = changes;
        metrics.count('rgd_graph_revision_registry_miss_total', { reason: 'NotCompiled' });
        found = await compileRevision(object);
        if (object.metadata.deletionTimestamp === undefined) await writeStatus(object, found);
        if (changes === before) keep(uid, found);
      }
      return {
        object,
        number: object.spec.revision,
        hash: object.metadata.labels?.[LABELS.revisionHash] ?? '',
        state: stateOf(found),
        terminating: object.metadata.deletionTimestamp !== undefined,
        ...(found.message !== undefined && { message: found.message }),
        ...(found.graph && { graph: found.graph }),
      };
    },
    async create(definition, number) {
      if (options.elsewhere === true) throw notHere(definition, number);
      return client.create(GRAPH_REVISIONS, graphRevisionOf(definition, number));
    },
    async remove({ metadata: { name = '', uid = '' }, spec }) {
      if (options.elsewhere === true)
        throw notHere({ metadata: { name: spec.snapshot.name } }, spec.revision);
      await ignoring([404, 409], client.delete(GRAPH_REVISIONS, '', name, { preconditions: { uid } }));
    },
    kindChanged(definition) {
      changes += 1;
      for (const [uid, { kinds }] of compiled)
        if (kinds.some((kind) => defines(definition, kind))) letGo(uid);
    },
    forget(uid) {
      if (letGo(uid)) metrics.count('graph_revision_finalizer_evictions_total', {});
    },
    *states() {
      const counts = new Map([...compiled.values()].map((item) => [stateOf(item), 0]));
      for (const item of compiled.values()) counts.set(stateOf(item), (counts.get(stateOf(item)) ?? 0) + 1);
      for (const [state, value] of counts) yield { labels: { state }, value };
    },
  };
}

function notHere({ metadata: { name } }: Pick<KubeObject, 'metadata'>, number: number): Error {
  return new Error(
    `revision ${number} of ${name} is not the one that its hub issued; looked at again when the hub tells of it`,
  );
}
