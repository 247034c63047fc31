import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { ControllerRevision, PodTemplate } from './kinds.ts';
import { controllerReference, isDeleting } from './owner.ts';
import { meansSame, REVISION_HASH, templateHash } from './template-hash.ts';
import type { World } from './world.ts';

/** The revisions of a StatefulSet or DaemonSet: its templates over time, for `kubectl rollout history` and `undo`. */
export interface Revisions {
  /** Of the present template. */
  readonly update: ControllerRevision;
  /** The hash in its name, which pods carry as `controller-revision-hash`. */
  readonly hash: string;
  /** Oldest first, `update` last. */
  readonly all: readonly ControllerRevision[];
}

function dataOf(template: PodTemplate): { spec: { template: unknown } } {
  return { spec: { template: { ...template, $patch: 'replace' } } };
}

/** The name of a revision, which StatefulSets carry whole, and DaemonSets without the owner's name. */
function nameOf(owner: KubeObject, hash: string): string {
  return `${(owner.metadata.name ?? '').slice(0, 220)}-${hash}`;
}

/** Finds or makes the revision of the owner's present template, and gives it the highest number. */
export async function syncRevisions(
  world: World,
  owner: KubeObject & { spec: { template: PodTemplate } },
): Promise<Revisions> {
  const { controllerRevisions } = world;
  const all = controllerRevisions
    .ownedBy(owner.metadata.uid ?? '')
    .filter((each) => !isDeleting(each))
    .sort((a, b) => a.revision - b.revision);
  const data = dataOf(owner.spec.template);
  const highest = all.at(-1)?.revision ?? 0;
  const existing = all.find((each) => meansSame(each.data?.spec?.template, data.spec.template));
  if (existing) {
    const update =
      existing.revision === highest
        ? existing
        : await controllerRevisions.patch(existing, { revision: highest + 1 });
    const others = all.filter((each) => each !== existing);
    return { update, hash: hashOf(update), all: [...others, update] };
  }
  for (let collisions = 0; ; collisions++) {
    const hash = templateHash(owner.spec.template, collisions);
    try {
      const update = await controllerRevisions.create({
        apiVersion: 'apps/v1',
        kind: 'ControllerRevision',
        metadata: {
          name: nameOf(owner, hash),
          namespace: owner.metadata.namespace ?? '',
          labels: { ...owner.spec.template.metadata?.labels, [REVISION_HASH]: hash },
          ownerReferences: [controllerReference(owner)],
        },
        data,
        revision: highest + 1,
      });
      return { update, hash, all: [...all, update] };
    } catch (error) {
      if (!hasCode(error, 409) || collisions >= 5) throw error;
    }
  }
}

export function hashOf(revision: ControllerRevision): string {
  return revision.metadata.labels?.[REVISION_HASH] ?? '';
}

/** Deletes the oldest revisions beyond the limit, those excepted that pods still have. */
export async function forgetRevisions(
  world: World,
  revisions: Revisions,
  limit: number,
  inUse: ReadonlySet<string>,
): Promise<void> {
  const idle = revisions.all.filter(
    (each) => each !== revisions.update && !inUse.has(hashOf(each)) && !inUse.has(each.metadata.name ?? ''),
  );
  for (const each of idle.slice(0, Math.max(0, idle.length - limit)))
    await world.controllerRevisions.remove(each);
}
