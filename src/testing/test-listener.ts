import { serveHttps } from '../apiserver/index.ts';
import type { Request, Response } from '../kube/exchange.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../kube/pki.ts';
import type { Connection } from '../kube/wire/index.ts';
import { errorText, type Runtime } from '../runtime/index.ts';

type Serve = (request: Request, connection: Connection) => Promise<Response>;

/** The TLS end of a test server, with an authority of its own that lives as long as it does. */
export interface TestListener {
  readonly url: string;
  readonly authority: KeyPair;
  /** A client certificate that the listener believes. */
  issue(name: string, groups: readonly string[]): Promise<KeyPair>;
  /** Who answers; until then it is 503. */
  serve(handle: Serve): void;
  close(): Promise<void>;
}

const LIFETIME_MS = 86_400_000;

/** Listens on loopback; port 0 takes a free one. */
export async function testListener(runtime: Runtime, port: number): Promise<TestListener> {
  const authority = await createCertificateAuthority(runtime, 'atoll test');
  const serving = await issueCertificate(runtime, authority, {
    commonName: 'localhost',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    lifetimeMs: LIFETIME_MS,
  });
  let handle: Serve = async () => ({
    status: 503,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' },
    body: Buffer.from('the server is starting\n'),
  });
  const https = await serveHttps(runtime, {
    port,
    certificate: serving.certificate,
    key: serving.key,
    clientCa: authority.certificate,
    handle: (request, connection) => handle(request, connection),
  }).catch((error: unknown) => {
    throw new Error(`cannot listen on 127.0.0.1:${port}: ${errorText(error)}`, { cause: error });
  });
  return {
    url: `https://127.0.0.1:${https.port}`,
    authority,
    issue: (name, groups) =>
      issueCertificate(runtime, authority, {
        commonName: name,
        organizations: groups,
        usage: 'client',
        lifetimeMs: LIFETIME_MS,
      }),
    serve: (next) => {
      handle = next;
    },
    close: () => https.close(0),
  };
}
