import type { LinkSource } from '../hub/inventory/index.ts';
import type { Request } from '../kube/exchange.ts';
import { httpHandler } from '../kube/http-handler.ts';
import { directLink, type Link } from '../link/index.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Links by tunnel and by kubeconfig, as the inventory asks for them. */
export interface Links extends LinkSource {
  /** A spoke dialled. */
  add(link: Link): void;
  /** Calls back with spokes that are no longer of the fleet. */
  onForget(listener: (spoke: string) => void): void;
}

export function createLinks(runtime: Runtime): Links {
  const tunnels = new Map<string, Link>();
  const listeners: ((spoke: string) => void)[] = [];
  const forgetting: ((spoke: string) => void)[] = [];
  return {
    tunnel: (spoke) => tunnels.get(spoke),
    onTunnel: (listener) => void listeners.push(listener),
    onForget: (listener) => void forgetting.push(listener),
    direct(spoke, endpoint, token) {
      const handler = httpHandler(endpoint);
      const link = directLink(runtime, spoke, (request) => handler(withToken(request, token())), {
        upgrade: (request) => handler.upgrade(withToken(request, token())),
      });
      const closeLink = link.close.bind(link);
      return Object.assign(link, {
        close(): void {
          closeLink();
          void handler.close();
        },
      });
    },
    add(link: Link): void {
      tunnels.set(link.spoke, link);
      for (const listener of listeners) listener(link.spoke);
    },
    forget(spoke: string): void {
      if (!tunnels.delete(spoke)) return;
      for (const listener of forgetting) listener(spoke);
    },
  };
}

function withToken(request: Request, token: string | undefined): Request {
  if (token === undefined) return request;
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
