import { clusterFactsOf } from '../../dialects/kubevela/cluster-facts.ts';
import { PATCHES_APPLIED, type SpokeFindings } from '../../dialects/kubevela/report.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import {
  type ClusterPatch,
  type ClusterPatchProblem,
  isPlane,
  type PlaneName,
} from '../../engine/render/cluster-patches.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Intents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import { sourceOf, type Tracked } from './tracked.ts';

/** What became of the patches that clusters bring along, for their own status. */
export interface ClusterPatches {
  /** Undefined where a cluster has none. What is not known yet is told as it was. */
  of(spoke: SpokeCluster): SpokeFindings['patches'];
  /** Keys of the intents that these name. */
  keysOf(planes: readonly PlaneName[]): readonly string[];
  /** An intent was planned anew. */
  planned(item: Tracked): void;
  forget(key: string): void;
}

/** What a plan made of the patches of one cluster. */
interface Outcome {
  /** Those that it was made with. */
  readonly patches: readonly ClusterPatch[];
  readonly isPlaced: boolean;
  readonly problems: readonly ClusterPatchProblem[];
}

const MOST_TOLD = 3;

export function createClusterPatches(options: {
  readonly intents: Intents;
  readonly inventory: Inventory;
}): ClusterPatches {
  const { intents, inventory } = options;
  /** By key of the intent, then by cluster. Only clusters whose patches name the intent are here. */
  const outcomes = new Map<string, Map<string, Outcome>>();

  function keysOf(planes: readonly PlaneName[]): string[] {
    const ends = new Set(planes.map(({ name }) => `/${name}`));
    return [...intents.keys()].filter((key) => {
      if (!ends.has(key.slice(key.lastIndexOf('/')))) return false;
      const object = intents.get(key)?.object;
      return object !== undefined && planes.some((plane) => isPlane(plane, sourceOf(object)));
    });
  }

  function problemOf(cluster: string, patch: ClusterPatch, all: readonly ClusterPatch[]): Told | 'unknown' {
    const keys = keysOf([patch.plane]);
    if (keys.length === 0) return { reason: 'UnknownPlane', message: unknownPlane(patch.plane) };
    const found = keys.map((key) => outcomes.get(key)?.get(cluster));
    if (found.some((outcome) => !outcome || !deepEqual(outcome.patches, all))) return 'unknown';
    const placed = found.filter((outcome) => outcome?.isPlaced === true);
    const problems = placed.map((outcome) =>
      outcome?.problems.find((problem) => problem.patch.name === patch.name),
    );
    // Of several intents of the name one has to have the component.
    const failed = problems.find((problem) => problem?.blocks === true);
    if (failed) return { ...failed, message: `${failed.message}. The cluster keeps what it has of it` };
    const [first] = problems;
    return first && problems.every((problem) => problem !== undefined) ? first : {};
  }

  function unknownPlane({ text, name, namespaces }: PlaneName): string {
    const elsewhere = [...intents.keys()]
      .filter((key) => key.endsWith(`/${name}`))
      .flatMap((key) => intents.get(key)?.object ?? [])
      .map((object) => sourceOf(object));
    const where = namespaces[0] === '' ? 'the hub' : `namespace ${namespaces[0]}`;
    const hint = elsewhere
      .slice(0, MOST_TOLD)
      .map(({ kind, namespace }) => [kind, namespace, name].filter((part) => part !== '').join('/'));
    return `plane ${text}: there is no such intent in ${where}${hint.length === 0 ? '' : `; there is ${hint.join(', ')}: name it so`}`;
  }

  return {
    keysOf,
    of(spoke): SpokeFindings['patches'] {
      const { name = '', namespace = '', uid, deletionTimestamp } = spoke.metadata;
      const { patches = [] } = clusterFactsOf(spoke);
      const isCluster = inventory.get(name)?.metadata.uid === uid && deletionTimestamp === undefined;
      if (patches.length === 0 || !isCluster) return undefined;
      const found = intents.synced
        ? patches.map((patch) => problemOf(name, patch, patches))
        : ['unknown' as const];
      if (found.includes('unknown')) return told(spoke);
      const failing = found.flatMap((item, index) =>
        item !== 'unknown' && item.reason !== undefined ? [{ ...item, index }] : [],
      );
      const [first] = failing;
      if (first?.reason === undefined)
        return { ok: true, reason: 'PatchesApplied', message: 'every patch is in what is dispatched here' };
      const texts = failing
        .slice(0, MOST_TOLD)
        .map(({ index, message = '' }) => `patches[${index}]: ${message}`);
      if (failing.length > MOST_TOLD) texts.push(`and ${failing.length - MOST_TOLD} more`);
      return {
        ok: false,
        reason: first.reason,
        message: `${texts.join('; ')}. Correct it: kubectl -n ${namespace} edit spokecluster ${name}`,
      };
    },
    planned({ key, latest }): void {
      if (!latest) return;
      const before = outcomes.get(key);
      const now = new Map<string, Outcome>();
      for (const { name, patches } of inventory.clusters()) {
        if (!patches?.some(({ plane }) => isPlane(plane, latest.source))) continue;
        const problems = latest.clusterProblems?.get(name) ?? [];
        now.set(name, { patches, problems, isPlaced: latest.decision.chosen.includes(name) });
      }
      if (now.size > 0) outcomes.set(key, now);
      else outcomes.delete(key);
      for (const cluster of new Set([...(before?.keys() ?? []), ...now.keys()]))
        if (!deepEqual(before?.get(cluster), now.get(cluster))) inventory.recheck(cluster);
    },
    forget(key): void {
      const before = outcomes.get(key);
      outcomes.delete(key);
      for (const cluster of before?.keys() ?? []) inventory.recheck(cluster);
    },
  };
}

type Told = Partial<Pick<ClusterPatchProblem, 'message'> & { readonly reason: string }>;

/** What its status says of its patches. */
function told({ status }: SpokeCluster): SpokeFindings['patches'] {
  const said = status?.conditions?.find(({ type }) => type === PATCHES_APPLIED);
  return said && { ok: said.status === 'True', reason: said.reason, message: said.message };
}
