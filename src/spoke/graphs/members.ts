import { applySetId, type Deletion, type Inventory, LABELS } from '../../engine/graph/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { formatApiVersion, type KubeObject, refText } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';

const PAGE = 500;

/** The objects in a cluster that carry an instance's mark. */
export interface Members {
  /** All of the kinds of an inventory, as they are now: no copy is asked. */
  list(instance: KubeObject, inventory: Inventory): Promise<KubeObject[]>;
  /** Deletes an object if it is the one that was seen. Says whether it was: another one of its name is nobody's to delete. */
  remove(deletion: Deletion): Promise<boolean>;
}

interface GroupDocument {
  preferredVersion?: { version?: string };
  versions?: { version?: string }[];
}

export function createMembers(client: Client): Members {
  async function versionsOf(group: string): Promise<string[]> {
    if (group === '') return ['v1'];
    try {
      const found = await client.getJson<GroupDocument>(`/apis/${group}`);
      const versions = [found.preferredVersion, ...(found.versions ?? [])].map((item) => item?.version);
      return [...new Set(versions.filter((version) => version !== undefined))];
    } catch (error) {
      if (hasCode(error, 404)) return [];
      throw error;
    }
  }

  /** `undefined`: the kind is not served any longer, and what was of it is gone. */
  async function resourceOf(groupKind: string): Promise<ResourceId | undefined> {
    const dot = groupKind.indexOf('.');
    const kind = dot < 0 ? groupKind : groupKind.slice(0, dot);
    const group = dot < 0 ? '' : groupKind.slice(dot + 1);
    for (const version of await versionsOf(group)) {
      try {
        return await client.resourceFor(formatApiVersion(group, version), kind);
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
      }
    }
    return undefined;
  }

  async function ofKind(groupKind: string, setId: string): Promise<KubeObject[]> {
    const resource = await resourceOf(groupKind);
    if (!resource) return [];
    const found: KubeObject[] = [];
    let token: string | undefined;
    try {
      do {
        const page = await client.list(resource, '', {
          labelSelector: `${LABELS.partOf}=${setId}`,
          limit: PAGE,
          ...(token === undefined ? {} : { continue: token }),
        });
        for (const item of page.items)
          found.push({
            ...item,
            apiVersion: formatApiVersion(resource.group, resource.version),
            kind: resource.kind,
          });
        token = page.metadata.continue;
      } while (token !== undefined && token !== '');
    } catch (error) {
      // The definition of the kind went away meanwhile, and its objects with it.
      if (!hasCode(error, 404)) throw error;
      return [];
    }
    return found;
  }

  return {
    async list(instance, { groupKinds }) {
      const setId = applySetId(instance);
      const found = await Promise.all(groupKinds.map((groupKind) => ofKind(groupKind, setId)));
      return found.flat();
    },
    async remove({ ref, uid }) {
      try {
        const resource = await client.resourceFor(ref.apiVersion, ref.kind);
        await client.delete(resource, ref.namespace, ref.name, {
          preconditions: { uid },
          propagationPolicy: 'Background',
        });
        return true;
      } catch (error) {
        if (hasCode(error, 404)) return true;
        if (hasCode(error, 409)) return false;
        if (!(error instanceof StatusError)) throw error;
        throw new StatusError(
          { ...error.status, message: `${refText(ref)} cannot be deleted: ${error.message}` },
          { cause: error },
        );
      }
    },
  };
}
