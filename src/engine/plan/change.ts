import { type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { deepEqual, isObject } from '../../schema/json.ts';
import { digestOf } from '../digest.ts';
import { DISPATCH_LABEL, MANAGED_BY_ANNOTATION, WORKLOAD_UPDATE_ANNOTATION } from '../dispatch/dispatch.ts';
import { TRACKING_ANNOTATION } from '../retain/index.ts';

/**
 * What carrying out a plan does to one object: `replace` cannot be done in place (the cluster's server refuses the change of a
 * field that may not change), `refuse` is not done at all.
 */
export type ChangeWord = 'create' | 'change' | 'replace' | 'delete' | 'refuse' | 'none';

/** What was seen of one object on its cluster just now. */
export interface ObjectLook {
  /** Absent where there is none. */
  readonly live?: KubeObject;
  /** What the server would make of it, by a dry run; absent where it could not be asked. */
  readonly tried?: KubeObject;
  /** Why the server, or whoever has the object, would not have it. */
  readonly refusal?: { readonly immutable: boolean; readonly message: string };
}

/** How a change was found: by the server of the cluster, by reading what is there, or by what the hub knows of it. */
export type ChangeSource = 'dry run' | 'reading' | 'hub';

export interface ObjectChange {
  readonly ref: ObjectRef;
  readonly change: ChangeWord;
  readonly by: ChangeSource;
  /** Both sides where something of an object changes, without what its server keeps in it. */
  readonly from?: KubeObject;
  readonly to?: KubeObject;
  readonly message?: string;
}

/** Of one object: as the hub has it there now, as it shall be, and what was seen; no look where the cluster is away. */
export interface ObjectPlan {
  readonly before?: KubeObject | undefined;
  readonly after?: KubeObject | undefined;
  readonly look?: ObjectLook | undefined;
}

export function changeOf({ before, after, look }: ObjectPlan): ObjectChange | undefined {
  const object = after ?? before;
  if (!object) return undefined;
  const ref = refOf(object);
  if (!look) return knownChange(ref, before, after);
  const { live, tried, refusal } = look;
  if (!after) return live ? { ref, change: 'delete', by: 'reading' } : undefined;
  if (refusal) {
    const change = refusal.immutable ? 'replace' : 'refuse';
    return { ref, change, by: 'dry run', message: refusal.message };
  }
  const by = tried ? 'dry run' : 'reading';
  const to = essence(tried ?? after);
  if (!live) return { ref, change: 'create', by, to };
  // Without a dry run it is not known what the server makes of it: what the hub changes is what changes.
  if (!tried) return knownChange(ref, before, after);
  const from = essence(live);
  return deepEqual(from, to) ? { ref, change: 'none', by, to } : { ref, change: 'change', by, from, to };
}

function knownChange(
  ref: ObjectRef,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): ObjectChange | undefined {
  if (!after) return before ? { ref, change: 'delete', by: 'hub' } : undefined;
  const to = essence(after);
  if (!before) return { ref, change: 'create', by: 'hub', to };
  const from = essence(before);
  return deepEqual(from, to)
    ? { ref, change: 'none', by: 'hub', to }
    : { ref, change: 'change', by: 'hub', from, to };
}

/** Annotations that controllers and clients keep for themselves. */
const OWN_ANNOTATIONS =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/|deprecated\.daemonset\.)/;
const MARKS: ReadonlySet<string> = new Set([
  MANAGED_BY_ANNOTATION,
  TRACKING_ANNOTATION,
  WORKLOAD_UPDATE_ANNOTATION,
  'atoll.dev/ensured',
]);

/** An object without what its server, its controllers and Atoll keep in it: what people mean by it. */
export function essence(object: KubeObject): KubeObject {
  const { status: _status, ...rest } = object;
  const { name, namespace, labels = {}, annotations = {}, finalizers, ownerReferences } = object.metadata;
  const { [DISPATCH_LABEL]: _mark, ...ownLabels } = labels;
  const own = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => !MARKS.has(key) && !OWN_ANNOTATIONS.test(key)),
  );
  return {
    ...rest,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined || namespace === '' ? {} : { namespace }),
      ...(Object.keys(ownLabels).length === 0 ? {} : { labels: ownLabels }),
      ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
      ...((finalizers ?? []).length === 0 ? {} : { finalizers: finalizers ?? [] }),
      ...((ownerReferences ?? []).length === 0 ? {} : { ownerReferences: ownerReferences ?? [] }),
    },
  };
}

/** What carrying out a plan does on one cluster. */
export interface ClusterChanges {
  readonly cluster: string;
  /** Why the cluster could not be asked; what the hub knows is shown then. */
  readonly away?: string;
  readonly changes: readonly ObjectChange[];
}

export interface BlastRadius {
  readonly clusters: number;
  readonly ofClusters: number;
  readonly away: number;
  readonly create: number;
  readonly change: number;
  readonly replace: number;
  readonly delete: number;
  readonly refuse: number;
}

export function blastRadius(clusters: readonly ClusterChanges[], ofClusters: number): BlastRadius {
  const touched = clusters.filter(({ changes }) => changes.some(({ change }) => change !== 'none'));
  const count = (word: ChangeWord): number =>
    clusters.reduce((sum, { changes }) => sum + changes.filter(({ change }) => change === word).length, 0);
  return {
    clusters: touched.length,
    ofClusters,
    away: touched.filter(({ away }) => away !== undefined).length,
    create: count('create'),
    change: count('change'),
    replace: count('replace'),
    delete: count('delete'),
    refuse: count('refuse'),
  };
}

/** The parts that a plan follows from, each as a digest: two plans of which one differs are two plans. */
export interface PlanInputs {
  /** What was asked for: files, or the name of what is to be carried out. */
  readonly asked: string;
  /** What the hub has and makes of it, without what is asked for. */
  readonly hub: string;
  /** What the hub is to make of it. */
  readonly outcome?: string;
  /** By cluster, what is there and what it comes to. */
  readonly clusters: Readonly<Record<string, string>>;
}

export function planInputs(
  asked: unknown,
  hub: { readonly before: unknown; readonly after: unknown },
  clusters: readonly ClusterChanges[],
): PlanInputs {
  return {
    asked: digestOf(asked),
    hub: digestOf(hub.before),
    outcome: digestOf(hub.after),
    clusters: Object.fromEntries(
      clusters.map(({ cluster, away, changes }) => [
        cluster,
        digestOf({ away: away !== undefined, changes: changes.map(changeDigest) }),
      ]),
    ),
  };
}

/** Contents count, wherever they are told: digests of Secrets too. */
function changeDigest({ ref, change, from, to }: ObjectChange): unknown {
  return { key: refKey(ref), change, from: from ?? null, to: to ?? null };
}

/** One word for a plan. */
export function planHash(inputs: PlanInputs): string {
  return digestOf(inputs).slice('sha256:'.length);
}

/** What moved between two plans of the same, in words; empty where nothing did. */
export function movedInputs(before: PlanInputs, now: PlanInputs): string[] {
  const moved: string[] = [];
  if (before.asked !== now.asked) moved.push('what is asked for is something else');
  if (before.hub !== now.hub) moved.push('the hub has something else, or places it elsewhere');
  // What else is asked for comes to something else: that says nothing of the hub.
  else if (before.outcome !== now.outcome && before.asked === now.asked)
    moved.push('the hub would make something else of it');
  const names = new Set([...Object.keys(before.clusters), ...Object.keys(now.clusters)]);
  const clusters = [...names].filter((name) => before.clusters[name] !== now.clusters[name]).sort();
  if (clusters.length > 0) {
    const some = clusters.slice(0, 5).join(', ');
    moved.push(`it comes to something else on ${some}${clusters.length > 5 ? ' and others' : ''}`);
  }
  return moved;
}

/** Whether an answer of an API server says that a field may not change. */
export function isImmutable(message: string, details: unknown): boolean {
  if (/immutable|may not change|updates to .* are forbidden/i.test(message)) return true;
  return (
    isObject(details) &&
    JSON.stringify(details['causes'] ?? '')
      .toLowerCase()
      .includes('immutable')
  );
}
