import { createApiServer, memoryDriver } from '../apiserver/index.ts';
import type { Cluster, SpokeCluster, SpokeClusterStatus } from '../dialects/kubevela/types.ts';
import type { Propagation, PropagationSpec, PropagationStatus } from '../dialects/propagation/types.ts';
import { type Dispatch, type DispatchStatus, dispatchName } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds } from '../kube/custom-resource.ts';
import { asJson, type KubeObject, refOf } from '../kube/object.ts';
import { createClient } from '../kube/rest-client.ts';
import { systemRuntime } from '../runtime/runtime.ts';
import { grantHubAccess, HUB_USER } from '../spoke/hub-access.ts';
import { ENGINE_KINDS } from './engine.ts';

/** 2026-03-01T12:00:00Z. */
export const NOW: number = Date.parse('2026-03-01T12:00:00Z');

/** An API server with the kinds of the engine, without the engine. */
export async function startApi(): Promise<{ client: Client; asHub: Client; close(): Promise<void> }> {
  const runtime = systemRuntime();
  const server = await createApiServer({ runtime, storage: memoryDriver() });
  const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  await installKinds(runtime.clock, client, ENGINE_KINDS);
  await grantHubAccess(client);
  const asHub = createClient(server.as({ name: HUB_USER, groups: [] }));
  return { client, asHub, close: () => server.close() };
}

/** Puts objects, and their status, on a server. */
export async function put(client: Client, ...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const resource = await client.resourceFor(object.apiVersion, object.kind);
    const made = await client.create(resource, object);
    const status = asJson(object)['status'];
    if (status !== undefined) await client.update(resource, { ...made, status }, { subresource: 'status' });
  }
}

export function spokeCluster(
  name: string,
  status?: SpokeClusterStatus,
  labels: Record<string, string> = {},
): SpokeCluster {
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name, namespace: 'default', labels },
    spec: { mode: 'connect', credential: { type: 'tunnel' } },
    ...(status === undefined ? {} : { status }),
  };
}

export function connected(name: string, labels: Record<string, string> = {}): SpokeCluster {
  return spokeCluster(
    name,
    {
      connection: 'Connected',
      clusterInfo: { kubernetesVersion: 'v1.34.0', nodeCount: 2, lastSyncedTime: '2026-03-01T11:00:00Z' },
      engine: '0.1.0',
      dispatchedRevision: 'sha256:aaaaaaaaaaaaaaaa',
      appliedRevision: 'sha256:aaaaaaaaaaaaaaaa',
      health: {
        status: 'Healthy',
        objectsHealthy: 3,
        objectsTotal: 3,
        lastPulledAt: '2026-03-01T11:55:00Z',
      },
      conditions: [condition('Connected', 'True', 'ProbeSucceeded', 'the spoke answers')],
    },
    labels,
  );
}

/** The same cluster after its link was lost. */
export function away(spoke: SpokeCluster): SpokeCluster {
  return {
    ...spoke,
    status: {
      ...spoke.status,
      connection: 'Disconnected',
      conditions: [condition('Connected', 'False', 'ProbeFailed', 'the connection was closed')],
    },
  };
}

export function condition(
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string = '',
): {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
} {
  return { type, status, reason, message, lastTransitionTime: '2026-03-01T11:00:00Z' };
}

export function deployment(
  name: string,
  replicas: number = 1,
  labels: Record<string, string> = {},
): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: `example.com/${name}:1` }] },
      },
    },
  };
}

export function secret(name: string, data: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'shop' }, type: 'Opaque', data };
}

export function configMap(name: string, data: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

export function propagation(
  name: string,
  spec: Partial<PropagationSpec> = {},
  status?: PropagationStatus,
): Propagation {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Propagation',
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, generation: 1 },
    spec: {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      placement: { clusterSelector: {} },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** What a hub writes on a spoke for a propagation, with the spoke's answer. */
export function dispatch(
  source: Propagation,
  objects: readonly KubeObject[],
  generation: number,
  status: DispatchStatus,
): Dispatch {
  const { name = '', namespace = '', uid = '' } = source.metadata;
  const from = { apiVersion: source.apiVersion, kind: source.kind, namespace, name, uid, generation: 1 };
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'Dispatch',
    metadata: { name: dispatchName(from), namespace: 'atoll-system' },
    spec: {
      source: from,
      position: { lineage: 'l', epoch: 1, generation },
      revision: 'sha256:123456789abcdef0',
      bundles: [],
      objects: objects.map(refOf),
      patches: [],
      tombstones: [],
      publicKey: '',
    },
    status,
  };
}

/** The status of a spoke that has applied a generation, all healthy but for `troubled`. */
export function appliedStatus(generation: number, troubled: DispatchStatus['objects'] = []): DispatchStatus {
  return {
    position: { lineage: 'l', epoch: 1, generation },
    appliedGeneration: generation,
    appliedAt: '2026-03-01T11:58:00Z',
    objects: troubled,
    conditions: [condition('Accepted', 'True', 'Accepted'), condition('Applied', 'True', 'Applied')],
  };
}

export function cluster(name: string, objectsHealthy: number): Cluster {
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'Cluster',
    metadata: { name, namespace: 'atoll-system' },
    status: {
      engine: '0.2.0',
      clusterInfo: { kubernetesVersion: 'v1.35.0', nodeCount: 5 },
      dispatchedRevision: 'sha256:bbbbbbbbbbbbbbbb',
      appliedRevision: 'sha256:bbbbbbbbbbbbbbbb',
      health: { status: 'Progressing', objectsHealthy, objectsTotal: 4 },
      drift: { corrections: 2, last: { object: 'Deployment shop/cart', at: '2026-03-01T11:59:00Z' } },
    },
  };
}
