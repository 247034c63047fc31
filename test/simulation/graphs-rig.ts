// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionOf,
  removeFrom,
  type SimulatedFleet,
  type SimulatedSpoke,
  stored,
  writeTo,
} from './fleet.ts';

export const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';

export const data = (object: KubeObject | undefined): unknown => object?.['data'];

export const field = (object: KubeObject | undefined, name: string): string | undefined =>
  (object?.['data'] as Record<string, string> | undefined)?.[name];

export function configMap(id: string, name: string, content: object, more: object = {}): object {
  return {
    id,
    template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: content },
    ...more,
  };
}

export function definition(
  resources: object[],
  spec: object = { colour: 'string | default=red' },
  status: object = {},
): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'shop' },
    spec: { schema: { apiVersion: 'v1alpha1', kind: 'Shop', spec, status }, resources },
  };
}

export function instance(spec: object = {}, name = 'one', metadata: object = {}): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name, ...metadata }, spec };
}

/** Three in a row, each with a value of the one before. */
export const CHAIN: object[] = [
  configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' }),
  configMap('second', '${first.metadata.name}-2', { colour: '${first.data.colour}' }),
  configMap('third', '${second.metadata.name}-3', { colour: '${second.data.colour}' }),
];

/** Words of tests about graphs on the spoke `a`. */
export interface GraphsWords {
  a(): SimulatedSpoke;
  write(object: KubeObject): Promise<KubeObject>;
  remove(apiVersion: string, kind: string, name: string): Promise<void>;
  rgd(name: string): KubeObject | undefined;
  map(name: string, namespace?: string): KubeObject | undefined;
  shop(name?: string): KubeObject | undefined;
  served(object: KubeObject): Promise<void>;
  active(name?: string): Promise<void>;
}

export function graphsWords(of: () => SimulatedFleet): GraphsWords {
  const a = (): SimulatedSpoke => of().spoke('a');
  const write = (object: KubeObject): Promise<KubeObject> => writeTo(of(), a(), object);
  const remove = (apiVersion: string, kind: string, name: string): Promise<void> =>
    removeFrom(of(), a(), apiVersion, kind, name);
  const rgd = (name: string): KubeObject | undefined =>
    stored(a(), `kro.run/resourcegraphdefinitions/-/${name}`);
  const map = (name: string, namespace = 'default'): KubeObject | undefined =>
    stored(a(), `core/configmaps/${namespace}/${name}`);
  const shop = (name = 'one'): KubeObject | undefined => stored(a(), `kro.run/shops/default/${name}`);
  async function served(object: KubeObject): Promise<void> {
    await write(object);
    await of()
      .until(() => state(rgd('shop')) === 'Active', 'the definition active')
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(rgd('shop')?.['status']), { cause: error });
      });
    await of().until(() => conditionOf(rgd('shop'), 'Ready') === 'True/Ready', 'the definition ready');
  }
  async function active(name = 'one'): Promise<void> {
    await of().until(() => state(shop(name)) === 'ACTIVE', `${name} active`);
  }
  return { a, write, remove, rgd, map, shop, served, active };
}
