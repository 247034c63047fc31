import {
  type DefinitionFindings,
  definitionStatus,
  distributedRevisionOf,
  type GraphRevision,
  type InstanceTally,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../dialects/kro/index.ts';
import { FINALIZER, MANAGERS, newestOf, obsoleteRevisions } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { ignoring } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import { failed } from './definition-findings.ts';
import { createDefinitionRemoval } from './definition-removal.ts';
import { createServing, kindOf, type Outcome } from './definition-serving.ts';
import { tallyOf } from './instance-tally.ts';
import type { Instances } from './instances.ts';
import type { GraphMetrics } from './metrics.ts';
import type { Revisions } from './revisions.ts';
import { laterOf, lean } from './served-graph.ts';

export const GRAPH_DEFINITIONS: ReturnType<typeof resourceIdOf> = resourceIdOf(RESOURCE_GRAPH_DEFINITION);

export interface DefinitionsOptions {
  readonly runtime: Runtime;
  readonly client: Client;
  readonly version: string;
  readonly definitions: Informer<ResourceGraphDefinition>;
  readonly stored: Informer<GraphRevision>;
  readonly revisions: Revisions;
  readonly instances: Instances;
  /** Whether a definition takes its kind with it, and so all instances; it waits until there are none otherwise. */
  readonly allowKindDeletion: boolean;
  readonly metrics: GraphMetrics;
  readonly bothPrefixes?: boolean;
  readonly kubeconfigTargets?: boolean;
  readonly keptRevisions?: number;
  readonly progressMs?: number;
  /** Revisions that clusters are held at; `undefined` while that is not known. */
  readonly revisionsInUse: (definition: string) => readonly number[] | undefined;
}

/** Brings definitions about, one at a time each. */
export interface Definitions {
  reconcile(name: string): Promise<Result | undefined>;
  /** The watch told of a revision, or that it is gone. */
  revisionSeen(name: string): void;
}

const NOT_YET_MS = 1_000;
const LEAVING_MS = 30_000;

/**
 * A definition's way: checked against the kinds that the cluster serves; its own kind made; what it says kept as a revision; then its
 * instances looked after. What is wrong stops nothing that worked before: the last revision goes on to serve.
 */
export function createDefinitions(options: DefinitionsOptions): Definitions {
  const { runtime, client, definitions, revisions, instances, metrics } = options;
  const { clock } = runtime;
  const serving = createServing(options);
  const { leaving } = createDefinitionRemoval({ ...options, servedBy: serving.servedBy });
  /** As they were last written, which the watch may not have told of yet. */
  const written = new Map<string, ResourceGraphDefinition>();

  async function reconcile(name: string): Promise<Result | undefined> {
    const copy = definitions.get('', name);
    if (!copy) {
      written.delete(name);
      instances.drop(name);
      return undefined;
    }
    const last = written.get(name);
    const definition = last?.metadata.uid === copy.metadata.uid ? laterOf(copy, last) : copy;
    if (definition.metadata.deletionTimestamp !== undefined) return remove(definition);
    if (!definition.metadata.finalizers?.includes(FINALIZER)) {
      const { apiVersion, kind, metadata } = definition;
      await client.apply(
        GRAPH_DEFINITIONS,
        { apiVersion, kind, metadata: { name, uid: metadata.uid ?? '', finalizers: [FINALIZER] } },
        { fieldManager: MANAGERS.labels, force: true },
      );
    }
    const outcome = await serving.bringAbout(definition);
    if (outcome.served) instances.serve(outcome.served);
    await tell(definition, { ...outcome.findings, instances: tally(definition, outcome) });
    const held = options.revisionsInUse(name);
    const inUse = new Set([...serving.live(definition), ...(held ?? [])]);
    for (const { object } of obsoleteRevisions(outcome.revisions, inUse, options.keptRevisions))
      if (held) await forgotten(object);
    return outcome.again ? { requeueAfterMs: options.progressMs ?? NOT_YET_MS } : undefined;
  }

  async function forgotten(revision: GraphRevision): Promise<void> {
    try {
      await revisions.remove(revision);
      metrics.count('rgd_graph_revision_gc_deleted_total', {});
    } catch (error) {
      metrics.count('rgd_graph_revision_gc_errors_total', {});
      throw error;
    }
  }

  /** What the hub that sent a definition wants to know of it. */
  function tally(
    object: ResourceGraphDefinition,
    { served, revisions: known }: Outcome,
  ): InstanceTally | undefined {
    if (distributedRevisionOf(object) === undefined) return undefined;
    const all = instances.list(object.metadata.name ?? '');
    const revision = served?.pinned ?? newestOf(known)?.number;
    return all && { ...tallyOf(all), ...(revision !== undefined && { revision }) };
  }

  async function tell(object: ResourceGraphDefinition, findings: DefinitionFindings): Promise<void> {
    const status = definitionStatus(object, findings, clock.now());
    if (deepEqual(object.status as unknown, status as unknown)) return;
    const { name = '', uid } = object.metadata;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/status', value: status as unknown as JsonObject },
    ];
    const result = await client.patch<ResourceGraphDefinition>(GRAPH_DEFINITIONS, '', name, 'json', patch, {
      subresource: 'status',
    });
    written.set(name, lean(result));
    const [from, to] = [object.status?.state ?? '', result.status?.state ?? ''];
    if (from !== to) metrics.count('rgd_state_transitions_total', { name, from, to });
  }

  /** A definition goes when nobody needs it: until the last instance is gone somebody must look after them. */
  async function remove(object: ResourceGraphDefinition): Promise<Result | undefined> {
    const name = object.metadata.name ?? '';
    const { finalizers = [], resourceVersion } = object.metadata;
    if (!finalizers.includes(FINALIZER)) return undefined;
    const known = await serving.loaded(name);
    const kind = newestOf(known)?.graph?.instance ?? kindOf(object);
    const left = kind ? await leaving(object, kind, known) : undefined;
    if (left !== undefined) {
      const last = await serving.serveLast(object, known);
      await tell(object, { ...last.findings, kind: failed(left) });
      return { requeueAfterMs: LEAVING_MS };
    }
    instances.drop(name);
    await ignoring(
      404,
      client.patch(GRAPH_DEFINITIONS, '', name, 'merge', {
        metadata: { resourceVersion, finalizers: finalizers.filter((item) => item !== FINALIZER) },
      }),
    );
    written.delete(name);
    const asked = Date.parse(object.metadata.deletionTimestamp ?? '');
    metrics.count('rgd_deletions_total', { name });
    metrics.observe('rgd_deletion_duration_seconds', { name }, Math.max(0, clock.now() - asked));
    return undefined;
  }

  return { reconcile, revisionSeen: serving.revisionSeen };
}
