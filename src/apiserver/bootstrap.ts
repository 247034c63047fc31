import type { KubeObject } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { errorText } from '../runtime/index.ts';
import { clone } from '../schema/json.ts';
import { create } from './rest/create.ts';
import type { RestServer } from './rest/scope.ts';
import { CONTROLLER_USER } from './rest/server-actions.ts';
import { objectKey, parseKey, resourcePrefix } from './store/key.ts';

async function ensureAll(server: RestServer, cluster: string, objects: readonly KubeObject[]): Promise<void> {
  await Promise.all(objects.map((object) => ensure(server, cluster, object)));
}

/** Creates an object unless it is there. */
async function ensure(server: RestServer, cluster: string, object: KubeObject): Promise<void> {
  const resource = server.resources(cluster).byKind(object.apiVersion, object.kind);
  if (!resource) return;
  const { namespace = '', name = '' } = object.metadata;
  if (server.store.get(objectKey(resource.group, resource.resource, cluster, namespace, name))) return;
  const scope = { server, cluster, resource, namespace, user: CONTROLLER_USER, warn: () => {} };
  try {
    await create(scope, clone(object), { fieldManager: 'atoll', fieldValidation: 'Ignore', dryRun: false });
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
  }
}

const RETRY_MS = 1000;

/** What a namespace is given. */
export function contentsOf(namespace: string, caCertificate: string): KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'kube-root-ca.crt',
        namespace,
        annotations: {
          'kubernetes.io/description':
            'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
        },
      },
      data: { 'ca.crt': caCertificate },
    },
  ];
}

/** Gives every namespace its service account `default` and the ConfigMap with the cluster's certificate authority. */
export function namespaceContents(server: RestServer, caCertificate: string): { stop(): void } {
  const { store, runtime } = server;
  let stopped = false;

  function fill(cluster: string, namespace: string): void {
    const record = store.get(objectKey('', 'namespaces', cluster, '', namespace));
    if (stopped || !record) return;
    if (!record.shared && record.object.metadata.deletionTimestamp !== undefined) return;
    const objects = contentsOf(namespace, caCertificate);
    ensureAll(server, cluster, objects).catch((error: unknown) => {
      if (stopped || hasCode(error, 403) || hasCode(error, 404)) return; // the namespace is going away
      runtime.log.warn('filling a namespace failed, trying again', {
        cluster,
        namespace,
        error: errorText(error),
      });
      runtime.clock.after(RETRY_MS, () => fill(cluster, namespace));
    });
  }

  const prefix = resourcePrefix('', 'namespaces');
  const created = store.watch(prefix, store.revision, (events) => {
    for (const event of events) {
      // What is shared comes with its contents.
      if (event.type !== 'created' || event.record.shared) continue;
      const { cluster, name } = parseKey(event.record.key);
      fill(cluster, name);
    }
  });
  const removed = ['serviceaccounts', 'configmaps'].map((resource) =>
    store.watch(resourcePrefix('', resource), store.revision, (events) => {
      for (const event of events) {
        if (event.type !== 'deleted') continue;
        const { cluster, namespace, name } = parseKey(event.record.key);
        if (name === 'default' || name === 'kube-root-ca.crt')
          runtime.clock.defer(() => fill(cluster, namespace));
      }
    }),
  );
  for (const record of store.list(prefix).records) {
    const { cluster, name } = parseKey(record.key);
    fill(cluster, name);
  }
  return {
    stop(): void {
      stopped = true;
      created.stop();
      for (const watch of removed) watch.stop();
    },
  };
}
