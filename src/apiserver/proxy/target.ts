import { isIP } from 'node:net';
import { Duplex } from 'node:stream';
import type { Request, Response } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { badRequest, failure, notFound, type StatusError } from '../../kube/status-error.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { isObject, type JsonObject, listAt, numberAt, stringAt } from '../../schema/json.ts';
import { namespacePrefix, objectKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { bytePipe } from '../streams/byte-pipe.ts';
import { answerPort, declaredPorts } from '../workloads/containers/index.ts';
import type { Pod, Service } from '../workloads/kinds.ts';
import { forwardTo } from './forward.ts';

export type ProxyKind = 'services' | 'pods';

/** What a request to the proxy is about. */
export interface ProxyTarget {
  readonly kind: ProxyKind;
  readonly cluster: string;
  readonly namespace: string;
  /** As in the path: `name`, `name:port` or `scheme:name:port`. */
  readonly id: string;
}

interface NamedPort {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/;

/** Serves the subresource `proxy` of Services and Pods, by simulated pods. */
export function proxyPods(
  runtime: Runtime,
  store: Store,
): (target: ProxyTarget, request: Request) => Promise<Response> {
  return (target, request) => {
    const found = target.kind === 'services' ? serviceAt(target) : podAt(target);
    return forwardTo(found, request);
  };

  function serviceAt({ cluster, namespace, id }: ProxyTarget): ReturnType<typeof serverAt> {
    const { scheme, name, port } = parsed('service', id);
    const service = store.get(objectKey('', 'services', cluster, namespace, name))?.object as
      | Service
      | undefined;
    if (!service) throw notFound('', 'services', name);
    const endpoints = store.get(objectKey('', 'endpoints', cluster, namespace, name))?.object;
    if (!endpoints) throw notFound('', 'endpoints', name);
    const wanted = portName(service, name, port);
    const subsets = listAt(endpoints, 'subsets').filter(isObject);
    if (subsets.length === 0) throw noEndpoints(name);
    for (const subset of shuffled(subsets)) {
      const [at] = listAt(subset, 'ports').filter((one) => (stringAt(one, 'name') ?? '') === wanted);
      const addresses = listAt(subset, 'addresses').filter(isObject);
      if (at === undefined || addresses.length === 0) continue;
      const address = shuffled(addresses)[0] as JsonObject;
      return serverAt(
        cluster,
        scheme,
        stringAt(address, 'ip') ?? '',
        numberAt(at, 'port') ?? 0,
        podOf(cluster, address),
      );
    }
    throw noEndpoints(id);
  }

  function podAt({ cluster, namespace, id }: ProxyTarget): ReturnType<typeof serverAt> {
    const { scheme, name, port } = parsed('pod', id);
    const pod = store.get(objectKey('', 'pods', cluster, namespace, name))?.object as Pod | undefined;
    if (!pod) throw notFound('', 'pods', name);
    const first = pod.spec.containers.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort;
    const number = port === '' ? (first ?? (scheme === 'https' ? 443 : 80)) : Number(port);
    const ip = pod.status?.podIP ?? '';
    if (isIP(ip) === 0) throw badRequest('address not allowed');
    return serverAt(cluster, scheme, ip, number, pod);
  }

  /** Endpoints that were written by hand may name an address only: then it is that of a pod, or of nothing that is here. */
  function podOf(cluster: string, address: JsonObject): Pod | undefined {
    const name = stringAt(address, 'targetRef', 'name');
    const namespace = stringAt(address, 'targetRef', 'namespace');
    const ip = stringAt(address, 'ip');
    if (name !== undefined && namespace !== undefined) {
      const record = store.get(objectKey('', 'pods', cluster, namespace, name));
      return record?.object as Pod | undefined;
    }
    const { records } = store.list(namespacePrefix('', 'pods', cluster, ''));
    return records.map(({ object }) => object as Pod).find(({ status }) => status?.podIP === ip);
  }

  function serverAt(
    cluster: string,
    scheme: string,
    ip: string,
    port: number,
    pod: Pod | undefined,
  ): { host: string; connect(): Promise<Duplex> } {
    const host = `${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
    return {
      host,
      async connect(): Promise<Duplex> {
        const now = pod && (store.get(keyOf(cluster, pod))?.object as Pod | undefined);
        if (now?.status?.phase !== 'Running' || now.metadata.uid !== pod?.metadata.uid)
          throw new Error(`dial tcp ${host}: connect: no route to host`);
        if (!declaredPorts(now).has(port)) throw new Error(`dial tcp ${host}: connect: connection refused`);
        if (scheme === 'https') throw new Error('tls: first record does not look like a TLS handshake');
        return connectPort(runtime, now, port);
      },
    };
  }

  function shuffled<T>(list: readonly T[]): readonly T[] {
    const first = Math.floor(runtime.random.next() * list.length);
    return [...list.slice(first), ...list.slice(0, first)];
  }
}

function keyOf(cluster: string, { metadata }: KubeObject): string {
  return objectKey('', 'pods', cluster, metadata.namespace ?? '', metadata.name ?? '');
}

/** `name`, `name:port` or `scheme:name:port`. Throws 400 for anything else. */
function parsed(what: 'service' | 'pod', id: string): NamedPort {
  const parts = id.split(':');
  const [scheme, name, port] =
    parts.length === 1 ? ['', id, ''] : parts.length === 2 ? ['', ...parts] : parts;
  const isScheme = scheme === '' || scheme === 'http' || scheme === 'https';
  if (parts.length > 3 || !isScheme || name === undefined || port === undefined || !NAME.test(name))
    throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return { scheme: scheme ?? '', name, port };
}

/** A port by number is the one that the service declares under a name. */
function portName({ spec }: Service, name: string, port: string): string {
  if (!/^[+-]?\d+$/.test(port)) return port;
  const declared = spec.ports?.find((one) => one.port === Number(port));
  if (declared) return declared.name ?? '';
  throw unavailable(`no service port ${Number(port)} found for service ${JSON.stringify(name)}`);
}

function noEndpoints(id: string): StatusError {
  return unavailable(`no endpoints available for service ${JSON.stringify(id)}`);
}

function unavailable(message: string): StatusError {
  return failure(503, 'ServiceUnavailable', message);
}

/** A connection to a port of a simulated pod. */
function connectPort(runtime: Runtime, pod: Pod, port: number): Duplex {
  const toPod = bytePipe();
  const fromPod = bytePipe();
  const duplex: Duplex = new Duplex({
    read(): void {
      fromPod.read().then(
        (chunk) => void duplex.push(chunk ?? null),
        (error: Error) => void duplex.destroy(error),
      );
    },
    write(chunk: Uint8Array, _encoding, done): void {
      toPod.write(chunk).then(() => done(), done);
    },
    final(done): void {
      toPod.end();
      done();
    },
    destroy(error, done): void {
      toPod.end();
      fromPod.cancel();
      done(error);
    },
  });
  answerPort(pod, port, toPod, fromPod).catch((error: unknown) => {
    runtime.log.error('a simulated port failed', { error: errorText(error) });
    duplex.destroy();
  });
  return duplex;
}
