import {
  type KubeObject,
  type ObjectRef,
  parseApiVersion,
  refKey,
  refOf,
  refText,
} from '../../kube/object.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { ClusterFacts, Override, OverrideTarget, PatchOperation } from '../intent.ts';
import { saysWhich } from '../place/cluster-match.ts';
import { rejectionOf } from '../place/decide.ts';
import { localFactsOf, type StatedFacts, statedFactsOf } from './local-facts.ts';
import { applyPatches } from './render.ts';
import { type ContainerPart, shorthandOperations } from './shorthands.ts';

/** Operations on one object, as they travel with a dispatch. */
export interface ObjectPatch {
  readonly target: ObjectRef;
  readonly operations: readonly PatchOperation[];
  /** Which override of the intent they come from, for explanations (0-based); {@link OF_DIVISION} or {@link OF_POLICY} else. */
  readonly override: number;
  /** What people call that override, or the policy that it stands in. */
  readonly name?: string;
  /** What the hub knows of the cluster and expressions of the operations ask for. */
  readonly stated?: StatedFacts;
}

/** Patches that come from the division of replicas. */
export const OF_DIVISION = -1;
/** Patches of a policy apart from the intent. */
export const OF_POLICY = -2;
/** Patches of the cluster's entry in the inventory, which come last. */
export const OF_CLUSTER = -3;

/** Where patches come from, for people. */
export function patchOrigin({ override, name }: Pick<ObjectPatch, 'override' | 'name'>): string {
  if (override === OF_DIVISION) return 'replicas';
  if (override === OF_CLUSTER) return name ?? 'the cluster';
  return override === OF_POLICY ? (name ?? 'a policy') : `overrides[${override}]`;
}

export interface CompiledOverrides {
  readonly patches: readonly ObjectPatch[];
  /** Why an override cannot be applied on this cluster; such a cluster keeps what it has. */
  readonly problems: readonly OverrideProblem[];
}

export interface OverrideProblem {
  /** Which override it is, as people know it: `overrides[0]`, or the name of a policy. */
  readonly where: string;
  readonly message: string;
}

/**
 * What an intent's overrides mean on one cluster: concrete patches, checked by applying them. Shorthands become patch operations
 * here, so that a spoke needs to know one form only; expressions stay what they are, for the cluster to evaluate. `first` comes
 * before them all.
 */
export function compileOverrides(
  objects: readonly KubeObject[],
  overrides: readonly Override[],
  cluster: ClusterFacts,
  first: readonly ObjectPatch[] = [],
): CompiledOverrides {
  const patches: ObjectPatch[] = [...first];
  const problems: OverrideProblem[] = [];
  const facts = localFactsOf(cluster);
  /** Targets as the overrides so far have left them, or undefined where one failed. */
  const states = new Map<KubeObject, KubeObject | undefined>();
  const stateOf = (target: KubeObject): KubeObject | undefined => {
    if (states.has(target)) return states.get(target);
    const key = refKey(refOf(target));
    const own = first.filter((patch) => refKey(patch.target) === key);
    const result = applyPatches(target, own, facts);
    const state = 'problem' in result ? undefined : result.object;
    states.set(target, state);
    return state;
  };
  let position = -1;
  for (const override of overrides) {
    const { policy } = override;
    if (!policy) position += 1;
    const index = policy ? OF_POLICY : position;
    const name = policy?.name ?? override.name;
    const labelled = { override: index, ...(name === undefined ? {} : { name }) };
    // By far the most of many overrides name other clusters.
    if (override.clusterNames?.includes(cluster.name) === false) continue;
    if (policy?.exceptOn?.includes(cluster.name) === true) continue;
    if (saysWhich(override) && rejectionOf(override, cluster) !== undefined) continue;
    const where = patchOrigin(labelled);
    const targets = policy
      ? objects.filter((object) => isNamed(policy.objects, object))
      : objects.filter((object) => isTarget(override.target, object));
    if (targets.length === 0) {
      // All of no objects is no mistake: the last one was deleted.
      if (override.target !== undefined)
        problems.push({
          where,
          message: `its target (${targetText(override.target)}) is none of the selected objects`,
        });
      continue;
    }
    const found = new Set<ContainerPart>();
    for (const target of targets) {
      const current = stateOf(target);
      if (!current) continue;
      const shorthands = shorthandOperations(current, override);
      for (const part of shorthands.found) found.add(part);
      const operations = [...shorthands.operations, ...(override.patch ?? [])];
      if (operations.length === 0) continue;
      const stated = statedFactsOf(operations, cluster);
      const patch: ObjectPatch = {
        target: refOf(target),
        operations,
        ...labelled,
        ...(stated === undefined ? {} : { stated }),
      };
      const patched = applyPatches(current, [patch], facts);
      if ('problem' in patched)
        problems.push({ where, message: `${refText(refOf(target))}: ${patched.problem}` });
      else {
        states.set(target, patched.object);
        patches.push(patch);
      }
    }
    if (policy) continue;
    for (const part of ['images', 'command', 'args'] as const) {
      const wanted = override[part] ?? [];
      if (wanted.length > 0 && !found.has(part))
        problems.push({ where, message: nothingFound(part, override) });
    }
  }
  return { patches, problems };
}

const keysOf = new WeakMap<readonly ObjectRef[], ReadonlySet<string>>();

function isNamed(refs: readonly ObjectRef[], object: KubeObject): boolean {
  let keys = keysOf.get(refs);
  if (!keys) {
    keys = new Set(refs.map(refKey));
    keysOf.set(refs, keys);
  }
  return keys.has(refKey(refOf(object)));
}

function nothingFound(part: ContainerPart, override: Override): string {
  if (part === 'images') {
    const names = (override.images ?? []).map(({ name }) => name).join(', ');
    return `no container of its targets uses the image ${names}`;
  }
  const names = (override[part] ?? []).map(({ container = 'any' }) => container).join(', ');
  return `its targets have no container ${names} for its ${part}`;
}

/** Whether an override or a strategy means an object; without a target it means all. */
export function isTarget(target: OverrideTarget | undefined, object: KubeObject): boolean {
  if (!target) return true;
  if (target.kind !== undefined && target.kind !== object.kind) return false;
  if (target.name !== undefined && target.name !== object.metadata.name) return false;
  if (target.namespace !== undefined && target.namespace !== (object.metadata.namespace ?? '')) return false;
  if (
    target.apiVersion !== undefined &&
    parseApiVersion(target.apiVersion).group !== parseApiVersion(object.apiVersion).group
  )
    return false;
  if (target.labelSelector === undefined) return true;
  const { selector, issues } = selectorFromObject(target.labelSelector);
  return issues.length === 0 && matchesSelector(selector, object.metadata.labels ?? {});
}

function targetText(target: OverrideTarget): string {
  const parts = [target.apiVersion, target.kind, target.name].filter((part) => part !== undefined);
  if (target.labelSelector !== undefined)
    parts.push(`labels ${JSON.stringify(target.labelSelector.matchLabels ?? target.labelSelector)}`);
  return parts.join(' ');
}
