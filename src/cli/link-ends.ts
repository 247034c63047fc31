import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Joins } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import type { Handler, Upgrader } from '../kube/exchange.ts';
import { certificateIdentity } from '../kube/pki.ts';
import {
  type DialerState,
  type PeerOptions,
  startTunnelDialer,
  startTunnelListener,
  type TunnelDialer,
  type TunnelListener,
} from '../link/index.ts';
import { formatTime } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { followCertificates, isAuthorityDue, linkCertificates } from './certificates.ts';
import { type JoinedHub, tokenFor } from './join/join-file.ts';
import { type CredentialPlace, spokeKeys } from './key-store.ts';
import type { Links } from './links.ts';

export interface ListenOptions {
  readonly name: string;
  readonly host?: string;
  readonly port: number;
  /** `host:port` by which spokes reach it, where that is not how it listens. */
  readonly addresses?: readonly string[];
  /** Where the hub keeps its certificate. */
  readonly directory: string;
  /** Tells of spokes that are no longer accepted: they are cut off at once. */
  readonly joins?: Joins | undefined;
  /** The other replicas of this hub. */
  readonly peers?: PeerOptions;
}

/** The hub's end: spokes dial in, and every request inside the connection is the hub's. `client` is the hub's own API. */
export async function listenForSpokes(
  runtime: Runtime,
  client: Client,
  links: Links,
  options: ListenOptions,
): Promise<TunnelListener> {
  // A spoke needs none of this code.
  const [{ hubIdentity }, joining] = await Promise.all([
    import('../hub/dispatch/identity.ts'),
    import('../hub/join/index.ts'),
  ]);
  const { admitsSpoke, certificatesFrom, decideEnrolment, linkAuthority, publishLinkNotice } = joining;
  const { name, host = '127.0.0.1', addresses = [] } = options;
  const reached = host === '0.0.0.0' || host === '::' ? hostname() : host;
  const hosts = [...new Set([...addresses.map(hostOf), ...(reached === '127.0.0.1' ? [] : [reached])])];
  const certificates = (): ReturnType<typeof linkCertificates> =>
    linkCertificates(runtime, join(options.directory, 'pki'), name, hosts, (own) =>
      linkAuthority(client, own),
    );
  const { authority, server, names } = await certificates();
  const warnOfTheEnd = (): void => {
    if (isAuthorityDue(runtime, authority))
      runtime.log.warn('the authority of the link ends: no spoke connects after that, see docs/joining.md', {
        until: formatTime(certificateIdentity(authority.certificate).notAfter),
      });
  };
  warnOfTheEnd();
  const listener = await startTunnelListener(runtime, {
    host,
    port: options.port,
    certificate: server.certificate,
    key: server.key,
    linkCa: authority,
    renewExpiredForMs: joining.RENEW_EXPIRED_FOR_MS,
    verifySpoke: ({ spoke }) => admitsSpoke(client, spoke),
    certificatesFrom: (spoke) => certificatesFrom(client, spoke),
    consumeJoinToken: (spoke, token, keyDigest, request) =>
      decideEnrolment(runtime, client, { spoke, token, keyDigest, request }),
    onLink: (link) => links.add(link),
    ...(options.peers === undefined ? {} : { peers: options.peers }),
  });
  const stopRenewing = followCertificates(
    runtime,
    { server },
    async () => {
      warnOfTheEnd();
      return { server: (await certificates()).server };
    },
    (renewed) => listener.setCertificate(renewed.server.certificate, renewed.server.key),
  );
  if (options.peers !== undefined) links.onDirect(listener.share);
  links.onForget((spoke) => listener.disconnect(spoke, 'its SpokeCluster was deleted'));
  options.joins?.onRefused((spoke, why) => listener.disconnect(spoke, why));
  const own = `${reached.includes(':') ? `[${reached}]` : reached}:${listener.port}`;
  const { lineage, publicKey } = await hubIdentity(runtime, client);
  await publishLinkNotice(client, {
    name,
    addresses: addresses.length > 0 ? addresses : [own],
    names,
    ca: authority.certificate,
    trust: { lineage, publicKey },
  });
  return {
    ...listener,
    close(): Promise<void> {
      stopRenewing();
      return listener.close();
    },
  };
}

export interface DialOptions {
  /** The name by which the hub knows this cluster. */
  readonly cluster: string;
  /** Where the key and certificate of this link are kept. */
  readonly credentials: CredentialPlace;
  /** What the hub was joined with now: a new token may have been brought meanwhile. */
  readonly latest?: () => JoinedHub | undefined;
  /** Answers the hub's requests, with the hub's rights on this cluster. */
  readonly serve: Handler;
  readonly serveUpgrade?: Upgrader;
  readonly onState?: (state: DialerState) => void;
}

/** The spoke's end: dials a hub and answers its requests. */
export function dialHub(runtime: Runtime, hub: JoinedHub, options: DialOptions): TunnelDialer {
  const { cluster, serve, serveUpgrade, onState } = options;
  const { keyStore, joinToken } = spokeKeys(options.credentials, () =>
    tokenFor(options.latest?.() ?? hub, cluster),
  );
  return startTunnelDialer(runtime, {
    hubAddress: hub.addresses,
    hubCaPem: hub.ca,
    ...(hub.serverName === undefined ? {} : { hubName: hub.serverName }),
    ...(hub.proxy === undefined ? {} : { proxy: hub.proxy }),
    spoke: cluster,
    keyStore,
    joinToken,
    serve,
    ...(serveUpgrade === undefined ? {} : { serveUpgrade }),
    onState(state): void {
      runtime.log.info('link', { cluster, hub: hub.name, ...state });
      onState?.(state);
    },
  });
}

/** Short and fit for names of files and objects: what a hub is called where a spoke keeps something for it. */
export function hubKey(lineage: string): string {
  return createHash('sha256').update(lineage).digest('hex').slice(0, 10);
}

/** Where the link credentials of a cluster are kept in a directory, without the ending. */
export function linkFileName(cluster: string, lineage: string): string {
  return `${cluster}@${hubKey(lineage)}`;
}

/** The host of `host:port`. Throws for anything else. */
export function hostOf(address: string): string {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):\d{1,5}$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined)
    throw new Error(`${JSON.stringify(address)} is not an address of the form host:port`);
  return host;
}
