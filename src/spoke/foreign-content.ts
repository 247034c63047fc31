import { DISPATCH_LABEL } from '../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import type { KubeObject } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import {
  configMaps,
  daemonSets,
  deployments,
  jobs,
  persistentVolumeClaims,
  pods,
  secrets,
  services,
  statefulSets,
} from '../kube/well-known.ts';

/** Kinds whose loss someone would mourn. */
export const MOURNED_KINDS: readonly ResourceId[] = [
  persistentVolumeClaims,
  deployments,
  statefulSets,
  daemonSets,
  jobs,
  services,
  pods,
  secrets,
  configMaps,
];
const ENOUGH = 20;

/**
 * An object in a namespace that no hub put there, as `kind/name`; deleting the namespace would take it along. `undefined`
 * where there is none. What controllers made for other objects, and what every namespace has, does not count.
 */
export async function foreignContent(
  client: Client,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const kind of MOURNED_KINDS) {
    try {
      const found = await client.list(kind, namespace, {
        labelSelector: `!${DISPATCH_LABEL}`,
        limit: ENOUGH,
        signal,
      });
      const foreign = found.items.find(isForeign);
      if (foreign) return `${kind.kind.toLowerCase()}/${foreign.metadata.name ?? ''}`;
    } catch (error) {
      // A cluster that does not serve the kind.
      if (!hasCode(error, 404)) throw error;
    }
  }
  return undefined;
}

function isForeign({ metadata, ...rest }: KubeObject): boolean {
  if ((metadata.ownerReferences ?? []).length > 0 || metadata.deletionTimestamp !== undefined) return false;
  if (metadata.name === 'kube-root-ca.crt') return false;
  return rest['type'] !== 'kubernetes.io/service-account-token';
}
