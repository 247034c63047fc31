import { type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { digestOf } from '../digest.ts';
import { type Bundle, type DispatchSpec, packBundles, type Tombstone } from '../dispatch/index.ts';
import type { ClusterFacts, Intent, SourceRef } from '../intent.ts';
import { type Decision, decide } from '../place/decide.ts';
import { type ClusterPatchProblem, compileClusterPatches } from '../render/cluster-patches.ts';
import { type LocalFacts, localFactsOf } from '../render/local-facts.ts';
import { compileOverrides, type ObjectPatch } from '../render/override.ts';
import { dependsOnFacts, type Rendered, render } from '../render/render.ts';
import { type DivisionContext, divideReplicas, type ReplicaRecord } from './divided-replicas.ts';

/** What an intent comes to on the fleet as it is now: content, clusters, patches. Computed whole, never in steps. */
export interface Plan {
  readonly source: SourceRef;
  readonly decision: Decision;
  readonly revision: string;
  readonly bundles: readonly Bundle[];
  readonly objects: readonly ObjectRef[];
  readonly patches: ReadonlyMap<string, readonly ObjectPatch[]>;
  /** What is known of the clusters on which values depend on that. */
  readonly facts?: ReadonlyMap<string, LocalFacts>;
  /** How many replicas each cluster gets, where they are divided. */
  readonly replicas: ReplicaRecord;
  readonly replicaProblems: readonly string[];
  /** Clusters that keep what they have because an override fails there, with the reason. */
  readonly blocked: ReadonlyMap<string, string>;
  /** Overrides that change nothing anywhere, or fail; one text each, without repetition. */
  readonly overrideProblems: readonly string[];
  /** Clusters on which the intent takes over what is there, though it says nothing of that. */
  readonly adopting?: ReadonlySet<string>;
  /** Patches of clusters themselves that could not be applied, by cluster. */
  readonly clusterProblems?: ReadonlyMap<string, readonly ClusterPatchProblem[]>;
  readonly deletionBudget: number | string;
  /** For whom, and how, a spoke writes the objects: the part of a dispatch that says so, empty where nothing is said. */
  readonly apply: Pick<
    DispatchSpec,
    'author' | 'apply' | 'objectApply' | 'returns' | 'returnFields' | 'shared' | 'removeWhenLostSeconds'
  >;
  /** Equal for plans that ask the same of every spoke. */
  readonly digest: string;
}

/** The plan of an intent. Pure: the same objects and clusters give the same plan; `known` only saves packing again. */
export function planIntent(
  intent: Intent,
  clusters: readonly ClusterFacts[],
  known?: Plan,
  decision: Decision = decide(intent.placement, clusters),
  replicasBefore?: ReplicaRecord,
  division: DivisionContext = {},
): Plan {
  const named = new Map(clusters.map((cluster) => [cluster.name, cluster]));
  const chosen = decision.chosen.map((name) => named.get(name)).filter((cluster) => cluster !== undefined);
  const divided = divideReplicas(intent.objects, intent.replicas, chosen, replicasBefore, division);
  const patches = new Map<string, readonly ObjectPatch[]>();
  const facts = new Map<string, LocalFacts>();
  const blocked = new Map<string, string>();
  const problems = new Map<string, string[]>();
  const clusterProblems = new Map<string, readonly ClusterPatchProblem[]>();
  for (const cluster of chosen) {
    const { name } = cluster;
    if (divided.blocks !== undefined) {
      blocked.set(name, divided.blocks);
      continue;
    }
    const first = divided.patches.get(name);
    const result = compileOverrides(intent.objects, intent.overrides, cluster, first);
    for (const { where, message } of result.problems) {
      const text = `${where}: ${message}`;
      problems.set(text, [...(problems.get(text) ?? []), name]);
    }
    if (result.problems.length > 0)
      blocked.set(name, result.problems.map(({ where, message }) => `${where}: ${message}`).join('; '));
    else {
      const own = compileClusterPatches(intent.source, intent.objects, cluster, result.patches);
      if (own.problems.length > 0) clusterProblems.set(name, own.problems);
      const blocking = own.problems.filter(({ blocks }) => blocks);
      if (blocking.length > 0) {
        blocked.set(name, blocking.map((problem) => `${problem.patch.name}: ${problem.message}`).join('; '));
        continue;
      }
      const all = own.patches.length === 0 ? result.patches : [...result.patches, ...own.patches];
      patches.set(name, all);
      if (dependsOnFacts(all)) facts.set(name, localFactsOf(cluster));
    }
  }
  const revision = digestOf(intent.objects);
  const bundles =
    known?.revision === revision
      ? known.bundles
      : intent.objects.length === 0
        ? []
        : packBundles(intent.objects).bundles;
  const apply = {
    ...(intent.author === undefined ? {} : { author: intent.author }),
    ...(intent.applyStrategy === undefined ? {} : { apply: intent.applyStrategy }),
    ...((intent.shared ?? []).length === 0 ? {} : { shared: intent.shared }),
    ...(intent.returns === undefined || intent.returns === 'Aggregate' ? {} : { returns: intent.returns }),
    ...(intent.removeWhenLostSeconds === undefined
      ? {}
      : { removeWhenLostSeconds: intent.removeWhenLostSeconds }),
    ...(intent.returnFields === undefined ? {} : { returnFields: intent.returnFields }),
    ...((intent.objectStrategies ?? []).length === 0 ? {} : { objectApply: intent.objectStrategies }),
  };
  const adopting = new Set(chosen.filter(({ adopts }) => adopts === true).map(({ name }) => name));
  const perCluster = Object.fromEntries(
    [...patches].map(([name, list]) => [name, patchesDigest(list, adopting.has(name))]),
  );
  return {
    source: intent.source,
    decision,
    revision,
    bundles,
    objects: intent.objects.map(refOf),
    patches,
    ...(facts.size === 0 ? {} : { facts }),
    ...(adopting.size === 0 ? {} : { adopting }),
    ...(clusterProblems.size === 0 ? {} : { clusterProblems }),
    replicas: divided.record,
    replicaProblems: divided.problems,
    blocked,
    overrideProblems: [...problems].map(
      ([text, names]) => `${text} (on ${names.length > 3 ? `${names.length} clusters` : names.join(', ')})`,
    ),
    deletionBudget: intent.deletionBudget,
    apply,
    // Plans that say nothing of it have the digest that they had before there was anything to say.
    digest: digestOf({ revision, perCluster, ...apply }),
  };
}

const NO_PATCHES = digestOf([]);

function patchesDigest(list: readonly ObjectPatch[], adopts: boolean): string {
  if (adopts) return digestOf({ list, adopts });
  return list.length === 0 ? NO_PATCHES : digestOf(list);
}

/** How a cluster is told to write the objects. */
export function applyOn({ apply, adopting }: Plan, cluster: string): Plan['apply'] {
  if (adopting?.has(cluster) !== true || apply.apply?.adopt !== undefined) return apply;
  return { ...apply, apply: { ...apply.apply, adopt: 'Always' } };
}

/** The objects of an intent as they shall be on one cluster, as far as it is known at the hub. */
export function contentOn(
  objects: readonly KubeObject[],
  { patches, facts }: Pick<Plan, 'patches' | 'facts'>,
  cluster: string,
): Rendered {
  return render(objects, patches.get(cluster) ?? [], facts?.get(cluster));
}

/** What must go when one dispatch follows another: everything the earlier one held or was still removing. */
export function tombstonesBetween(
  previous: Pick<DispatchSpec, 'objects' | 'tombstones'> | undefined,
  carriedOut: boolean,
  next: readonly ObjectRef[],
  reason: string,
): Tombstone[] {
  if (!previous) return [];
  const staying = new Set(next.map(refKey));
  const out = new Map<string, Tombstone>();
  if (!carriedOut) for (const tombstone of previous.tombstones) out.set(refKey(tombstone.ref), tombstone);
  for (const ref of previous.objects) out.set(refKey(ref), { ref, reason });
  return [...out].filter(([key]) => !staying.has(key)).map(([, tombstone]) => tombstone);
}

/** Objects that a budget such as `3` or `"50%"` lets go out of `total`; at least one where it is not zero. */
export function budgetOf(budget: number | string, total: number): number {
  if (typeof budget === 'number') return budget;
  const percent = /^(\d+)%$/.exec(budget)?.[1];
  if (percent === undefined) return Number.isNaN(Number(budget)) ? 0 : Number(budget);
  return Number(percent) === 0 ? 0 : Math.max(1, Math.floor((total * Number(percent)) / 100));
}
