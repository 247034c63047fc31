import type { ClusterEndpoint } from '../../kube/cluster-endpoint.ts';
import type { Link } from '../../link/link.ts';
import { deepEqual } from '../../schema/json.ts';
import type { ClosableLink, LinkSource } from './inventory.ts';

/** Links that are made of credentials; each is made anew only when its credential comes to another endpoint. */
export interface DirectLinks {
  /** A fresh token goes into the link that is there: its watches go on. */
  open(name: string, endpoint: ClusterEndpoint): Link;
  /** What was closed, for whoever may still hold it. */
  close(name: string): Link | undefined;
  stop(): void;
}

interface Entry {
  /** Without its token, which changes while the link stays. */
  readonly endpoint: ClusterEndpoint;
  readonly bearer: { token: string | undefined };
  readonly link: ClosableLink;
}

export function directLinks(links: LinkSource): DirectLinks {
  const entries = new Map<string, Entry>();
  return {
    open(name, { token, ...endpoint }): Link {
      const present = entries.get(name);
      if (present && deepEqual(present.endpoint, endpoint)) {
        present.bearer.token = token;
        return present.link;
      }
      present?.link.close();
      const bearer = { token };
      const link = links.direct(name, endpoint, () => bearer.token);
      entries.set(name, { endpoint, bearer, link });
      return link;
    },
    close(name): Link | undefined {
      const present = entries.get(name);
      entries.delete(name);
      present?.link.close();
      return present?.link;
    },
    stop(): void {
      for (const { link } of entries.values()) link.close();
      entries.clear();
    },
  };
}
