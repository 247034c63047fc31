import {
  type CompiledDistribution,
  type Composition,
  compileDistribution,
  composedNodes,
  compositionCycles,
  DISTRIBUTED,
  distributionConcernedBy,
  distributionCondition,
  GRAPH_REVISION,
  GRAPH_ROLLOUT,
  type GraphRevision,
  type GraphRollout,
  graphOnClusters,
  hubOnlyKinds,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import type { ClusterFacts } from '../../../engine/intent.ts';
import type { Client } from '../../../kube/client.ts';
import { findCondition, setCondition } from '../../../kube/conditions.ts';
import type { Result } from '../../../kube/controller.ts';
import { apiVersionOf } from '../../../kube/custom-resource.ts';
import type { Change } from '../../../kube/informer.ts';
import type { Condition, KubeObject } from '../../../kube/object.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual, stringAt } from '../../../schema/json.ts';
import { setFinalizers } from '../finalizers.ts';
import type { CompileReading, IntentFindings, IntentSource } from '../intent-source.ts';
import type { IntentRecords, RecordedSource } from '../records.ts';
import { DEFINITIONS, type GraphDefinitions } from './graph-definitions.ts';
import { startRolloutStatuses } from './rollout-statuses.ts';

/** Keeps a definition until it is gone from every cluster that has it. */
export const GRAPH_FINALIZER = 'atoll.dev/graph';

const KIND = RESOURCE_GRAPH_DEFINITION.kind;

/** What a definition came to last, and from what. */
interface Last {
  readonly compiled: CompiledDistribution;
  readonly rollouts: readonly GraphRollout[];
  readonly clusters: ReadonlyMap<string, ClusterFacts>;
}

/** ResourceGraphDefinitions of the hub, as intents. Their own status has one condition of it, `Distributed`. */
export function openGraphSource(
  runtime: Runtime,
  client: Client,
  records: IntentRecords,
  graphs: GraphDefinitions,
  onChange: (key: string) => void,
): IntentSource<ResourceGraphDefinition> {
  const { clock, log } = runtime;
  const definitions = graphs.informer;
  const last = new Map<string, Last>();
  /** What was told last, by UID: another writer of the status may have undone it. */
  const told = new Map<string, Omit<Condition, 'lastTransitionTime'>>();
  const statuses = startRolloutStatuses(runtime, client, graphs);
  let stopped = false;

  let hubOnly: ReturnType<typeof hubOnlyKinds> | undefined;
  let cycles: ReturnType<typeof compositionCycles> | undefined;

  /** What only the hub serves, as other definitions see it. */
  function compositionOf(
    object: ResourceGraphDefinition,
    revisions: readonly GraphRevision[],
    objects: CompileReading['objects'],
  ): Composition | undefined {
    const kinds = hubOnly ?? hubOnlyKinds(definitions.list());
    hubOnly = kinds;
    if (kinds.size === 0) return undefined;
    const own = revisions.filter(({ spec }) => spec.snapshot.name === object.metadata.name);
    const said = [object.spec, ...own.map(({ spec }) => spec.snapshot.spec)];
    if (!said.some((spec) => composedNodes({ ...object, spec }, kinds).length > 0)) return undefined;
    cycles ??= compositionCycles(definitions.list());
    return {
      kinds,
      definitions: objects('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
      cycle: cycles.get(object.metadata.name ?? ''),
    };
  }

  /** A definition that changes may change what others come to that have nodes of its kind, or had. */
  function othersChange({ object, previous }: Change<ResourceGraphDefinition>): void {
    const before = hubOnly;
    if (
      previous &&
      deepEqual(object.spec as unknown, previous.spec as unknown) &&
      deepEqual(object.metadata.labels, previous.metadata.labels)
    )
      return;
    hubOnly = undefined;
    cycles = undefined;
    const now = hubOnlyKinds(definitions.list());
    for (const other of definitions.list())
      if ([now, before ?? now].some((kinds) => composedNodes(other, kinds).length > 0))
        onChange(keyOf(other));
  }

  definitions.onChange((change) => {
    const { type, object, previous } = change;
    othersChange(change);
    if (type === 'deleted') {
      forget(object);
      onChange(keyOf(object));
    } else if (!previous || wishDiffers(object, previous) || isUntold(object)) onChange(keyOf(object));
  });

  function forget(object: KubeObject): void {
    last.delete(keyOf(object));
    told.delete(object.metadata.uid ?? '');
  }

  /** What was told is not there any more. */
  function isUntold({ metadata, status }: ResourceGraphDefinition): boolean {
    const condition = told.get(metadata.uid ?? '');
    return condition !== undefined && !says(status?.conditions, condition);
  }

  async function begin(): Promise<void> {
    await Promise.all([graphs.whenReady(), records.whenSynced()]);
    if (stopped) return;
    for (const object of definitions.list()) onChange(keyOf(object));
    await forgetGone();
  }

  /** Definitions that went while nobody looked. */
  async function forgetGone(): Promise<void> {
    for (const source of records.sources()) {
      if (source.kind !== KIND || source.apiVersion !== apiVersionOf(RESOURCE_GRAPH_DEFINITION)) continue;
      if (definitions.get('', source.name)?.metadata.uid !== source.uid) await records.remove(source);
    }
  }

  begin().catch((error: unknown) => {
    if (!stopped) log.error('the distribution of resource graphs could not start', { why: errorText(error) });
  });

  function isSynced(): boolean {
    return graphs.ready && records.synced;
  }

  async function tell(
    object: ResourceGraphDefinition,
    condition: Omit<Condition, 'lastTransitionTime'> | undefined,
  ): Promise<Result | undefined> {
    const { name = '', uid = '', resourceVersion } = object.metadata;
    const before = object.status?.conditions ?? [];
    const conditions = condition
      ? setCondition(before, condition, clock.now()).conditions
      : before.filter(({ type }) => type !== DISTRIBUTED);
    if (condition) told.set(uid, condition);
    else told.delete(uid);
    if (condition ? says(before, condition) : conditions.length === before.length) return undefined;
    return optimisticWrite(
      client.patch(
        DEFINITIONS,
        '',
        name,
        'merge',
        { metadata: { resourceVersion }, status: { conditions } },
        { subresource: 'status' },
      ),
    );
  }

  async function remember(object: ResourceGraphDefinition, { decision }: IntentFindings): Promise<void> {
    const source = recordedSource(object);
    if (object.metadata.deletionTimestamp !== undefined || decision === undefined) return;
    if (records.get(source) !== undefined) await records.write(source, { decision });
  }

  return {
    finalizer: GRAPH_FINALIZER,
    selfContained: true,
    get synced() {
      return isSynced();
    },
    owns: (key) => key.startsWith(`${KIND}/`),
    get: (key) => (isSynced() ? definitions.get('', key.slice(KIND.length + 2)) : undefined),
    *entries(): Iterable<[string, ResourceGraphDefinition]> {
      if (isSynced()) for (const object of definitions.list()) yield [keyOf(object), object];
    },
    compile(object, { objects, clusters }) {
      const rollouts = objects(apiVersionOf(GRAPH_ROLLOUT), GRAPH_ROLLOUT.kind) as GraphRollout[];
      const revisions = objects(apiVersionOf(GRAPH_REVISION), GRAPH_REVISION.kind) as GraphRevision[];
      const compiled = compileDistribution(object, {
        revisions,
        rollouts,
        begun: records.get(recordedSource(object)) !== undefined,
        author: graphs.author(object),
        composition: compositionOf(object, revisions, objects),
      });
      const byName = new Map(clusters.map((cluster) => [cluster.name, cluster]));
      last.set(keyOf(object), { compiled, rollouts, clusters: byName });
      return compiled;
    },
    concernedBy: (object, _compiled, changed) =>
      distributionConcernedBy(object, changed) ||
      composedNodes(object, hubOnly ?? new Map()).some(({ of }) => defines(changed, of)),
    author: graphs.author,
    record: (object) => records.get(recordedSource(object)),
    writeRecord: async (object, record) => records.write(recordedSource(object), record),
    async report(object, findings): Promise<Result | undefined> {
      await remember(object, findings);
      const known = last.get(keyOf(object));
      const chosen = new Set(findings.observations.map(({ cluster }) => cluster));
      const isGoing = object.metadata.deletionTimestamp !== undefined;
      const found = {
        generation: findings.generation,
        compiled: known?.compiled,
        rows: isGoing
          ? []
          : graphOnClusters(findings.observations, known?.compiled, known?.clusters ?? new Map()),
        selection: findings.selection,
        leaving: isGoing ? findings.dispatchedTo : findings.dispatchedTo.filter((name) => !chosen.has(name)),
        observing: findings.observing,
      };
      if (known)
        statuses.tell(object.metadata.name ?? '', {
          found,
          rollouts: known.rollouts,
          inForce: known.compiled.rollout?.metadata.name,
          has: (cluster) => known.clusters.has(cluster),
        });
      return tell(object, distributionCondition(found));
    },
    async setFinalizers(object, finalizers): Promise<void> {
      await setFinalizers(client, DEFINITIONS, object, finalizers);
      if (!finalizers.includes(GRAPH_FINALIZER) && object.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(object));
    },
    stop(): void {
      stopped = true;
      graphs.stop();
      statuses.stop().catch((error: unknown) => {
        log.warn('rollouts could not be left', { why: errorText(error) });
      });
    },
  };
}

function keyOf({ metadata }: KubeObject): string {
  return `${KIND}//${metadata.name ?? ''}`;
}

function recordedSource({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): RecordedSource {
  return { apiVersion, kind, namespace: '', name, uid };
}

function says(
  conditions: readonly Condition[] | undefined,
  { type, status, reason, message, observedGeneration }: Omit<Condition, 'lastTransitionTime'>,
): boolean {
  const there = findCondition(conditions, type);
  return (
    there?.status === status &&
    there.reason === reason &&
    there.message === message &&
    there.observedGeneration === observedGeneration
  );
}

/** Whether a CustomResourceDefinition is that of a kind. */
function defines(definition: KubeObject, { group, kind }: { group: string; kind: string }): boolean {
  return (
    definition.kind === 'CustomResourceDefinition' &&
    stringAt(definition, 'spec', 'group') === group &&
    stringAt(definition, 'spec', 'names', 'kind') === kind
  );
}

/** What is wanted, and whether the hub serves it; not what was told of clusters. */
function wishDiffers(object: ResourceGraphDefinition, previous: ResourceGraphDefinition): boolean {
  return !deepEqual(wishOf(object), wishOf(previous));
}

function wishOf({ metadata, spec, status }: ResourceGraphDefinition): unknown {
  const { labels, annotations, deletionTimestamp } = metadata;
  const { state, lastIssuedRevision, conditions } = status ?? {};
  const ready = findCondition(conditions, 'Ready');
  return {
    spec,
    labels,
    annotations,
    deletionTimestamp,
    served: [state, lastIssuedRevision, ready?.status, ready?.message],
  };
}
