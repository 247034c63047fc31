// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionOf,
  removeFrom,
  type SimulatedCluster,
  type SimulatedFleet,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';

export const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';

export const statusField = (object: KubeObject | undefined, name: string): unknown =>
  ((object?.['status'] ?? {}) as Record<string, unknown>)[name];

export const app = (target: SimulatedCluster, name = 'shop'): KubeObject | undefined =>
  stored(target, `kro.run/fullstackapps/default/${name}`);

export const map = (target: SimulatedCluster, name: string, namespace = 'default'): KubeObject | undefined =>
  stored(target, `core/configmaps/${namespace}/${name}`);

export const field = (object: KubeObject | undefined, name: string): string | undefined =>
  (object?.['data'] as Record<string, string> | undefined)?.[name];

export const below = (target: SimulatedCluster, path: string): KubeObject[] => {
  const [group = '', resource = ''] = path.split('/');
  return target.server.store.list(`/${group}/${resource}/root/`).records.map(({ object }) => object);
};

export const on = (target: SimulatedCluster, plural: string): KubeObject[] =>
  below(target, `kro.run/${plural}`);

export const rgd = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `kro.run/resourcegraphdefinitions/-/${name}`);

export const wishes = (target: SimulatedCluster): KubeObject[] =>
  storedBelow(target, 'atoll.dev/hubobjects/-');

export const replies = (target: SimulatedCluster): KubeObject[] =>
  storedBelow(target, 'atoll.dev/hubreplies/-');

export const conditions = (object: KubeObject | undefined): string =>
  JSON.stringify((object?.['status'] as { conditions?: unknown } | undefined)?.conditions ?? []);

export function graph(
  name: string,
  kind: string,
  resources: readonly object[],
  more: { readonly hubOnly?: boolean; readonly spec?: object; readonly status?: object } & object = {},
): KubeObject {
  const { hubOnly = false, spec = {}, status, ...metadata } = more;
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name, ...(hubOnly && { labels: { 'kro.run/distribute': 'false' } }), ...metadata },
    spec: { schema: { apiVersion: 'v1alpha1', kind, spec, ...(status && { status }) }, resources },
  };
}

export function node(
  id: string,
  kind: string,
  spec: object,
  more: object = {},
  metadata: object = {},
): object {
  return {
    id,
    template: {
      apiVersion: 'kro.run/v1alpha1',
      kind,
      metadata: { name: '${schema.metadata.name}', ...metadata },
      spec,
    },
    ...more,
  };
}

export function leaf(id: string, data: object, more: object = {}, metadata: object = {}): object {
  const name = `\${schema.metadata.name}-${id}`;
  return {
    id,
    template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data },
    ...more,
  };
}

export const DATABASE: KubeObject = graph(
  'database',
  'Database',
  [
    leaf('db', {
      size: '${schema.spec.size}',
      url: 'pg://${schema.metadata.name}.${schema.metadata.namespace}',
    }),
  ],
  {
    hubOnly: true,
    spec: { size: 'string' },
    status: { connectionString: '${db.data.url}', secret: '${db.data.size}' },
  },
);

export const WEB: KubeObject = graph('web', 'WebApplication', [leaf('web', { url: '${schema.spec.url}' })], {
  hubOnly: true,
  spec: { url: 'string' },
  status: { address: '${web.metadata.name}' },
});

export const FULL_STACK: KubeObject = graph(
  'full-stack',
  'FullStackApp',
  [
    node(
      'database',
      'Database',
      { size: '${schema.spec.size}' },
      { readyWhen: ['${database.status.connectionString != ""}'] },
    ),
    node('web', 'WebApplication', { url: '${database.status.connectionString}' }),
    leaf('note', { url: '${database.status.connectionString}' }),
  ],
  { spec: { size: 'string | default=small' }, status: { url: '${database.status.connectionString}' } },
);

export function instance(name = 'shop', spec: object = {}, metadata: object = {}): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'FullStackApp', metadata: { name, ...metadata }, spec };
}

/** Words of tests about graphs whose instances have parts on the hub. */
export interface CompositionWords {
  /** Writes definitions at the hub, and waits until those that go to clusters are there. */
  publish(graphs: readonly KubeObject[]): Promise<void>;
  write(target: SimulatedCluster, object: KubeObject): Promise<KubeObject>;
  remove(target: SimulatedCluster, kind: string, name: string): Promise<void>;
  composed(): KubeObject[];
  until(done: () => boolean, state: () => unknown[]): Promise<void>;
  facts(target: SimulatedCluster): unknown[];
  active(target: SimulatedCluster, name?: string): Promise<void>;
}

export function compositionWords(of: () => SimulatedFleet): CompositionWords {
  const write = (target: SimulatedCluster, object: KubeObject): Promise<KubeObject> =>
    writeTo(of(), target, object);
  const remove = (target: SimulatedCluster, kind: string, name: string): Promise<void> =>
    removeFrom(of(), target, 'kro.run/v1alpha1', kind, name);
  const composed = (): KubeObject[] =>
    storedBelow(of().hub, 'atoll.dev/remoteobjects/-').filter(
      ({ metadata }) => metadata.labels?.['atoll.dev/composition'] !== undefined,
    );
  async function until(done: () => boolean, state: () => unknown[]): Promise<void> {
    await of()
      .until(done, 'it')
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(state(), undefined, 1), { cause: error });
      });
  }
  const facts = (target: SimulatedCluster): unknown[] => [
    app(target)?.['status'],
    wishes(target),
    replies(target).map(({ spec }) => spec),
    on(of().hub, 'databases'),
    composed().map(({ spec, status }) => [spec, status]),
  ];
  async function active(target: SimulatedCluster, name = 'shop'): Promise<void> {
    await until(
      () => state(app(target, name)) === 'ACTIVE',
      () => facts(target),
    );
  }
  async function publish(graphs: readonly KubeObject[]): Promise<void> {
    for (const object of graphs) {
      await write(of().hub, object);
      const { name = '' } = object.metadata;
      await until(
        () => conditionOf(rgd(of().hub, name), 'Ready') === 'True/Ready',
        () => [rgd(of().hub, name)],
      );
    }
    for (const object of graphs.filter(({ metadata }) => metadata.labels === undefined)) {
      const { name = '' } = object.metadata;
      await until(
        () => conditionOf(rgd(of().hub, name), 'Distributed') === 'True/Distributed',
        () => [conditions(rgd(of().hub, name)), ...of().spokes.map((spoke) => rgd(spoke, name))],
      );
    }
  }
  return { publish, write, remove, composed, until, facts, active };
}
