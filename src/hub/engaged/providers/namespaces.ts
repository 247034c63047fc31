import { digestOf } from '../../../engine/digest.ts';
import type { Client, ResourceId, WatchEvent } from '../../../kube/client.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { failure } from '../../../kube/status-error.ts';
import { namespaces } from '../../../kube/well-known.ts';
import type { ClusterProvider } from '../provider.ts';
import { toldClusters } from '../told-clusters.ts';

export interface NamespacesOptions {
  /** Of the API server whose namespaces are clusters. */
  readonly client: Client;
  /** Which namespaces; all where nothing is said. */
  readonly label?: string;
}

/** What stands for it in each of these clusters. */
const ONLY = 'default';

/**
 * A cluster for each Namespace of one API server. It has the namespace `default` only, which is that Namespace; what has no namespace is
 * shared by all of them, as are kinds. Cheap clusters for tests.
 */
export function namespaceClusters({ client, label }: NamespacesOptions): ClusterProvider {
  return {
    kind: 'namespace',
    start(runtime, aware) {
      const told = toldClusters(aware, runtime.log);
      const informer = startInformer(runtime, client, namespaces, {
        ...(label === undefined ? {} : { labelSelector: label }),
      });
      informer.onChange(({ type, object: { metadata } }) => {
        const { name = '', uid = '', labels = {}, deletionTimestamp } = metadata;
        if (type === 'deleted' || deletionTimestamp !== undefined) told.remove(name);
        else
          told.set(name, name, {
            digest: digestOf([name, uid]),
            labels,
            connect: () =>
              Promise.resolve({
                handler: client.handler,
                place: `namespace ${name}`,
                close: () => undefined,
              }),
            view: (of) => namespaceView(of, name),
          });
      });
      return {
        synced: () => informer.synced,
        stop() {
          informer.stop();
          told.stop();
        },
      };
    },
  };
}

/** A client that sees one namespace, as `default`. */
export function namespaceView(client: Client, namespace: string): Client {
  function within(resource: ResourceId, asked: string | undefined): string {
    if (!resource.namespaced) {
      if (resource.group === '' && resource.resource === 'namespaces')
        throw failure(403, 'Forbidden', 'a cluster that is a namespace has no namespaces of its own');
      return '';
    }
    if (asked === undefined || asked === '' || asked === ONLY) return namespace;
    throw failure(404, 'NotFound', `namespaces "${asked}" not found: the cluster has ${ONLY} only`);
  }
  function shown<T extends KubeObject>(object: T): T {
    return object.metadata?.namespace === namespace
      ? { ...object, metadata: { ...object.metadata, namespace: ONLY } }
      : object;
  }
  function meant<T extends KubeObject>(resource: ResourceId, object: T): T {
    const name = within(resource, object.metadata.namespace);
    return resource.namespaced ? { ...object, metadata: { ...object.metadata, namespace: name } } : object;
  }
  async function* watch<T extends KubeObject>(
    resource: ResourceId,
    asked: string,
    options: Parameters<Client['watch']>[2],
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    for await (const event of client.watch<T>(resource, within(resource, asked), options))
      yield event.type === 'ERROR' ? event : { ...event, object: shown(event.object) };
  }
  return {
    handler: client.handler,
    resourceFor: (apiVersion, kind) => client.resourceFor(apiVersion, kind),
    getJson: (path, options) => client.getJson(path, options),
    watch,
    get: async (resource, asked, name, options) =>
      shown(await client.get(resource, within(resource, asked), name, options)),
    async list(resource, asked, options) {
      const found = await client.list(resource, within(resource, asked), options);
      return { ...found, items: found.items.map((item) => shown(item)) } as never;
    },
    create: async (resource, object, options) =>
      shown(await client.create(resource, meant(resource, object), options)),
    update: async (resource, object, options) =>
      shown(await client.update(resource, meant(resource, object), options)),
    patch: async (resource, asked, name, type, patch, options) =>
      shown(await client.patch(resource, within(resource, asked), name, type, patch, options)),
    apply: async (resource, object, options) =>
      shown(await client.apply(resource, meant(resource, object), options)),
    delete: async (resource, asked, name, options) =>
      shown(await client.delete(resource, within(resource, asked), name, options)),
  };
}
