import {
  type AggregateRule,
  aggregatedFields,
  aggregateStatus,
  type MemberStatus,
  type ReturnedStatus,
  reflects,
} from '../../engine/reflect/index.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { type Result, sooner } from '../../kube/controller.ts';
import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { errorText, type Logger } from '../../runtime/log.ts';
import { deepEqual, type JsonObject, objectAt } from '../../schema/json.ts';

/** What is known of an intent whose objects are at the hub. */
export interface ReflectedIntent {
  /** The objects of the hub that what is sent was made of, as they were then. */
  readonly templates: readonly KubeObject[];
  /** Every cluster that is to have them. */
  readonly observations: readonly ClusterObservation[];
  /** Whether what is sent is the newest that was asked for. */
  readonly upToDate: boolean;
}

export interface StatusReflector {
  /** Brings the status of an intent's objects at the hub to what the clusters return. */
  reflect(key: string, intent: ReflectedIntent): Promise<Result | undefined>;
  /** The intent is gone: what only it brought has no status any more. */
  forget(key: string): void;
  stop(): void;
}

export interface StatusReflectorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** How the status of a kind is made of its members, as somebody taught it. */
  readonly rule?: (object: KubeObject) => AggregateRule | undefined;
}

/** Who writes these statuses. */
const MANAGER = 'atoll-status';
/** How long what a cluster said last counts after it was seen; and how long clusters have to come back to a hub that starts. */
const GRACE_MS = 40_000;
/** Somebody wrote the object in between. */
const RETRY_MS = 50;
/** The hub did not answer, and nobody else asks again. */
const UNCLEARED_MS = 10_000;
/** The hub refused a status: what makes it do so may be changed where nobody tells of it, as an admission policy or a right. */
const REFUSED_MS = { first: 10_000, longest: 600_000 };

/** What is known of one object at the hub. */
interface Reflected {
  template: KubeObject;
  /** By intent: several may bring it to different clusters. */
  readonly members: Map<string, readonly MemberStatus[]>;
  /** As it was written last. */
  written: JsonObject | undefined;
  /** Set where the status is somebody else's. */
  leave: boolean;
  /** Set while the hub refuses what is to be written. */
  refused: Refusal | undefined;
}

interface Refusal {
  readonly times: number;
  /** When it is tried again, unless the object or its rule changes before. By the monotonic clock. */
  readonly until: number;
  /** As the object was that it was refused for. */
  readonly generation: number | string | undefined;
  readonly rule: AggregateRule | undefined;
}

export function createStatusReflector(options: StatusReflectorOptions): StatusReflector {
  const { client, clock, log } = options;
  const startedAt = clock.monotonic();
  const objects = new Map<string, Reflected>();
  /** What each intent brings, and what it brought and whose status is not cleared yet. */
  const ofIntent = new Map<string, Set<string>>();
  const clearing = new Set<Timer>();
  let stopped = false;

  function isReflected(object: KubeObject): boolean {
    return reflects(object) || options.rule?.(object) !== undefined;
  }

  /** What one cluster says, as far as it counts now; `wait` until that may change by itself. */
  function look(
    observation: ClusterObservation,
    now: number,
  ): { counts: boolean; wait?: number; unknown?: true } {
    if (observation.live) return { counts: true };
    if (observation.observedAt === undefined) {
      const wait = startedAt + GRACE_MS - clock.monotonic();
      return wait > 0 ? { counts: false, unknown: true, wait } : { counts: false };
    }
    const wait = observation.observedAt + GRACE_MS - now;
    return wait > 0 ? { counts: true, wait } : { counts: false };
  }

  async function reflect(key: string, intent: ReflectedIntent): Promise<Result | undefined> {
    const templates = new Map(
      intent.templates.filter(isReflected).map((object) => [refKey(refOf(object)), object]),
    );
    const before = ofIntent.get(key) ?? new Set<string>();
    if (templates.size === 0 && before.size === 0) return undefined;
    const known = new Set([...before, ...templates.keys()]);
    ofIntent.set(key, known);
    let again: Result | undefined;
    for (const gone of before) {
      if (templates.has(gone)) continue;
      const retry = await drop(key, gone);
      if (retry) again = sooner(again, retry);
      else known.delete(gone);
    }
    const now = clock.now();
    const views = intent.observations.map((observation) => ({ observation, ...look(observation, now) }));
    const waits = views.flatMap(({ wait }) => wait ?? []);
    if (waits.length > 0) again = sooner(again, { requeueAfterMs: Math.min(...waits) });
    // After a start of the hub, what was known before stands until the clusters had time to come.
    if (views.some(({ unknown }) => unknown)) return again;
    const members = membersOf(intent, views);
    for (const [id, template] of templates) {
      const reflected = objects.get(id) ?? {
        template,
        members: new Map(),
        written: undefined,
        leave: false,
        refused: undefined,
      };
      objects.set(id, reflected);
      if (reflected.template.metadata.uid !== template.metadata.uid) {
        reflected.written = undefined;
        reflected.leave = false;
        reflected.refused = undefined;
      }
      reflected.template = template;
      reflected.members.set(key, members(id));
      again = sooner(again, await write(reflected));
    }
    return again;
  }

  /** By object, so that the statuses of all clusters are looked through once. */
  function membersOf(
    { upToDate }: ReflectedIntent,
    views: readonly { observation: ClusterObservation; counts: boolean }[],
  ): (id: string) => readonly MemberStatus[] {
    const all = views.map(({ observation, counts }) => {
      const { cluster, status, wantedGeneration, wantedEpoch = 0, heldBack } = observation;
      const applied =
        upToDate &&
        heldBack === undefined &&
        status?.appliedGeneration === wantedGeneration &&
        (status.position?.epoch ?? 0) >= wantedEpoch;
      const returned = new Map<string, ReturnedStatus>();
      if (counts) for (const item of status?.returned ?? []) returned.set(refKey(item.ref), item);
      return { cluster, applied, returned };
    });
    return (id) =>
      all.map(({ cluster, applied, returned }) => {
        const own = returned.get(id);
        return own === undefined ? { cluster, applied } : { cluster, applied, returned: own };
      });
  }

  /** Says when to try again where the status could not be cleared of what an intent brought. */
  async function drop(key: string, id: string): Promise<Result | undefined> {
    const reflected = objects.get(id);
    if (!reflected) return undefined;
    if (reflected.members.delete(key)) reflected.refused = undefined;
    const again = await write(reflected);
    if (!again && reflected.members.size === 0) objects.delete(id);
    return again;
  }

  /** Until it is done, or somebody brings the object under the same key: then that has it. */
  function dropFor(key: string, id: string): void {
    if (stopped || ofIntent.get(key)?.has(id)) return;
    const later = (afterMs: number): void => {
      const timer = clock.after(afterMs, () => {
        clearing.delete(timer);
        dropFor(key, id);
      });
      clearing.add(timer);
    };
    drop(key, id).then(
      (again) => {
        if (again && !stopped) later(again.requeueAfterMs ?? UNCLEARED_MS);
      },
      (error: unknown) => {
        log.warn('a status at the hub could not be cleared', { object: id, why: errorText(error) });
        if (!stopped) later(UNCLEARED_MS);
      },
    );
  }

  function statusOf({ members, template }: Reflected, source: KubeObject): JsonObject | undefined {
    if (members.size === 0) return {};
    const byCluster = new Map<string, MemberStatus>();
    for (const list of members.values())
      for (const member of list)
        if (!byCluster.get(member.cluster)?.returned) byCluster.set(member.cluster, member);
    return aggregateStatus({
      // What is sent was made of the template; how it was said last stands at the source.
      source: { ...template, status: source['status'] },
      members: [...byCluster.values()].sort((a, b) => (a.cluster < b.cluster ? -1 : 1)),
      rule: options.rule?.(template),
      nowMs: clock.now(),
    });
  }

  async function write(reflected: Reflected): Promise<Result | undefined> {
    if (reflected.leave) return undefined;
    const { template, refused } = reflected;
    const wait = refused && stillRefused(refused, template);
    if (wait !== undefined) return { requeueAfterMs: wait };
    const known = reflected.written ?? objectAt(template, 'status') ?? {};
    const expected = statusOf(reflected, { ...template, status: known });
    if (expected === undefined || !differs(known, expected, template)) return undefined;
    const ref = refOf(template);
    try {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      const live = await client.get(resource, ref.namespace, ref.name);
      if (live.metadata.uid !== template.metadata.uid) return undefined;
      if (isForeign(live)) {
        reflected.leave = true;
        log.info('a status at the hub is left to its own controller', { object: refText(ref) });
        return undefined;
      }
      const status = statusOf(reflected, live) ?? {};
      const present = objectAt(live, 'status') ?? {};
      if (differs(present, status, template)) await send(resource, live, present, status);
      reflected.written = { ...present, ...status };
      for (const field of Object.keys(cleared(present, status, template))) delete reflected.written[field];
      reflected.refused = undefined;
      return undefined;
    } catch (error) {
      if (hasCode(error, 404)) return undefined;
      if (hasCode(error, 409)) return { requeueAfterMs: RETRY_MS };
      if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 422)) throw error;
      const times = (refused?.times ?? 0) + 1;
      const pause = Math.min(REFUSED_MS.first * 2 ** (times - 1), REFUSED_MS.longest);
      const until = clock.monotonic() + pause;
      reflected.refused = {
        times,
        until,
        generation: generationOf(template),
        rule: options.rule?.(template),
      };
      // Each time would be noise: what goes on being refused is told once.
      const tell = times === 1 ? log.warn : log.debug;
      tell('a status at the hub cannot be written; it is tried again', {
        object: refText(ref),
        why: error.message,
        inMs: pause,
      });
      return { requeueAfterMs: pause };
    }
  }

  /** How long it is still of no use to try again. */
  function stillRefused({ until, generation, rule }: Refusal, template: KubeObject): number | undefined {
    const wait = until - clock.monotonic();
    if (wait <= 0 || generation !== generationOf(template)) return undefined;
    return rule === options.rule?.(template) ? wait : undefined;
  }

  async function send(
    resource: ResourceId,
    live: KubeObject,
    present: JsonObject,
    status: JsonObject,
  ): Promise<void> {
    const { namespace = '', name = '', resourceVersion } = live.metadata;
    const patch: JsonObject = { ...cleared(present, status, live) };
    for (const [field, value] of Object.entries(status)) patch[field] = replaced(present[field], value);
    await client.patch(
      resource,
      namespace,
      name,
      'merge',
      { metadata: { resourceVersion }, status: patch },
      { subresource: 'status', fieldManager: MANAGER },
    );
  }

  return {
    reflect,
    forget(key: string): void {
      const left = ofIntent.get(key) ?? [];
      ofIntent.delete(key);
      for (const id of left) dropFor(key, id);
    },
    stop(): void {
      stopped = true;
      for (const timer of clearing) timer.cancel();
      clearing.clear();
    },
  };
}

/** What changes when somebody changes an object, but not its status. */
function generationOf({ metadata }: KubeObject): number | string | undefined {
  return metadata.generation ?? metadata.resourceVersion;
}

/** Whether a controller of the hub's own cluster tells the status. */
function isForeign({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(
    ({ subresource, manager }) => subresource === 'status' && manager !== MANAGER,
  );
}

function differs(present: JsonObject, status: JsonObject, template: KubeObject): boolean {
  return (
    Object.entries(status).some(([field, value]) => !deepEqual(present[field], value)) ||
    Object.keys(cleared(present, status, template)).length > 0
  );
}

/** Fields that are ours and no longer said. */
function cleared(present: JsonObject, status: JsonObject, template: KubeObject): JsonObject {
  const out: JsonObject = {};
  const known = aggregatedFields(template);
  // The generation that was reached stays.
  for (const field of known.length > 0 ? known : Object.keys(present))
    if (field !== 'observedGeneration' && present[field] !== undefined && status[field] === undefined)
      out[field] = null;
  return out;
}

/** A merge patch keeps members of maps that it does not name. */
function replaced(present: JsonObject[string], value: JsonObject[string]): JsonObject[string] {
  if (typeof present !== 'object' || present === null || Array.isArray(present)) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const out: JsonObject = { ...value };
  for (const key of Object.keys(present)) out[key] = key in value ? replaced(present[key], value[key]) : null;
  return out;
}
