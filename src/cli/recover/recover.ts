import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { type KubeObject, refOf, refText } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import { type Asking, type AskingOptions, ask, table } from '../output.ts';
import { foundOn, type Unusable } from './found.ts';
import { recoveryPlan } from './plan.ts';

export interface RecoverOptions extends AskingOptions {
  /** Spokes to ask; `true` for all of the inventory. */
  readonly fromSpokes: readonly string[] | true;
  readonly yes?: boolean;
}

type Outcome = 'made' | 'would be made' | 'is there' | 'failed';

interface RecoverReport {
  readonly spokes: readonly { readonly spoke: string; readonly orders: number; readonly why?: string }[];
  readonly unusable: readonly Unusable[];
  readonly conflicts: readonly string[];
  readonly lineages: readonly string[];
  readonly objects: readonly { readonly object: string; readonly outcome: Outcome; readonly why?: string }[];
  readonly written: boolean;
}

/** Ends with 1 where a spoke could not be asked or an object could not be made. */
export function recover(options: RecoverOptions): Promise<void> {
  return ask(options, async (asking) => {
    const { hub } = asking;
    const { fromSpokes } = options;
    const names = fromSpokes === true ? await inventory(hub.client) : fromSpokes;
    const asked = await Promise.all(
      names.map(async (spoke) => {
        try {
          return { spoke, ...(await foundOn(spoke, hub.spokeClient(spoke))) };
        } catch (error) {
          return { spoke, found: [], unusable: [], why: errorText(error) };
        }
      }),
    );
    const plan = recoveryPlan(asked.flatMap(({ found }) => found));
    const objects: RecoverReport['objects'][number][] = [];
    for (const object of plan.objects)
      objects.push({
        object: refText(refOf(object)),
        ...(await bring(hub.client, object, options.yes === true)),
      });
    const report: RecoverReport = {
      spokes: asked.map((item) => ({
        spoke: item.spoke,
        orders: item.found.length,
        ...('why' in item ? { why: item.why } : {}),
      })),
      unusable: asked.flatMap(({ unusable }) => unusable),
      conflicts: plan.conflicts,
      lineages: plan.lineages,
      objects,
      written: options.yes === true,
    };
    const again = `atoll hub recover --from-spokes${fromSpokes === true ? '' : ` ${names.join(' ')}`} --yes`;
    asking.print(report, (printed) => textOf(printed, asking, again));
    const bad = report.spokes.some(({ why }) => why !== undefined) || report.unusable.length > 0;
    return bad || objects.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
  });
}

async function inventory(client: Client): Promise<string[]> {
  const list = await client.list(resourceIdOf(SPOKE_CLUSTER), '');
  return [...new Set(list.items.map((item) => item.metadata.name ?? ''))].sort();
}

/** Makes an object, or tries to; what is there is never changed. */
async function bring(
  client: Client,
  object: KubeObject,
  write: boolean,
): Promise<{ outcome: Outcome; why?: string }> {
  try {
    const resource = await client.resourceFor(object.apiVersion, object.kind);
    try {
      await client.get(resource, object.metadata.namespace ?? '', object.metadata.name ?? '');
      return { outcome: 'is there' };
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    if (!write) return { outcome: 'would be made' };
    await client.create(resource, object);
    return { outcome: 'made' };
  } catch (error) {
    return hasCode(error, 409)
      ? { outcome: 'is there' }
      : !write && hasCode(error, 404)
        ? { outcome: 'would be made', why: 'its kind comes with the definitions above' }
        : { outcome: 'failed', why: errorText(error) };
  }
}

function textOf(report: RecoverReport, { paint }: Asking, again: string): string {
  const spokes = report.spokes.map(({ spoke, orders, why = '' }) => [spoke, String(orders), why]);
  const objects = report.objects.map(({ object, outcome, why = '' }) => [object, outcome, why]);
  const warnings = [
    ...report.unusable.map(({ spoke, dispatch, why }) => `${spoke}/${dispatch} is not used: ${why}`),
    ...report.conflicts,
  ].map((text) => `${paint('warn', 'Note')}: ${text}\n`);
  const head = `${table(['SPOKE', 'ORDERS', ''], spokes, paint)}\n${table(['OBJECT', 'OUTCOME', ''], objects, paint)}`;
  const next = report.written
    ? 'Spokes of the lost hub take orders of this one when their owners hand them over: atoll takeover, on the spoke.\n'
    : `Nothing was written. To make these objects: ${again}\n`;
  return `${head}${warnings.length > 0 ? `\n${warnings.join('')}` : ''}\n${next}`;
}
