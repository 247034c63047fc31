import type { Intent } from '../../engine/intent.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import {
  contentOf,
  DEFAULT_HISTORY_LIMIT,
  memorable,
  NO_REVISION,
  permittedRevision,
  type RevisionContent,
  type RolloutCluster,
  type RolloutEffect,
  type RolloutEvent,
  type RolloutState,
  recoverRollout,
  revisionDigest,
  revisionToRestore,
  type Stamp,
  stampOrders,
  step,
  strategyProblems,
  UNKNOWN_REVISION,
  withContent,
  withRevision,
  withSights,
  withSuccess,
} from '../../engine/rollout/index.ts';
import type { Client } from '../../kube/client.ts';
import { startEventRecorder } from '../../kube/events.ts';
import type { KubeObject } from '../../kube/object.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { canonicalJson } from '../../schema/json.ts';
import { type ActionOutcome, eventOf, followRolloutActions, outcomeOf } from './actions.ts';
import type { RolloutAction } from './kinds.ts';
import { isNews, isUnderWay, type SightOf, sightOf } from './sight.ts';
import { type RolloutFindings, reportRollout } from './status.ts';
import { createRolloutStore, EMPTY_RECORD, type RolloutRecord } from './store.ts';

/** An intent whose content is rolled out, or kept to go back to. */
export interface RolloutRequest {
  readonly key: string;
  /** Name of its dispatch on every spoke. */
  readonly dispatch: string;
  /** What is asked for now, and what that comes to. */
  readonly intent: Intent;
  readonly plan: Plan;
  /** Those that were chosen. */
  readonly clusters: readonly Omit<RolloutCluster, 'revision'>[];
  /** Clusters that may have something of it. */
  readonly holding: ReadonlySet<string>;
  /** The newest order as it is recorded beside the intent. */
  readonly recorded: { readonly generation: number; readonly digest: string };
  /** The content of that order, where it is known. */
  readonly sent?: { readonly intent: Intent; readonly digest: string } | undefined;
  /** What the intent would come to with another content, where it is placed now. `known` only saves work. */
  planOf(intent: Intent, known: Plan | undefined, replicas: ReplicaRecord | undefined): Plan;
  /** Why the author may not send it; undefined where they may. */
  refusal(intent: Intent): Promise<string | undefined>;
  readonly sight: SightOf;
  /** Whether a cluster is in the fleet. */
  isKnown(cluster: string): boolean;
}

/** What one cluster is to have now. */
export type ClusterOrder =
  | {
      /** Undefined takes everything away. */
      readonly plan: Plan | undefined;
      readonly generation: number;
      readonly digest: string;
      /** Why this is not the newest content yet. */
      readonly behind?: string;
    }
  /** Nothing is said to it: it keeps what it has. */
  | { readonly withheld: string; readonly generation: number };

export interface RolledOut {
  readonly orders: ReadonlyMap<string, ClusterOrder>;
  /** The highest generation and what it stands for. */
  readonly generation: number;
  readonly digest: string;
  /** Generations that came up new, lowest first. */
  readonly added: readonly Stamp[];
  /** When to look again without any event. */
  readonly nextAt?: number;
}

/**
 * Decides which cluster has which revision of an intent, and remembers it. Whatever is answered is durable: the order that a
 * spoke gets can be given again by a hub that starts anew.
 */
export interface Rollouts {
  /** One look at an intent. Calls for one key follow each other: that is for the caller to see to. */
  plan(request: RolloutRequest): Promise<RolledOut>;
  /** The same with what was asked for last, after something was seen, said, or time went by. */
  advance(key: string, holding: ReadonlySet<string>): Promise<RolledOut | undefined>;
  /** Whether what is seen of a cluster now is news to a rollout that is under way. */
  concerns(key: string, cluster: string): boolean;
  /** The keys of all rollouts to which it is. */
  concernedBy(cluster: string): readonly string[];
  /** Whether somebody said something that nobody heard yet. */
  isAddressed(key: string): boolean;
  findings(key: string): RolloutFindings | undefined;
  /** Nothing of it is needed any more: what is kept goes. */
  forget(key: string, dispatch: string): Promise<void>;
  /** It is no longer looked after here; what is kept stays. */
  leave(key: string): void;
  /** Tells everybody who said something to this key that there is no rollout. */
  dismiss(key: string, why: string): Promise<void>;
  stop(): void;
}

export interface RolloutsOptions {
  readonly client: Client;
  /** Whether the hub's API server vouches for who says something. */
  readonly believed: boolean;
  /** Somebody said something to the rollout of this key. */
  readonly onAction: (key: string) => void;
}

/** What is known of one intent. */
interface Entry {
  record: RolloutRecord;
  /** The record as it is stored. */
  stored: string;
  request: RolloutRequest;
  /** Why the strategy is not heeded. */
  problem?: string;
  readonly contents: Map<string, RevisionContent>;
  /** Of older revisions, with what was asked for when they were made. */
  readonly plans: Map<string, { readonly request: RolloutRequest; readonly plan: Plan }>;
  /** Actions whose persons were told, and that may not have come back so from the API server. */
  readonly told: Set<string>;
}

export function startRollouts(runtime: Runtime, options: RolloutsOptions): Rollouts {
  const { clock, random, log } = runtime;
  const store = createRolloutStore(options.client);
  const actions = followRolloutActions(runtime, options.client, options.onAction);
  const recorder = startEventRecorder(runtime, options.client, { component: 'atoll-rollout' });
  const entries = new Map<string, Entry>();

  async function load(request: RolloutRequest): Promise<Entry> {
    const known = entries.get(request.key);
    if (known?.request.dispatch === request.dispatch) {
      known.request = request;
      return known;
    }
    const stored = await store.read(request.dispatch);
    const record = stored && {
      ...stored,
      ...(stored.state === undefined ? {} : { state: recoverRollout(stored.state) }),
    };
    const entry: Entry = {
      record: record ?? EMPTY_RECORD,
      stored: stored ? canonicalJson(stored) : '',
      request,
      contents: new Map(),
      plans: new Map(),
      told: new Set(),
    };
    if (!record) await adopt(entry, request);
    entries.set(request.key, entry);
    return entry;
  }

  /** What is on clusters from before revisions were kept: that too can be gone back to, where somebody knows what it is. */
  async function adopt(
    entry: Entry,
    { dispatch, intent, plan, recorded, sent, holding }: RolloutRequest,
  ): Promise<void> {
    const { generation, digest } = recorded;
    if (generation === 0) return;
    let revision = UNKNOWN_REVISION;
    if (digest === plan.digest) revision = revisionDigest(contentOf(intent));
    else if (sent?.digest === digest) {
      const content = contentOf(sent.intent);
      revision = revisionDigest(content);
      await store.keep(dispatch, sent.intent.source, revision, content);
      entry.contents.set(revision, content);
      const first = { digest: revision, at: clock.now(), by: sent.intent.author?.username ?? '' };
      entry.record = { ...entry.record, history: withRevision([], first) };
    }
    entry.record = {
      ...entry.record,
      generation,
      stamps: [{ generation, revision, digest }],
      given: Object.fromEntries([...holding].map((cluster) => [cluster, generation])),
    };
  }

  async function pass(entry: Entry, holding: ReadonlySet<string>): Promise<RolledOut> {
    const { request } = entry;
    const { key, dispatch, intent, recorded } = request;
    const now = clock.now();
    const live = contentOf(intent);
    const wanted = revisionDigest(live);
    const told: { action: RolloutAction; outcome: ActionOutcome }[] = [];
    const effects: RolloutEffect[] = [];
    let nextAt: number | undefined;
    let record: RolloutRecord = {
      ...entry.record,
      generation: Math.max(entry.record.generation, recorded.generation),
    };
    const source = intent.source;
    if (!record.history.some(({ digest }) => digest === wanted))
      await store.keep(dispatch, source, wanted, live);
    entry.contents.set(wanted, live);
    const limit = intent.revisionHistoryLimit ?? DEFAULT_HISTORY_LIMIT;
    const problems = intent.rollout ? strategyProblems(intent.rollout) : [];
    if (problems.length > 0) entry.problem = problems.join('; ');
    else delete entry.problem;

    const send = (event: RolloutEvent): readonly RolloutEffect[] => {
      const result = step(record.state, event, now, random);
      if (!result) return [];
      record = { ...record, state: result.state };
      nextAt = result.nextAt;
      effects.push(...result.effects);
      return result.effects;
    };
    const look = (): void => {
      const { state } = record;
      if (!state) return;
      const seen = Object.keys(state.clusters).map((cluster) => sightOf(cluster, record, request.sight));
      record = { ...record, state: withSights(state, seen, now) };
    };
    /** The revision that is to be everywhere in the end becomes the engine's target, and the top of the history. */
    const aim = (by: string, cause?: string): void => {
      if (record.restored && record.restored.over !== wanted) {
        const { restored: _over, ...rest } = record;
        record = rest;
      }
      const digest = record.restored?.revision ?? wanted;
      const revision = { digest, at: now, by, ...(cause === undefined ? {} : { cause }) };
      record = { ...record, history: withRevision(record.history, revision, limit, inUse(record, wanted)) };
      if (!intent.rollout) {
        const { state: _state, ...rest } = record;
        record = rest;
        return;
      }
      const fresh = record.state === undefined;
      send({
        type: 'start',
        revision: digest,
        clusters: request.clusters.map((cluster) => withRevisionOf(cluster, record)),
        strategy: intent.rollout,
      });
      if (fresh) {
        look();
        send({ type: 'tick' });
      }
    };

    look();
    if (!intent.suspend && entry.problem === undefined) aim(intent.author?.username ?? '');
    for (const action of actions.pending(key)) {
      const { uid = '' } = action.metadata;
      if (entry.told.has(uid)) continue;
      const before = record.actions[uid];
      const outcome = before ?? heed(action);
      record = { ...record, actions: { ...record.actions, [uid]: outcome } };
      told.push({ action, outcome });
    }

    function heed(action: RolloutAction): ActionOutcome {
      if (intent.suspend) return refused('spec.suspend is true: nothing is rolled out');
      if (entry.problem !== undefined) return refused(`spec.rollout is not valid: ${entry.problem}`);
      const by = (options.believed ? action.spec.author?.username : undefined) ?? 'somebody';
      const { action: word, revision: number } = action.spec;
      if (word === 'Rollback' && (number !== undefined || record.state === undefined))
        return restore(number, by);
      if (word === 'Retry' && record.restored) {
        const { restored: _over, ...rest } = record;
        record = rest;
        aim(by, 'what is asked for is rolled out again');
        return { state: 'Done', message: 'what the intent asks for is rolled out again' };
      }
      const event = eventOf(action, options.believed);
      if (!event || !record.state)
        return refused('there is no rollout: everything goes everywhere at once without spec.rollout');
      const done = send(event);
      return outcomeOf(action, done, record.state.phase);
    }

    function restore(number: number | undefined, by: string): ActionOutcome {
      const revision = revisionToRestore(record.history, number);
      if (!revision) {
        const numbers = record.history.map((one) => one.number).join(', ');
        return refused(
          number === undefined
            ? 'there is no earlier revision'
            : `revision ${number} is not kept; there are ${numbers}`,
        );
      }
      if (revision === record.history.at(-1))
        return refused(`revision ${revision.number} is what is wanted now`);
      const { restored: _over, ...rest } = record;
      record =
        revision.digest === wanted
          ? rest
          : { ...rest, restored: { revision: revision.digest, over: wanted } };
      aim(by, `rollback to ${revision.number}`);
      return { state: 'Done', message: `revision ${revision.number} is rolled out again` };
    }

    if (record.state?.phase === 'Succeeded') {
      const { target, finishedAt = now } = record.state;
      const entryOfTarget = record.history.find(({ digest }) => digest === target);
      if (entryOfTarget && entryOfTarget.succeededAt === undefined)
        record = { ...record, history: withSuccess(record.history, target, finishedAt) };
    }

    const { orders, record: stamped, added } = await order(entry, record, wanted, holding);
    record = stamped;
    const pending = new Set(actions.pending(key).map(({ metadata }) => metadata.uid ?? ''));
    record = {
      ...record,
      actions: Object.fromEntries(Object.entries(record.actions).filter(([uid]) => pending.has(uid))),
    };

    const durable = record.state ? { ...record, state: memorable(record.state) } : record;
    const text = canonicalJson(durable);
    if (text !== entry.stored) {
      await store.write(dispatch, source, durable);
      const kept = new Set(record.history.map(({ digest }) => digest));
      const gone = entry.record.history.filter(({ digest }) => !kept.has(digest));
      entry.stored = text;
      entry.record = record;
      for (const { digest } of gone) {
        await store.drop(dispatch, digest);
        entry.contents.delete(digest);
        entry.plans.delete(digest);
      }
    } else entry.record = record;
    tell(intent, effects, record);
    for (const { action, outcome } of told) {
      await actions.settle(action, outcome);
      entry.told.add(action.metadata.uid ?? '');
    }
    for (const uid of entry.told) if (!pending.has(uid)) entry.told.delete(uid);
    const newest = record.stamps.at(-1);
    return {
      orders,
      generation: record.generation,
      digest: newest?.generation === record.generation ? newest.digest : recorded.digest,
      added,
      ...(nextAt === undefined ? {} : { nextAt }),
    };
  }

  /** What each cluster is to have, under generations that are in the record. */
  async function order(
    entry: Entry,
    record: RolloutRecord,
    live: string,
    holding: ReadonlySet<string>,
  ): Promise<{ orders: Map<string, ClusterOrder>; record: RolloutRecord; added: readonly Stamp[] }> {
    const { intent, clusters, isKnown } = entry.request;
    const frozen = intent.suspend || entry.problem !== undefined;
    const target = record.state?.target ?? record.restored?.revision ?? live;
    const orders = new Map<string, ClusterOrder>();
    const wanted = new Map<string, { revision: string; digest: string }>();
    const plans = new Map<string, Plan>();
    const withheld = new Map<string, string>();
    const replicas: Record<string, ReplicaRecord> = {};
    for (const { name } of clusters) {
      const revision = revisionFor(name, record, target, frozen);
      if (revision === undefined) {
        withheld.set(name, whyWaiting(record.state, name, entry.problem));
        continue;
      }
      let plan = plans.get(revision);
      if (!plan) {
        const found = await planFor(entry, record, revision, live);
        if (typeof found === 'string') {
          withheld.set(name, found);
          continue;
        }
        plan = found;
        plans.set(revision, plan);
        if (Object.keys(plan.replicas).length > 0) replicas[revision] = plan.replicas;
      }
      wanted.set(name, { revision, digest: plan.digest });
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
      if (progress?.phase === 'Held') {
        orders.set(name, { withheld: progress.message ?? 'its window ended', generation });
        continue;
      }
      orders.set(name, {
        plan: plans.get(revision),
        generation,
        digest,
        ...(revision === target || revision === NO_REVISION
          ? {}
          : { behind: whyWaiting(record.state, name, entry.problem) }),
      });
    }
    for (const [name, why] of withheld)
      orders.set(name, { withheld: why, generation: stamped.given[name] ?? 0 });
    const { added, generation, stamps, given } = stamped;
    return { orders, record: { ...record, generation, stamps, given, replicas }, added };
  }

  /** The plan of a revision for the fleet as it is; or why there is none. */
  async function planFor(
    entry: Entry,
    record: RolloutRecord,
    revision: string,
    live: string,
  ): Promise<Plan | string> {
    const { request } = entry;
    if (revision === live) return request.plan;
    const known = entry.plans.get(revision);
    if (known?.request === request) return known.plan;
    const content = entry.contents.get(revision) ?? (await contentFrom(request.dispatch, revision));
    if (typeof content === 'string') return content;
    entry.contents.set(revision, content);
    const intent = withContent(request.intent, content);
    const refusal = await request.refusal(intent);
    if (refusal !== undefined) return refusal;
    const plan = request.planOf(intent, known?.plan, record.replicas[revision]);
    entry.plans.set(revision, { request, plan });
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

  function tell({ source }: Intent, effects: readonly RolloutEffect[], { history }: RolloutRecord): void {
    const { apiVersion, kind, namespace, name, uid } = source;
    const object: KubeObject = { apiVersion, kind, metadata: { namespace, name, uid } };
    for (const effect of effects) {
      if (effect.type !== 'record') continue;
      const { reason } = effect;
      let { message } = effect;
      for (const { digest, number } of history) message = message.replaceAll(digest, `revision ${number}`);
      log.info('rollout', { of: `${namespace}/${name}`, reason, what: message });
      recorder.record(object, WARNINGS.has(reason) ? 'Warning' : 'Normal', reason, message);
    }
  }

  function concerns(key: string, cluster: string): boolean {
    const entry = entries.get(key);
    const state = entry?.record.state;
    if (!entry || !state || !isUnderWay(state)) return false;
    return isNews(state, sightOf(cluster, entry.record, entry.request.sight));
  }

  return {
    plan: async (request) => pass(await load(request), request.holding),
    async advance(key, holding): Promise<RolledOut | undefined> {
      const entry = entries.get(key);
      return entry && pass(entry, holding);
    },
    concerns,
    concernedBy: (cluster) => [...entries.keys()].filter((key) => concerns(key, cluster)),
    isAddressed: (key) => actions.pending(key).length > 0,
    findings(key): RolloutFindings | undefined {
      const entry = entries.get(key);
      return entry && reportRollout(entry.record, entry.problem);
    },
    async forget(key, dispatch): Promise<void> {
      entries.delete(key);
      await store.forget(dispatch);
    },
    leave: (key) => void entries.delete(key),
    async dismiss(key, why): Promise<void> {
      for (const action of actions.pending(key)) await actions.settle(action, refused(why));
    },
    stop(): void {
      actions.stop();
      recorder.stop();
    },
  };
}

/** Digest of orders that take everything away. */
const WITHDRAWN = 'withdrawn';
const WARNINGS: ReadonlySet<string> = new Set([
  'RolloutFailed',
  'RolloutRefused',
  'ClusterFailed',
  'RollbackStarted',
  'NothingToRollBackTo',
  'ApprovalRefused',
]);

function refused(message: string): ActionOutcome {
  return { state: 'Refused', message };
}

/** A cluster with what it was told last, as far as that is known. */
function withRevisionOf(
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

/** Revisions that some cluster has, or may go back to. */
function inUse({ state, restored, stamps }: RolloutRecord, wanted: string): ReadonlySet<string> {
  const used = new Set([wanted, ...stamps.map(({ revision }) => revision)]);
  if (restored) used.add(restored.revision);
  if (!state) return used;
  for (const revision of [state.target, state.stable, state.previous])
    if (revision !== undefined) used.add(revision);
  for (const { permitted, from } of Object.values(state.clusters))
    for (const revision of [permitted, from]) if (revision !== undefined) used.add(revision);
  return used;
}
