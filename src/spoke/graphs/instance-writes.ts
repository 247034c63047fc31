import { AT_REVISION, atRevisionOf } from '../../dialects/kro/index.ts';
import {
  EMPTY_INVENTORY,
  FINALIZER,
  type GraphOwner,
  type Inventory,
  instanceLabels,
  inventoryMarks,
  keepingVersion,
  MANAGERS,
  readInventory,
  releasePatch,
} from '../../engine/graph/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import { lean } from './served-graph.ts';

/** Whose the mark of the revision is: it is written apart from all else. */
const PACE_MANAGER = 'atoll-graph-pace';

/** What the engine writes on an instance itself. Each returns the instance as it is then. */
export interface InstanceWrites {
  /** Finalizer and labels, with an inventory where there is none; writes nothing where they are there. */
  manage(instance: KubeObject): Promise<KubeObject>;
  inventory(instance: KubeObject, inventory: Inventory): Promise<KubeObject>;
  /** By which revision it is made, where that is to be known. */
  atRevision(instance: KubeObject, number: number): Promise<KubeObject>;
  /** Writes nothing where it is so already. */
  status(instance: KubeObject, status: JsonObject): Promise<KubeObject>;
  /** The last word: the instance may go. */
  release(instance: KubeObject): Promise<void>;
  /** The instance stays, and nobody looks after it any longer. */
  abandon(instance: KubeObject): Promise<void>;
}

export function instanceWrites(client: Client, resource: ResourceId, owner: GraphOwner): InstanceWrites {
  /** With the UID no instance that is gone meanwhile is made again by what was meant for it. */
  function identity({ apiVersion, kind, metadata: { name, namespace, uid } }: KubeObject): KubeObject {
    return {
      apiVersion,
      kind,
      metadata: {
        name: name ?? '',
        ...(namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
      },
    };
  }

  async function applied(
    instance: KubeObject,
    metadata: KubeObject['metadata'],
    fieldManager: string,
  ): Promise<KubeObject> {
    const base = identity(instance);
    return lean(
      await client.apply(
        resource,
        { ...base, metadata: { ...base.metadata, ...metadata } },
        { fieldManager, force: true },
      ),
    );
  }

  return {
    async manage(instance) {
      const { labels = {}, finalizers = [] } = instance.metadata;
      const wanted = keepingVersion(instanceLabels(instance, owner), labels);
      const reading = readInventory(instance);
      const managed =
        finalizers.includes(FINALIZER) &&
        reading.kind !== 'None' &&
        Object.entries(wanted).every(([key, value]) => labels[key] === value);
      if (managed) return instance;
      const empty =
        reading.kind === 'None' ||
        (reading.kind === 'Read' &&
          reading.inventory.groupKinds.length === 0 &&
          reading.inventory.namespaces.length === 0);
      const marks = empty ? inventoryMarks(instance, EMPTY_INVENTORY, owner.version) : undefined;
      return applied(
        instance,
        {
          finalizers: [FINALIZER],
          labels: { ...wanted, ...marks?.labels },
          ...(marks && { annotations: marks.annotations }),
        },
        MANAGERS.labels,
      );
    },
    inventory(instance, inventory) {
      const { labels, annotations } = inventoryMarks(instance, inventory, owner.version);
      return applied(instance, { labels, annotations }, MANAGERS.inventory);
    },
    async atRevision(instance, number) {
      if (atRevisionOf(instance) === number) return instance;
      return applied(instance, { annotations: { [AT_REVISION]: String(number) } }, PACE_MANAGER);
    },
    async status(instance, status) {
      if (deepEqual(instance['status'], status)) return instance;
      const { name = '', namespace = '', uid } = instance.metadata;
      // The whole status at once: fields whose inputs are gone go with them.
      const patch = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'add', path: '/status', value: status },
      ];
      return lean(
        await client.patch(resource, namespace, name, 'json', patch, {
          subresource: 'status',
          fieldManager: MANAGERS.labels,
        }),
      );
    },
    async release({ metadata: { name = '', namespace = '', resourceVersion, finalizers = [] } }) {
      await client.patch(resource, namespace, name, 'merge', {
        metadata: { resourceVersion, finalizers: finalizers.filter((item) => item !== FINALIZER) },
      });
    },
    async abandon(instance) {
      const { name = '', namespace = '', finalizers = [] } = instance.metadata;
      const { metadata } = releasePatch(instance) as { metadata: JsonObject };
      await client.patch(resource, namespace, name, 'merge', {
        metadata: { ...metadata, finalizers: finalizers.filter((item) => item !== FINALIZER) },
      });
    },
  };
}
