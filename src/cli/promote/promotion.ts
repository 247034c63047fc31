import { CLUSTER_PROPAGATION, PROPAGATION } from '../../dialects/propagation/kinds.ts';
import type { Propagation, PropagationSpec } from '../../dialects/propagation/types.ts';
import { referencesOf } from '../../engine/closure/index.ts';
import { DISPATCH_LABEL } from '../../engine/dispatch/index.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { essence } from '../../engine/plan/change.ts';
import { portable } from '../../engine/render/portable.ts';
import { neverPropagated } from '../../engine/select/index.ts';
import type { Client } from '../../kube/client.ts';
import { apiVersionOf, resourceIdOf } from '../../kube/custom-resource.ts';
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { namespaces } from '../../kube/well-known.ts';
import { deepEqual } from '../../schema/json.ts';

/** What bringing an object under the hub's care would write there. */
export interface Promotion {
  /** As they come to the hub, in order. Those that it has as they are are not among them. */
  readonly objects: readonly KubeObject[];
  readonly propagation: Propagation;
  /** Set where the namespace has to be made at the hub. */
  readonly namespace?: string;
  /** What does not come along, and why. */
  readonly left: readonly { readonly ref: ObjectRef; readonly reason: string }[];
}

/** More is a mistake: a workload that names ever more. */
const MAX_OBJECTS = 256;

/** Finds out what is to be done. Writes nothing. Throws an Error where it cannot be done, with the reason. */
export async function readPromotion(
  hub: Client,
  spoke: Client,
  cluster: string,
  asked: ObjectRef,
  withDependencies: boolean,
): Promise<Promotion> {
  const object = await read(spoke, asked);
  if (!object) throw new Error(`${cluster} has no ${refText(asked)}`);
  const found = new Map([[refKey(asked), object]]);
  const left: { ref: ObjectRef; reason: string }[] = [];
  if (withDependencies) await follow(spoke, object, found, left);
  const objects: KubeObject[] = [];
  for (const [key, live] of found) {
    const ref = refOf(live);
    const reason = untouchable(live);
    if (reason !== undefined) {
      if (key === refKey(asked))
        throw new Error(`${refText(ref)} on ${cluster} cannot be promoted: ${reason}`);
      left.push({ ref, reason });
      continue;
    }
    const wanted = portable(live);
    const present = await read(hub, ref);
    if (!present) objects.push(wanted);
    else if (!deepEqual(essence(portable(present)), essence(wanted)))
      throw new Error(
        `the hub has another ${refText(ref)} already: make both the same, or delete the one at the hub`,
      );
  }
  const { namespace } = asked;
  const propagation = propagationOf(asked, cluster, withDependencies);
  const { kind, metadata } = propagation;
  const taken = await read(hub, {
    apiVersion: propagation.apiVersion,
    kind,
    namespace,
    name: metadata.name ?? '',
  });
  if (taken) throw new Error(`the hub has a ${kind} ${metadata.name} already`);
  const needsNamespace =
    namespace !== '' &&
    !(await read(hub, { apiVersion: 'v1', kind: 'Namespace', namespace: '', name: namespace }));
  objects.sort((a, b) => compareForApply(refOf(a), refOf(b)));
  return { objects, propagation, left, ...(needsNamespace ? { namespace } : {}) };
}

/** Objects first: as long as no Propagation selects them, nothing happens on any cluster. */
export async function carryOutPromotion(hub: Client, promotion: Promotion): Promise<void> {
  const options = { fieldManager: 'kubectl' };
  const { namespace, objects, propagation } = promotion;
  if (namespace !== undefined)
    await hub.create(
      namespaces,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      options,
    );
  for (const object of objects)
    await hub.create(await hub.resourceFor(object.apiVersion, object.kind), object, options);
  const kind = propagation.kind === PROPAGATION.kind ? PROPAGATION : CLUSTER_PROPAGATION;
  await hub.create(resourceIdOf(kind), propagation, options);
}

function untouchable(object: KubeObject): string | undefined {
  if (object.metadata.labels?.[DISPATCH_LABEL] !== undefined) return 'a hub has it already';
  return neverPropagated(object);
}

async function follow(
  spoke: Client,
  object: KubeObject,
  found: Map<string, KubeObject>,
  left: { ref: ObjectRef; reason: string }[],
): Promise<void> {
  const seen = new Set(found.keys());
  const queue = [object];
  for (const item of queue)
    for (const { ref, optional } of referencesOf(item)) {
      const key = refKey(ref);
      if (seen.has(key) || seen.size >= MAX_OBJECTS) continue;
      seen.add(key);
      try {
        const next = await read(spoke, ref);
        if (next) {
          found.set(key, next);
          queue.push(next);
        } else if (!optional) left.push({ ref, reason: 'it is not on the cluster' });
      } catch (error) {
        if (!hasCode(error, 403)) throw error;
        left.push({ ref, reason: 'you may not read it there: create it at the hub yourself' });
      }
    }
}

/** Takes the copy over as it is, and leaves it there when it goes. */
function propagationOf(asked: ObjectRef, cluster: string, withDependencies: boolean): Propagation {
  const { apiVersion, kind, namespace, name } = asked;
  const own = namespace === '' ? CLUSTER_PROPAGATION : PROPAGATION;
  const spec: PropagationSpec = {
    resourceSelectors: [{ apiVersion, kind, name }],
    placement: { clusterNames: [cluster] },
    ...(withDependencies ? { dependencies: { references: true } } : {}),
    apply: { adopt: 'Always', preserveOnDeletion: true },
  };
  return {
    apiVersion: apiVersionOf(own),
    kind: own.kind,
    metadata: {
      name: `${name}-${kind.toLowerCase()}`.replaceAll(':', '.').slice(0, 253),
      ...(namespace === '' ? {} : { namespace }),
    },
    spec,
  };
}

async function read(client: Client, ref: ObjectRef): Promise<KubeObject | undefined> {
  const resource = await ignoring(404, client.resourceFor(ref.apiVersion, ref.kind));
  return resource && ignoring(404, client.get(resource, ref.namespace, ref.name));
}
