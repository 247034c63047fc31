import type { Clock } from '../runtime/clock.ts';
import type { ReadOptions, ResourceId } from './client.ts';
import { parseApiVersion } from './object.ts';
import { failure, hasCode, type StatusError } from './status-error.ts';

interface ApiResourceList {
  groupVersion?: string;
  resources?: { name?: string; kind?: string; namespaced?: boolean }[];
}

interface Known {
  /** By kind. */
  readonly resources: ReadonlyMap<string, ResourceId>;
  readonly askedAt: number;
}

/** At most one question in this time for kinds that a group version does not serve (needs a clock). */
const ASK_AGAIN_AFTER_MS = 500;

export interface Discovery {
  resourceFor(apiVersion: string, kind: string): Promise<ResourceId>;
}

/** How whoever found a resource forgets it: clients that act for others share what one of them has found. */
const forgetters = new WeakMap<ResourceId, () => void>();

/** A resource was not served where it was found: its definition was made anew with another plural or scope, or it is gone. */
export function missed(resource: ResourceId): void {
  forgetters.get(resource)?.();
}

/** The error of a kind that the API does not serve. */
export function noKindMatch(apiVersion: string, kind: string): StatusError {
  return failure(404, 'NoKindMatch', `no matches for kind "${kind}" in version "${apiVersion}"`, {
    ...(parseApiVersion(apiVersion).group === '' ? {} : { group: parseApiVersion(apiVersion).group }),
    kind,
  });
}

/**
 * Finds resources in the discovery document of their group version, which is fetched when first needed and once more
 * for a kind that it does not hold. Questions for the same document that come at the same time share one exchange.
 */
export function createDiscovery(
  getJson: <T>(path: string, options?: ReadOptions) => Promise<T>,
  clock?: Clock,
): Discovery {
  const known = new Map<string, Known>();
  const asking = new Map<string, Promise<Known>>();
  const now = (): number => clock?.monotonic() ?? 0;

  async function ask(apiVersion: string): Promise<Known> {
    const { group, version } = parseApiVersion(apiVersion);
    let list: ApiResourceList;
    try {
      list = await getJson<ApiResourceList>(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      list = {};
    }
    const resources = new Map<string, ResourceId>();
    for (const { name, kind, namespaced } of list.resources ?? []) {
      if (name === undefined || kind === undefined || name.includes('/') || resources.has(kind)) continue;
      resources.set(kind, { group, version, resource: name, kind, namespaced: namespaced === true });
    }
    const found: Known = { resources, askedAt: now() };
    known.set(apiVersion, found);
    for (const resource of resources.values()) forgetters.set(resource, () => forget(apiVersion, resource));
    return found;
  }

  /** Whoever keeps a resource for long may have found it long before what is known now: what is served goes on being told for a while. */
  function forget(apiVersion: string, { kind, resource, namespaced }: ResourceId): void {
    const present = known.get(apiVersion);
    const hit = present?.resources.get(kind);
    if (!present || hit?.resource !== resource || hit.namespaced !== namespaced) return;
    // A subresource that is missing must not have everything asked for again each time.
    const isRecent = clock !== undefined && now() - present.askedAt < ASK_AGAIN_AFTER_MS;
    if (!isRecent) known.delete(apiVersion);
  }

  function askOnce(apiVersion: string): Promise<Known> {
    const running = asking.get(apiVersion);
    if (running) return running;
    const started = ask(apiVersion).finally(() => asking.delete(apiVersion));
    asking.set(apiVersion, started);
    return started;
  }

  return {
    async resourceFor(apiVersion, kind) {
      const before = known.get(apiVersion);
      const hit = before?.resources.get(kind);
      if (hit) return hit;
      if (before && clock && now() - before.askedAt < ASK_AGAIN_AFTER_MS) throw noKindMatch(apiVersion, kind);
      const resource = (await askOnce(apiVersion)).resources.get(kind);
      if (!resource) throw noKindMatch(apiVersion, kind);
      return resource;
    },
  };
}
