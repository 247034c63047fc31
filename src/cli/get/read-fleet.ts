import type { MissingCluster } from '../../hub/access/index.ts';
import { readFailure, readJson } from '../../kube/answer.ts';
import type { ResourceId } from '../../kube/client.ts';
import { type Handler, prefixedHandler } from '../../kube/exchange.ts';
import { lines } from '../../kube/json-lines.ts';
import { resourcePath } from '../../kube/resource-path.ts';
import { createClient } from '../../kube/rest-client.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { type NamedResource, readResources, resourceNamed } from '../kind-name.ts';

export type Scope = 'hub' | 'members' | 'all';

/** What is asked for, on whichever servers. */
export interface Asked {
  readonly kind: string;
  readonly name?: string;
  /** '' for all. */
  readonly namespace: string;
  readonly selector?: string;
  readonly fieldSelector?: string;
  /** Names, or a selector over SpokeClusters. */
  readonly clusters?: string;
  readonly chunkSize: number;
}

/** One page of an answer: a list or a Table. */
export interface Page {
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly Record<string, unknown>[];
  readonly missing?: readonly MissingCluster[];
  readonly [field: string]: unknown;
}

/** One of the two places where things are: the hub itself, and all its spokes. */
export interface Place {
  readonly handler: Handler;
  readonly resource: ResourceId;
  /** Of the collection, with the query that both list and watch have. */
  readonly path: string;
}

export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/** The API of all spokes at the hub. */
export function fleetHandler(hub: Handler): Handler {
  return prefixedHandler(hub, '/fleet');
}

/** Where to ask. Throws an Error with similar names for a kind that is not served. */
export async function placesOf(
  hub: Handler,
  scope: Scope,
  asked: Asked,
): Promise<{ readonly hub?: Place; readonly members?: Place }> {
  const fleet = fleetHandler(hub);
  const place = async (handler: Handler, isFleet: boolean): Promise<Place> => {
    const resource = resourceNamed(await resourcesOf(handler, hub), asked.kind);
    return { handler, resource, path: collectionPath(resource, asked, isFleet) };
  };
  const members = scope === 'hub' ? undefined : await place(fleet, true);
  try {
    const own = scope === 'members' ? undefined : await place(hub, false);
    return { ...(own ? { hub: own } : {}), ...(members ? { members } : {}) };
  } catch (error) {
    // What the hub does not serve it has none of.
    if (members && !(error instanceof StatusError)) return { members };
    throw error;
  }
}

/** Where no spoke can tell what it serves, the hub's own kinds are a good guess: the answer says then who is away. */
async function resourcesOf(handler: Handler, hub: Handler): Promise<NamedResource[]> {
  try {
    return await readResources(createClient(handler, { userAgent: 'atoll-cli' }));
  } catch (error) {
    if (!hasCode(error, 503)) throw error;
    return readResources(createClient(hub, { userAgent: 'atoll-cli' }));
  }
}

function collectionPath(resource: ResourceId, asked: Asked, isFleet: boolean): string {
  const query = new URLSearchParams();
  if (asked.selector !== undefined) query.set('labelSelector', asked.selector);
  const fields = [
    ...(asked.fieldSelector === undefined ? [] : [asked.fieldSelector]),
    ...(asked.name === undefined ? [] : [`metadata.name=${asked.name}`]),
  ];
  if (fields.length > 0) query.set('fieldSelector', fields.join(','));
  if (isFleet && asked.clusters !== undefined)
    query.set(isSelector(asked.clusters) ? 'clusterSelector' : 'cluster', asked.clusters);
  return `${resourcePath(resource, resource.namespaced ? asked.namespace : '')}?${query}`;
}

/** `env=prod`, `env in (a,b)`, `!env`; otherwise names by comma. */
function isSelector(text: string): boolean {
  return /[=!()]|\sin\s|\snotin\s/.test(text);
}

/** All pages of a list. */
export async function* pages(
  place: Place,
  accept: string,
  chunkSize: number,
): AsyncGenerator<Page, void, undefined> {
  let token = '';
  do {
    const more = `${chunkSize > 0 ? `&limit=${chunkSize}` : ''}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
    const path = place.path + more;
    const response = await place.handler({
      method: 'GET',
      path,
      headers: { accept, 'user-agent': 'atoll-cli' },
    });
    const page = await readJson<Page>(response, path);
    yield page;
    token = page.metadata?.continue ?? '';
  } while (token !== '');
}

/** The changes after a list. Ends when the server ends it. */
export async function* changes(
  place: Place,
  accept: string,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<{ readonly type: string; readonly object: Page }, void, undefined> {
  const path = `${place.path}&watch=true&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(resourceVersion)}`;
  const response = await place.handler({
    method: 'GET',
    path,
    headers: { accept, 'user-agent': 'atoll-cli' },
    signal,
  });
  if (response.status !== 200) throw await readFailure(response, path);
  for await (const line of lines(response)) {
    const event = JSON.parse(line) as { type: string; object: Page };
    if (event.type === 'ERROR') throw new StatusError(event.object as unknown as StatusError['status']);
    yield event;
  }
}
