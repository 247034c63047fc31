import { CLUSTER_PROPAGATION, PROPAGATION } from '../../dialects/propagation/kinds.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { movedInputs } from '../../engine/plan/change.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { refOf, refText } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import type { Manifest } from '../diff/manifest-files.ts';
import { previewManifests } from '../diff/preview.ts';
import { type AskingOptions, ask } from '../output.ts';
import { type Asked, computePlan, type FleetPlan } from './compute-plan.ts';
import { loadPlan, shortHash } from './plan-file.ts';
import { askedOf } from './show-plan.ts';
import { radiusText } from './text.ts';

export interface ApplyOptions extends AskingOptions {
  /** Hash of a saved plan. */
  readonly plan: string;
}

/** Something is not as the plan found it. Nothing was written. */
export class PlanMoved extends Error {
  constructor(hash: string, moved: readonly string[]) {
    super(
      `plan ${shortHash(hash)} is not carried out, since something moved: ${moved.join('; ')}. Nothing was written; look at a new one with: atoll plan`,
    );
    this.name = 'PlanMoved';
  }
}

/** `atoll apply --plan`: carries out at the hub what a plan said, if that would still do the same. */
export function applyPlan(options: ApplyOptions): Promise<void> {
  return ask(options, async ({ hub, print }) => {
    const saved = loadPlan(options.dir, options.plan);
    if (saved.server !== hub.server)
      throw new Error(`plan ${shortHash(saved.hash)} is of another hub: ${saved.server}, not ${hub.server}`);
    const asked = askedOf(saved, hub.namespace);
    const { plan, applied } = await carryOut(
      hub.client,
      hub.spokeClient,
      asked,
      saved,
      systemRuntime().clock,
    );
    print({ hash: plan.hash, applied, radius: plan.radius }, (report) =>
      [...report.applied.map((text) => `applied ${text}\n`), `${radiusText(plan.radius)}\n`].join(''),
    );
    return 0;
  });
}

/** Throws {@link PlanMoved} where the plan would be another one by now. */
export async function carryOut(
  hub: Client,
  spokeClient: (name: string) => Client,
  asked: Asked,
  saved: Pick<FleetPlan, 'hash' | 'inputs'>,
  clock: Clock,
): Promise<{ plan: FleetPlan; applied: readonly string[] }> {
  const plan = await computePlan(hub, spokeClient, asked);
  if (plan.hash !== saved.hash) throw new PlanMoved(saved.hash, movedInputs(saved.inputs, plan.inputs));
  if ('propagation' in asked) {
    const { kind, namespace, name } = asked.propagation;
    const resource = resourceIdOf(kind === PROPAGATION.kind ? PROPAGATION : CLUSTER_PROPAGATION);
    const patch = { spec: { suspend: false } };
    await hub.patch(resource, namespace, name, 'merge', patch, { fieldManager: 'kubectl' });
    return { plan, applied: [refText(asked.propagation)] };
  }
  const manifests = [...asked.manifests].sort((a, b) => compareForApply(refOf(a.object), refOf(b.object)));
  const applied: string[] = [];
  for (const manifest of manifests) {
    const [written] = await previewManifests(hub, [manifest], asked.namespace, { write: true });
    if (written) applied.push(refText(refOf(written.object)));
    await served(hub, manifest, clock);
  }
  return { plan, applied };
}

const SERVED_WITHIN_MS = 15_000;
const LOOK_AGAIN_MS = 100;

/** A kind that the files define is served a moment after its definition is there. */
async function served(hub: Client, { object }: Manifest, clock: Clock): Promise<void> {
  if (object.kind !== 'CustomResourceDefinition') return;
  const kind = stringAt(object, 'spec', 'names', 'kind') ?? '';
  const version = (
    object['spec'] as { versions?: { name?: string; served?: boolean }[] } | undefined
  )?.versions?.find((item) => item.served === true)?.name;
  const apiVersion = `${stringAt(object, 'spec', 'group') ?? ''}/${version ?? ''}`;
  for (let waited = 0; waited < SERVED_WITHIN_MS; waited += LOOK_AGAIN_MS) {
    try {
      await hub.resourceFor(apiVersion, kind);
      return;
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    await new Promise<void>((resolve) => void clock.after(LOOK_AGAIN_MS, resolve));
  }
}
