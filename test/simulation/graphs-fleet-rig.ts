// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionOf,
  removeFrom,
  type SimulatedCluster,
  type SimulatedFleet,
  stored,
  writeTo,
} from './fleet.ts';

export const rgd = (target: SimulatedCluster, name = 'shop'): KubeObject | undefined =>
  stored(target, `kro.run/resourcegraphdefinitions/-/${name}`);

export const crd = (target: SimulatedCluster, name = 'shops.kro.run'): KubeObject | undefined =>
  stored(target, `apiextensions.k8s.io/customresourcedefinitions/-/${name}`);

export const shop = (target: SimulatedCluster, name = 'one'): KubeObject | undefined =>
  stored(target, `kro.run/shops/default/${name}`);

export const map = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `core/configmaps/default/${name}`);

export const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';

export const colour = (target: SimulatedCluster, name = 'one-map'): string | undefined =>
  (map(target, name)?.['data'] as Record<string, string> | undefined)?.['colour'];

export const revisionOn = (target: SimulatedCluster): string | undefined =>
  rgd(target)?.metadata.annotations?.['atoll.dev/distributed-revision'];

export interface Shape {
  readonly spec?: object;
  readonly data?: object;
  /** Of the config map. */
  readonly called?: string;
  readonly kind?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly resources?: readonly object[];
}

/** A graph of one config map whose data may use the instance's colour. */
export function graph(name = 'shop', shape: Shape = {}): KubeObject {
  const { labels, annotations, kind = 'Shop' } = shape;
  const data = shape.data ?? { colour: '${schema.spec.colour}' };
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: {
      schema: { apiVersion: 'v1alpha1', kind, spec: shape.spec ?? { colour: 'string | default=red' } },
      resources: [
        {
          id: 'map',
          template: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: shape.called ?? '${schema.metadata.name}-map' },
            data,
          },
        },
        ...(shape.resources ?? []),
      ],
    },
  };
}

export function instance(spec: object = {}, name = 'one', metadata: object = {}): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name, ...metadata }, spec };
}

export function rolloutOf(spec: object): KubeObject {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RGDRollout',
    metadata: { name: 'shop' },
    spec: { graph: 'shop', ...spec },
  };
}

/** Words of tests about graphs that a hub sends to its clusters. */
export interface FleetGraphWords {
  write(target: SimulatedCluster, object: KubeObject): Promise<KubeObject>;
  remove(target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void>;
  rollout(): KubeObject | undefined;
  rows(): Record<string, unknown>[];
  servedOn(names: readonly string[], revision: number, name?: string): Promise<void>;
  active(target: SimulatedCluster, name?: string): Promise<void>;
  distributed(reason?: string): Promise<void>;
}

export function fleetGraphWords(of: () => SimulatedFleet): FleetGraphWords {
  const write = (target: SimulatedCluster, object: KubeObject): Promise<KubeObject> =>
    writeTo(of(), target, object);
  const remove = (target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void> =>
    removeFrom(of(), target, apiVersion, kind, name);
  const rollout = (): KubeObject | undefined => stored(of().hub, 'atoll.dev/rgdrollouts/-/shop');
  const rows = (): Record<string, unknown>[] =>
    ((rollout()?.['status'] ?? {}) as { clusters?: Record<string, unknown>[] }).clusters ?? [];
  async function servedOn(names: readonly string[], revision: number, name = 'shop'): Promise<void> {
    await of()
      .until(
        () =>
          names.every((spoke) => {
            const object = rgd(of().spoke(spoke), name);
            return (
              object?.metadata.annotations?.['atoll.dev/distributed-revision'] === String(revision) &&
              conditionOf(object, 'Ready') === 'True/Ready' &&
              state(object) === 'Active'
            );
          }),
        `revision ${revision} on ${names.join(', ')}`,
      )
      .catch((error: unknown) => {
        const seen = [of().hub, ...names.map((spoke) => of().spoke(spoke))].map((target) => [
          target.name,
          rgd(target, name)?.metadata,
          rgd(target, name)?.['status'],
        ]);
        throw new Error(JSON.stringify(seen, undefined, 1), { cause: error });
      });
  }
  async function active(target: SimulatedCluster, name = 'one'): Promise<void> {
    await of().until(() => state(shop(target, name)) === 'ACTIVE', `${name} active on ${target.name}`);
  }
  async function distributed(reason = 'True/Distributed'): Promise<void> {
    await of()
      .until(() => conditionOf(rgd(of().hub), 'Distributed') === reason, `distributed: ${reason}`)
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(rgd(of().hub)?.['status'], undefined, 1), { cause: error });
      });
  }
  return { write, remove, rollout, rows, servedOn, active, distributed };
}
