import type { Handler, Request, Response } from '../kube/exchange.ts';
import type { KubeObject } from '../kube/object.ts';
import { type VirtualRuntime, virtualRuntime } from '../runtime/index.ts';
import { createApiServer } from './server.ts';
import type { ApiServer, ApiServerOptions } from './server-options.ts';
import { memoryDriver } from './storage/index.ts';

/** An answer with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly body: any;
}

export interface Fixture {
  readonly runtime: VirtualRuntime;
  readonly server: ApiServer;
  readonly admin: Handler;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  merge(path: string, patch: unknown): Promise<Answer>;
  apply(path: string, object: unknown, query?: string): Promise<Answer>;
  delete(path: string, options?: unknown): Promise<Answer>;
  watch(path: string, headers?: Record<string, string>): Promise<Stream>;
}

/** An open watch; `take` waits for `count` events. */
export interface Stream {
  readonly status: number;
  take(count: number): Promise<{ type: string; object: KubeObject & { code?: number; reason?: string } }[]>;
  /** Everything until the server ends the stream. */
  rest(): Promise<{ type: string; object: KubeObject }[]>;
  close(): Promise<void>;
}

export async function startServer(options: Partial<ApiServerOptions> = {}): Promise<Fixture> {
  const runtime = virtualRuntime(1);
  // Without controllers nobody makes the service accounts that pods would need.
  const disableAdmissionPlugins = options.controllers === false ? ['ServiceAccount'] : [];
  const opening = createApiServer({ runtime, storage: memoryDriver(), disableAdmissionPlugins, ...options });
  opening.catch(() => {}); // awaited below
  await runtime.clock.settle();
  const server = await opening;
  await runtime.clock.settle();
  const admin = server.as({ name: 'admin', groups: ['system:masters'] });
  return fixtureOf(runtime, server, admin);
}

export function fixtureOf(runtime: VirtualRuntime, server: ApiServer, admin: Handler): Fixture {
  async function settle<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {});
    await runtime.clock.settle();
    return promise;
  }
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const bytes =
      body === undefined
        ? undefined
        : typeof body === 'string'
          ? Buffer.from(body)
          : Buffer.from(JSON.stringify(body));
    const request: Request = {
      method,
      path,
      headers: {
        ...(bytes && !headers['content-type'] ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(bytes ? { body: bytes } : {}),
    };
    return read(await settle(admin(request)));
  }
  return {
    runtime,
    server,
    admin,
    call,
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body) => call('PUT', path, body),
    merge: (path, patch) => call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' }),
    apply: (path, object, query = 'fieldManager=test') =>
      call('PATCH', `${path}?${query}`, object, { 'content-type': 'application/apply-patch+yaml' }),
    delete: (path, options) => call('DELETE', path, options),
    watch: async (path, headers = {}) =>
      streamOf(runtime, await settle(admin({ method: 'GET', path, headers }))),
  };
}

async function read(response: Response): Promise<Answer> {
  if (!(response.body instanceof Uint8Array)) throw new Error('a stream was answered');
  const text = Buffer.from(response.body).toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined; // plain text
  }
  return { status: response.status, headers: response.headers, text, body };
}

function streamOf(runtime: VirtualRuntime, response: Response): Stream {
  if (response.body instanceof Uint8Array)
    throw new Error(`no stream: ${Buffer.from(response.body).toString()}`);
  const iterator = response.body[Symbol.asyncIterator]();
  type Event = { type: string; object: KubeObject };
  const events: Event[] = [];
  let text = '';
  const pull = async (): Promise<boolean> => {
    const next = iterator.next();
    await runtime.clock.settle();
    const { done, value } = await next;
    if (done) return false;
    text += Buffer.from(value).toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) events.push(JSON.parse(line) as Event);
    return true;
  };
  return {
    status: response.status,
    async take(count) {
      while (events.length < count)
        if (!(await pull())) throw new Error(`the stream ended after ${events.length} events`);
      return events.splice(0, count);
    },
    async rest() {
      while (await pull()) {
        // until it ends
      }
      return events.splice(0);
    },
    async close() {
      await iterator.return?.();
    },
  };
}
