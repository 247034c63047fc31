import { digestOf } from '../../engine/digest.ts';
import {
  type ClusterEndpoint,
  checkEndpoint,
  checkProxy,
  type EndpointRules,
  type Resolve,
} from '../../kube/cluster-endpoint.ts';
import type { Handler } from '../../kube/exchange.ts';
import { KubeconfigError } from '../../kube/kubeconfig.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import { CredentialError } from '../credential/index.ts';
import type { ClusterAccess, ClusterConnection } from './provider.ts';

/** An HTTP connection, or what stands for one. */
export type OpenConnection = (endpoint: ClusterEndpoint) => Handler & { close(): unknown };

export interface ClusterClientsOptions {
  readonly open: OpenConnection;
  readonly resolve: Resolve;
  readonly rules: EndpointRules;
}

/**
 * The connections of this process to clusters. Whoever asks with the same endpoint and credential shares one: a cluster that a provider
 * tells of, and that a Secret names as well, is dialled once. The last one to close closes it.
 */
export interface ClusterClients {
  /** Throws a CredentialError where the endpoint may not be reached. */
  connect(endpoint: ClusterEndpoint): Promise<ClusterConnection>;
  /** The access that the kubeconfig in a Secret gives. A bad one throws when it is connected to, and never says what it holds. */
  accessFrom(secret: KubeObject, key: string, more?: Readonly<Record<string, string>>): ClusterAccess;
  /** The same for the text of a kubeconfig; `own` is a file of whoever runs the process, which may name other files. */
  accessOf(kubeconfig: KubeconfigText): ClusterAccess;
  /** Connections that are open. */
  readonly size: number;
}

export interface KubeconfigText {
  readonly text: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly context?: string;
  readonly own?: { readFile(path: string): string };
}

interface Shared {
  readonly handler: Handler & { close(): unknown };
  users: number;
}

export function clusterClients({ open, resolve, rules }: ClusterClientsOptions): ClusterClients {
  const shared = new Map<string, Shared>();

  async function connect(endpoint: ClusterEndpoint): Promise<ClusterConnection> {
    const refused =
      (await checkEndpoint(endpoint.url, resolve, rules)) ??
      (endpoint.proxyUrl === undefined ? undefined : await checkProxy(endpoint.proxyUrl, resolve, rules));
    if (refused !== undefined) throw new CredentialError(refused);
    const key = digestOf({ ...endpoint });
    const found = shared.get(key) ?? { handler: open(endpoint), users: 0 };
    found.users += 1;
    shared.set(key, found);
    let closed = false;
    const abandon = (): void => {
      if (shared.get(key) === found) shared.delete(key);
    };
    return {
      handler: found.handler,
      place: digestOf({ url: endpoint.url, ca: endpoint.ca ?? '' }),
      abandon,
      close() {
        if (closed) return;
        closed = true;
        found.users -= 1;
        if (found.users > 0) return;
        abandon();
        void found.handler.close();
      },
    };
  }

  function accessOf({ text, labels, context, own }: KubeconfigText): ClusterAccess {
    return {
      digest: digestOf([text, context ?? '']),
      labels,
      async connect() {
        try {
          const options = own
            ? { stored: false, readFile: own.readFile, ...(context === undefined ? {} : { context }) }
            : { stored: true };
          return await connect(endpointFromKubeconfig(text, options));
        } catch (error) {
          if (error instanceof KubeconfigError) throw new CredentialError(error.message);
          throw error;
        }
      },
    };
  }

  return {
    connect,
    accessOf,
    accessFrom(secret, key, more = {}) {
      const { namespace = '', name = '', labels = {} } = secret.metadata;
      const data = stringAt(secret, 'data', key);
      if (data !== undefined)
        return accessOf({
          text: Buffer.from(data, 'base64').toString('utf8'),
          labels: { ...labels, ...more },
        });
      return {
        digest: digestOf(['no key', key]),
        labels: { ...labels, ...more },
        connect: () => Promise.reject(new CredentialError(`secret ${namespace}/${name} has no key ${key}`)),
      };
    },
    get size() {
      return shared.size;
    },
  };
}
