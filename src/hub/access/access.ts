import type { PlacedSpace, Space, Spaces } from '../../apiserver/index.ts';
import { splitCluster } from '../../apiserver/request/index.ts';
import type { Client } from '../../kube/client.ts';
import { badRequest } from '../../kube/status-error.ts';
import type { Link } from '../../link/link.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';
import type { Inventory } from '../inventory/index.ts';
import { fleetAccess } from './fleet/index.ts';
import { startGrants } from './grants.ts';
import { installGrants } from './install.ts';
import { type AccessibleFleet, type AccessRules, spokeAccess } from './spoke-access.ts';

export interface AccessOptions {
  /** The hub's own API server. */
  readonly client: Client;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  /** The link of a spoke whose session has not begun yet. */
  readonly tunnel?: (spoke: string) => Link | undefined;
  readonly rules?: AccessRules;
}

/** The way of the hub's users to its spokes. */
export interface Access {
  /** The spaces of the hub's API server: spokes by name, and all of them at once. */
  readonly spaces: Spaces;
  stop(): void;
}

const CLUSTERS = '/clusters/';
const FLEET = '/fleet';
/** Where clients of the cluster gateway of KubeVela look for a cluster. */
const GATEWAYS = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/';
const GATEWAY_PROXY = /^([^/?]+)\/proxy(?=[/?]|$)/;

/** Opens the way to the spokes. Until grants are known there are none. */
export async function startAccess(runtime: Runtime, options: AccessOptions): Promise<Access> {
  const { client, fleet: sessions, inventory } = options;
  const { problem } = await installGrants(runtime.clock, client);
  const grants = startGrants(runtime, client, problem);
  const fleet: AccessibleFleet = {
    cluster: (name) => inventory.get(name),
    names: () => inventory.clusters().map(({ name }) => name),
    link: (name) => sessions.session(name)?.link ?? options.tunnel?.(name),
  };
  const members = new Set<() => void>();
  const tellMembers = (): void => {
    for (const listener of [...members]) listener();
  };
  inventory.onChange(tellMembers);
  sessions.onChange(({ dispatch, cluster }) => {
    if (dispatch === undefined && cluster === undefined) tellMembers();
  });
  const spokes = spokeAccess(runtime, fleet, grants, options.rules);
  const serveFleet = fleetAccess(runtime, {
    fleet,
    spokes,
    onMembers(listener) {
      members.add(listener);
      return () => void members.delete(listener);
    },
  });

  const spokeSpace = (name: string): Space => ({
    attributes: (request) => spokes.right(name, request),
    serve: (request, caller) => spokes.serve(name, request, caller),
  });
  const fleetSpace: Space = { serve: serveFleet };

  return {
    spaces(path): PlacedSpace | undefined {
      if (path.startsWith(CLUSTERS)) {
        const { cluster, rest } = splitCluster(path);
        return fleet.cluster(cluster) ? { space: spokeSpace(cluster), path: rest } : undefined;
      }
      if (path === FLEET || path.startsWith(`${FLEET}/`) || path.startsWith(`${FLEET}?`))
        return { space: fleetSpace, path: rooted(path.slice(FLEET.length)) };
      if (!path.startsWith(GATEWAYS)) return undefined;
      const gateway = GATEWAY_PROXY.exec(path.slice(GATEWAYS.length));
      if (!gateway) return undefined;
      const name = decoded(gateway[1] ?? '');
      return {
        space: spokeSpace(name),
        path: withDryRun(rooted(path.slice(GATEWAYS.length + gateway[0].length))),
      };
    },
    stop(): void {
      grants.stop();
      members.clear();
    },
  };
}

function rooted(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    throw badRequest(`invalid URL escape in ${JSON.stringify(segment)}: ${String(error)}`);
  }
}

/** Clients of the gateway write `__dryRun`: an aggregator would take `dryRun` for its own. */
function withDryRun(path: string): string {
  return path.replace(/([?&])__dryRun=/g, '$1dryRun=');
}
