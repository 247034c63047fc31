import { type EdgePlacement, reportPolicy } from '../../../dialects/kubestellar/index.ts';
import type { Client } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { deepEqual } from '../../../schema/json.ts';
import type { ControlObjects } from './control.ts';
import { isPlacement, ownedBy, type Policy, resourceOf } from './policy.ts';

const ERROR_ANNOTATION = 'validation-error.kubestellar.io/';
const CATCH_UP_MS = 40;

/** Tells a policy what became of it: what is wrong, and where an EdgePlacement counts them the locations that it chose. */
export type PolicyReport = (
  policy: Policy,
  errors: readonly string[],
  locations: number | undefined,
) => Promise<Result | undefined>;

export function policyReport(client: Client, control: ControlObjects, clock: Clock): PolicyReport {
  async function report(
    policy: Policy,
    errors: readonly string[],
    locations: number | undefined,
  ): Promise<Result | undefined> {
    if (isPlacement(policy)) return reportPlacement(policy, errors, locations);
    const { name = '', generation = 0, resourceVersion, deletionTimestamp } = policy.metadata;
    const binding = control.bindings.get('', name);
    const own = binding && ownedBy(policy, binding) ? binding.status : undefined;
    const status = reportPolicy(
      {
        generation,
        deleting: deletionTimestamp !== undefined,
        errors,
        collectors: [
          ...new Set((policy.spec?.downsync ?? []).flatMap(({ statusCollectors }) => statusCollectors ?? [])),
        ].sort(),
        ...(own === undefined ? {} : { binding: own }),
      },
      policy.status,
      clock.now(),
    );
    if (deepEqual(status, policy.status)) return undefined;
    return patched(policy, { metadata: { resourceVersion }, status }, 'status');
  }

  /** This kind has counts in its status, and annotations for what is wrong. */
  async function reportPlacement(
    placement: EdgePlacement,
    errors: readonly string[],
    locations: number = placement.status?.matchingLocationCount ?? 0,
  ): Promise<Result | undefined> {
    const { generation = 0, resourceVersion, annotations = {} } = placement.metadata;
    const told = Object.fromEntries(errors.map((error, index) => [`${ERROR_ANNOTATION}${index}`, error]));
    const known = Object.entries(annotations).filter(([key]) => key.startsWith(ERROR_ANNOTATION));
    if (!deepEqual(Object.fromEntries(known), told)) {
      const gone = Object.fromEntries(known.map(([key]) => [key, null]));
      const metadata = { resourceVersion, annotations: { ...gone, ...told } };
      return (await patched(placement, { metadata })) ?? { requeueAfterMs: CATCH_UP_MS };
    }
    const status = { specGeneration: generation, matchingLocationCount: locations };
    if (deepEqual(status, placement.status)) return undefined;
    return patched(placement, { metadata: { resourceVersion }, status }, 'status');
  }

  async function patched(policy: Policy, patch: object, subresource?: string): Promise<Result | undefined> {
    return optimisticWrite(
      client.patch(
        resourceOf(policy),
        '',
        policy.metadata.name ?? '',
        'merge',
        patch,
        subresource === undefined ? {} : { subresource },
      ),
    );
  }

  return report;
}
