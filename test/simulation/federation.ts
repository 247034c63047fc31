import { readFileSync } from 'node:fs';
import {
  type ApiResource,
  DEFAULT_NAMESPACE,
  FEDERATED_TYPE_CONFIG,
  federatedTypeFor,
  typeConfigName,
  typeConfigOf,
} from '../../src/dialects/kubefed/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { namespaces } from '../../src/kube/well-known.ts';
import { listAt, stringAt } from '../../src/schema/json.ts';
import { parseManifests } from '../../src/schema/yaml-body.ts';
import { type SimulatedCluster, type SimulatedFleet, stored } from './fleet.ts';

/** What scenarios with KubeFed's objects work with. */

export const TYPE_CONFIGS: ReturnType<typeof resourceIdOf> = resourceIdOf(FEDERATED_TYPE_CONFIG);

function target(
  group: string,
  kind: string,
  pluralName: string,
  scope: ApiResource['scope'] = 'Namespaced',
): ApiResource {
  return { group, version: 'v1', kind, pluralName, scope };
}

const RBAC = 'rbac.authorization.k8s.io';
export const TARGETS: Readonly<Record<string, ApiResource>> = {
  Namespace: target('', 'Namespace', 'namespaces', 'Cluster'),
  ConfigMap: target('', 'ConfigMap', 'configmaps'),
  Secret: target('', 'Secret', 'secrets'),
  Service: target('', 'Service', 'services'),
  ServiceAccount: target('', 'ServiceAccount', 'serviceaccounts'),
  Deployment: target('apps', 'Deployment', 'deployments'),
  Job: target('batch', 'Job', 'jobs'),
  Ingress: target('networking.k8s.io', 'Ingress', 'ingresses'),
  ClusterRole: target(RBAC, 'ClusterRole', 'clusterroles', 'Cluster'),
  ClusterRoleBinding: target(RBAC, 'ClusterRoleBinding', 'clusterrolebindings', 'Cluster'),
};

/** Applies objects on a cluster, whatever their kinds, as `kubectl apply` would. */
export async function applyAll(
  fleet: SimulatedFleet,
  to: SimulatedCluster,
  objects: readonly KubeObject[],
): Promise<void> {
  for (const object of objects) {
    const resource = await fleet.run(to.client.resourceFor(object.apiVersion, object.kind));
    await fleet.run(to.client.apply(resource, object, { fieldManager: 'kubectl', force: true }));
  }
}

export async function makeNamespace(fleet: SimulatedFleet, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await fleet.run(fleet.hub.client.apply(namespaces, object, { fieldManager: 'kubectl' }));
}

/** Enables types by their configs, and waits until they run. Makes the namespaces of the control plane and of the objects. */
export async function enable(
  fleet: SimulatedFleet,
  kinds: readonly (string | ApiResource)[],
  more: object = {},
): Promise<void> {
  await makeNamespace(fleet, DEFAULT_NAMESPACE);
  const { installKind } = await import('../../src/hub/kubefed/index.ts');
  await fleet.run(installKind(fleet.hub.client, FEDERATED_TYPE_CONFIG));
  await fleet.until(
    () => established(fleet.hub, `${TYPE_CONFIGS.resource}.${TYPE_CONFIGS.group}`),
    'type configs are served',
  );
  for (const kind of kinds) {
    const resource = typeof kind === 'string' ? TARGETS[kind] : kind;
    if (!resource) throw new Error(`no target ${kind}`);
    const config = typeConfigOf(federatedTypeFor(resource), DEFAULT_NAMESPACE);
    await fleet.run(
      fleet.hub.client.apply(
        TYPE_CONFIGS,
        { ...config, spec: { ...config.spec, ...more } },
        { fieldManager: 'kubectl', force: true },
      ),
    );
    await running(fleet, resource);
  }
}

export async function running(
  fleet: SimulatedFleet,
  resource: ApiResource,
  is: string = 'Running',
): Promise<void> {
  const name = typeConfigName(resource);
  await fleet.until(
    () => stringAt(typeConfig(fleet, name), 'status', 'propagationController') === is,
    `${name} ${is}`,
  );
}

export function typeConfig(fleet: SimulatedFleet, name: string): KubeObject | undefined {
  return stored(fleet.hub, `core.kubefed.io/federatedtypeconfigs/${DEFAULT_NAMESPACE}/${name}`);
}

export function established(target: SimulatedCluster, name: string): boolean {
  const definition = stored(target, `apiextensions.k8s.io/customresourcedefinitions/-/${name}`);
  return listAt(definition, 'status', 'conditions').some(
    (condition) => stringAt(condition, 'type') === 'Established' && stringAt(condition, 'status') === 'True',
  );
}

/** Status of a federated object, as `True` or the reason, and a word for each cluster. */
export function propagation(object: KubeObject | undefined): {
  is: string;
  clusters: Record<string, string>;
} {
  const [condition] = listAt(object, 'status', 'conditions');
  const status = stringAt(condition, 'status') ?? '';
  return {
    is: status === 'True' ? 'True' : (stringAt(condition, 'reason') ?? ''),
    clusters: Object.fromEntries(
      listAt(object, 'status', 'clusters').map((item) => [
        stringAt(item, 'name') ?? '',
        stringAt(item, 'status') ?? '',
      ]),
    ),
  };
}

/** A federated object in the namespace `shop`. */
export function federated(kind: string, name: string, spec: object, namespace: string = 'shop'): KubeObject {
  return {
    apiVersion: 'types.kubefed.io/v1beta1',
    kind: `Federated${kind}`,
    metadata: { name, namespace },
    spec,
  };
}

/** Where a federated object is stored at the hub. */
export function federatedAt(
  fleet: SimulatedFleet,
  kind: string,
  name: string,
  namespace: string = 'shop',
): KubeObject | undefined {
  const plural = `federated${TARGETS[kind]?.pluralName ?? ''}`;
  return stored(fleet.hub, `types.kubefed.io/${plural}/${namespace}/${name}`);
}

/** The namespace `shop` at the hub, federated to these clusters. */
export async function openFederatedShop(fleet: SimulatedFleet, clusters: readonly string[]): Promise<void> {
  await makeNamespace(fleet, 'shop');
  await applyAll(fleet, fleet.hub, [
    federated('Namespace', 'shop', { placement: { clusters: clusters.map((name) => ({ name })) } }),
  ]);
}

/** The account of a control plane of the namespace `team`, and its Role, as people are told to apply them; `without` leaves kinds out. */
export function accountRights(...without: string[]): KubeObject[] {
  const text = readFileSync(new URL('../../examples/kubefed-namespaced.yaml', import.meta.url), 'utf8');
  const objects = parseManifests(text).objects as unknown as KubeObject[];
  return objects.filter(({ kind }) => !without.includes(kind));
}
