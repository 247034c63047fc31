import {
  applySetId,
  type Contributed,
  type Contribution,
  contributionManager,
  type Deletion,
  type Inventory,
  LABELS,
  patchManager,
} from '../../engine/graph/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { within } from '../../kube/deadline.ts';
import { formatApiVersion, type KubeObject, refText } from '../../kube/object.ts';
import { pagesOf } from '../../kube/pages.ts';
import { hasCode, ignoring, StatusError } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { listAt, stringAt } from '../../schema/json.ts';

const PAGE = 500;

/** The objects in a cluster that carry an instance's mark. */
export interface Members {
  /** All of the kinds of an inventory, as they are now: no copy is asked. */
  list(instance: KubeObject, inventory: Inventory): Promise<KubeObject[]>;
  /** The objects of others that hold fields which the instance added. */
  contributed(instance: KubeObject, inventory: Inventory): Promise<Contributed[]>;
  /**
   * Deletes an object, lets it go or takes back what was added to it, if it is the one that was seen. Says whether it was: another
   * one of its name is nobody's to touch.
   */
  remove(deletion: Deletion, instance: KubeObject): Promise<boolean>;
}

interface GroupDocument {
  preferredVersion?: { version?: string };
  versions?: { version?: string }[];
}

/** For one object, and for all of a kind. */
const ANSWER_MS = 10_000;
const LIST_MS = 30_000;

/** Looks with `client`, and deletes with `writer`. */
export function createMembers(client: Client, clock: Clock, writer: Client = client): Members {
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
      const resource = await ignoring(404, client.resourceFor(formatApiVersion(group, version), kind));
      if (resource) return resource;
    }
    return undefined;
  }

  async function ofKind(groupKind: string, setId: string): Promise<KubeObject[]> {
    const resource = await resourceOf(groupKind);
    if (!resource) return [];
    const found: KubeObject[] = [];
    const options = { labelSelector: `${LABELS.partOf}=${setId}`, limit: PAGE };
    const apiVersion = formatApiVersion(resource.group, resource.version);
    try {
      for await (const items of pagesOf(client, resource, '', options))
        for (const item of items) found.push({ ...item, apiVersion, kind: resource.kind });
    } catch (error) {
      // The definition of the kind went away meanwhile, and its objects with it.
      if (!hasCode(error, 404)) throw error;
      return [];
    }
    return found;
  }

  async function contributedTo(
    contribution: Contribution,
    instance: KubeObject,
  ): Promise<Contributed | undefined> {
    const { ref } = contribution;
    const manager = managerOf(contribution, instance);
    try {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      const { metadata } = await client.get(resource, ref.namespace, ref.name);
      const ours = listAt(metadata, 'managedFields').some((entry) => stringAt(entry, 'manager') === manager);
      return ours ? { ...contribution, uid: metadata.uid ?? '' } : undefined;
    } catch (error) {
      if (hasCode(error, 404)) return undefined;
      throw error;
    }
  }

  async function carryOut(
    { ref, uid, retain, withdraw, node, subresource }: Deletion,
    instance: KubeObject,
    signal: AbortSignal,
  ): Promise<void> {
    const { apiVersion, kind, name, namespace } = ref;
    const resource = await client.resourceFor(apiVersion, kind);
    if (retain) await writer.patch(resource, namespace, name, 'merge', retain, { signal });
    else if (withdraw === true)
      // To apply nothing takes back all that was applied. The UID keeps it from making what is gone.
      await writer.apply(
        resource,
        { apiVersion, kind, metadata: { name, uid, ...(namespace !== '' && { namespace }) } },
        {
          fieldManager: managerOf({ node: node === '' ? undefined : node }, instance),
          ...{ force: true, signal },
          ...(subresource && { subresource }),
        },
      );
    else
      await writer.delete(resource, namespace, name, {
        preconditions: { uid },
        propagationPolicy: 'Background',
        signal,
      });
  }

  return {
    async list(instance, { groupKinds }) {
      const setId = applySetId(instance);
      const found = await Promise.all(
        groupKinds.map((groupKind) => within(clock, LIST_MS, () => ofKind(groupKind, setId))),
      );
      return found.flat();
    },
    async contributed(instance, { contributions = [] }) {
      const found = await Promise.all(
        contributions.map((item) => within(clock, ANSWER_MS, () => contributedTo(item, instance))),
      );
      return found.filter((item) => item !== undefined);
    },
    async remove(deletion, instance) {
      const { ref } = deletion;
      try {
        await within(clock, ANSWER_MS, (signal) => carryOut(deletion, instance, signal));
        return true;
      } catch (error) {
        if (hasCode(error, 404)) return true;
        if (hasCode(error, 409)) return false;
        if (!(error instanceof StatusError)) throw error;
        throw new StatusError(
          {
            ...error.status,
            message: `${refText(ref)} cannot be ${verbOf(deletion)}: ${error.message}`,
          },
          { cause: error },
        );
      }
    },
  };
}

/** Who adds fields to an object of others: never whom somebody wrote into the inventory. */
function managerOf({ node }: { readonly node?: string | undefined }, instance: KubeObject): string {
  return node === undefined ? contributionManager(instance) : patchManager(instance, node);
}

function verbOf({ retain, withdraw }: Deletion): string {
  if (withdraw === true) return 'freed of what was added to it';
  return retain === undefined ? 'deleted' : 'let go';
}
