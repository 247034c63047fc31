import type { Client, ResourceId } from '../../kube/client.ts';
import { within } from '../../kube/deadline.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode } from '../../kube/status-error.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../kube/well-known.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { at } from '../../schema/json.ts';

/** Objects whose changes give rights or take them. */
const GIVING: readonly ResourceId[] = [roles, roleBindings, clusterRoles, clusterRoleBindings];

/** Rights are often changed by several objects at once, a role and its binding. */
const TOGETHER_MS = 200;
/** After which rights are looked at where nothing tells of their changes. */
const UNTOLD_MS = 300_000;
const ANSWER_MS = 10_000;

const REVIEWS: ResourceId = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

/** Where rights may have changed: in some namespaces, or in all. */
export type Where = 'Everywhere' | ReadonlySet<string>;

/**
 * Tells when somebody's rights may be others than before, by watching the objects of RBAC; where the engine may not watch these, every
 * {@link UNTOLD_MS}. Returns how to stop.
 */
export function watchRights(runtime: Runtime, client: Client, onChange: (where: Where) => void): () => void {
  const { clock } = runtime;
  const informers = new Map<ResourceId, Informer>();
  let changed: Where = new Set();
  let soon: Timer | undefined;
  let later: Timer | undefined;

  function note(namespace: string | undefined): void {
    if (namespace === undefined) changed = 'Everywhere';
    else if (changed !== 'Everywhere') changed = new Set([...changed, namespace]);
    soon ??= clock.after(TOGETHER_MS, () => {
      const where = changed;
      changed = new Set();
      soon = undefined;
      onChange(where);
    });
  }

  function begin(resource: ResourceId): void {
    let told = false;
    const informer = startInformer(runtime, client, resource, {
      onFailure(error) {
        // It is not asked again and again for what it may not see.
        if (!hasCode(error, 403)) return;
        informer.stop();
        informers.delete(resource);
        later ??= clock.after(UNTOLD_MS, lookAgain);
      },
    });
    informers.set(resource, informer);
    informer.onChange(({ object, previous }) => {
      if (!told || (previous && previous.metadata.resourceVersion === object.metadata.resourceVersion))
        return;
      note(resource.namespaced ? object.metadata.namespace : undefined);
    });
    informer.onLive((live) => {
      // What changed before is not known.
      if (live && !told) note(undefined);
      told ||= live;
    });
  }

  function lookAgain(): void {
    later = undefined;
    note(undefined);
    for (const resource of GIVING) if (!informers.has(resource)) begin(resource);
  }

  for (const resource of GIVING) begin(resource);
  return () => {
    soon?.cancel();
    later?.cancel();
    for (const informer of informers.values()) informer.stop();
    informers.clear();
  };
}

/** Whether the user of a client may watch objects, or one of them. Throws where that is not answered. */
export async function mayWatch(
  { clock }: Runtime,
  client: Client,
  { group, version, resource }: ResourceId,
  { namespace, name }: { readonly namespace: string; readonly name?: string },
): Promise<boolean> {
  const asked = { verb: 'watch', group, version, resource, namespace, ...(name !== undefined && { name }) };
  const review = await within(clock, ANSWER_MS, (signal) =>
    client.create(
      REVIEWS,
      {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: REVIEWS.kind, metadata: {} },
        spec: { resourceAttributes: asked },
      },
      { signal },
    ),
  );
  return at(review, 'status', 'allowed') === true;
}
