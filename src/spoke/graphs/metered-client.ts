import type { Client } from '../../kube/client.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { GraphMetrics } from './metrics.ts';

/** A client whose requests are counted, by code, method and `host`, and timed but for watches. */
export function meteredClient(client: Client, clock: Clock, metrics: GraphMetrics, host: string): Client {
  function counted(method: string, error?: unknown): void {
    const code = error === undefined ? '200' : error instanceof StatusError ? `${error.code}` : '<error>';
    metrics.count('rest_client_requests_total', { code, method, host });
  }

  async function timed<T>(method: string, work: Promise<T>): Promise<T> {
    const began = clock.monotonic();
    try {
      const result = await work;
      counted(method);
      return result;
    } catch (error) {
      counted(method, error);
      throw error;
    } finally {
      metrics.observe(
        'rest_client_request_duration_seconds',
        { verb: method, host },
        clock.monotonic() - began,
      );
    }
  }

  return {
    handler: client.handler,
    // Mostly answered from what discovery said before.
    resourceFor: (apiVersion, kind) => client.resourceFor(apiVersion, kind),
    getJson: (path, options) => timed('GET', client.getJson(path, options)),
    get: (resource, namespace, name, options) => timed('GET', client.get(resource, namespace, name, options)),
    list: (resource, namespace, options) => timed('GET', client.list(resource, namespace, options)),
    watch(resource, namespace, options = {}) {
      return client.watch(resource, namespace, {
        ...options,
        onOpen() {
          counted('GET');
          options.onOpen?.();
        },
      });
    },
    create: (resource, object, options) => timed('POST', client.create(resource, object, options)),
    update: (resource, object, options) => timed('PUT', client.update(resource, object, options)),
    patch: (resource, namespace, name, type, patch, options) =>
      timed('PATCH', client.patch(resource, namespace, name, type, patch, options)),
    apply: (resource, object, options) => timed('PATCH', client.apply(resource, object, options)),
    delete: (resource, namespace, name, options) =>
      timed('DELETE', client.delete(resource, namespace, name, options)),
  };
}
