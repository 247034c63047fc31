import { gvkOf, type KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import {
  at,
  canonicalJson,
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  stringAt,
} from '../../schema/json.ts';
import type { MemberStatus } from './member-status.ts';

/** How the status of a kind is made of its members, as somebody taught it; `undefined` where that says nothing. */
export type AggregateRule = (source: KubeObject, members: readonly MemberStatus[]) => JsonObject | undefined;

export interface Aggregation {
  /** The object at the hub as it was when what is sent was made of it, with its status of now. */
  readonly source: KubeObject;
  /** Every cluster that is to have it. */
  readonly members: readonly MemberStatus[];
  readonly rule?: AggregateRule | undefined;
  readonly nowMs: number;
}

type Make = (members: readonly JsonObject[], aggregation: Aggregation) => JsonObject;

/**
 * The status of an object at the hub; `undefined` where nothing is known to be made for its kind. Clusters that cannot be seen
 * now count for nothing: a stale number is no number. `observedGeneration` follows when every cluster has the newest revision, its
 * controller there has seen it, and the sums say no more than the slowest cluster does; once it is reached it stays.
 */
export function aggregateStatus(aggregation: Aggregation): JsonObject | undefined {
  const { source, members, rule } = aggregation;
  const { group, kind } = gvkOf(source);
  const taught = rule?.(source, members);
  const make = KINDS.get(`${group}/${kind}`);
  if (!taught && !make) return undefined;
  const known = members.flatMap(({ returned }) => (returned ? [returned.status] : []));
  const status = taught ?? make?.(known, aggregation) ?? {};
  if (!OBSERVED.has(`${group}/${kind}`) && !(taught && numberAt(taught, 'observedGeneration') !== undefined))
    return status;
  const { observedGeneration: _observed, ...rest } = status;
  const observed = observedGeneration(aggregation, rest);
  return observed === undefined ? rest : { observedGeneration: observed, ...rest };
}

/** Kinds whose controllers say which generation they have seen. */
const OBSERVED = new Set([
  'apps/Deployment',
  'apps/StatefulSet',
  'apps/DaemonSet',
  'apps/ReplicaSet',
  'policy/PodDisruptionBudget',
  'autoscaling/HorizontalPodAutoscaler',
]);

function observedGeneration({ source, members }: Aggregation, sums: JsonObject): number | undefined {
  const before = numberAt(source, 'status', 'observedGeneration');
  const { generation } = source.metadata;
  if (generation === undefined || (before ?? 0) >= generation) return before;
  const all =
    members.length > 0 &&
    members.every(({ applied, returned }) => {
      if (!applied || !returned) return false;
      const seen = numberAt(returned.status, 'observedGeneration');
      return returned.generation === undefined || seen === undefined || seen >= returned.generation;
    });
  if (!all) return before;
  const complete = members.every(({ returned }) => returned?.health === 'Healthy');
  return complete || !looksComplete(source, sums) ? generation : before;
}

/** Whether clients would take the sums for the end of a rollout: with copies on many clusters, one alone may be enough for that. */
function looksComplete(source: KubeObject, sums: JsonObject): boolean {
  const count = (field: string): number => numberAt(sums, field) ?? 0;
  const wanted = numberAt(source, 'spec', 'replicas') ?? 1;
  switch (source.kind) {
    case 'Deployment':
      return (
        count('updatedReplicas') >= wanted &&
        count('replicas') <= count('updatedReplicas') &&
        count('availableReplicas') >= count('updatedReplicas')
      );
    case 'StatefulSet':
      return (
        count('readyReplicas') >= wanted &&
        stringAt(sums, 'updateRevision') === stringAt(sums, 'currentRevision')
      );
    case 'DaemonSet':
      return (
        count('updatedNumberScheduled') >= count('desiredNumberScheduled') &&
        count('numberAvailable') >= count('desiredNumberScheduled')
      );
    default:
      return false;
  }
}

function sums(...fields: string[]): Make {
  return (members) =>
    Object.fromEntries(
      fields.map((field) => [
        field,
        members.reduce((sum, status) => sum + (numberAt(status, field) ?? 0), 0),
      ]),
    );
}

const Deployment: Make = (members, aggregation) => {
  const status = sums(
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
  )(members, aggregation);
  const lacking = numberAt(status, 'unavailableReplicas') !== 0;
  const unseen = aggregation.members.filter(({ returned }) => !returned).map(({ cluster }) => cluster);
  const stuck = firstCondition(aggregation, 'Progressing');
  const failing = firstCondition(aggregation, 'ReplicaFailure');
  const conditions = [
    availability(lacking, unseen),
    ...(stuck ? [stuck] : []),
    ...(failing ? [failing] : []),
  ];
  return { ...status, conditions: withTimes(conditions, aggregation) };
};

/** Of clusters that cannot be seen nobody knows. */
function availability(lacking: boolean, unseen: readonly string[]): ConditionWords {
  const type = 'Available';
  if (lacking)
    return {
      type,
      status: 'False',
      reason: 'MinimumReplicasUnavailable',
      message: 'replicas are not available on some cluster',
    };
  if (unseen.length > 0) {
    const names = `${unseen.slice(0, 5).join(', ')}${unseen.length > 5 ? ', …' : ''}`;
    return { type, status: 'Unknown', reason: 'ClusterNotSeen', message: `nothing is known of ${names}` };
  }
  return {
    type,
    status: 'True',
    reason: 'MinimumReplicasAvailable',
    message: 'every cluster has its replicas available',
  };
}

const StatefulSet: Make = (members, aggregation) => {
  const status = sums(
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
  )(members, aggregation);
  // Equal revisions tell clients that an update is over: so they are here when they are everywhere.
  const revisions = (field: string): (string | undefined)[] =>
    members.map((member) => stringAt(member, field));
  const [updated] = revisions('updateRevision');
  const lagging = members.find(
    (member) => stringAt(member, 'currentRevision') !== stringAt(member, 'updateRevision'),
  );
  const current = lagging ? `${stringAt(lagging, 'currentRevision') ?? 'none'}` : updated;
  return {
    ...status,
    ...(updated === undefined ? {} : { updateRevision: updated }),
    ...(current === undefined ? {} : { currentRevision: current === updated && lagging ? 'none' : current }),
  };
};

const ReplicaSet: Make = (members, aggregation) => {
  const status = sums(
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
  )(members, aggregation);
  const failing = firstCondition(aggregation, 'ReplicaFailure');
  return failing ? { ...status, conditions: withTimes([failing], aggregation) } : status;
};

/**
 * Complete when all members are. It fails when one does: at once as a target, and finally when no pod is active anywhere, since an
 * API server takes no ended job with active pods.
 */
const Job: Make = (members, aggregation) => {
  const status = sums('active', 'ready', 'succeeded', 'failed')(members, aggregation);
  const all = aggregation.members;
  // A time that was told may not change.
  const start = stringAt(aggregation.source, 'status', 'startTime') ?? earliest(members, 'startTime');
  const complete =
    all.length > 0 && all.every(({ returned }) => conditionsOf(returned?.status, 'Complete').length > 0);
  const failed = firstCondition(aggregation, 'Failed');
  const completion = complete ? latest(members, 'completionTime') : undefined;
  const reached = { status: 'True', reason: 'CompletionsReached', message: '' };
  const conditions: ConditionWords[] = complete
    ? [
        { ...reached, type: 'SuccessCriteriaMet' },
        { ...reached, type: 'Complete' },
      ]
    : failed
      ? [{ ...failed, type: 'FailureTarget' }, ...(status['active'] === 0 ? [failed] : [])]
      : [];
  return {
    ...status,
    ...(start === undefined ? {} : { startTime: start }),
    ...(completion === undefined ? {} : { completionTime: completion }),
    ...(conditions.length === 0 ? {} : { conditions: withTimes(conditions, aggregation) }),
  };
};

const CronJob: Make = (members) => {
  const scheduled = latest(members, 'lastScheduleTime');
  const successful = latest(members, 'lastSuccessfulTime');
  const active = members.flatMap((status) => listAt(status, 'active'));
  return {
    ...(active.length === 0 ? {} : { active }),
    ...(scheduled === undefined ? {} : { lastScheduleTime: scheduled }),
    ...(successful === undefined ? {} : { lastSuccessfulTime: successful }),
  };
};

/** Addresses of all clusters, each once, in order. */
const LoadBalancer: Make = (members) => {
  const entries = new Map<string, JsonValue>();
  for (const status of members)
    for (const entry of listAt(status, 'loadBalancer', 'ingress')) entries.set(canonicalJson(entry), entry);
  const ingress = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  return { loadBalancer: ingress.length === 0 ? {} : { ingress } };
};

/** The phase that asks for the most attention; where nothing is known yet, the last one. */
function phases(order: readonly string[], unknown: string): Make {
  return (members, { members: all }) => {
    if (members.length === 0) return {};
    const found = members.map((status) => stringAt(status, 'phase') ?? unknown);
    if (members.length < all.length) found.push(unknown);
    const worst = order.find((phase) => found.includes(phase)) ?? found[0] ?? unknown;
    const holder = members.find((status) => stringAt(status, 'phase') === worst) ?? {};
    const extra: JsonObject = {};
    for (const field of ['reason', 'message', 'accessModes', 'capacity']) {
      const value = holder[field];
      if (value !== undefined) extra[field] = value;
    }
    return { phase: worst, ...extra };
  };
}

const HorizontalPodAutoscaler: Make = (members, aggregation) => {
  const scaled = latest(members, 'lastScaleTime');
  return {
    ...sums('currentReplicas', 'desiredReplicas')(members, aggregation),
    ...(scaled === undefined ? {} : { lastScaleTime: scaled }),
  };
};

/** Pods of many clusters may have one name: theirs has the name of the cluster before it. */
const PodDisruptionBudget: Make = (members, aggregation) => {
  const disrupted: JsonObject = {};
  for (const { cluster, returned } of aggregation.members)
    for (const [pod, time] of Object.entries(objectAt(returned?.status, 'disruptedPods') ?? {}))
      disrupted[`${cluster}/${pod}`] = time;
  return {
    ...sums('currentHealthy', 'desiredHealthy', 'disruptionsAllowed', 'expectedPods')(members, aggregation),
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
  };
};

const KINDS: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['apps/Deployment', Deployment],
  ['apps/StatefulSet', StatefulSet],
  [
    'apps/DaemonSet',
    sums(
      'currentNumberScheduled',
      'desiredNumberScheduled',
      'numberAvailable',
      'numberMisscheduled',
      'numberReady',
      'numberUnavailable',
      'updatedNumberScheduled',
    ),
  ],
  ['apps/ReplicaSet', ReplicaSet],
  ['batch/Job', Job],
  ['batch/CronJob', CronJob],
  ['/Service', LoadBalancer],
  ['networking.k8s.io/Ingress', LoadBalancer],
  ['/Pod', phases(['Failed', 'Unknown', 'Pending', 'Running', 'Succeeded'], 'Pending')],
  ['/PersistentVolumeClaim', phases(['Lost', 'Pending', 'Bound'], 'Pending')],
  ['/PersistentVolume', phases(['Failed', 'Pending', 'Available', 'Bound', 'Released'], 'Pending')],
  ['autoscaling/HorizontalPodAutoscaler', HorizontalPodAutoscaler],
  ['policy/PodDisruptionBudget', PodDisruptionBudget],
]);

interface ConditionWords {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function conditionsOf(status: JsonObject | undefined, type: string): ConditionWords[] {
  return listAt(status, 'conditions').flatMap((condition) =>
    stringAt(condition, 'type') === type
      ? [
          {
            type,
            status: stringAt(condition, 'status') ?? 'Unknown',
            reason: stringAt(condition, 'reason') ?? '',
            message: stringAt(condition, 'message') ?? '',
          },
        ]
      : [],
  );
}

/** The condition of the first cluster that has it, which it names. */
function firstCondition({ members }: Aggregation, type: string): ConditionWords | undefined {
  for (const { cluster, returned } of members) {
    const [found] = conditionsOf(returned?.status, type);
    if (found) return { ...found, message: `${cluster}: ${found.message}` };
  }
  return undefined;
}

/** Times move when what they date changes. */
function withTimes(conditions: readonly ConditionWords[], { source, nowMs }: Aggregation): JsonValue[] {
  const before = listAt(source, 'status', 'conditions');
  const timed =
    source.kind === 'Deployment' ? 'lastUpdateTime' : source.kind === 'Job' ? 'lastProbeTime' : undefined;
  return conditions.map((condition): JsonObject => {
    const old = before.find((item) => stringAt(item, 'type') === condition.type);
    const now = formatTime(nowMs);
    const same = stringAt(old, 'status') === condition.status;
    const lastTransitionTime = (same ? stringAt(old, 'lastTransitionTime') : undefined) ?? now;
    if (timed === undefined) return { ...condition, lastTransitionTime };
    const words =
      isObject(old) &&
      (['reason', 'message'] as const).every((field) => deepEqual(at(old, field), condition[field]));
    const updated = (same && words ? stringAt(old, timed) : undefined) ?? now;
    return { ...condition, lastTransitionTime, [timed]: updated };
  });
}

function times(members: readonly JsonObject[], field: string): string[] {
  return members.flatMap((status) => stringAt(status, field) ?? []).sort();
}

function earliest(members: readonly JsonObject[], field: string): string | undefined {
  return times(members, field)[0];
}

function latest(members: readonly JsonObject[], field: string): string | undefined {
  return times(members, field).at(-1);
}
