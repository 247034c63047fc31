import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { consumeJoinToken, mayDial } from '../hub/join.ts';
import type { Client } from '../kube/client.ts';
import type { Handler } from '../kube/exchange.ts';
import {
  startTunnelDialer,
  startTunnelListener,
  type TunnelDialer,
  type TunnelListener,
} from '../link/index.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { linkCertificates } from './certificates.ts';
import { fileKeyStore } from './key-store.ts';
import type { Links } from './links.ts';

/** Where a spoke's hub is. Written when it joins. */
export interface JoinFile {
  /** `host:port` of the hub's link listener. */
  readonly hubAddress: string;
  /** PEM of the authority that the hub's link certificate must come from. */
  readonly hubCa: string;
  /** Tokens for first certificates, by cluster name. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** A spoke that was off for less than this comes back with its ended certificate, to have it renewed and for nothing else. */
const RENEW_EXPIRED_FOR_MS = 30 * 86_400_000;

export interface ListenOptions {
  readonly name: string;
  readonly host?: string;
  readonly port: number;
  /** Where the hub keeps its keys. */
  readonly directory: string;
}

/** The hub's end: spokes dial in, and every request inside the connection is the hub's. `client` is the hub's own API. */
export async function listenForSpokes(
  runtime: Runtime,
  client: Client,
  links: Links,
  options: ListenOptions,
): Promise<TunnelListener> {
  const { authority, server } = await linkCertificates(runtime, join(options.directory, 'pki'), options.name);
  const listener = await startTunnelListener(runtime, {
    host: options.host ?? '127.0.0.1',
    port: options.port,
    certificate: server.certificate,
    key: server.key,
    linkCa: authority,
    renewExpiredForMs: RENEW_EXPIRED_FOR_MS,
    verifySpoke: async ({ spoke }) =>
      (await mayDial(client, spoke))
        ? { allowed: true }
        : {
            allowed: false,
            message: `the hub has no SpokeCluster ${spoke} with a credential of type tunnel`,
          },
    consumeJoinToken: (spoke, token, keyDigest) => consumeJoinToken(runtime, client, spoke, token, keyDigest),
    onLink: (link) => links.add(link),
  });
  links.onForget((spoke) => listener.disconnect(spoke, 'its SpokeCluster was deleted'));
  return listener;
}

/** The spoke's end: dials the hub and answers its requests with `serve`, which acts with the hub's rights on this cluster. */
export function dialHub(
  runtime: Runtime,
  cluster: string,
  joinFile: string,
  directory: string,
  serve: Handler,
): TunnelDialer {
  const read = (): JoinFile => JSON.parse(readFileSync(joinFile, 'utf8')) as JoinFile;
  const { hubAddress, hubCa } = read();
  return startTunnelDialer(runtime, {
    hubAddress,
    hubCaPem: hubCa,
    spoke: cluster,
    keyStore: fileKeyStore(join(directory, 'link'), cluster),
    // Read anew at every attempt: a new token may have been brought meanwhile.
    joinToken: () => read().tokens[cluster],
    serve,
    onState: (state) => runtime.log.info('link', { cluster, ...state }),
  });
}
