import type { Inventory, LinkSource } from '../hub/inventory.ts';
import { httpHandler } from '../kube/http-handler.ts';
import { directLink } from '../link/direct-link.ts';
import type { Link } from '../link/link.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Links by tunnel and by kubeconfig, for {@link Inventory}. */
export interface Links extends LinkSource {
  /** A spoke dialled. */
  add(link: Link): void;
}

export function createLinks(runtime: Runtime): Links {
  const tunnels = new Map<string, Link>();
  const listeners: ((spoke: string) => void)[] = [];
  return {
    tunnel: (spoke) => tunnels.get(spoke),
    onTunnel: (listener) => void listeners.push(listener),
    direct: (spoke, endpoint) => directLink(runtime, spoke, httpHandler(endpoint)),
    add(link: Link): void {
      tunnels.set(link.spoke, link);
      for (const listener of listeners) listener(link.spoke);
    },
  };
}
