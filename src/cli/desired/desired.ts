import {
  BUNDLE,
  type Bundle,
  DISPATCH,
  type Dispatch,
  SYSTEM_NAMESPACE,
  unpackBundles,
} from '../../engine/dispatch/index.ts';
import { type LocalFacts, localFactsOf } from '../../engine/render/local-facts.ts';
import { type Rendered, render } from '../../engine/render/render.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import { clusterFacts, clusterNamed, nameOf, propagationText, readFleetAtHub } from '../fleet-reading.ts';
import { type AskingOptions, ask, type Paint, table } from '../output.ts';
import { redact } from '../redact.ts';

export interface DesiredObject {
  /** Who asks for it, such as `Propagation shop/cart`. */
  readonly source: string;
  readonly generation: number;
  /** As it is to be on the spoke; values of Secrets as digests. */
  readonly object: KubeObject;
}

export interface DesiredReport {
  readonly cluster: string;
  readonly objects: readonly DesiredObject[];
  /** What of an order could not be read or computed. */
  readonly problems: readonly string[];
}

export interface DesiredOptions extends AskingOptions {
  readonly namespace?: string;
  readonly kind?: string;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);

/** With `-o yaml` and `-o json` a List that kubectl understands. */
export function showDesired(cluster: string, options: DesiredOptions): Promise<void> {
  return ask(options, async ({ hub, paint, print }) => {
    const whole = await readDesired(hub.client, hub.spokeClient(cluster), cluster);
    const report = narrowed(whole, options);
    if (options.output === undefined)
      print(report, (found) => desiredText(found, paint, whole.objects.length));
    else {
      const items = report.objects.map(({ object }) => object);
      print({ apiVersion: 'v1', kind: 'List', items }, () => '');
      for (const problem of report.problems) process.stderr.write(`${problem}\n`);
    }
    return report.problems.length === 0 ? 0 : 1;
  });
}

/** Throws an Error with similar names for an unknown cluster, and what the hub says where the spoke cannot be asked. */
export async function readDesired(hub: Client, spoke: Client, name: string): Promise<DesiredReport> {
  const { clusters } = await readFleetAtHub(hub);
  const found = clusterNamed(clusters, name);
  const [facts] = clusterFacts([found]).map(localFactsOf);
  const { items } = await spoke.list<Dispatch>(DISPATCHES, SYSTEM_NAMESPACE);
  const objects: DesiredObject[] = [];
  const problems: string[] = [];
  for (const { spec } of items.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    const source = propagationText(spec.source);
    try {
      const rendered = await orderedObjects(spoke, spec, facts);
      const { generation } = spec.position;
      for (const object of rendered.objects) objects.push({ source, generation, object: redact(object) });
      problems.push(...rendered.problems.map((problem) => `${source}: ${problem}`));
    } catch (error) {
      problems.push(`${source}: ${errorText(error)}`);
    }
  }
  return { cluster: name, objects, problems };
}

/** The objects that an order comes to on its spoke, and what of it fails. Throws an Error where its content is not there. */
export async function orderedObjects(
  spoke: Client,
  spec: Dispatch['spec'],
  facts: LocalFacts | undefined,
): Promise<Rendered> {
  return render(await contentOf(spoke, spec), spec.patches, facts);
}

async function contentOf(spoke: Client, { bundles, revision }: Dispatch['spec']): Promise<KubeObject[]> {
  if (bundles.length === 0) return [];
  try {
    const there = await Promise.all(
      bundles.map((bundle) => spoke.get<Bundle>(BUNDLES, SYSTEM_NAMESPACE, bundle)),
    );
    return unpackBundles(there, revision);
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
    throw new Error('its content is not on the spoke yet; the hub sends it again', { cause: error });
  }
}

function narrowed(report: DesiredReport, { namespace, kind }: DesiredOptions): DesiredReport {
  const wanted = kind?.toLowerCase();
  const objects = report.objects.filter(
    ({ object }) =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (wanted === undefined || object.kind.toLowerCase() === wanted),
  );
  return { ...report, objects };
}

/** `inAll`: how many objects are ordered there, whichever of them were asked for. */
export function desiredText(
  { cluster, objects, problems }: DesiredReport,
  paint: Paint,
  inAll: number = objects.length,
): string {
  const rows = objects.map(({ source, generation, object }) => [
    object.metadata.namespace ?? '',
    object.kind,
    nameOf(object),
    source,
    String(generation),
  ]);
  const head = ['NAMESPACE', 'KIND', 'NAME', 'SOURCE', 'GENERATION'];
  const nothing =
    inAll === 0
      ? `Nothing is ordered for ${cluster}.\n`
      : `Of the ${inAll} objects that are ordered for ${cluster} none is of that namespace and kind.\n`;
  const body = rows.length === 0 ? nothing : table(head, rows, paint);
  return body + problems.map((problem) => `${paint('bad', '✗')} ${problem}\n`).join('');
}
