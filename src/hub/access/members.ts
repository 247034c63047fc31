import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import type { Link } from '../../link/link.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';
import { followClusters, type Inventory } from '../inventory/index.ts';

/** The clusters that people may get to, and how each is reached. */
export interface Members {
  /** The cluster of a name, if it is in the inventory. */
  cluster(name: string): SpokeCluster | undefined;
  names(): readonly string[];
  /** How it is reached; the same link while connections come and go. */
  link(name: string): Link | undefined;
  /** Calls back when clusters come, go, or may be reached in another way. Returns what stops that. */
  onChange(listener: () => void): () => void;
  stop(): void;
}

/** As the process knows them that is the hub. `tunnel` is the link of a spoke whose session has not begun yet. */
export function sessionMembers(
  sessions: Fleet,
  inventory: Inventory,
  tunnel?: (spoke: string) => Link | undefined,
): Members {
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  inventory.onChange(tell);
  sessions.onChange(({ dispatch, cluster }) => {
    if (dispatch === undefined && cluster === undefined) tell();
  });
  return {
    cluster: (name) => inventory.get(name),
    names: () => inventory.clusters().map(({ name }) => name),
    link: (name) => sessions.session(name)?.link ?? tunnel?.(name),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => listeners.clear(),
  };
}

/** The links of a process. */
export interface KnownLinks {
  /** That of a spoke, however it is reached. */
  of(spoke: string): Link | undefined;
  /** Calls back when a spoke is reached by another link than before. */
  onChange(listener: () => void): void;
}

/**
 * As a replica knows them that need not be the hub: the SpokeClusters are followed by a watch, and each link is this replica's own or
 * leads on to the replica that has it. Who leads makes no difference here. `onCluster` hears of each name about which something
 * changed, with the cluster that it stands for now.
 */
export function followedMembers(
  runtime: Runtime,
  client: Client,
  links: KnownLinks,
  onCluster: (name: string, cluster: SpokeCluster | undefined) => void = () => undefined,
): Members {
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const known: ReturnType<typeof followClusters> = followClusters(runtime, client, ({ object }) => {
    const { name = '' } = object.metadata;
    onCluster(name, known.ownerOf(name));
    tell();
  });
  links.onChange(tell);
  return {
    cluster: known.ownerOf,
    names: () => known.facts().map(({ name }) => name),
    link: links.of,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop(): void {
      known.stop();
      listeners.clear();
    },
  };
}
