import { type Response, readBody } from '../../kube/exchange.ts';
import { parseJsonBody } from '../../schema/decode.ts';
import { at, isObject, listAt, stringAt } from '../../schema/json.ts';
import type { DiscoveredResource } from '../discovery/index.ts';
import type { Verb } from '../resource.ts';
import type { RemoteService } from './remote-service.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** The resources of an `APIResourceList`. Throws an Error that says what is wrong with the answer. */
export async function remoteResources(
  { group, version }: RemoteService,
  response: Response,
): Promise<DiscoveredResource[]> {
  const body = await readBody(response, MAX_BYTES);
  if (response.status !== 200) throw new Error(`bad status from its discovery: ${response.status}`);
  const decoded = parseJsonBody(body, { maxBytes: MAX_BYTES });
  if (!decoded.ok) throw new Error(`its discovery is no JSON: ${decoded.message}`);
  if (stringAt(decoded.value, 'groupVersion') !== `${group}/${version}`)
    throw new Error(`its discovery is not about ${group}/${version}`);
  const rows = listAt(decoded.value, 'resources').filter(isObject);
  const textOf = (row: unknown, key: string): string => stringAt(row, key) ?? '';
  const textsOf = (row: unknown, key: string): string[] =>
    listAt(row, key).filter((item) => typeof item === 'string');
  const verbsOf = (row: unknown): Verb[] => textsOf(row, 'verbs') as Verb[];
  return rows
    .filter((row) => !textOf(row, 'name').includes('/') && textOf(row, 'name') !== '')
    .map((row): DiscoveredResource => {
      const name = textOf(row, 'name');
      const hash = textOf(row, 'storageVersionHash');
      return {
        group,
        version,
        storageVersion: version,
        storageVersionHash: hash,
        resource: name,
        singular: textOf(row, 'singularName'),
        kind: textOf(row, 'kind'),
        namespaced: at(row, 'namespaced') === true,
        verbs: verbsOf(row),
        shortNames: textsOf(row, 'shortNames'),
        categories: textsOf(row, 'categories'),
        // It comes as its server lists it.
        custom: true,
        subresources: rows
          .filter((sub) => textOf(sub, 'name').startsWith(`${name}/`))
          .map((sub) => ({
            name: textOf(sub, 'name').slice(name.length + 1),
            verbs: verbsOf(sub),
            kind: textOf(sub, 'kind'),
            ...(textOf(sub, 'version') === ''
              ? {}
              : { group: textOf(sub, 'group'), version: textOf(sub, 'version') }),
          })),
      };
    });
}
