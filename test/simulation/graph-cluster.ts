import {
  type ApiServer,
  type AuditEvent,
  createApiServer,
  type StorageDriver,
} from '../../src/apiserver/index.ts';
import {
  GRAPH,
  GRAPH_REVISION,
  GRAPH_ROLLOUT,
  HUB_OBJECT_KIND,
  RESOURCE_GRAPH_DEFINITION,
} from '../../src/dialects/kro/index.ts';
import type { Client } from '../../src/kube/client.ts';
import { installKinds } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { type VirtualRuntime, virtualRuntime } from '../../src/runtime/index.ts';
import { type Graphs, type GraphsOptions, startGraphs } from '../../src/spoke/graphs/index.ts';
import { untilHolds, whileTimePasses } from '../../src/testing/moving-time.ts';
import { faultyStorage } from './rig/faults.ts';

export type GraphSettings = Omit<GraphsOptions, 'client' | 'version'> & {
  readonly version?: string;
  /** Stands between the engine and the API server. */
  readonly network?: (handler: Handler) => Handler;
  /** Who the engine is; may do everything by default. */
  readonly user?: { readonly name: string; readonly groups: readonly string[] };
};

/** One cluster that runs resource graphs, and nothing else: an API server and the engine, on a virtual clock. */
export interface GraphCluster {
  readonly runtime: VirtualRuntime;
  readonly server: ApiServer;
  /** With the administrator's rights. */
  readonly client: Client;
  readonly audit: AuditEvent[];
  readonly graphs: Graphs | undefined;
  /** Starts the engine, again where it was stopped. */
  start(settings?: GraphSettings): void;
  stop(): Promise<void>;
  /** Ends engine and API server; what is stored stays. */
  kill(): Promise<void>;
  revive(settings?: GraphSettings): Promise<void>;
  run<T>(work: Promise<T>): Promise<T>;
  until(condition: () => boolean, what: string, limitMs?: number): Promise<void>;
  rest(ms: number): Promise<void>;
  /** Applies an object as somebody; into the namespace `default` where it names none. */
  write(object: KubeObject, manager?: string): Promise<KubeObject>;
  remove(apiVersion: string, kind: string, name: string, namespace?: string): Promise<void>;
  /** What is stored, read past the API: `group/resource/namespace/name`. */
  stored(path: string): KubeObject | undefined;
  below(path: string): KubeObject[];
  /** Requests of the engine. */
  asked(verbs?: readonly string[], resource?: string): AuditEvent[];
}

export const ENGINE_USER: { readonly name: string; readonly groups: readonly string[] } = {
  name: 'graph-engine',
  groups: ['system:masters'],
};
const ADMINISTRATOR = { name: 'admin', groups: ['system:masters'] };

export async function startGraphCluster(
  settings: GraphSettings = {},
  storage: StorageDriver = faultyStorage(),
): Promise<GraphCluster> {
  const runtime = virtualRuntime(7);
  const { clock } = runtime;
  const audit: AuditEvent[] = [];
  const state: { server?: ApiServer; client?: Client; graphs?: Graphs | undefined; settings: GraphSettings } =
    {
      settings,
    };
  const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(clock, work);
  const server = (): ApiServer => state.server as ApiServer;
  const key = (path: string): string => {
    const [group = '', resource = '', ...rest] = path.split('/');
    return `/${group}/${resource}/root/${rest.join('/')}`;
  };

  async function serve(): Promise<void> {
    state.server = await run(createApiServer({ runtime, storage, audit: (event) => void audit.push(event) }));
    state.client = createClient(server().as(ADMINISTRATOR));
    await run(
      installKinds(clock, state.client, [
        RESOURCE_GRAPH_DEFINITION,
        GRAPH_REVISION,
        GRAPH,
        GRAPH_ROLLOUT,
        HUB_OBJECT_KIND,
      ]),
    );
  }

  const cluster: GraphCluster = {
    runtime,
    get server() {
      return server();
    },
    get client() {
      return state.client as Client;
    },
    audit,
    get graphs() {
      return state.graphs;
    },
    start(next = state.settings) {
      state.settings = next;
      const { network, user = ENGINE_USER, version = 'test', ...options } = next;
      const handler = server().as({ ...user, groups: [...user.groups] });
      const client = createClient(network ? network(handler) : handler, { clock });
      state.graphs = startGraphs(runtime, { ...options, client, version });
    },
    async stop() {
      const { graphs } = state;
      state.graphs = undefined;
      if (graphs) await run(graphs.stop());
    },
    async kill() {
      await cluster.stop();
      await run(server().close());
    },
    async revive(next) {
      await serve();
      cluster.start(next);
    },
    run,
    until: (condition, what, limitMs) => untilHolds(clock, condition, what, limitMs),
    rest: (ms) => clock.advance(ms),
    write: (object, manager = 'someone') =>
      run(
        (async () => {
          const client = cluster.client;
          const resource = await client.resourceFor(object.apiVersion, object.kind);
          const placed = resource.namespaced
            ? { ...object, metadata: { namespace: 'default', ...object.metadata } }
            : object;
          return client.apply(resource, placed, { fieldManager: manager, force: true });
        })(),
      ),
    async remove(apiVersion, kind, name, namespace = 'default') {
      const resource = await run(cluster.client.resourceFor(apiVersion, kind));
      await run(cluster.client.delete(resource, resource.namespaced ? namespace : '', name));
    },
    stored: (path) => server().store.get(key(path))?.object,
    below: (path) =>
      server()
        .store.list(`${key(path)}/`)
        .records.map(({ object }) => object),
    asked: (verbs, resource) =>
      audit.filter(
        ({ verb, user, objectRef }) =>
          user.username === (state.settings.user ?? ENGINE_USER).name &&
          (verbs === undefined || verbs.includes(verb)) &&
          (resource === undefined || objectRef?.resource === resource),
      ),
  };
  await serve();
  cluster.start();
  return cluster;
}

/** Words of tests about definitions called `shop` and their instances. */
export interface ShopWords {
  rgd(name?: string): KubeObject | undefined;
  map(name: string, namespace?: string): KubeObject | undefined;
  shop(name?: string): KubeObject | undefined;
  /** Applies a definition and waits until it is served as it says. */
  served(object: KubeObject): Promise<void>;
  active(name?: string): Promise<void>;
}

export function shopWords(of: () => GraphCluster): ShopWords {
  const words: ShopWords = {
    rgd: (name = 'shop') => of().stored(`kro.run/resourcegraphdefinitions/-/${name}`),
    map: (name, namespace = 'default') => of().stored(`core/configmaps/${namespace}/${name}`),
    shop: (name = 'one') => of().stored(`kro.run/shops/default/${name}`),
    async served(object) {
      const { name = '' } = object.metadata;
      const { metadata } = await of().write(object);
      const ready = (): boolean => {
        const now = words.rgd(name);
        const { conditions = [] } = (now?.['status'] ?? {}) as {
          conditions?: { type: string; status: string; observedGeneration?: number }[];
        };
        const found = conditions.find(({ type }) => type === 'Ready');
        return found?.status === 'True' && (found.observedGeneration ?? 0) >= (metadata.generation ?? 0);
      };
      await of()
        .until(ready, `${name} ready`)
        .catch((error: unknown) => {
          throw new Error(JSON.stringify(words.rgd(name)?.['status']), { cause: error });
        });
    },
    async active(name = 'one') {
      await of()
        .until(() => stateOf(words.shop(name)) === 'ACTIVE', `${name} active`)
        .catch((error: unknown) => {
          throw new Error(JSON.stringify(words.shop(name)?.['status']), { cause: error });
        });
    },
  };
  return words;
}

export function stateOf(object: KubeObject | undefined): string {
  return ((object?.['status'] ?? {}) as { state?: string }).state ?? '';
}

export function dataOf(object: KubeObject | undefined): Record<string, string> {
  return (object?.['data'] ?? {}) as Record<string, string>;
}

export function configMap(id: string, name: string, content: object = {}, more: object = {}): object {
  return {
    id,
    template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: content },
    ...more,
  };
}

/** A definition of Shops; `schema` holds whatever else it shall say of its API. */
export function shopDefinition(
  resources: readonly object[],
  schema: object = { spec: { colour: 'string | default=red' } },
  name = 'shop',
): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name },
    spec: { schema: { apiVersion: 'v1alpha1', kind: 'Shop', ...schema }, resources },
  };
}

export function shopInstance(spec: object = {}, name = 'one', metadata: object = {}): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name, ...metadata }, spec };
}
