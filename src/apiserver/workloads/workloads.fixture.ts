import type { Client } from '../../kube/client.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import * as known from '../../kube/well-known.ts';
import type { VirtualRuntime } from '../../runtime/index.ts';
import { startServer } from '../server.fixture.ts';
import { startWorkloads, type WorkloadOptions, type Workloads } from './workloads.ts';

export interface Simulation {
  readonly runtime: VirtualRuntime;
  readonly client: Client;
  readonly workloads: Workloads;
  /** Runs a call to its end at the present instant. */
  now<T>(call: Promise<T>): Promise<T>;
  /** Revision of the newest write to any object. */
  revision(): Promise<string>;
  /** Applies manifests given as objects, in namespace `shop` unless they say otherwise. */
  create(...objects: object[]): Promise<void>;
  pods(selector?: string): Promise<KubeObject[]>;
}

/** `between` stands between the simulator and the server. */
export async function startSimulation(
  options: WorkloadOptions = {},
  between: (server: Handler) => Handler = (server) => server,
): Promise<Simulation> {
  const { runtime, admin } = await startServer();
  const client = createClient(admin);
  const now = async <T>(call: Promise<T>): Promise<T> => {
    call.catch(() => {});
    await runtime.clock.settle();
    return call;
  };
  await now(
    client.create(known.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
  );
  const workloads = startWorkloads(runtime, createClient(between(admin)), options);
  await now(workloads.whenSynced());
  await runtime.clock.advance(100);
  return {
    runtime,
    client,
    workloads,
    now,
    revision: async () => (await now(client.list(known.configMaps, ''))).metadata.resourceVersion ?? '',
    async create(...objects) {
      for (const object of objects as KubeObject[]) {
        const resource = await now(client.resourceFor(object.apiVersion, object.kind));
        const namespace = object.metadata.namespace ?? (resource.namespaced ? 'shop' : undefined);
        await now(
          client.create(resource, {
            ...object,
            metadata: { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) },
          }),
        );
      }
    },
    pods: async (selector) =>
      (await now(client.list(known.pods, 'shop', selector === undefined ? {} : { labelSelector: selector })))
        .items,
  };
}

export interface TemplateOptions {
  annotations?: Record<string, string>;
  image?: string;
  spec?: object;
}

export function template(app: string, options: TemplateOptions = {}): object {
  return {
    metadata: { labels: { app }, ...(options.annotations ? { annotations: options.annotations } : {}) },
    spec: { containers: [{ name: 'main', image: options.image ?? 'shop/app:1' }], ...options.spec },
  };
}

export function deployment(
  app: string,
  replicas: number,
  options: TemplateOptions & { deployment?: object } = {},
): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app },
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: template(app, options),
      ...options.deployment,
    },
  };
}
