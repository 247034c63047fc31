import { stringify } from 'yaml';
import { CLUSTER_ANNOTATION, type MissingCluster } from '../../hub/access/index.ts';
import { formatApiVersion, type ObjectMeta } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { parseTime, sleep } from '../../runtime/clock.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { type AskingOptions, agoText, ask, harmless, type Paint } from '../output.ts';
import { type FleetLines, fleetLines, HUB_ITSELF, linesText, type ServerTable } from './fleet-table.ts';
import {
  type Asked,
  changes,
  type Page,
  type Place,
  pages,
  placesOf,
  type Scope,
  TABLE,
} from './read-fleet.ts';

export interface GetOptions extends Omit<AskingOptions, 'output'> {
  readonly output?: 'wide' | 'json' | 'yaml' | 'name';
  readonly namespace?: string;
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly clusters?: string;
  readonly watch: boolean;
  readonly chunkSize: number;
  readonly operationScope: Scope;
}

/** The answer is there, and part of it is not. */
const PARTIAL = 2;
/** A watch that ends at once is begun again no faster than that. */
const REWATCH_MS = 1_000;

/** `atoll get`: objects of all spokes, as the spokes have them now. */
export function showFleet(kind: string, name: string | undefined, options: GetOptions): Promise<void> {
  const { output: format, ...asking } = options;
  return ask(asking, async ({ hub, now, paint }) => {
    const asked: Asked = {
      ...askedObject(kind, name),
      namespace: options.allNamespaces ? '' : (options.namespace ?? hub.namespace),
      ...(options.selector === undefined ? {} : { selector: options.selector }),
      ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
      ...(options.clusters === undefined ? {} : { clusters: options.clusters }),
      chunkSize: options.chunkSize,
    };
    const places = await placesOf(hub.client.handler, options.operationScope, asked);
    const isTable = format === undefined || format === 'wide';
    const accept = isTable ? TABLE : 'application/json';
    const found = await Promise.all([
      readPlace(places.hub, accept, asked),
      readPlace(places.members, accept, asked),
    ]);
    const missing = found.flatMap((part) => part?.missing ?? []);
    const [own, members] = found;
    const namespaced = (places.members ?? places.hub)?.resource.namespaced === true;
    const columns = fleetLines({
      namespace: namespaced && asked.namespace === '',
      wide: format === 'wide',
      adoption: format === 'wide' || options.operationScope !== 'members',
    });
    if (isTable) printTable(columns, own?.pages ?? [], members?.pages ?? [], options.watch, paint);
    else
      printObjects(format, [
        ...objectsOf(places.hub, own?.pages, HUB_ITSELF),
        ...objectsOf(places.members, members?.pages),
      ]);
    process.stderr.write(missingText(missing, now));
    if (!options.watch) return missing.length > 0 ? PARTIAL : 0;
    const place = places.members ?? places.hub;
    if (place === undefined) return 0;
    const since = (places.members ? members : own)?.pages.at(-1)?.metadata?.resourceVersion ?? '';
    await follow(place, accept, since, asked, (object) => {
      if (isTable) {
        const cluster = places.members ? undefined : HUB_ITSELF;
        for (const line of columns.lines(object as ServerTable, cluster))
          process.stdout.write(`${harmless(line).join('   ')}\n`);
      } else printObjects(format, [object as Record<string, unknown>]);
    });
    return 0;
  });
}

/** `deploy`, `deploy web` or `deploy/web`. Throws an Error for what kubectl takes and this does not. */
export function askedObject(kind: string, name: string | undefined): Pick<Asked, 'kind' | 'name'> {
  if (kind.includes(',')) throw new Error(`one kind at a time: ${kind.split(',').join(', or ')}`);
  const [first = '', second, ...more] = kind.split('/');
  if (more.length > 0 || second === '' || (second !== undefined && name !== undefined))
    throw new Error('name one object as <kind>/<name> or <kind> <name>');
  const wanted = second ?? name;
  return { kind: first, ...(wanted === undefined ? {} : { name: wanted }) };
}

async function readPlace(
  place: Place | undefined,
  accept: string,
  { chunkSize }: Asked,
): Promise<{ readonly pages: Page[]; readonly missing: MissingCluster[] } | undefined> {
  if (place === undefined) return undefined;
  const found: Page[] = [];
  const missing = new Map<string, MissingCluster>();
  for await (const page of pages(place, accept, chunkSize)) {
    found.push(page);
    for (const each of page.missing ?? []) missing.set(each.cluster, each);
  }
  return { pages: found, missing: [...missing.values()] };
}

function printTable(
  columns: FleetLines,
  own: readonly Page[],
  members: readonly Page[],
  watch: boolean,
  paint: Paint,
): void {
  const found = [
    ...own.flatMap((page) => columns.lines(page as ServerTable, HUB_ITSELF)),
    ...members.flatMap((page) => columns.lines(page as ServerTable)),
  ];
  if (found.length === 0 && !watch) process.stderr.write('No resources found.\n');
  else process.stdout.write(linesText(columns.head(), harmless(found), paint));
}

/** Items of lists do not say what they are. */
function objectsOf(
  place: Place | undefined,
  found: readonly Page[] = [],
  cluster?: string,
): Record<string, unknown>[] {
  if (place === undefined) return [];
  const { group, version, kind } = place.resource;
  return found
    .flatMap((page) => page.items ?? [])
    .map((item) => {
      const metadata = (item['metadata'] ?? {}) as ObjectMeta;
      const annotations = {
        ...metadata.annotations,
        ...(cluster === undefined ? {} : { [CLUSTER_ANNOTATION]: cluster }),
      };
      return {
        apiVersion: formatApiVersion(group, version),
        kind,
        ...item,
        metadata: { ...metadata, annotations },
      };
    });
}

function printObjects(format: GetOptions['output'], items: readonly Record<string, unknown>[]): void {
  if (format === 'name') {
    for (const { kind, metadata } of items as { kind?: string; metadata?: ObjectMeta }[]) {
      const parts = [
        metadata?.annotations?.[CLUSTER_ANNOTATION],
        metadata?.namespace,
        kind?.toLowerCase(),
        metadata?.name,
      ];
      process.stdout.write(
        `${harmless(parts.filter((part) => part !== undefined && part !== '').join('/'))}\n`,
      );
    }
    return;
  }
  const list = items.length === 1 && items[0] ? items[0] : { apiVersion: 'v1', kind: 'List', items };
  process.stdout.write(
    format === 'yaml'
      ? `---\n${stringify(list, { lineWidth: 0, aliasDuplicateObjects: false })}`
      : `${JSON.stringify(list, null, 2)}\n`,
  );
}

function missingText(missing: readonly MissingCluster[], now: number): string {
  return missing
    .map(({ cluster, message, seenUntil }) => {
      const seen = parseTime(seenUntil);
      const why = message.replace(/\. What was last known: .*$/s, '');
      return harmless(`missing: ${cluster}, last seen ${agoText(seen, now)}: ${why}\n`);
    })
    .join('');
}

/** Until the user ends it. What the server ends is begun again where it was. */
async function follow(
  place: Place,
  accept: string,
  since: string,
  asked: Asked,
  show: (object: Page) => void,
): Promise<void> {
  const stopping = new AbortController();
  let version = since;
  for (;;) {
    try {
      for await (const { type, object } of changes(place, accept, version, stopping.signal)) {
        version = versionOf(object) ?? version;
        if (type !== 'BOOKMARK') show(object);
      }
    } catch (error) {
      if (!hasCode(error, 410)) throw error;
      // A cluster has forgotten where the watch was: everything is shown again as it is now.
      const again = await readPlace(place, accept, asked);
      for (const page of again?.pages ?? []) show(page);
      version = again?.pages.at(-1)?.metadata?.resourceVersion ?? '';
    }
    await sleep(systemClock(), REWATCH_MS);
  }
}

function versionOf(object: Page): string | undefined {
  return object.metadata?.resourceVersion || undefined;
}
