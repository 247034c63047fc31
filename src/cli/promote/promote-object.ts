import { formatApiVersion, refOf, refText } from '../../kube/object.ts';
import { clusterNamed, readFleetAtHub } from '../fleet-reading.ts';
import { readResources, resourceNamed } from '../kind-name.ts';
import { type AskingOptions, ask, type Paint } from '../output.ts';
import { redact } from '../redact.ts';
import { parseAsked } from '../why/facts.ts';
import { carryOutPromotion, type Promotion, readPromotion } from './promotion.ts';

export interface PromoteOptions extends AskingOptions {
  readonly namespace?: string;
  readonly cluster: string;
  readonly dependencies: boolean;
  readonly yes: boolean;
}

/** `atoll promote`: shows what would be written at the hub, and writes it with `--yes`. Ends with 1 where nothing was written. */
export function promoteObject(words: readonly string[], options: PromoteOptions): Promise<void> {
  return ask(options, async ({ hub, paint, print }) => {
    const { kind, name } = parseAsked(words);
    const { clusters } = await readFleetAtHub(hub.client);
    clusterNamed(clusters, options.cluster);
    const spoke = hub.spokeClient(options.cluster);
    const resources = await readResources(spoke);
    const resource = resourceNamed(resources, kind);
    const asked = {
      apiVersion: formatApiVersion(resource.group, resource.version),
      kind: resource.kind,
      namespace: resource.namespaced ? (options.namespace ?? hub.namespace) : '',
      name,
    };
    const promotion = await readPromotion(hub.client, spoke, options.cluster, asked, options.dependencies);
    if (options.yes) await carryOutPromotion(hub.client, promotion);
    const shown = { ...promotion, objects: promotion.objects.map(redact), done: options.yes };
    print(shown, (report) => promotionText(report, options.cluster, options.yes, paint));
    return options.yes ? 0 : 1;
  });
}

function promotionText(promotion: Promotion, cluster: string, done: boolean, paint: Paint): string {
  const { namespace, objects, propagation, left } = promotion;
  const lines = [
    ...(namespace === undefined ? [] : [`Namespace ${namespace}`]),
    ...[...objects, propagation].map((object) => refText(refOf(object))),
  ].map((text) => `  ${paint('good', `+ ${text}`)}\n`);
  const notes = left.map(
    ({ ref, reason }) => `${paint('warn', 'note')}  ${refText(ref)} stays behind: ${reason}\n`,
  );
  const what = refText(refOf(propagation));
  const end = done
    ? `The copy on ${cluster} is taken over as it is. To give it back: delete ${what}, which leaves it there.\n`
    : 'Nothing was written. To do it: the same with --yes\n';
  return `${done ? 'Made' : 'Would make'} at the hub:\n${lines.join('')}${notes.join('')}${end}`;
}
