import type { Intent } from '../../engine/intent.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import {
  type ClusterProgress,
  NO_REVISION,
  permittedRevision,
  type RevisionContent,
  type RolloutCluster,
  type RolloutState,
  type Stamp,
  stampOrders,
  UNKNOWN_REVISION,
  type WantedContent,
  withContent,
} from '../../engine/rollout/index.ts';
import { refKey, refOf } from '../../kube/object.ts';
import { errorText, type Logger } from '../../runtime/log.ts';
import type { ClusterOrder, KnownPlan, RolloutEntry } from './entry.ts';
import type { RolloutRecord, RolloutStore } from './store.ts';

/** What clusters are to have, under generations that are in the record. */
export interface StampedOrders {
  readonly orders: Map<string, ClusterOrder>;
  readonly record: RolloutRecord;
  readonly added: readonly Stamp[];
}

export interface Ordering {
  /** `live` is the revision that the intent asks for now; `holding` are those that may have something of it. */
  order(
    entry: RolloutEntry,
    record: RolloutRecord,
    live: string,
    holding: ReadonlySet<string>,
  ): Promise<StampedOrders>;
}

interface Older {
  readonly intent: Intent;
  /** What others have of it, with the clusters that they bring it to. */
  readonly taken: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Makes orders of what the engine lets each cluster have: the plan of its revision, under a generation that means it for ever. */
export function createOrdering(store: RolloutStore, log: Logger): Ordering {
  /** What each cluster is to have, under generations that are in the record. */
  async function order(
    entry: RolloutEntry,
    record: RolloutRecord,
    live: string,
    holding: ReadonlySet<string>,
  ): Promise<{ orders: Map<string, ClusterOrder>; record: RolloutRecord; added: readonly Stamp[] }> {
    const { intent, clusters, isKnown } = entry.request;
    const frozen = intent.suspend || entry.problem !== undefined;
    const target = record.state?.target ?? record.restored?.revision ?? live;
    const orders = new Map<string, ClusterOrder>();
    const wanted = new Map<string, WantedContent>();
    const olders = new Map<string, Older | string>();
    const plans = new Map<string, Plan>();
    const toCome = new Map<string, Plan>();
    const withheld = new Map<string, string>();
    const replicas: Record<string, ReplicaRecord> = {};
    const planOn = async (cluster: string, revision: string): Promise<Plan | string> => {
      if (revision === live) return entry.request.plan;
      const older = olders.get(revision) ?? (await olderOf(entry, revision));
      olders.set(revision, older);
      return typeof older === 'string' ? older : planFor(entry, record, revision, older, cluster);
    };
    for (const { name } of clusters) {
      const revision = revisionFor(name, record, target, frozen);
      if (revision === undefined) {
        withheld.set(name, whyWaiting(record.state, name, entry.problem));
        continue;
      }
      const plan = await planOn(name, revision);
      if (typeof plan === 'string') {
        withheld.set(name, plan);
        continue;
      }
      plans.set(name, plan);
      const phase = record.state?.clusters[name]?.phase;
      if (revision !== target && (phase === 'Pending' || phase === 'Skipped')) {
        const next = await planOn(name, target);
        if (typeof next !== 'string') toCome.set(name, next);
      }
      if (Object.keys(plan.replicas).length > 0) replicas[revision] ??= plan.replicas;
      const anew = isTriedAnew(record.state?.clusters[name]);
      wanted.set(name, { revision, digest: plan.digest, ...(anew ? { anew } : {}) });
    }
    const chosen = new Set(clusters.map(({ name }) => name));
    for (const name of holding)
      if (!chosen.has(name)) wanted.set(name, { revision: NO_REVISION, digest: WITHDRAWN });
    const stamped = frozen ? { ...record, added: [] } : stampOrders(record, wanted, isKnown);
    for (const [name, { revision, digest }] of wanted) {
      const generation = stamped.given[name] ?? 0;
      const stamp = stamped.stamps.find((one) => one.generation === generation);
      if (!stamp || stamp.revision !== revision || stamp.digest !== digest) {
        orders.set(name, { withheld: 'changes are held back', generation });
        continue;
      }
      const progress = record.state?.clusters[name];
      const plan = plans.get(name);
      if (progress?.phase === 'Held') {
        // A spoke that hears of it only now must not begin outside of its window.
        const behind = progress.message ?? 'its window ended';
        orders.set(name, { plan, generation, digest, behind, hold: true });
        continue;
      }
      const next = toCome.get(name);
      orders.set(name, {
        plan,
        generation,
        digest,
        ...(next === undefined ? {} : { toCome: next }),
        ...(revision === target || revision === NO_REVISION
          ? {}
          : { behind: whyWaiting(record.state, name, entry.problem) }),
      });
    }
    for (const [name, why] of withheld)
      orders.set(name, { withheld: why, generation: stamped.given[name] ?? 0 });
    const { added, generation, stamps, given } = stamped;
    const state = frozen ? record.state : toldAnew(record.state);
    return {
      orders,
      record: { ...record, ...(state && { state }), generation, stamps, given, replicas },
      added,
    };
  }

  /** An intent with the content of an older revision, and what others have of it now; or why there is none. */
  async function olderOf(entry: RolloutEntry, revision: string): Promise<Older | string> {
    const { request } = entry;
    const content = entry.contents.get(revision) ?? (await contentFrom(request.dispatch, revision));
    if (typeof content === 'string') return content;
    entry.contents.set(revision, content);
    const intent = withContent(request.intent, content);
    return { intent, taken: request.taken(intent.objects) };
  }

  /** The plan of an older revision for the fleet as it is, without what others bring to a cluster; or why there is none. */
  async function planFor(
    entry: RolloutEntry,
    record: RolloutRecord,
    revision: string,
    { intent, taken }: Older,
    cluster: string,
  ): Promise<Plan | string> {
    const { request } = entry;
    const gone = [...taken].flatMap(([ref, clusters]) => (clusters.has(cluster) ? [ref] : []));
    const plans = entry.plans.get(revision) ?? new Map<string, KnownPlan>();
    entry.plans.set(revision, plans);
    const key = gone.join();
    const known = plans.get(key);
    if (known?.request === request) return known.plan;
    const refusal = await request.refusal(intent);
    if (refusal !== undefined) return refusal;
    const left =
      gone.length === 0 ? intent.objects : intent.objects.filter((one) => !gone.includes(refKey(refOf(one))));
    const plan = request.planOf({ ...intent, objects: left }, known?.plan, record.replicas[revision]);
    // What others have changes rarely, and is not remembered.
    if (!known) for (const [other, { request: of }] of plans) if (of !== request) plans.delete(other);
    plans.set(key, { request, plan });
    return plan;
  }

  async function contentFrom(dispatch: string, revision: string): Promise<RevisionContent | string> {
    try {
      return (
        (await store.content(dispatch, revision)) ??
        'the content of its revision is not kept any more: it keeps what it has until its turn comes'
      );
    } catch (error) {
      log.error('a revision cannot be read', { dispatch, revision, why: errorText(error) });
      return `the content of its revision cannot be read: ${errorText(error)}`;
    }
  }

  return { order };
}

/** Digest of orders that take everything away. */
const WITHDRAWN = 'withdrawn';

/** A cluster with what it was told last, as far as that is known. */
export function withRevisionOf(
  cluster: Omit<RolloutCluster, 'revision'>,
  { stamps, given }: RolloutRecord,
): RolloutCluster {
  const revision = stamps.find(({ generation }) => generation === given[cluster.name])?.revision;
  return revision === undefined || revision === NO_REVISION || revision === UNKNOWN_REVISION
    ? cluster
    : { ...cluster, revision };
}

/** The revision that a chosen cluster is to have; undefined where it is told nothing. */
function revisionFor(
  cluster: string,
  record: RolloutRecord,
  target: string,
  frozen: boolean,
): string | undefined {
  if (frozen) return withRevisionOf({ name: cluster, labels: {} }, record).revision;
  return record.state ? permittedRevision(record.state, cluster) : target;
}

function whyWaiting(state: RolloutState | undefined, cluster: string, problem: string | undefined): string {
  if (problem !== undefined) return `spec.rollout is not valid, so nothing is changed: ${problem}`;
  const progress = state?.clusters[cluster];
  if (!state || !progress) return 'changes are held back';
  const stage = state.stages[progress.stage]?.name ?? '';
  if (state.phase !== 'Progressing' && state.phase !== 'RollingBack')
    return `it keeps what it has: the rollout is ${state.phase}`;
  if (progress.phase === 'Pending') return `its turn has not come: it is in stage ${stage} of the rollout`;
  return `${progress.phase} in stage ${stage} of the rollout${progress.message === undefined ? '' : `: ${progress.message}`}`;
}

function isTriedAnew(progress: ClusterProgress | undefined): boolean {
  return progress?.anew === true && progress.phase === 'Updating';
}

/** The state once clusters that are tried again were told so. */
function toldAnew(state: RolloutState | undefined): RolloutState | undefined {
  if (!state || !Object.values(state.clusters).some(isTriedAnew)) return state;
  const clusters = Object.entries(state.clusters).map(([name, progress]): [string, ClusterProgress] => {
    if (!isTriedAnew(progress)) return [name, progress];
    const { anew: _anew, ...told } = progress;
    return [name, told];
  });
  return { ...state, clusters: Object.fromEntries(clusters) };
}
