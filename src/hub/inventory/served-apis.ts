import type { ApiEnablement } from '../../dialects/kubevela/types.ts';
import { readFailure } from '../../kube/answer.ts';
import type { Client } from '../../kube/client.ts';
import { readBody } from '../../kube/exchange.ts';
import { listAt, stringAt } from '../../schema/json.ts';
import { parseJson } from '../../schema/json-text.ts';
import { sharedValues } from './shared-values.ts';

/** What a cluster serves, and the marks by which it says that this is still so. */
export interface ServedApis {
  readonly all: readonly ApiEnablement[];
  readonly parts: ReadonlyMap<string, { readonly tag: string; readonly apis: readonly ApiEnablement[] }>;
}

/** The core group changes only with the release of the server; definitions bring the others and take them. */
const CORE_PATH = '/api';
const PATHS = [CORE_PATH, '/apis'] as const;
const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
const MAX_BYTES = 8 * 1024 * 1024;
/** A cluster must not fill its hub: who serves more than this counts as one of which nobody knows. */
const MAX_KINDS = 5_000;

/**
 * What a cluster serves, by its discovery. A cluster that has nothing new answers with a line, and is asked for the core group
 * only where that `mayHaveChanged`. The same object as `before` where nothing is new; `undefined` where the cluster cannot tell all
 * of it in one answer, or not now.
 */
export async function readServedApis(
  client: Client,
  before: ServedApis | undefined,
  mayHaveChanged: boolean,
  signal: AbortSignal,
): Promise<ServedApis | undefined> {
  const parts = new Map<string, { tag: string; apis: readonly ApiEnablement[] }>();
  let isSame = before !== undefined;
  for (const path of PATHS) {
    const known = before?.parts.get(path);
    if (path === CORE_PATH && known && !mayHaveChanged) {
      parts.set(path, known);
      continue;
    }
    const response = await client.handler({
      method: 'GET',
      path,
      headers: { accept: ACCEPT, ...(known?.tag ? { 'if-none-match': known.tag } : {}) },
      signal,
    });
    if (response.status === 304 && known) {
      await readBody(response, 1024);
      parts.set(path, known);
      continue;
    }
    if (response.status !== 200) throw await readFailure(response, path);
    const apis = enablementsOf(parseJson(Buffer.from(await readBody(response, MAX_BYTES)).toString('utf8')));
    if (!apis) return undefined;
    isSame = false;
    parts.set(path, { tag: response.headers.etag ?? '', apis });
  }
  if (isSame) return before;
  const all = PATHS.flatMap((path) => parts.get(path)?.apis ?? []);
  const total = all.reduce((sum, { kinds }) => sum + kinds.length, 0);
  return total > MAX_KINDS ? undefined : { all, parts };
}

/** The same object for clusters that serve the same under the same marks. */
export function sharedServedApis(): (served: ServedApis) => ServedApis {
  return sharedValues(({ all, parts }) =>
    JSON.stringify([all, [...parts].map(([path, { tag, apis }]) => [path, tag, apis.length])]),
  );
}

/** Of an APIGroupDiscoveryList; `undefined` for anything else, and where a part of it is of an API server that is away. */
function enablementsOf(document: unknown): ApiEnablement[] | undefined {
  if (stringAt(document, 'kind') !== 'APIGroupDiscoveryList') return undefined;
  const apis: ApiEnablement[] = [];
  for (const group of listAt(document, 'items')) {
    const name = stringAt(group, 'metadata', 'name') ?? '';
    for (const version of listAt(group, 'versions')) {
      if (stringAt(version, 'freshness') === 'Stale') return undefined;
      const word = stringAt(version, 'version') ?? '';
      const kinds = listAt(version, 'resources')
        .map((resource) => stringAt(resource, 'responseKind', 'kind') ?? '')
        .filter((kind) => kind !== '');
      apis.push({
        groupVersion: name === '' ? word : `${name}/${word}`,
        kinds: [...new Set(kinds)].sort(),
      });
    }
  }
  return apis.sort((a, b) => (a.groupVersion < b.groupVersion ? -1 : 1));
}
