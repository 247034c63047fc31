import type { Stock } from '../../../dialects/kubestellar/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Change, Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { parseApiVersion } from '../../../kube/object.ts';
import { sleep } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { listAt, stringAt } from '../../../schema/json.ts';
import { servedResource } from '../../kubefed/index.ts';

/** The kinds that the hub serves, and the objects of those that somebody wants. Kinds come and go with their definitions. */
export interface WorkloadKinds {
  /** Whether it is known which kinds there are. */
  readonly known: boolean;
  /** By the plural name. */
  kindOf(group: string, resource: string): ResourceId | undefined;
  /** The plural name of a kind. */
  resourceOf(group: string, kind: string): string | undefined;
  /** Watches the kinds that are wanted and no others. Asked again when kinds come or go. */
  want(wanted: (kind: ResourceId) => boolean): void;
  /** Those of some of the kinds that are watched. */
  stocks(of: (kind: ResourceId) => boolean): readonly Stock[];
  /** Kinds that are wanted and not known yet: why, where it is known. */
  unread(): readonly { readonly kind: ResourceId; readonly failure?: string }[];
  objects(group: string, resource: string): Informer | undefined;
  /** Why it is not known what a group serves, where that is so: a server behind the API server may be away. */
  mystery(group: string): string | undefined;
  /** Begins to look, once. */
  open(): void;
  stop(): void;
}

export interface WorkloadKindsOptions {
  readonly client: Client;
  readonly definitions: Informer;
  readonly onObject: (kind: ResourceId, change: Change) => void;
  /** Kinds came, went, or became known. */
  readonly onKinds: () => void;
}

interface Watched {
  readonly kind: ResourceId;
  readonly informer: Informer;
  failure?: string;
}

interface ApiResource {
  readonly name?: string;
  readonly kind?: string;
  readonly namespaced?: boolean;
  readonly verbs?: readonly string[];
}

const RETRY_MS = 5_000;
/** Until groups that did not answer are asked again. */
const ASK_AGAIN_MS = 30_000;

export function openWorkloadKinds(runtime: Runtime, options: WorkloadKindsOptions): WorkloadKinds {
  const { client, definitions, onObject, onKinds } = options;
  /** What the API server serves without a definition; undefined until it was asked. */
  let builtIn: ReadonlyMap<string, ResourceId> | undefined;
  let table: ReadonlyMap<string, ResourceId> = new Map();
  /** By group and kind. */
  let plurals: ReadonlyMap<string, string> = new Map();
  let wanted: (kind: ResourceId) => boolean = () => false;
  let mysteries: ReadonlyMap<string, string> = new Map();
  let opened = false;
  let stopped = false;
  const watched = new Map<string, Watched>();

  async function discover(): Promise<void> {
    await definitions.whenSynced();
    while (!stopped && (!builtIn || mysteries.size > 0)) {
      if (builtIn) await sleep(runtime.clock, ASK_AGAIN_MS);
      try {
        const { kinds, failed } = await servedKinds(client);
        const defined = new Set(definitions.list().map(({ metadata }) => metadata.name));
        builtIn = new Map(
          kinds
            .filter(({ group, resource }) => !defined.has(`${resource}.${group}`))
            .map((kind) => [keyOf(kind), kind]),
        );
        mysteries = failed;
        for (const [group, why] of failed)
          runtime.log.warn('it is not known what an API group serves', { group, why });
        refresh(true);
      } catch (error) {
        runtime.log.warn('the kinds of the hub are not known yet', { why: errorText(error) });
        await sleep(runtime.clock, RETRY_MS);
      }
    }
  }

  function refresh(asked: boolean = false): void {
    if (stopped || !builtIn) return;
    const next = new Map(builtIn);
    for (const definition of definitions.list()) {
      const served = servedResource(definition);
      if (served) next.set(keyOf(served.resource), served.resource);
    }
    const isSame =
      next.size === table.size && [...next].every(([key, kind]) => table.get(key)?.version === kind.version);
    if (isSame && !asked) return;
    table = next;
    plurals = new Map([...table.values()].map(({ group, kind, resource }) => [`${group}/${kind}`, resource]));
    follow();
    onKinds();
  }

  function follow(): void {
    for (const [key, { kind, informer }] of watched) {
      const now = table.get(key);
      if (now?.version === kind.version && wanted(now)) continue;
      informer.stop();
      watched.delete(key);
    }
    for (const [key, kind] of table) if (!watched.has(key) && wanted(kind)) watch(key, kind);
  }

  function watch(key: string, kind: ResourceId): void {
    const informer = startInformer(runtime, client, kind, {
      onFailure(error) {
        entry.failure = errorText(error);
        if (!informer.synced) onKinds();
      },
    });
    const entry: Watched = { kind, informer };
    watched.set(key, entry);
    informer.onChange((change) => {
      if (informer.synced) onObject(kind, change);
    });
    informer.whenSynced().then(
      () => onKinds(),
      // It was stopped before: nobody wants it any more.
      () => undefined,
    );
  }

  const unsubscribe = definitions.onChange(() => refresh());

  return {
    get known() {
      return builtIn !== undefined;
    },
    kindOf: (group, resource) => table.get(`${group}/${resource}`),
    resourceOf: (group, kind) => plurals.get(`${group}/${kind}`),
    want(which): void {
      wanted = which;
      follow();
    },
    stocks: (of) =>
      [...watched.values()]
        .filter(({ kind, informer }) => informer.synced && of(kind))
        .map(({ kind, informer }) => ({ kind, objects: informer.list() })),
    unread: () =>
      [...watched.values()]
        .filter(({ informer }) => !informer.synced)
        .map(({ kind, failure }) => (failure === undefined ? { kind } : { kind, failure })),
    mystery: (group) => mysteries.get(group),
    objects: (group, resource) => watched.get(`${group}/${resource}`)?.informer,
    open(): void {
      if (opened) return;
      opened = true;
      discover().catch((error: unknown) => {
        if (!stopped) runtime.log.error('the kinds of the hub cannot be known', { why: errorText(error) });
      });
    },
    stop(): void {
      stopped = true;
      unsubscribe();
      for (const { informer } of watched.values()) informer.stop();
    },
  };
}

function keyOf({ group, resource }: Pick<ResourceId, 'group' | 'resource'>): string {
  return `${group}/${resource}`;
}

/** Every kind that can be watched, in the version that its group prefers of those that have it; and groups that do not answer. */
async function servedKinds(
  client: Client,
): Promise<{ readonly kinds: readonly ResourceId[]; readonly failed: ReadonlyMap<string, string> }> {
  const found = new Map<string, ResourceId>();
  const failed = new Map<string, string>();
  const take = async (groupVersion: string): Promise<void> => {
    const { group, version } = parseApiVersion(groupVersion);
    const path = group === '' ? `/api/${version}` : `/apis/${groupVersion}`;
    let list: { readonly resources?: readonly ApiResource[] };
    try {
      list = await client.getJson(path);
    } catch (error) {
      // Also a 404, with which servers behind others answer that are not well: what went is not listed the next time.
      if (group === '') throw error;
      failed.set(group, errorText(error));
      return;
    }
    for (const { name = '', kind = '', namespaced = false, verbs = [] } of list.resources ?? []) {
      const resource: ResourceId = { group, version, resource: name, kind, namespaced };
      if (name.includes('/') || !verbs.includes('list') || !verbs.includes('watch')) continue;
      if (!found.has(keyOf(resource))) found.set(keyOf(resource), resource);
    }
  };
  await take('v1');
  const groups = listAt(await client.getJson<KubeObject>('/apis'), 'groups');
  for (const group of groups) {
    const preferred = stringAt(group, 'preferredVersion', 'groupVersion');
    const others = listAt(group, 'versions').flatMap((item) => stringAt(item, 'groupVersion') ?? []);
    for (const version of new Set([...(preferred === undefined ? [] : [preferred]), ...others]))
      await take(version);
  }
  return { kinds: [...found.values()], failed };
}
