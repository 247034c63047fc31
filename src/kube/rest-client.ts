import type { Clock } from '../runtime/clock.ts';
import { readFailure, readJson } from './answer.ts';
import type {
  Client,
  DeleteOptions,
  ListOptions,
  PatchType,
  ReadOptions,
  ResourceId,
  WatchEvent,
  WatchEvents,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { createDiscovery, missed } from './discovery.ts';
import type { Handler, Request, Response } from './exchange.ts';
import { decodedLines, OVER } from './json-lines.ts';
import { formatApiVersion, type KubeList, type KubeObject } from './object.ts';
import { listQuery, resourcePath, watchQuery, writeQuery } from './resource-path.ts';
import { internalError, isUnserved } from './status-error.ts';

export interface ClientOptions {
  /** `User-Agent`, which audit logs and default field managers show. */
  userAgent?: string;
  /** Bounds how often discovery is asked for unknown kinds. Without it every unknown kind asks once. */
  clock?: Clock;
}

const PATCH_CONTENT_TYPE: Readonly<Record<PatchType | 'apply', string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml', // JSON is YAML
};

/** The Kubernetes API behind a {@link Handler}. Failures that are answers are thrown as `StatusError`. */
export function createClient(handler: Handler, options: ClientOptions = {}): Client {
  const userAgent = options.userAgent ?? 'atoll';
  const readHeaders = { accept: 'application/json', 'user-agent': userAgent };

  function exchange(
    method: string,
    path: string,
    signal: AbortSignal | undefined,
    body?: unknown,
    contentType: string = 'application/json',
  ): Promise<Response> {
    const request: Request = {
      method,
      path,
      headers: body === undefined ? readHeaders : { ...readHeaders, 'content-type': contentType },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      ...(signal === undefined ? {} : { signal }),
    };
    return handler(request);
  }

  async function call<T>(
    method: string,
    path: string,
    signal: AbortSignal | undefined,
    body?: unknown,
    contentType?: string,
  ): Promise<T> {
    return readJson<T>(await exchange(method, path, signal, body, contentType), path);
  }

  const getJson = <T>(path: string, read: ReadOptions = {}): Promise<T> => call<T>('GET', path, read.signal);
  const discovery = createDiscovery(getJson, options.clock);

  /** Calls for a resource. One that is not where it was is looked for anew. */
  function callFor<T>(resource: ResourceId, ...args: Parameters<typeof call>): Promise<T> {
    return call<T>(...args).catch((error: unknown) => {
      if (isUnserved(error)) missed(resource);
      throw error;
    });
  }

  /** Asked for when the first event is. No generator: what waits for thousands of events has to be small. */
  function watch<T extends KubeObject>(
    resource: ResourceId,
    namespace: string,
    watchOptions: WatchOptions = {},
  ): WatchEvents<T> {
    const { signal } = watchOptions;
    let events: AsyncIterableIterator<WatchEvent<T>, undefined> | undefined;
    let isOver = false;

    async function open(): Promise<void> {
      // One text, where `+` would keep all of its parts as long as the watch is open.
      const path = [resourcePath(resource, namespace), watchQuery(watchOptions)].join('');
      try {
        const response = await exchange('GET', path, signal);
        if (response.status !== 200) {
          const error = await readFailure(response, path);
          if (isUnserved(error)) missed(resource);
          throw error;
        }
        events = decodedLines(response, decodeEvent<T>, { signal });
        // Its reader left before there was an answer.
        if (isOver) await events.return?.();
        else watchOptions.onOpen?.();
      } catch (error) {
        isOver = true;
        if (signal?.aborted !== true) throw error;
      }
    }

    function next(): Promise<IteratorResult<WatchEvent<T>, void>> {
      if (isOver) return Promise.resolve(OVER);
      return events?.next() ?? open().then(next);
    }

    return {
      next,
      async return() {
        isOver = true;
        await events?.return?.();
        return OVER;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  return {
    handler,
    getJson,
    resourceFor: discovery.resourceFor,
    watch,

    get<T extends KubeObject>(
      resource: ResourceId,
      namespace: string,
      name: string,
      read: ReadOptions = {},
    ): Promise<T> {
      return callFor<T>(
        resource,
        'GET',
        resourcePath(resource, namespace, required(name, resource)),
        read.signal,
      );
    },

    async list<T extends KubeObject>(
      resource: ResourceId,
      namespace: string,
      listOptions: ListOptions = {},
    ): Promise<KubeList<T>> {
      const path = resourcePath(resource, namespace) + listQuery(listOptions);
      const list = await callFor<KubeList<T>>(resource, 'GET', path, listOptions.signal);
      // Items of built-in kinds come without kind and version, and an empty list may be null.
      list.items ??= [];
      const apiVersion = formatApiVersion(resource.group, resource.version);
      for (let i = 0; i < list.items.length; i++) {
        const item = list.items[i];
        if (item !== undefined && (item.kind === undefined || item.apiVersion === undefined))
          list.items[i] = { ...item, apiVersion, kind: resource.kind };
      }
      return list;
    },

    create<T extends KubeObject>(resource: ResourceId, object: T, write: WriteOptions = {}): Promise<T> {
      const { name, namespace } = object.metadata;
      const path =
        write.subresource === undefined
          ? resourcePath(resource, namespace ?? '')
          : resourcePath(resource, namespace ?? '', required(name, resource), write.subresource);
      return callFor<T>(resource, 'POST', path + writeQuery(write), write.signal, object);
    },

    update<T extends KubeObject>(resource: ResourceId, object: T, write: WriteOptions = {}): Promise<T> {
      const { name, namespace } = object.metadata;
      const path = resourcePath(resource, namespace ?? '', required(name, resource), write.subresource);
      return callFor<T>(resource, 'PUT', path + writeQuery(write), write.signal, object);
    },

    patch<T extends KubeObject>(
      resource: ResourceId,
      namespace: string,
      name: string,
      type: PatchType,
      patch: unknown,
      write: WriteOptions = {},
    ): Promise<T> {
      const path = resourcePath(resource, namespace, required(name, resource), write.subresource);
      return callFor<T>(
        resource,
        'PATCH',
        path + writeQuery(write),
        write.signal,
        patch,
        PATCH_CONTENT_TYPE[type],
      );
    },

    apply<T extends KubeObject>(
      resource: ResourceId,
      object: KubeObject,
      write: WriteOptions & { fieldManager: string; force?: boolean },
    ): Promise<T> {
      const { name, namespace } = object.metadata;
      const path = resourcePath(resource, namespace ?? '', required(name, resource), write.subresource);
      return callFor<T>(
        resource,
        'PATCH',
        path + writeQuery(write),
        write.signal,
        object,
        PATCH_CONTENT_TYPE.apply,
      );
    },

    delete(
      resource: ResourceId,
      namespace: string,
      name: string,
      remove: DeleteOptions = {},
    ): Promise<KubeObject> {
      const { signal, dryRun, ...fields } = remove;
      const asked = Object.keys(fields).length > 0 || dryRun === true;
      const body = asked
        ? {
            kind: 'DeleteOptions',
            apiVersion: 'v1',
            ...fields,
            ...(dryRun === true ? { dryRun: ['All'] } : {}),
          }
        : undefined;
      return callFor(
        resource,
        'DELETE',
        resourcePath(resource, namespace, required(name, resource)),
        signal,
        body,
      );
    },
  };
}

/** A collection must never be addressed by mistake: a DELETE of it would delete everything. */
function required(name: string | undefined, resource: ResourceId): string {
  if (name === undefined || name === '') throw new TypeError(`a ${resource.kind} without a name`);
  return name;
}

function decodeEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  try {
    return JSON.parse(line) as WatchEvent<T>;
  } catch (error) {
    throw internalError('a line of the watch stream is not JSON', error);
  }
}
