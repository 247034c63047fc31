import type { Client, ResourceId } from '../kube/client.ts';
import { type KubeObject, refOf, refText } from '../kube/object.ts';
import { pagesOf } from '../kube/pages.ts';
import { hasCode } from '../kube/status-error.ts';
import {
  configMaps,
  cronJobs,
  customResourceDefinitions,
  daemonSets,
  deployments,
  ingresses,
  jobs,
  persistentVolumeClaims,
  pods,
  secrets,
  services,
  statefulSets,
} from '../kube/well-known.ts';
import { at, listAt, stringAt } from '../schema/json.ts';

/** Kinds whose loss someone would mourn. */
export const MOURNED_KINDS: readonly ResourceId[] = [
  persistentVolumeClaims,
  deployments,
  statefulSets,
  daemonSets,
  cronJobs,
  jobs,
  services,
  ingresses,
  pods,
  secrets,
  configMaps,
];
const PAGE = 200;
/** ConfigMaps that clusters put into every namespace. */
const EVERYWHERE: ReadonlySet<string> = new Set([
  'kube-root-ca.crt',
  'openshift-service-ca.crt',
  'istio-ca-root-cert',
]);

/** Which dispatch an object belongs to, by what the spoke remembers, and whether that still wants it. */
export type OwnerOf = (
  object: KubeObject,
) => { readonly dispatch: string; readonly wants: boolean } | undefined;

/** What would go along with a namespace though no order to remove the namespace speaks of it. */
type Inhabitant =
  /** It is there for good: no hub put it there, or the order that removes the namespace keeps it. */
  | { readonly stays: true; readonly text: string }
  /** Another dispatch has it. */
  | { readonly stays: false; readonly text: string; readonly dispatch: string; readonly wants: boolean };

/**
 * An object in a namespace that deleting the namespace would take along. `undefined` where there is none. What is ordered away with
 * the namespace, what controllers made for other objects, and what every namespace has, does not count.
 */
export async function inhabitantOf(
  client: Client,
  namespace: string,
  dispatch: string,
  ownerOf: OwnerOf,
  signal: AbortSignal,
): Promise<Inhabitant | undefined> {
  let others: Inhabitant | undefined;
  for (const kind of [...MOURNED_KINDS, ...(await customKinds(client, signal))])
    for await (const object of objectsOf(client, kind, namespace, signal)) {
      const text = refText(refOf(object));
      const owner = ownerOf(object);
      if (owner === undefined) {
        if (isForeign(object)) return { stays: true, text };
      } else if (owner.dispatch === dispatch) {
        if (owner.wants) return { stays: true, text };
      } else if (others === undefined || (owner.wants && !others.stays && !others.wants))
        others = { stays: false, text, ...owner };
    }
  return others;
}

/** The namespaced kinds that somebody defined. */
async function customKinds(client: Client, signal: AbortSignal): Promise<ResourceId[]> {
  const kinds: ResourceId[] = [];
  for await (const definition of objectsOf(client, customResourceDefinitions, '', signal)) {
    const kind = definedKind(definition);
    if (kind?.namespaced) kinds.push(kind);
  }
  return kinds;
}

/** The kind that a CustomResourceDefinition brings along, if it serves any version of it. */
export function definedKind(definition: KubeObject): ResourceId | undefined {
  if (definition.kind !== 'CustomResourceDefinition') return undefined;
  const served = listAt(definition, 'spec', 'versions').find((version) => at(version, 'served') === true);
  const version = stringAt(served, 'name');
  if (version === undefined) return undefined;
  return {
    group: stringAt(definition, 'spec', 'group') ?? '',
    version,
    resource: stringAt(definition, 'spec', 'names', 'plural') ?? '',
    kind: stringAt(definition, 'spec', 'names', 'kind') ?? '',
    namespaced: stringAt(definition, 'spec', 'scope') === 'Namespaced',
  };
}

/** All of a kind that can be seen. */
async function* objectsOf(
  client: Client,
  kind: ResourceId,
  namespace: string,
  signal: AbortSignal,
): AsyncGenerator<KubeObject> {
  try {
    for await (const items of pagesOf(client, kind, namespace, { limit: PAGE, signal })) yield* items;
  } catch (error) {
    // A cluster that does not serve the kind, or does not let the engine see what somebody defined.
    if (!hasCode(error, 404) && (!hasCode(error, 403) || MOURNED_KINDS.includes(kind))) throw error;
  }
}

function isForeign({ metadata, ...rest }: KubeObject): boolean {
  if ((metadata.ownerReferences ?? []).length > 0 || metadata.deletionTimestamp !== undefined) return false;
  if (rest.kind === 'ConfigMap' && EVERYWHERE.has(metadata.name ?? '')) return false;
  return rest['type'] !== 'kubernetes.io/service-account-token';
}
