import { describeSelection } from '../../dialects/propagation/describe.ts';
import type { Compiled } from '../../engine/compiled.ts';
import type { Intent } from '../../engine/intent.ts';
import type { Decision } from '../../engine/place/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import { type Plan, planIntent } from '../../engine/plan/plan.ts';
import type { Result } from '../../kube/controller.ts';
import { type KubeObject, type ObjectRef, refKey } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { authorize, type readingRights } from '../author/index.ts';
import type { Fleet } from '../fleet.ts';
import type { IntentObject } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { OverridePolicies } from '../overrides/index.ts';
import type { PoliciesInForce } from '../policies/index.ts';
import type { Deciding } from './deciding.ts';
import type { RollingOut } from './rolling-out.ts';
import type { Sources } from './sources.ts';
import { remember, type Tracked, type TrackedTable, writeRecord } from './tracked.ts';

export interface PlanningOptions {
  readonly clock: Clock;
  readonly deciding: Deciding;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  readonly overridePolicies: OverridePolicies;
  readonly policies: PoliciesInForce;
  readonly rights: ReturnType<typeof readingRights>;
  readonly rollingOut: RollingOut;
  readonly sources: Sources;
  readonly tracked: TrackedTable;
}

/** What an intent asks for, where it goes, how much of it, and what of that is sent now. */
export interface Planning {
  /** Computes anew what is tracked of an intent; durable where it asks something else of a spoke than before. */
  plan(item: Tracked, intent: IntentObject): Promise<Result | undefined>;
  forget(key: string): void;
}

const SOON_MS = 15;
const LONGEST_WAIT_MS = 3_600_000;
/** Until rights are asked for again that the author of an intent lacks. */
const ASK_RIGHTS_MS = 30_000;

export function createPlanning(options: PlanningOptions): Planning {
  const { clock, deciding, fleet, inventory, overridePolicies, policies } = options;
  const { rights, rollingOut, sources, tracked } = options;

  /** What: the content of an intent as far as its author may send it; undefined where nothing of it can be used. */
  async function compile(
    item: Tracked,
    { source, object }: IntentObject,
  ): Promise<{ compiled?: Compiled; again?: Result }> {
    const blockers: string[] = [];
    const read = (apiVersion: string, kind: string, mustBeServed: boolean): readonly KubeObject[] => {
      const found = sources.objects(apiVersion, kind, item.key);
      if ('objects' in found) return found.objects;
      if ('waiting' in found) blockers.push(found.waiting);
      else if (mustBeServed) blockers.push(found.unknown);
      return [];
    };
    const compiled = source.compile(object, {
      clusters: inventory.clusters(),
      objects: (apiVersion, kind) => read(apiVersion, kind, true),
      named: (apiVersion, kind) => read(apiVersion, kind, false),
    });
    blockers.push(...compiled.problems);
    const unread = overridePolicies.unread();
    if (unread !== undefined) blockers.push(unread);
    item.compiled = compiled;
    item.selection = describeSelection(compiled, blockers);
    if (blockers.length > 0) return unread === undefined ? {} : { again: { requeueAfterMs: ASK_RIGHTS_MS } };
    if (source.selfContained) return { compiled };
    const authorized = await authorize(compiled.intent, policies, rights, (ref) => mayBeThere(item, ref));
    if (authorized.problem) item.selection = authorized.problem;
    // Rights may be given at any time, of which the hub hears nothing.
    const again = authorized.problem ? { again: { requeueAfterMs: ASK_RIGHTS_MS } } : {};
    const { intent } = authorized;
    if (intent === undefined) return again;
    item.compiled = { ...compiled, intent };
    return { compiled: item.compiled, ...again };
  }

  /** What a content comes to where it goes. */
  function planWith(
    intent: Intent,
    { blocked }: Compiled,
    decision: Decision,
    known: Plan | undefined,
    replicas: ReplicaRecord | undefined,
  ): Plan {
    const plan = planIntent(intent, inventory.clusters(), known, decision, replicas);
    return blocked === undefined ? plan : { ...plan, blocked: new Map([...blocked, ...plan.blocked]) };
  }

  /** Before anything is sent: which generation this is, and whom it concerns, durable at the hub. */
  async function commit(item: Tracked, intent: IntentObject, next: Plan): Promise<void> {
    const targets = new Set([...item.dispatchedTo, ...next.decision.chosen, ...item.found]);
    const known = [...targets].filter((name) => inventory.has(name)).sort();
    const changed = item.digest !== next.digest;
    const generation = changed ? item.generation + 1 : item.generation;
    const history = changed ? remember(item) : item.history;
    const take = (): void => {
      item.plan = next;
      item.generation = generation;
      item.digest = next.digest;
      item.history = history;
      tracked.setDispatchedTo(item, known);
    };
    if (!changed && known.every((name) => item.dispatchedTo.has(name))) return take();
    const record = {
      dispatchGeneration: generation,
      dispatchDigest: next.digest,
      ...(history.length === 0 ? {} : { dispatchHistory: [...history] }),
      dispatchedTo: known,
    };
    await writeRecord(item, intent, record, take);
  }

  /** Whether a spoke may hold an object of an intent; so it is as long as nobody knows. */
  function mayBeThere(item: Tracked, ref: ObjectRef): boolean {
    return [...item.dispatchedTo].some((cluster) => {
      const session = fleet.session(cluster);
      const held = session?.dispatch(item.dispatch);
      if (!held) return session?.live !== true;
      const key = refKey(ref);
      return held.spec.objects.some((one) => refKey(one) === key);
    });
  }

  /** Time alone may change where something goes: when a toleration ends, when a better group has been there for long enough. */
  function sooner(again: Result | undefined, reconsiderAtMs: number | undefined): Result | undefined {
    if (reconsiderAtMs === undefined) return again;
    const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(SOON_MS, reconsiderAtMs - clock.now()));
    return { requeueAfterMs: Math.min(waitMs, again?.requeueAfterMs ?? waitMs) };
  }

  return {
    async plan(item: Tracked, intent: IntentObject): Promise<Result | undefined> {
      const { compiled: whole, again: asked } = await compile(item, intent);
      const claimed = whole && deciding.claim(item, whole);
      if (!claimed) return asked;
      const { compiled, refused } = await overridePolicies.into(claimed, intent);
      const again = refused ? { requeueAfterMs: ASK_RIGHTS_MS } : asked;
      const next = await deciding.decide(item, compiled, intent);
      item.latest = next;
      if (await deciding.holds(item, compiled.intent, intent)) {
        if (next.digest === item.digest) item.plan = next;
        return again;
      }
      // What was never sent, and is nothing, is not sent: there is no first order of nothing.
      const isUnsaid = next.objects.length === 0 && item.generation === 0 && item.found.size === 0;
      if (isUnsaid && !(await rollingOut.isBegun(item, compiled.intent))) {
        item.plan = next;
        return sooner(again, next.decision.reconsiderAtMs);
      }
      const rolled = await rollingOut.roll(item, intent, compiled.intent, next, {
        planOf: (other, known, replicas) => planWith(other, compiled, next.decision, known, replicas),
        taken: (objects) => deciding.taken(item.key, objects),
      });
      // While suspended, nothing newer is recorded.
      if (!rolled && !compiled.intent.suspend) {
        await commit(item, intent, next);
        delete item.orders;
      } else if (next.digest === item.digest) item.plan = next;
      if (item.plan === next) item.sent = { intent: compiled.intent, digest: next.digest };
      return sooner(sooner(again, next.decision.reconsiderAtMs), deciding.committed(item, compiled.intent));
    },
    forget: sources.forget,
  };
}
