import { kindRemovalOf, ON_DELETION, type ResourceGraphDefinition } from '../../dialects/kro/index.ts';
import { FINALIZER, type InstanceKind, LABELS } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { definitionNamed } from './definition-crd.ts';
import type { Serving } from './definition-serving.ts';
import type { Instances } from './instances.ts';
import type { CompiledRevision } from './revisions.ts';
import { instanceResource } from './served-graph.ts';

export interface DefinitionRemovalOptions {
  readonly client: Client;
  readonly instances: Instances;
  readonly servedBy: Serving['servedBy'];
  /** Whether a definition takes its kind with it, and so all instances; it waits until there are none otherwise. */
  readonly allowKindDeletion: boolean;
}

/** Sees to the instances and the kind of a definition that is being deleted. */
export interface DefinitionRemoval {
  /** What the definition waits for; `undefined` when nobody needs it any longer. */
  leaving(
    object: ResourceGraphDefinition,
    kind: InstanceKind,
    known: readonly CompiledRevision[],
  ): Promise<string | undefined>;
}

export function createDefinitionRemoval(options: DefinitionRemovalOptions): DefinitionRemoval {
  const { client, instances, servedBy } = options;

  async function leaving(
    object: ResourceGraphDefinition,
    kind: InstanceKind,
    known: readonly CompiledRevision[],
  ): Promise<string | undefined> {
    const { uid = '', name = '' } = object.metadata;
    const crd = await definitionNamed(client, `${kind.plural}.${kind.group}`);
    const owned = crd?.metadata.labels?.[LABELS.graphId] === uid;
    if (!crd || !owned) return undefined;
    const policy = object.metadata.annotations?.[ON_DELETION] ?? 'wait';
    instances.serve({ ...servedBy(object, kind, known), abandoning: policy === 'orphan' });
    if (options.allowKindDeletion && policy !== 'orphan') {
      if (crd.metadata.deletionTimestamp === undefined)
        await client.delete(customResourceDefinitions, '', crd.metadata.name ?? '', {
          preconditions: { uid: crd.metadata.uid ?? '' },
        });
      return `waits until the CustomResourceDefinition ${crd.metadata.name} is gone with its instances`;
    }
    const all = instances.list(name);
    if (all === undefined) return 'waits until it is known whether there are instances';
    const left =
      policy === 'orphan' ? all.filter(({ metadata }) => metadata.finalizers?.includes(FINALIZER)) : all;
    if (left.length === 0) return leavingKind(object, crd);
    switch (policy) {
      case 'cascade':
        await Promise.all(left.map((instance) => removed(instance, kind)));
        return `waits until its ${left.length} instances of ${kind.kind} are gone`;
      case 'orphan':
        return `waits until its ${left.length} instances of ${kind.kind} are let go`;
      default: {
        const unknown =
          policy === 'wait'
            ? ''
            : `; the annotation ${ON_DELETION} says "${policy}", which is none of wait, cascade and orphan`;
        return `waits until its ${left.length} instances of ${kind.kind} are deleted: nobody would look after them${unknown}`;
      }
    }
  }

  /** Nobody is left who needs the kind. */
  async function leavingKind(object: ResourceGraphDefinition, crd: KubeObject): Promise<string | undefined> {
    if (kindRemovalOf(object) === 'Keep') return undefined;
    const { name = '', uid = '', deletionTimestamp } = crd.metadata;
    if (deletionTimestamp === undefined)
      await client.delete(customResourceDefinitions, '', name, { preconditions: { uid } });
    return `waits until the CustomResourceDefinition ${name} is gone`;
  }

  async function removed({ metadata }: KubeObject, kind: InstanceKind): Promise<void> {
    const { namespace = '', name = '', uid = '', deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) return;
    await ignoring(
      [404, 409],
      client.delete(instanceResource(kind), namespace, name, { preconditions: { uid } }),
    );
  }

  return { leaving };
}
