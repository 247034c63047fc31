import type { JsonObject } from '../../../schema/json.ts';
import { at, listAt, numberAt, objectAt, stringAt } from '../../../schema/json.ts';
import { objectKey } from '../../store/key.ts';
import type { Store } from '../../store/store.ts';
import { WebhookFailure, type WebhookTarget } from './webhook-client.ts';

/** `clientConfig` of a webhook or of a conversion. */
export interface ClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path: string;
    readonly port: number;
  };
  readonly caBundle?: string;
}

export function clientConfigOf(parent: JsonObject | undefined): ClientConfig {
  const url = stringAt(parent, 'url');
  const service = objectAt(parent, 'service');
  const bundle = stringAt(parent, 'caBundle') ?? '';
  return {
    ...(url === undefined ? {} : { url }),
    ...(service === undefined
      ? {}
      : {
          service: {
            namespace: stringAt(service, 'namespace') ?? '',
            name: stringAt(service, 'name') ?? '',
            path: stringAt(service, 'path') ?? '',
            port: numberAt(service, 'port') ?? 443,
          },
        }),
    ...(bundle === '' ? {} : { caBundle: Buffer.from(bundle, 'base64').toString() }),
  };
}

/** Finds where a Service of a logical cluster can be reached; `undefined` where nothing is behind it. */
export type ResolveService = (
  namespace: string,
  name: string,
  port: number,
  cluster: string,
) => { readonly host: string; readonly port: number } | undefined;

/** Services by their own objects: the first ready address behind the port, or the external name. */
export function serviceResolver(store: Store): ResolveService {
  return (namespace, name, port, cluster) => {
    const service = store.get(objectKey('', 'services', cluster, namespace, name))?.object;
    if (!service) throw new WebhookFailure(`service ${JSON.stringify(name)} not found`);
    const external = stringAt(service, 'spec', 'externalName');
    if (stringAt(service, 'spec', 'type') === 'ExternalName' && external) return { host: external, port };
    const declared = listAt(service, 'spec', 'ports').find((item) => at(item, 'port') === port);
    if (declared === undefined)
      throw new WebhookFailure(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const portName = stringAt(declared, 'name') ?? '';
    const endpoints = store.get(objectKey('', 'endpoints', cluster, namespace, name))?.object;
    for (const subset of listAt(endpoints, 'subsets')) {
      const host = stringAt(listAt(subset, 'addresses')[0], 'ip');
      const found = listAt(subset, 'ports').find((item) => (stringAt(item, 'name') ?? '') === portName);
      const target = numberAt(found, 'port');
      if (host !== undefined && target !== undefined) return { host, port: target };
    }
    return undefined;
  };
}

/** Where to call. Throws {@link WebhookFailure} when nobody is there. `timeoutMs` is told to the webhook. */
export function targetOf(
  config: ClientConfig,
  cluster: string,
  resolve: ResolveService,
  timeoutMs?: number,
): WebhookTarget {
  const query = timeoutMs === undefined ? '' : `?timeout=${Math.round(timeoutMs / 1000)}s`;
  const ca = { cluster, ...(config.caBundle === undefined ? {} : { caBundle: config.caBundle }) };
  const { service } = config;
  if (!service) {
    const url = withoutEmptySegments(config.url ?? '');
    return { url: `${/^\w+:\/\/[^/]*$/.test(url) ? `${url}/` : url}${query}`, ...ca };
  }
  const { namespace, name, port } = service;
  const path = service.path === '' ? '/' : service.path;
  const url = `https://${name}.${namespace}.svc:${port}${path}${query}`;
  const failed = (why: string, cause?: unknown): WebhookFailure =>
    new WebhookFailure(`failed to call webhook: Post ${JSON.stringify(url)}: ${why}`, cause);
  let address: ReturnType<ResolveService>;
  try {
    address = resolve(namespace, name, port, cluster);
  } catch (error) {
    if (!(error instanceof WebhookFailure)) throw error;
    throw failed(error.message, error);
  }
  if (!address) throw failed(`no endpoints available for service ${JSON.stringify(name)}`);
  return { url, address, ...ca };
}

/** Paths are called as other servers call them: `//mutate` is `/mutate`. Many webhooks know only the one. */
function withoutEmptySegments(url: string): string {
  const [, origin = '', path = ''] = /^([a-z]+:\/\/[^/]*)(.*)$/is.exec(url) ?? [];
  return origin === '' ? url : origin + path.replace(/\/{2,}/g, '/');
}
