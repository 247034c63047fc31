import type { Client, ListOptions, ResourceId } from './client.ts';
import type { KubeObject } from './object.ts';

/**
 * All objects of a resource, page by page, of one moment as far as the server remembers it. Throws what a list throws, in the middle
 * too: 410 where the reading took longer than the server remembers.
 */
export async function* pagesOf<T extends KubeObject = KubeObject>(
  client: Pick<Client, 'list'>,
  resource: ResourceId,
  namespace: string,
  options: ListOptions & { readonly limit: number },
): AsyncGenerator<readonly T[]> {
  let token: string | undefined;
  do {
    const page = await client.list<T>(resource, namespace, {
      ...options,
      ...(token === undefined ? {} : { continue: token }),
    });
    yield page.items;
    token = page.metadata.continue;
  } while (token !== undefined && token !== '');
}
