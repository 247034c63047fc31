import type { Request, Response } from '../../kube/exchange.ts';
import type { KeyPair } from '../../kube/pki.ts';
import { badRequest, failure, StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/index.ts';
import type { ResolveService } from '../admission/index.ts';
import type { UserInfo } from '../auth/index.ts';
import type { Outbound, OutboundTarget } from '../outbound/index.ts';
import { isPlainPath } from '../request/index.ts';
import { ROOT_CLUSTER } from '../server-options.ts';
import { forwardedHeaders } from '../space.ts';
import type { RemoteService } from './remote-service.ts';

/** By what extension API servers believe this server what it says of users. */
export interface FrontProxy {
  /** PEM of the authority, as they find it in ConfigMap `kube-system/extension-apiserver-authentication`. */
  readonly authority: string;
  /** Its common name is `front-proxy-client`. Asked for by each request, as it is renewed while the server runs. */
  readonly client: () => KeyPair;
}

/** The common name that extension API servers are told to believe. */
export const FRONT_PROXY_NAME: string = 'front-proxy-client';

export interface RemoteHandlerOptions {
  readonly outbound: Outbound;
  readonly resolveService: ResolveService;
  readonly frontProxy?: FrontProxy;
}

/** Asks an extension API server as somebody. Throws 502 and 503 where it gives no answer. */
export type AskRemote = (remote: RemoteService, request: Request, user: UserInfo) => Promise<Response>;

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
  'upgrade',
  'content-length',
];

/**
 * Requests go on with what the server knows of the user in place of all credentials. The certificate that makes this
 * believable is shown on behalf of the cluster `root` only: somebody of the same name in another cluster is somebody else.
 */
export function remoteAsker({ outbound, resolveService, frontProxy }: RemoteHandlerOptions): AskRemote {
  function targetOf(remote: RemoteService, path: string): OutboundTarget {
    const { namespace, name, port } = remote.service;
    const host = `${name}.${namespace}.svc`;
    const address = resolveService(namespace, name, port, remote.cluster);
    if (address === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
    return {
      url: `https://${host}:${port}${path}`,
      address,
      ...(remote.caBundle === undefined ? {} : { caBundle: remote.caBundle }),
      insecure: remote.insecure,
      ...(frontProxy !== undefined && remote.cluster === ROOT_CLUSTER
        ? { certificate: frontProxy.client() }
        : {}),
    };
  }

  return async (remote, request, user) => {
    // It was authorized for what it says as it stands; on its way it would come to mean something else.
    if (!isPlainPath(request.path))
      throw badRequest(`${JSON.stringify(request.path)} is no path of an API: . and .. lead elsewhere`);
    let response: Response;
    try {
      response = await outbound.send(targetOf(remote, request.path), {
        method: request.method,
        headers: [...Object.entries(forwardedHeaders(request.headers)).flat(), ...userHeaders(user)],
        ...(request.body === undefined ? {} : { body: request.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
    } catch (error) {
      const unreachable = failure(
        503,
        'ServiceUnavailable',
        `error trying to reach service: ${errorText(error)}`,
      );
      throw new StatusError(unreachable.status, { cause: error });
    }
    if (response.status >= 300 && response.status < 400 && response.status !== 304) {
      await drop(response);
      throw failure(
        502,
        'BadGateway',
        'the extension API server answered with a redirect, which is not followed',
      );
    }
    const headers = Object.fromEntries(
      Object.entries(response.headers).filter(([name]) => !HOP_BY_HOP.includes(name)),
    );
    return { ...response, headers };
  };
}

async function drop(response: Response): Promise<void> {
  if (!(response.body instanceof Uint8Array)) await response.body[Symbol.asyncIterator]().return?.();
}

/** Names and values in turn; each group is a header of its own. */
export function userHeaders({ name, uid, groups, extra = {} }: UserInfo): string[] {
  return [
    ...['x-remote-user', headerText(name)],
    ...(uid === undefined ? [] : ['x-remote-uid', headerText(uid)]),
    ...groups.flatMap((group) => ['x-remote-group', headerText(group)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.flatMap((value) => [`x-remote-extra-${headerKey(key)}`, headerText(value)]),
    ),
  ];
}

/** A header is sent character by character as bytes: so that these are UTF-8, as servers in Go have it. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A key of an extra as part of a header's name: what may not be there is percent-encoded. */
function headerKey(key: string): string {
  return [...Buffer.from(key.toLowerCase())]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[a-z0-9!#$&'*+.^_`|~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
