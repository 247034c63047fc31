import type { LinkSource } from '../hub/inventory/index.ts';
import type { Request } from '../kube/exchange.ts';
import { type HttpHandler, httpHandler } from '../kube/http-handler.ts';
import { directLink, type Link } from '../link/index.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Links by tunnel and by kubeconfig, as the inventory asks for them. */
export interface Links extends LinkSource {
  /** A spoke dialled. */
  add(link: Link): void;
  /** Calls back with spokes that are no longer of the fleet. */
  onForget(listener: (spoke: string) => void): void;
  /** Calls back with each link that was made of a credential. What it returns is called when the link is closed. */
  onDirect(listener: (link: Link) => () => void): void;
  /** The link of a spoke, however it is reached. */
  of(spoke: string): Link | undefined;
  /** Calls back when a spoke is reached by another link than before. */
  onChange(listener: () => void): void;
}

export function createLinks(runtime: Runtime): Links {
  const tunnels = new Map<string, Link>();
  const listeners: ((spoke: string) => void)[] = [];
  const forgetting: ((spoke: string) => void)[] = [];
  const directs = new Map<string, Link>();
  const sharing: ((link: Link) => () => void)[] = [];
  const changing: (() => void)[] = [];
  const changed = (): void => {
    for (const listener of changing) listener();
  };
  return {
    tunnel: (spoke) => tunnels.get(spoke),
    onTunnel: (listener) => void listeners.push(listener),
    onForget: (listener) => void forgetting.push(listener),
    onDirect: (listener) => void sharing.push(listener),
    onChange: (listener) => void changing.push(listener),
    of: (spoke) => directs.get(spoke) ?? tunnels.get(spoke),
    direct(spoke, endpoint, token) {
      const handler = httpHandler(endpoint);
      // Whoever shows a token of their own is nobody else: that connection has no credential.
      let bare: HttpHandler | undefined;
      const asNobody = (): HttpHandler => {
        const { token: _token, clientCertificate: _certificate, clientKey: _key, ...server } = endpoint;
        bare ??= httpHandler(server);
        return bare;
      };
      const link = directLink(
        runtime,
        spoke,
        (request) => (hasToken(request) ? asNobody()(request) : handler(withToken(request, token()))),
        {
          upgrade: (request) =>
            hasToken(request) ? asNobody().upgrade(request) : handler.upgrade(withToken(request, token())),
        },
      );
      const closeLink = link.close.bind(link);
      directs.set(spoke, link);
      changed();
      const ends = sharing.map((share) => share(link));
      return Object.assign(link, {
        close(): void {
          if (directs.get(spoke) === link) directs.delete(spoke);
          for (const end of ends) end();
          closeLink();
          changed();
          void handler.close();
          void bare?.close();
        },
      });
    },
    add(link: Link): void {
      tunnels.set(link.spoke, link);
      for (const listener of listeners) listener(link.spoke);
      changed();
    },
    forget(spoke: string): void {
      tunnels.delete(spoke);
      // One without a link may be about to be let in.
      for (const listener of forgetting) listener(spoke);
    },
  };
}

function hasToken({ headers }: Request): boolean {
  return headers['authorization'] !== undefined;
}

function withToken(request: Request, token: string | undefined): Request {
  if (token === undefined) return request;
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
