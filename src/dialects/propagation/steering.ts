import type { FailoverOptions } from '../../engine/failover/index.ts';
import type { Intent } from '../../engine/intent.ts';
import type { KubeObject, ObjectRef } from '../../kube/object.ts';
import { gvkOf } from '../../kube/object.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { flag, integer, list, oneOf, record, text } from '../../schema/schema-of.ts';

/** What of a Propagation says not what goes where, but when it counts, and against whom. */
export interface Steering {
  /** Of several that select the same object the one with the larger has it; 0 by default. */
  readonly priority?: number;
  /** Whether it takes objects from a Propagation that has them already and comes after it. `Never` by default. */
  readonly preemption?: 'Always' | 'Never';
  /** Of many that wait to be planned those with the larger come first; 0 by default. */
  readonly schedulePriority?: number;
  /** `Lazy`: a change of the Propagation is carried out with the next change of what it selects. */
  readonly activationPreference?: 'Lazy';
  readonly suspension?: Suspension;
  /** Objects of the hub that must be there before anything is sent. */
  readonly waitFor?: readonly AwaitedObject[];
  readonly failover?: FailoverOptions;
  /** So long after the order of a spoke was lost its objects are removed. They stay where nothing is said. */
  readonly removeWhenLostSeconds?: number;
}

export interface Suspension {
  /** The same as `suspend`. */
  readonly dispatching?: boolean;
  readonly dispatchingOnClusters?: { readonly clusterNames: readonly string[] };
  /** They are given what is new, and do not take it until they are no longer named here. */
  readonly takingOnClusters?: { readonly clusterNames: readonly string[] };
  /** Nothing is decided anew: it stays where it is. */
  readonly scheduling?: boolean;
}

export interface AwaitedObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** That of the Propagation where it is left out. */
  readonly namespace?: string;
  readonly name: string;
}

/** The part of an intent that comes of it. A Propagation waits for objects of its own namespace only. */
export function steeringOf(
  { suspension, activationPreference, waitFor = [], failover, removeWhenLostSeconds }: Steering,
  namespace: string | undefined,
): Pick<
  Intent,
  | 'lazy'
  | 'suspendedOn'
  | 'heldOn'
  | 'removeWhenLostSeconds'
  | 'keepDecision'
  | 'waitFor'
  | 'failover'
  | 'returns'
> {
  const { clusterNames = [] } = suspension?.dispatchingOnClusters ?? {};
  const { clusterNames: heldOn = [] } = suspension?.takingOnClusters ?? {};
  const awaited = waitFor.map((ref): ObjectRef => ({ ...ref, namespace: namespace ?? ref.namespace ?? '' }));
  return {
    ...(activationPreference === 'Lazy' ? { lazy: true } : {}),
    ...(clusterNames.length > 0 ? { suspendedOn: clusterNames } : {}),
    ...(heldOn.length > 0 ? { heldOn } : {}),
    ...(removeWhenLostSeconds === undefined ? {} : { removeWhenLostSeconds }),
    ...(suspension?.scheduling === true ? { keepDecision: true } : {}),
    ...(awaited.length > 0 ? { waitFor: awaited } : {}),
    ...(failover === undefined ? {} : { failover }),
    ...((failover?.statePreservation ?? []).length > 0 ? { returns: 'Raw' as const } : {}),
  };
}

/** Whether an object is one that is waited for. */
export function isAwaited(
  { waitFor = [] }: Steering,
  namespace: string | undefined,
  object: KubeObject,
): boolean {
  const { name = '', namespace: where = '' } = object.metadata;
  return waitFor.some(
    (ref) =>
      ref.name === name &&
      ref.kind === object.kind &&
      gvkOf(ref).group === gvkOf(object).group &&
      (namespace ?? ref.namespace ?? '') === where,
  );
}

const seconds = (description: string): OpenApiSchema => integer(description, { minimum: 0 });
const purge = oneOf(
  ['Gracefully', 'Directly', 'Never'],
  'What becomes of the old copy: it goes when a new one is healthy (the default), at once, or when it is released.',
);

const failover = record(
  {
    cluster: record(
      {
        tolerationSeconds: seconds('How long a cluster may be lost. 300 by default.'),
        tolerations: list(
          record({
            key: text('Every key where it is left out; the operator is Exists then.'),
            operator: oneOf(['Equal', 'Exists']),
            value: text(),
            seconds: seconds('For ever where it is left out.'),
          }),
          'Taints of clusters that do not matter, or not for so long.',
          { maxItems: 64 },
        ),
        purge,
      },
      'Move copies away from clusters that are lost, or have a taint NoSelect or NoExecute.',
    ),
    application: record(
      {
        tolerationSeconds: seconds('How long a copy may be unhealthy. 300 by default.'),
        purge,
      },
      'Move copies away from clusters on which they are not healthy.',
    ),
    graceSeconds: seconds(
      'Gracefully: after so long the old copy goes although no new one is healthy. 600 by default.',
    ),
    failBack: record(
      { stabilisationSeconds: seconds('How long the cluster must have been well. 600 by default.') },
      'Go back when the cluster is well again. It stays where it went otherwise.',
    ),
    statePreservation: list(
      record(
        {
          label: text('Which the new copy gets.', { minLength: 1, maxLength: 317 }),
          jsonPath: text('Below status of the old copy, such as {.jobStatus.savepoint}.', {
            minLength: 1,
            maxLength: 1024,
          }),
        },
        undefined,
        { required: ['label', 'jsonPath'] },
      ),
      'Values of the status of the old copy that the new one gets as labels. The status of the objects is returned in full for it.',
      { maxItems: 16 },
    ),
    release: list(text(), 'Clusters whose old copies are given up now.', { maxItems: 10_000 }),
  },
  'When copies move to other clusters by themselves. They do not where nothing is said.',
);

export const steeringSchema: Record<string, OpenApiSchema> = {
  priority: integer('Of several that select the same object the one with the larger has it. 0 by default.', {
    format: 'int32',
  }),
  preemption: oneOf(
    ['Always', 'Never'],
    'Whether it takes objects from one that has them already and comes after it. Never by default.',
  ),
  schedulePriority: integer(
    'Of many that wait to be planned those with the larger come first: the value of a priority class, for instance. 0 by default.',
    { format: 'int32' },
  ),
  activationPreference: oneOf(
    ['Lazy'],
    'Lazy: a change of this object is carried out with the next change of what it selects.',
  ),
  suspension: record(
    {
      dispatching: flag('The same as suspend.'),
      dispatchingOnClusters: record(
        { clusterNames: list(text(), undefined, { maxItems: 10_000 }) },
        'These clusters keep what they have; the others go on.',
      ),
      takingOnClusters: record(
        { clusterNames: list(text(), undefined, { maxItems: 10_000 }) },
        'These clusters are given what is new, content and all, and do not take it: they go on with it as soon as they are no longer named here.',
      ),
      scheduling: flag('Nothing is placed anew: it stays where it is.'),
    },
    'What to hold back.',
  ),
  waitFor: list(
    record({ apiVersion: text(), kind: text(), namespace: text(), name: text() }, undefined, {
      required: ['apiVersion', 'kind', 'name'],
    }),
    'Objects of the hub that must be there before anything is sent.',
    { maxItems: 64 },
  ),
  failover,
  removeWhenLostSeconds: integer(
    'So long after the order of a spoke was lost (deleted there by somebody, or the spoke was handed to another hub) its objects are removed. They stay for good where nothing is said. That a spoke is away for long is no loss.',
    { format: 'int64', minimum: 0 },
  ),
};
