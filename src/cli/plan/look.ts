import { DISPATCH_LABEL } from '../../engine/dispatch/dispatch.ts';
import { strategyOf } from '../../engine/dispatch/index.ts';
import { isImmutable, type ObjectLook } from '../../engine/plan/change.ts';
import { applyOn } from '../../engine/plan/plan.ts';
import { forApply, forCreation, forUpdate, retainedFields } from '../../engine/retain/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { Planned } from '../fleet-reading.ts';

/** What a cluster shall have of one object, and by which propagation; nothing shall be where `after` is absent. */
export interface Wanted {
  readonly object: KubeObject;
  readonly after: boolean;
  readonly owner: Planned | undefined;
}

export type Seen =
  | { readonly away: string }
  | {
      readonly away?: undefined;
      /** By object; one that may not be read is left out. */
      readonly looks: ReadonlyMap<string, ObjectLook>;
      /** Set where dry runs were refused. */
      readonly unproven: boolean;
    };

/** The name under which a spoke owns fields: what it would leave alone, a dry run leaves alone. */
const MANAGER = 'atoll';

/** Looks at objects on one cluster, through the hub and with the user's own rights there. Writes nothing. */
export async function lookAt(
  client: Client,
  wanted: ReadonlyMap<string, Wanted>,
  cluster: string,
): Promise<Seen> {
  try {
    await client.getJson('/version');
  } catch (error) {
    return { away: whyAway(error) };
  }
  const looks = new Map<string, ObjectLook>();
  let unproven = false;
  for (const [key, item] of wanted) {
    try {
      const { look, forbidden } = await lookAtOne(client, item, cluster);
      looks.set(key, look);
      unproven ||= forbidden === true;
    } catch (error) {
      // What the user may not read there is known by what the hub has.
      if (!hasCode(error, 403)) return { away: whyAway(error) };
    }
  }
  return { looks, unproven };
}

function whyAway(error: unknown): string {
  if (error instanceof Error && error.name === 'HubUnreachable') throw error;
  return errorText(error).replace(/\. What was last known: .*$/s, '');
}

async function lookAtOne(
  client: Client,
  { object, after, owner }: Wanted,
  cluster: string,
): Promise<{ look: ObjectLook; forbidden?: true }> {
  const { namespace = '', name = '' } = object.metadata;
  let resource: ResourceId;
  try {
    resource = await client.resourceFor(object.apiVersion, object.kind);
  } catch (error) {
    // Its definition comes before it.
    if (hasCode(error, 404)) return { look: {} };
    throw error;
  }
  const live = await ignoring(404, client.get(resource, namespace, name));
  const seen = live === undefined ? {} : { live };
  if (!after) return { look: seen };
  const strategy = strategyOf(owner ? applyOn(owner.plan, cluster) : {}, object);
  if (live && (strategy.strategy === 'CreateOnly' || strategy.strategy === 'ReadOnly'))
    return { look: { live, tried: live } };
  if (live && strategy.adopt !== 'Always' && live.metadata.labels?.[DISPATCH_LABEL] === undefined)
    return { look: { live, refusal: { immutable: false, message: 'it was not made by Atoll' } } };
  try {
    return { look: { ...seen, tried: await tryOut(client, resource, object, live, strategy) } };
  } catch (error) {
    if (!(error instanceof StatusError) || error.code >= 500) throw error;
    // The namespace comes with the first object in it.
    if (error.code === 404) return { look: seen };
    if (error.code === 403 && error.status.reason === 'Forbidden' && isAboutRights(error))
      return { look: seen, forbidden: true };
    return {
      look: {
        ...seen,
        refusal: { immutable: isImmutable(error.message, error.status.details), message: error.message },
      },
    };
  }
}

/** Whether the user may not, not whether the object is refused: both are 403. */
function isAboutRights(error: StatusError): boolean {
  return /cannot (patch|update|create)|is forbidden: user|grant/i.test(error.message);
}

/** As the spoke would write it. */
function tryOut(
  client: Client,
  resource: ResourceId,
  object: KubeObject,
  live: KubeObject | undefined,
  { strategy, force = true, retainReplicas, ignoreFields }: ReturnType<typeof strategyOf>,
): Promise<KubeObject> {
  const retained = retainedFields(object, {
    ...(ignoreFields ? { ignoreFields } : {}),
    ...(retainReplicas ? { replicas: ['spec', 'replicas'] } : {}),
  });
  const options = { fieldManager: MANAGER, dryRun: true };
  if (live && strategy === 'Update')
    return client.update(resource, forUpdate(object, live, retained, MANAGER), options);
  const config = live ? forApply(object, live, retained, MANAGER).object : forCreation(object, retained);
  return client.apply(resource, config, { ...options, force });
}
