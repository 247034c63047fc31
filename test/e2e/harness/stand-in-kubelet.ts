import { memoryDriver, serveHttps } from '../../../src/apiserver/index.ts';
import { objectKey } from '../../../src/apiserver/store/key.ts';
import { openStore } from '../../../src/apiserver/store/mvcc-store.ts';
import { podStreams, type StreamSubresource } from '../../../src/apiserver/streams/index.ts';
import type { Client } from '../../../src/kube/client.ts';
import type { Request, Response } from '../../../src/kube/exchange.ts';
import { startInformer } from '../../../src/kube/informer-cache.ts';
import { createCertificateAuthority, issueCertificate } from '../../../src/kube/pki.ts';
import { StatusError } from '../../../src/kube/status-error.ts';
import { configMaps, nodes, pods, secrets } from '../../../src/kube/well-known.ts';
import type { Runtime } from '../../../src/runtime/index.ts';

export interface StandInKubelet {
  stop(): Promise<void>;
}

/** What API servers ask of kubelets, by the first part of the path. */
const ASKED: Readonly<Record<string, StreamSubresource>> = {
  containerLogs: 'log',
  exec: 'exec',
  attach: 'attach',
  portForward: 'portforward',
};
/** As kubelets name what `kubectl` calls stdin, stdout and stderr. */
const STREAMS: Readonly<Record<string, string>> = { input: 'stdin', output: 'stdout', error: 'stderr' };
const HOUR_MS = 3_600_000;
const CLUSTER = 'mirror';

/**
 * The kubelet of all nodes of a cluster whose pods are simulated: logs, exec, attach and port-forward, by the rooms of the
 * embedded server, for a kube-apiserver that asks for them as it asks any kubelet.
 */
export async function startStandInKubelet(runtime: Runtime, client: Client): Promise<StandInKubelet> {
  const store = await openStore(runtime, memoryDriver());
  const streams = podStreams(runtime, store);
  const informers = [pods, nodes, configMaps, secrets].map((resource) => {
    const informer = startInformer(runtime, client, resource);
    informer.onChange(({ type, object }) => {
      const { namespace = '', name = '' } = object.metadata;
      const key = objectKey('', resource.resource, CLUSTER, namespace, name);
      void store
        .write(key, (current) => (type !== 'deleted' ? structuredClone(object) : current ? null : undefined))
        .catch((error: unknown) => runtime.log.warn('a mirrored object', { error: String(error) }));
    });
    return informer;
  });

  async function handle(request: Request): Promise<Response> {
    const url = new URL(request.path, 'https://kubelet');
    const [, verb = '', namespace = '', name = '', container] = url.pathname.split('/');
    const subresource = ASKED[verb];
    const query = new URLSearchParams();
    for (const [key, value] of url.searchParams) query.append(STREAMS[key] ?? key, value);
    if (container !== undefined) query.set('container', container);
    try {
      if (subresource === undefined) return text(404, `no such thing: ${url.pathname}`);
      return await streams.answer(subresource, { cluster: CLUSTER, namespace, name }, request, query);
    } catch (error) {
      if (error instanceof StatusError) return text(error.code, error.message);
      throw error;
    }
  }

  const authority = await createCertificateAuthority(runtime, 'kubelets');
  const { certificate, key } = await issueCertificate(runtime, authority, {
    ...{ commonName: 'kubelet', ipAddresses: ['127.0.0.1'], usage: 'server', lifetimeMs: HOUR_MS },
  });
  const clientCa = authority.certificate;
  const server = await serveHttps(runtime, { port: 0, certificate, key, clientCa, handle });
  const here = {
    addresses: [{ type: 'ExternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: server.port } },
  };
  // Nodes say where their kubelet is.
  informers[1]?.onChange(({ type, object }) => {
    if (type === 'deleted' || JSON.stringify(object['status'] ?? {}).includes(`"Port":${server.port}}`))
      return;
    void client
      .patch(nodes, '', object.metadata.name ?? '', 'merge', { status: here }, { subresource: 'status' })
      .catch((error: unknown) => runtime.log.warn('where a kubelet is', { error: String(error) }));
  });
  return {
    async stop(): Promise<void> {
      for (const informer of informers) informer.stop();
      streams.close();
      await server.close(0);
      await store.close();
    },
  };
}

function text(status: number, words: string): Response {
  return { status, headers: { 'content-type': 'text/plain' }, body: Buffer.from(words) };
}
