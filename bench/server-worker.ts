/**
 * The server side of the API server benchmark, on a thread of its own: the embedded API server, or the floor that it is held
 * against, a bare node:http2 server that answers with the same bytes.
 */
import type { ServerHttp2Stream } from 'node:http2';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import {
  clientCertificateAuthenticator,
  createApiServer,
  serveHttps,
  sqliteDriver,
} from '../src/apiserver/index.ts';
import type { KeyPair } from '../src/kube/pki.ts';
import { systemRuntime } from '../src/runtime/index.ts';

export interface ServerSetup {
  readonly kind: 'atoll' | 'floor';
  readonly serving: KeyPair;
  readonly clientCa: string;
  /** Of the SQLite file. */
  readonly database: string;
  /** What the floor answers, by method and path; `event` goes to every open watch when something is created. */
  readonly recorded: Readonly<Record<string, Uint8Array>>;
  readonly event: Uint8Array;
}

const setup = workerData as ServerSetup;
const started = setup.kind === 'atoll' ? await startAtoll() : await startFloor();
parentPort?.postMessage({ port: started.port });
parentPort?.once('message', () => void started.close().then(() => process.exit(0)));

interface Started {
  readonly port: number;
  close(): Promise<void>;
}

async function startAtoll(): Promise<Started> {
  const runtime = systemRuntime();
  const server = await createApiServer({
    runtime,
    storage: sqliteDriver(setup.database),
    authenticate: clientCertificateAuthenticator(runtime.clock),
  });
  const https = await serveHttps(runtime, {
    port: 0,
    certificate: setup.serving.certificate,
    key: setup.serving.key,
    clientCa: setup.clientCa,
    maxConcurrentStreams: 2000,
    handle: (request, connection) => server.handle(request, connection),
  });
  return {
    port: https.port,
    close: async () => {
      await https.close(100);
      await server.close();
    },
  };
}

async function startFloor(): Promise<Started> {
  const watches = new Set<ServerHttp2Stream>();
  const server = createSecureServer({
    cert: setup.serving.certificate,
    key: setup.serving.key,
    ca: setup.clientCa,
    requestCert: true,
    settings: { maxConcurrentStreams: 2000 },
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => watches.delete(stream));
    const path = headers[':path'] ?? '';
    const method = headers[':method'] ?? '';
    if (path.includes('watch=1')) {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      watches.add(stream);
      stream.on('close', () => watches.delete(stream));
      return;
    }
    const answer = (): void => {
      const body = setup.recorded[`${method} ${path}`] ?? setup.recorded[method] ?? new Uint8Array();
      stream.respond({
        ':status': 200,
        'content-type': 'application/json',
        'content-length': body.byteLength,
      });
      stream.end(body);
      if (method !== 'GET') for (const watch of watches) watch.write(setup.event);
    };
    if (method === 'GET') return answer();
    stream.on('data', () => {});
    stream.on('end', answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => void server.close(),
  };
}
