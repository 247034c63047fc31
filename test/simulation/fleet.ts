import type { AuditEvent } from '../../src/apiserver/index.ts';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import { PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import { DISPATCH, SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import type { ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Condition, KubeObject } from '../../src/kube/object.ts';
import type { VirtualRuntime } from '../../src/runtime/runtime.ts';
import {
  startTestFleet,
  type TestCluster,
  type TestFleet,
  type TestFleetOptions,
  type TestSpoke,
} from '../../src/testing/index.ts';

export const SPOKE_CLUSTERS: ResourceId = resourceIdOf(SPOKE_CLUSTER);
export const PROPAGATIONS: ResourceId = resourceIdOf(PROPAGATION);
export const DISPATCHES: ResourceId = resourceIdOf(DISPATCH);

export type SimulatedCluster = TestCluster;
export type SimulatedSpoke = TestSpoke;
/** A whole fleet in one process, real controllers on a virtual clock: the same seed gives the same run. */
export type SimulatedFleet = TestFleet<VirtualRuntime>;
export type SimulationOptions = Omit<TestFleetOptions, 'spokes' | 'virtualTime'>;

export function simulateFleet(
  seed: number,
  names: readonly string[],
  options: SimulationOptions = {},
): Promise<SimulatedFleet> {
  return startTestFleet({ ...options, spokes: names, virtualTime: { seed } });
}

/** A tunnelled SpokeCluster; every one has the label `site` with its name. */
export function spokeCluster(
  name: string,
  labels: Record<string, string> = {},
  spec: object = {},
): KubeObject {
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name, namespace: 'default', labels: { site: name, ...labels } },
    spec: { credential: { type: 'tunnel', tunnel: {} }, ...spec },
  };
}

/** What is stored, read past the API: `group/resource/namespace/name`. */
export function stored(target: SimulatedCluster, path: string): KubeObject | undefined {
  return target.server.store.get(storeKey(path))?.object;
}

/** Everything stored on a cluster, as key and revision: equal when nobody wrote anything in between. */
export function everything(target: SimulatedCluster): Record<string, number> {
  return Object.fromEntries(target.server.store.list('').records.map(({ key, revision }) => [key, revision]));
}

/** Objects below `group/resource/namespace` (`-` for cluster-scoped ones). */
export function storedBelow(target: SimulatedCluster, path: string): KubeObject[] {
  return target.server.store.list(`${storeKey(path)}/`).records.map((record) => record.object);
}

function storeKey(path: string): string {
  const [group = '', resource = '', ...rest] = path.split('/');
  return `/${group}/${resource}/root/${rest.join('/')}`;
}

/** The dispatches on a spoke. */
export function dispatchesOn(target: SimulatedCluster): KubeObject[] {
  return storedBelow(target, `atoll.dev/dispatches/${SYSTEM_NAMESPACE}`);
}

/** `True/Reason`, `False/Reason` … of a condition; '' where there is none. */
export function conditionOf(object: KubeObject | undefined, type: string): string {
  const { conditions = [] } = (object?.['status'] ?? {}) as { conditions?: Condition[] };
  const found = conditions.find((condition) => condition.type === type);
  return found ? `${found.status}/${found.reason}` : '';
}

export function conditionMessage(object: KubeObject | undefined, type: string): string {
  const { conditions = [] } = (object?.['status'] ?? {}) as { conditions?: Condition[] };
  return conditions.find((condition) => condition.type === type)?.message ?? '';
}

/** Writes by a user, from an audit log: `create configmaps`, once each. */
export function writesBy(audit: readonly AuditEvent[], user: string): string[] {
  const writes = audit.filter(
    (event) =>
      event.user.username === user &&
      !['get', 'list', 'watch'].includes(event.verb) &&
      (event.responseStatus?.code ?? 500) < 300,
  );
  return [
    ...new Set(writes.map((event) => `${event.verb} ${event.objectRef?.resource ?? event.requestURI}`)),
  ].sort();
}

/** Applies an object as somebody; into the namespace `default` where it names none. */
export function writeTo(
  fleet: SimulatedFleet,
  target: SimulatedCluster,
  object: KubeObject,
): Promise<KubeObject> {
  const write = async (): Promise<KubeObject> => {
    const resource = await target.client.resourceFor(object.apiVersion, object.kind);
    const placed = resource.namespaced
      ? { ...object, metadata: { namespace: 'default', ...object.metadata } }
      : object;
    return target.client.apply(resource, placed, { fieldManager: 'someone', force: true });
  };
  return fleet.run(write());
}

/** Deletes an object, in the namespace `default` where its kind has namespaces. */
export async function removeFrom(
  fleet: SimulatedFleet,
  target: SimulatedCluster,
  apiVersion: string,
  kind: string,
  name: string,
): Promise<void> {
  const resource = await fleet.run(target.client.resourceFor(apiVersion, kind));
  await fleet.run(target.client.delete(resource, resource.namespaced ? 'default' : '', name));
}
