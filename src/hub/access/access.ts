import type { PlacedSpace, Space, Spaces } from '../../apiserver/index.ts';
import { splitCluster } from '../../apiserver/request/index.ts';
import type { Client } from '../../kube/client.ts';
import { badRequest } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { fleetAccess } from './fleet/index.ts';
import { startGrants } from './grants.ts';
import { installGrants } from './install.ts';
import type { Members } from './members.ts';
import { type AccessRules, spokeAccess } from './spoke-access.ts';

export interface AccessOptions {
  /** The hub's own API server. */
  readonly client: Client;
  readonly members: Members;
  readonly rules?: AccessRules;
}

/** The way of the hub's users to its spokes. */
export interface Access {
  /** The spaces of the hub's API server: spokes by name, and all of them at once. */
  readonly spaces: Spaces;
  stop(): void;
}

const CLUSTERS = '/clusters/';
/** As `/clusters/`, for whoever shows a token of the spoke. */
const BY_TOKEN = '/by-token/';
const FLEET = '/fleet';
/** Where clients of the cluster gateway of KubeVela look for a cluster. */
const GATEWAYS = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/';
const GATEWAY_PROXY = /^([^/?]+)\/proxy(?=[/?]|$)/;

/** Opens the way to the spokes. Until grants are known there are none. */
export async function startAccess(runtime: Runtime, options: AccessOptions): Promise<Access> {
  const { client, members } = options;
  const { problem } = await installGrants(runtime.clock, client, (refused) =>
    runtime.log.warn('a role for people is left as it is', {
      why: `${refused.message}; apply what \`atoll hub rights\` prints now`,
    }),
  );
  const grants = startGrants(runtime, client, problem);
  const spokes = spokeAccess(runtime, members, grants, options.rules);
  const serveFleet = fleetAccess(runtime, { fleet: members, spokes, onMembers: members.onChange });

  const spokeSpace = (name: string): Space => ({
    attributes: (request) => spokes.right(name, request),
    serve: (request, caller) => spokes.serve(name, request, caller),
  });
  const tokenSpace = (name: string): Space => ({
    attributes: (request) => spokes.right(name, request),
    serve: (request, caller) => spokes.serveByToken(name, request, caller),
  });
  const fleetSpace: Space = { serve: serveFleet };

  return {
    spaces(path): PlacedSpace | undefined {
      if (path.startsWith(CLUSTERS)) {
        const { cluster, rest } = splitCluster(path);
        return members.cluster(cluster) ? { space: spokeSpace(cluster), path: rest } : undefined;
      }
      if (path.startsWith(BY_TOKEN)) {
        const { cluster, rest } = splitCluster(CLUSTERS + path.slice(BY_TOKEN.length));
        return members.cluster(cluster) ? { space: tokenSpace(cluster), path: rest } : undefined;
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
      members.stop();
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
