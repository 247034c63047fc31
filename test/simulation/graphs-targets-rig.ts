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

export const map = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `core/configmaps/default/${name}`);

export const field = (object: KubeObject | undefined, name: string): string | undefined =>
  (object?.['data'] as Record<string, string> | undefined)?.[name];

export const cert = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `example.com/certs/default/${name}`);

export const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';

/** A kind whose status somebody on its cluster writes. */
export const CERTS: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'certs.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Cert', plural: 'certs', singular: 'cert', listKind: 'CertList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { host: { type: 'string' } } },
              status: { type: 'object', properties: { key: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

export function at(cluster: string): object {
  return { target: { cluster: { name: cluster } } };
}

export function configMap(
  id: string,
  data: object,
  more: object = {},
  name = `\${schema.metadata.name}-${id}`,
): object {
  return { id, template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }, ...more };
}

export function certNode(id: string, cluster: string, more: object = {}): object {
  return {
    id,
    ...at(cluster),
    template: {
      apiVersion: 'example.com/v1',
      kind: 'Cert',
      metadata: { name: '${schema.metadata.name}' },
      spec: { host: `${id}.example.com` },
    },
    ...more,
  };
}

export function definition(resources: readonly object[], spec: object = {}, more: object = {}): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'mesh' },
    spec: { schema: { apiVersion: 'v1alpha1', kind: 'Mesh', spec }, resources, ...more },
  };
}

export function instance(spec: object = {}, name = 'one'): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Mesh', metadata: { name }, spec };
}

/** Words of tests about a graph whose objects are on other clusters. */
export interface TargetWords {
  write(target: SimulatedCluster, object: KubeObject): Promise<KubeObject>;
  remove(target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void>;
  rgd(): KubeObject | undefined;
  mesh(name?: string): KubeObject | undefined;
  remotes(): KubeObject[];
  served(object: KubeObject): Promise<void>;
  active(name?: string): Promise<void>;
  /** Somebody on a cluster issues a certificate. */
  issue(target: SimulatedCluster, name: string, key: string): Promise<void>;
}

export function targetWords(of: () => SimulatedFleet): TargetWords {
  const write = (target: SimulatedCluster, object: KubeObject): Promise<KubeObject> =>
    writeTo(of(), target, object);
  const remove = (target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void> =>
    removeFrom(of(), target, apiVersion, kind, name);
  const rgd = (): KubeObject | undefined => stored(of().hub, 'kro.run/resourcegraphdefinitions/-/mesh');
  const mesh = (name = 'one'): KubeObject | undefined => stored(of().hub, `kro.run/meshes/default/${name}`);
  const remotes = (): KubeObject[] => storedBelow(of().hub, 'atoll.dev/remoteobjects/-');
  async function served(object: KubeObject): Promise<void> {
    await write(of().hub, object);
    await of()
      .until(
        () =>
          conditionOf(rgd(), 'Ready') === 'True/Ready' &&
          (rgd()!['status'] as { conditions: { observedGeneration: number }[] }).conditions.every(
            ({ observedGeneration }) => observedGeneration === rgd()?.metadata.generation,
          ),
        'the definition ready',
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(rgd()?.['status'], undefined, 1), { cause: error });
      });
  }
  async function active(name = 'one'): Promise<void> {
    await of()
      .until(() => state(mesh(name)) === 'ACTIVE', `${name} active`)
      .catch((error: unknown) => {
        throw new Error(JSON.stringify([mesh(name)?.['status'], remotes()], undefined, 1), { cause: error });
      });
  }
  async function issue(target: SimulatedCluster, name: string, key: string): Promise<void> {
    await of().until(() => cert(target, name) !== undefined, `${name} on ${target.name}`);
    const resource = await of().run(target.client.resourceFor('example.com/v1', 'Cert'));
    await of().run(
      target.client.patch(resource, 'default', name, 'merge', { status: { key } }, { subresource: 'status' }),
    );
  }
  return { write, remove, rgd, mesh, remotes, served, active, issue };
}
