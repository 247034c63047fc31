import type { FleetSummary } from '../../engine/summarise/summarise.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { BindingCondition, BindingStatus } from './types.ts';

/** What became of a Binding. */
export interface BindingFindings {
  readonly generation: number;
  readonly deleting: boolean;
  /** How many objects it lists. */
  readonly listed: number;
  /** Of what it lists, and what else keeps it from being carried out. */
  readonly errors: readonly string[];
  readonly summary: FleetSummary;
}

/** What became of a policy, beside what became of its Binding. */
export interface PolicyFindings {
  readonly generation: number;
  readonly deleting: boolean;
  readonly errors: readonly string[];
  /** Names of collectors that it asks for. */
  readonly collectors: readonly string[];
  readonly binding?: BindingStatus | undefined;
}

type Told = Pick<BindingCondition, 'type' | 'status' | 'reason' | 'message'>;

const MAX_ERRORS = 20;

/** The status of a Binding. The same object where nothing is new. */
export function reportBinding(
  found: BindingFindings,
  previous: BindingStatus | undefined,
  now: number,
): BindingStatus {
  const { summary } = found;
  const failing = summary.notReady.filter(({ word }) => word === 'Degraded');
  const errors = [...found.errors, ...failing.map(({ cluster, message }) => `${cluster}: ${message}`)];
  return statusOf(found.generation, errors, [readiness(found), synced(errors)], previous, now);
}

/** The status of a policy: its own, and what its Binding says. */
export function reportPolicy(
  found: PolicyFindings,
  previous: BindingStatus | undefined,
  now: number,
): BindingStatus {
  const { binding, deleting } = found;
  const errors = [...found.errors, ...(binding?.errors ?? [])];
  const ready = binding?.conditions?.find(({ type }) => type === 'Ready');
  const conditions: Told[] = [
    deleting
      ? DELETING
      : (ready ?? {
          type: 'Ready',
          status: 'False',
          reason: 'Creating',
          message: 'its Binding is being made',
        }),
    synced(errors),
  ];
  if (found.collectors.length > 0)
    conditions.push({
      type: 'StatusCollectorsAvailable',
      status: 'False',
      reason: 'NotSupported',
      message: `statuses are not collected by ${found.collectors.join(', ')}: this hub combines no statuses`,
    });
  return statusOf(found.generation, errors, conditions, previous, now);
}

const DELETING: Told = {
  type: 'Ready',
  status: 'False',
  reason: 'Deleting',
  message: 'what it brought is being taken away',
};

function readiness({ deleting, listed, summary }: BindingFindings): Told {
  const told = (status: Told['status'], reason: string, message: string): Told => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  if (deleting) return DELETING;
  const { clusters, ready, stale, notReady } = summary;
  if (clusters === 0) return told('False', 'Unavailable', 'it goes to no cluster');
  if (listed === 0) return told('False', 'Unavailable', 'there is no object to bring');
  const [first] = notReady.filter(({ word }) => word !== 'Stale');
  if (first)
    return told(
      'False',
      first.word === 'Degraded' ? 'Unavailable' : 'Creating',
      `${ready} of ${clusters} clusters are ready; ${first.cluster}: ${first.message}`,
    );
  if (stale > 0) return told('Unknown', 'Unavailable', `${stale} of ${clusters} clusters cannot be seen now`);
  return told('True', 'Available', `all ${clusters} clusters are ready`);
}

function synced(errors: readonly string[]): Told {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return first === undefined
    ? { type: 'Synced', status: 'True', reason: 'ReconcileSuccess', message: 'it is carried out as it says' }
    : { type: 'Synced', status: 'False', reason: 'ReconcileError', message: `${first}${more}` };
}

function statusOf(
  generation: number,
  errors: readonly string[],
  told: readonly Told[],
  previous: BindingStatus | undefined,
  now: number,
): BindingStatus {
  return {
    conditions: told.map((condition) => withTimes(condition, previous, now)),
    observedGeneration: generation,
    errors: errors.slice(0, MAX_ERRORS),
  };
}

/** Times move only when something does. */
function withTimes(
  { type, status, reason, message }: Told,
  previous: BindingStatus | undefined,
  now: number,
): BindingCondition {
  const before = previous?.conditions?.find((condition) => condition.type === type);
  const isSame = before?.status === status && before.reason === reason && before.message === message;
  if (before && isSame) return before;
  const time = formatTime(now);
  return {
    type,
    status,
    reason,
    message,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : time,
    lastUpdateTime: time,
  };
}
