import { type KubeObject, type ObjectRef, parseApiVersion, refOf, refText } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { ClusterFacts, ImageOverride, Override, OverrideTarget, PatchOperation } from '../intent.ts';
import { saysWhich } from '../place/cluster-match.ts';
import { rejectionOf } from '../place/decide.ts';
import { applyPatches } from './render.ts';

/** Operations on one object, as they travel with a dispatch. */
export interface ObjectPatch {
  readonly target: ObjectRef;
  readonly operations: readonly PatchOperation[];
  /** Which override of the intent they come from, for explanations (0-based); below 0 the division of replicas. */
  readonly override: number;
}

export interface CompiledOverrides {
  readonly patches: readonly ObjectPatch[];
  /** Why an override cannot be applied on this cluster; such a cluster keeps what it has. */
  readonly problems: readonly OverrideProblem[];
}

export interface OverrideProblem {
  readonly override: number;
  readonly message: string;
}

/**
 * What an intent's overrides mean on one cluster: concrete patches, checked by applying them. Image shorthands become
 * patch operations here, so that a spoke needs to know one form only. `first` comes before them all.
 */
export function compileOverrides(
  objects: readonly KubeObject[],
  overrides: readonly Override[],
  cluster: ClusterFacts,
  first: readonly ObjectPatch[] = [],
): CompiledOverrides {
  const patches: ObjectPatch[] = [...first];
  const problems: OverrideProblem[] = [];
  overrides.forEach((override, index) => {
    // By far the most of many overrides name other clusters.
    if (override.clusterNames?.includes(cluster.name) === false) return;
    if (saysWhich(override) && rejectionOf(override, cluster) !== undefined) return;
    const targets = objects.filter((object) => isTarget(override.target, object));
    if (targets.length === 0) {
      // All of no objects is no mistake: the last one was deleted.
      if (override.target !== undefined)
        problems.push({
          override: index,
          message: `its target (${targetText(override.target)}) is none of the selected objects`,
        });
      return;
    }
    let imagesFound = 0;
    for (const target of targets) {
      const current = applyPatches(
        target,
        patches.filter((patch) => sameTarget(patch.target, target)),
      );
      if ('problem' in current) continue;
      const ref = refOf(target);
      const own = override.patch ?? [];
      const patched = applyPatches(current.object, [{ target: ref, operations: own, override: index }]);
      if ('problem' in patched) {
        problems.push({ override: index, message: `${refText(ref)}: ${patched.problem}` });
        continue;
      }
      // Images are looked for where the patch of the same override has left the containers.
      const imageOperations = imageReplacements(patched.object, override.images ?? []);
      imagesFound += imageOperations.length;
      const operations = [...own, ...imageOperations];
      if (operations.length > 0) patches.push({ target: ref, operations, override: index });
    }
    if ((override.images?.length ?? 0) > 0 && imagesFound === 0) {
      const names = (override.images ?? []).map((image) => image.name).join(', ');
      problems.push({ override: index, message: `no container of its targets uses the image ${names}` });
    }
  });
  return { patches, problems };
}

/** Whether an override or a strategy means an object; without a target it means all. */
export function isTarget(target: OverrideTarget | undefined, object: KubeObject): boolean {
  if (!target) return true;
  if (target.kind !== undefined && target.kind !== object.kind) return false;
  if (target.name !== undefined && target.name !== object.metadata.name) return false;
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

function sameTarget(ref: ObjectRef, object: KubeObject): boolean {
  const own = refOf(object);
  return (
    ref.kind === own.kind &&
    ref.name === own.name &&
    ref.namespace === own.namespace &&
    ref.apiVersion === own.apiVersion
  );
}

/** Where pod specs are, by the shape of the object, so that custom workloads with the same shape work too. */
const POD_SPEC_PATHS = [
  ['spec', 'template', 'spec'],
  ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  ['spec'],
];

function imageReplacements(object: KubeObject, images: readonly ImageOverride[]): PatchOperation[] {
  const operations: PatchOperation[] = [];
  if (images.length === 0) return operations;
  for (const path of POD_SPEC_PATHS) {
    let podSpec: JsonValue | undefined = object as unknown as JsonObject;
    for (const key of path) podSpec = isObject(podSpec) ? podSpec[key] : undefined;
    if (!isObject(podSpec)) continue;
    for (const field of ['initContainers', 'containers']) {
      const containers = podSpec[field];
      if (!Array.isArray(containers)) continue;
      containers.forEach((container, index) => {
        const current = isObject(container) ? container['image'] : undefined;
        if (typeof current !== 'string') return;
        const change = images.find((image) => splitImage(current).name === image.name);
        if (change)
          operations.push({
            op: 'replace',
            path: `/${[...path, field, String(index)].join('/')}/image`,
            value: changeImage(current, change),
          });
      });
    }
  }
  return operations;
}

interface ImageParts {
  name: string;
  tag?: string;
  digest?: string;
}

/** `registry:5000/team/app:1.2@sha256:…` taken apart; a colon before the last slash is a port. */
export function splitImage(image: string): ImageParts {
  const at = image.indexOf('@');
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.lastIndexOf(':');
  const hasTag = colon > rest.lastIndexOf('/');
  return {
    name: hasTag ? rest.slice(0, colon) : rest,
    ...(hasTag ? { tag: rest.slice(colon + 1) } : {}),
    ...(digest === undefined ? {} : { digest }),
  };
}

function changeImage(image: string, change: ImageOverride): string {
  const parts = splitImage(image);
  const name = change.newName ?? parts.name;
  if (change.digest !== undefined) return `${name}@${change.digest}`;
  if (change.newTag !== undefined) return `${name}:${change.newTag}`;
  return `${name}${parts.tag === undefined ? '' : `:${parts.tag}`}${parts.digest === undefined ? '' : `@${parts.digest}`}`;
}
