import type { Intent } from '../../engine/intent.ts';
import {
  contentOf,
  DEFAULT_HISTORY_LIMIT,
  memorable,
  type RolloutEffect,
  type RolloutEvent,
  revisionDigest,
  revisionToRestore,
  step,
  strategyProblems,
  UNKNOWN_REVISION,
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
import type { RolledOut, RolloutEntry, RolloutRequest } from './entry.ts';
import { followClock, readBack } from './followed-clock.ts';
import { followIncidents } from './incidents.ts';
import type { RolloutAction } from './kinds.ts';
import type { Measure } from './measuring.ts';
import { createOrdering, withRevisionOf } from './orders.ts';
import { isNews, isUnderWay, sightOf } from './sight.ts';
import { type RolloutFindings, reportRollout } from './status.ts';
import { createRolloutStore, EMPTY_RECORD, type RolloutRecord } from './store.ts';

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
  /** Whether anything of it is kept. */
  isKept(key: string, dispatch: string): Promise<boolean>;
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
  /** How metrics are measured; not at all without. */
  readonly measure?: Measure;
  /** Somebody said something to the rollout of this key. */
  readonly onAction: (key: string) => void;
}

export function startRollouts(runtime: Runtime, options: RolloutsOptions): Rollouts {
  const { clock, random, log } = runtime;
  const store = createRolloutStore(options.client);
  const actions = followRolloutActions(runtime, options.client, options.onAction);
  const incidents = followIncidents(runtime, options.client, (namespace) => {
    for (const [key, { request }] of entries) {
      const { rollout, source } = request.intent;
      if ((rollout?.pauseOnIncidents ?? []).length === 0) continue;
      if (namespace === undefined || source.namespace === namespace) options.onAction(key);
    }
  });
  const recorder = startEventRecorder(runtime, options.client, { component: 'atoll-rollout' });
  const ordering = createOrdering(store, log);
  const entries = new Map<string, RolloutEntry>();

  async function load(request: RolloutRequest): Promise<RolloutEntry> {
    const known = entries.get(request.key);
    if (known?.request.dispatch === request.dispatch) {
      known.request = request;
      return known;
    }
    const stored = await store.read(request.dispatch);
    const record = stored && {
      ...stored,
      ...(stored.state === undefined ? {} : { state: readBack(stored.state, clock) }),
    };
    const entry: RolloutEntry = {
      record: record ?? EMPTY_RECORD,
      stored: stored ? canonicalJson(stored) : '',
      request,
      contents: new Map(),
      plans: new Map(),
      told: new Set(),
      samples: [],
      unmeasured: new Map(),
    };
    if (!record) await adopt(entry, request);
    entries.set(request.key, entry);
    return entry;
  }

  /** What is on clusters from before revisions were kept: that too can be gone back to, where somebody knows what it is. */
  async function adopt(
    entry: RolloutEntry,
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

  async function pass(entry: RolloutEntry, holding: ReadonlySet<string>): Promise<RolledOut> {
    const { request } = entry;
    const { key, dispatch, intent, recorded } = request;
    await incidents.whenSynced();
    followClock(entry, clock);
    const open = incidents.openIn(intent.source.namespace);
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
      const known = record.state?.clusters;
      send({
        type: 'start',
        revision: digest,
        clusters: request.clusters.map((cluster) => withRevisionOf(cluster, record)),
        strategy: intent.rollout,
        // Those that it does not pause for say nothing to it.
        incidents: open.filter((severity) => intent.rollout?.pauseOnIncidents?.includes(severity) === true),
      });
      // Who joins is looked at now: nothing that happens there may tell of it later.
      if (Object.keys(record.state?.clusters ?? {}).some((name) => known?.[name] === undefined)) {
        look();
        send({ type: 'tick' });
      }
    };

    look();
    for (const { target, ...sample } of entry.samples.splice(0))
      if (target === record.state?.target) send({ type: 'sample', ...sample });
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

    const { orders, record: stamped, added } = await ordering.order(entry, record, wanted, holding);
    record = stamped;
    const pending = new Set(actions.pending(key).map(({ metadata }) => metadata.uid ?? ''));
    // What became of actions whose persons were told is forgotten with the next change: nothing is written for that alone.
    if (canonicalJson(durableOf(record)) !== entry.stored) {
      record = {
        ...record,
        actions: Object.fromEntries(Object.entries(record.actions).filter(([uid]) => pending.has(uid))),
      };
      const durable = durableOf(record);
      await store.write(dispatch, source, durable);
      const kept = new Set(record.history.map(({ digest }) => digest));
      const gone = entry.record.history.filter(({ digest }) => !kept.has(digest));
      entry.stored = canonicalJson(durable);
      entry.record = record;
      for (const { digest } of gone) {
        await store.drop(dispatch, digest);
        entry.contents.delete(digest);
        entry.plans.delete(digest);
      }
    } else entry.record = record;
    tell(intent, effects, record);
    for (const effect of effects) if (effect.type === 'measure') ask(entry, effect.metric);
    for (const { action, outcome } of told) {
      if (await actions.settle(action, outcome)) entry.told.add(action.metadata.uid ?? '');
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

  /** Asks for a sample, which comes as an event of its own. One that cannot be had is told once, and asked for again in its turn. */
  function ask(entry: RolloutEntry, name: string): void {
    const { intent, key } = entry.request;
    const { target = '' } = entry.record.state ?? {};
    const metric = intent.rollout?.analysis?.metrics.find((one) => one.name === name);
    if (!options.measure || metric?.provider === undefined || metric.query === undefined) return;
    options.measure(intent.source.namespace, metric.provider, metric.query).then(
      (value) => {
        entry.unmeasured.delete(name);
        entry.samples.push({ metric: name, value, target });
        options.onAction(key);
      },
      (error: unknown) => {
        const why = errorText(error);
        if (entry.unmeasured.get(name) === why) return;
        entry.unmeasured.set(name, why);
        log.warn('a metric could not be measured', { of: key, metric: name, why });
        recorder.record(objectOf(intent), 'Warning', 'MetricNotMeasured', `${name}: ${why}`);
      },
    );
  }

  function tell(intent: Intent, effects: readonly RolloutEffect[], { history }: RolloutRecord): void {
    const { namespace, name } = intent.source;
    const object = objectOf(intent);
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
    isKept: async (key, dispatch) => entries.has(key) || (await store.read(dispatch)) !== undefined,
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
      incidents.stop();
      recorder.stop();
    },
  };
}

const WARNINGS: ReadonlySet<string> = new Set([
  'RolloutFailed',
  'RolloutRefused',
  'ClusterFailed',
  'RollbackStarted',
  'NothingToRollBackTo',
  'ApprovalRefused',
]);

function durableOf(record: RolloutRecord): RolloutRecord {
  return record.state ? { ...record, state: memorable(record.state) } : record;
}

function refused(message: string): ActionOutcome {
  return { state: 'Refused', message };
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

function objectOf({ source }: Intent): KubeObject {
  const { apiVersion, kind, namespace, name, uid } = source;
  return { apiVersion, kind, metadata: { namespace, name, uid } };
}
