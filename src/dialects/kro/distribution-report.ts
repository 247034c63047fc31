import type { DispatchStatus } from '../../engine/dispatch/index.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import { type ClusterObservation, summariseCluster } from '../../engine/summarise/summarise.ts';
import type { Condition } from '../../kube/object.ts';
import { listAt, stringAt } from '../../schema/json.ts';
import { type CompiledDistribution, revisionFor } from './distribute.ts';
import { countsIn } from './instance-tally.ts';
import { DISTRIBUTED } from './report.ts';
import type { GraphOnCluster } from './rollout.ts';

/** What became of a distributed definition. */
export interface DistributionFindings {
  /** Of the object that tells it. */
  readonly generation: number;
  readonly compiled: CompiledDistribution | undefined;
  readonly rows: readonly GraphOnCluster[];
  /** Why what is wanted is not (fully) known. */
  readonly selection: { readonly ok: boolean; readonly reason: string; readonly message: string };
  /** Clusters that still have it and are not to. */
  readonly leaving: readonly string[];
  /** Why the hub sends nothing to anyone, where it does not. */
  readonly observing?: string | undefined;
}

const MAX_NAMED = 5;

/** What is known of it on each cluster, in order of name. */
export function graphOnClusters(
  observations: readonly ClusterObservation[],
  compiled: CompiledDistribution | undefined,
  clusters: ReadonlyMap<string, ClusterFacts>,
): GraphOnCluster[] {
  return observations
    .map((observation) => {
      const { cluster, status } = observation;
      const summary = summariseCluster(observation);
      const facts = clusters.get(cluster);
      const own = summary.objects.find(({ ref }) => ref.kind === 'ResourceGraphDefinition');
      const note = instancesNote(status);
      const message = own?.message ?? (summary.message || note) ?? '';
      // What was told before the cluster went out of sight says nothing of now.
      const counts = summary.word === 'Stale' ? undefined : countsIn(own?.message ?? note ?? '');
      return {
        cluster,
        wanted: compiled && facts ? revisionFor(compiled, facts) : (compiled?.revision ?? 0),
        ...counts,
        state: own?.reason === 'InvalidResourceGraph' ? ('Incompatible' as const) : summary.word,
        ...(message === '' ? {} : { message }),
      };
    })
    .sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
}

/** What a cluster says of the instances there. */
function instancesNote(status: DispatchStatus | undefined): string | undefined {
  const returned = status?.returned?.find(({ ref }) => ref.kind === 'ResourceGraphDefinition');
  const conditions = listAt(returned?.status, 'conditions');
  const found = conditions.find((condition) => stringAt(condition, 'type') === 'InstancesReady');
  return stringAt(found, 'message');
}

/** As a condition of the definition, without its time; `undefined` where there is nothing to say: no cluster, and none wanted. */
export function distributionCondition(
  found: DistributionFindings,
): Omit<Condition, 'lastTransitionTime'> | undefined {
  const { rows, compiled, selection, leaving, observing } = found;
  const say = (
    status: Condition['status'],
    reason: string,
    message: string,
  ): Omit<Condition, 'lastTransitionTime'> => ({
    type: DISTRIBUTED,
    status,
    reason,
    message,
    observedGeneration: found.generation,
  });
  if (leaving.length > 0) return say('False', 'TakingBack', `it is being taken away from ${named(leaving)}`);
  if (compiled?.everywhere === false)
    return say('False', 'HubOnly', 'the label kro.run/distribute, or its targets, keep it at the hub');
  if (!selection.ok) return say('False', selection.reason, selection.message);
  if (rows.length === 0) return undefined;
  if (observing !== undefined)
    return say('False', 'Observing', `${observing}. Nothing is sent to any cluster`);
  const good = rows.filter(({ state }) => state === 'Ready').length;
  const bad = rows.find(({ state }) => state !== 'Ready' && state !== 'Stale');
  const counts = `${good} of ${rows.length} clusters are ready`;
  if (bad) return say('False', bad.state, `${counts}; ${bad.cluster}: ${bad.message ?? bad.state}`);
  const stale = rows.filter(({ state }) => state === 'Stale').map(({ cluster }) => cluster);
  if (stale.length > 0) return say('Unknown', 'Stale', `${counts}; not seen now: ${named(stale)}`);
  const revisions = [...new Set(rows.map(({ revision, wanted }) => revision ?? wanted))].sort(
    (a, b) => a - b,
  );
  return say('True', 'Distributed', `${counts}; revision ${revisions.join(', ')}`);
}

/** Some of the names; how many more there are. */
export function named(clusters: readonly string[]): string {
  const more = clusters.length > MAX_NAMED ? ` and ${clusters.length - MAX_NAMED} more` : '';
  return `${clusters.slice(0, MAX_NAMED).join(', ')}${more}`;
}
