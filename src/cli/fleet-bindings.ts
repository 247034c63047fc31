import {
  BINDING,
  type Binding,
  type CompiledBinding,
  compileBinding,
  type ListedObject,
  listedIn,
} from '../dialects/kubestellar/index.ts';
import type { Propagation } from '../dialects/propagation/types.ts';
import { definitionsAmong } from '../engine/closure/index.ts';
import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { ResourceSelector } from '../engine/select/select.ts';
import type { IntentRecord } from '../hub/intents/index.ts';
import { createListings, type Listings } from '../hub/intents/kubestellar/listings.ts';
import { INTENT_RECORD, type RecordedSource } from '../hub/intents/records.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { gvkOf, type KubeObject } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { readResources } from './kind-name.ts';

/**
 * A Binding of KubeStellar, as what asks about intents sees it: what a ClusterPropagation would say that selects what the Binding
 * lists. What it comes to is compiled from the Binding itself.
 */
export interface BindingView extends Propagation {
  readonly binding: Binding;
  /** How what it lists is addressed; `undefined` where the hub does not serve it. */
  readonly kindOf: (listed: Pick<ListedObject, 'group' | 'resource'>) => ResourceId | undefined;
  readonly combined: Listings['combined'];
}

interface StoredRecord extends KubeObject {
  readonly spec: IntentRecord & { readonly source: RecordedSource };
}

/** Core has a Binding as well, which kubectl takes the word alone for. */
export const BINDING_RESOURCE: string = `${BINDING.plural}.${BINDING.group}`;
export const DEFINITIONS: ResourceSelector = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
};

export function isBindingView(propagation: Propagation): propagation is BindingView {
  return 'binding' in propagation;
}

/** All Bindings of a hub; none where it does not serve them. */
export async function readBindings(client: Client): Promise<BindingView[]> {
  try {
    const { items } = await client.list<Binding>(resourceIdOf(BINDING), '');
    return await viewBindings(client, items);
  } catch (error) {
    if (hasCode(error, 404)) return [];
    throw error;
  }
}

export async function viewBindings(client: Client, bindings: readonly Binding[]): Promise<BindingView[]> {
  if (bindings.length === 0) return [];
  const [resources, records] = await Promise.all([readResources(client), readRecords(client)]);
  const served = new Map(resources.map((resource) => [`${resource.group}/${resource.resource}`, resource]));
  const kindOf: BindingView['kindOf'] = ({ group = '', resource }) => served.get(`${group}/${resource}`);
  const listings = createListings();
  for (const binding of bindings) listings.put(binding.metadata.name ?? '', binding);
  return bindings.map((binding): BindingView => {
    const { uid = '' } = binding.metadata;
    const listed = listedIn(binding.spec);
    const destinations = [...new Set(binding.spec?.destinations?.map(({ clusterId }) => clusterId))];
    return {
      apiVersion: binding.apiVersion,
      kind: binding.kind,
      metadata: binding.metadata,
      binding,
      kindOf,
      combined: listings.combined,
      spec: {
        resourceSelectors: listed.flatMap((one) => selectorOf(one, kindOf(one))),
        placement: { clusterNames: destinations },
      },
      status: statusOf(binding, listed.length, destinations.length, records.get(uid)),
    };
  });
}

/** Those of Bindings, by the uid of their source. Who may not read them sees less of what was sent. */
async function readRecords(client: Client): Promise<ReadonlyMap<string, IntentRecord>> {
  try {
    const { items } = await client.list<StoredRecord>(resourceIdOf(INTENT_RECORD), SYSTEM_NAMESPACE);
    const ofBindings = items.filter(({ spec }) => spec.source.kind === BINDING.kind);
    return new Map(ofBindings.map(({ spec }) => [spec.source.uid, spec]));
  } catch (error) {
    if (hasCode(error, 403) || hasCode(error, 404)) return new Map();
    throw error;
  }
}

function selectorOf(
  { namespace = '', name }: ListedObject,
  kind: ResourceId | undefined,
): ResourceSelector[] {
  if (!kind) return [];
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  return [{ apiVersion, kind: kind.kind, namespace, name }];
}

function statusOf(
  { status }: Binding,
  objects: number,
  clusters: number,
  record: IntentRecord | undefined,
): NonNullable<Propagation['status']> {
  const { observedGeneration = 0, conditions = [] } = status ?? {};
  const isReady = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return {
    observedGeneration,
    objects,
    clusters,
    // A Binding says in words how many are: only that all are can be counted.
    ...(isReady ? { ready: clusters } : {}),
    conditions: conditions.map(({ lastUpdateTime: _none, ...condition }) => ({
      ...condition,
      observedGeneration,
    })),
    dispatchGeneration: record?.dispatchGeneration ?? 0,
    dispatchedTo: [...(record?.dispatchedTo ?? [])],
    ...(record?.decision === undefined ? {} : { decision: record.decision }),
  };
}

/** What it comes to, with the functions of the hub. `objects` gives those of a kind at the hub. */
export function compileView(
  { binding, kindOf, combined }: BindingView,
  objects: (kind: Pick<ResourceSelector, 'apiVersion' | 'kind'>) => readonly KubeObject[],
): CompiledBinding {
  const byKind = new Map<ResourceId, ReadonlyMap<string, KubeObject>>();
  return compileBinding(binding, {
    kind: kindOf,
    object(kind, listed) {
      let found = byKind.get(kind);
      if (!found) {
        const [selector] = selectorOf(listed, kind);
        const all = selector === undefined ? [] : objects(selector);
        found = new Map(all.map((object) => [placeOf(object.metadata), object]));
        byKind.set(kind, found);
      }
      return found.get(placeOf(listed));
    },
    definition: definitionsAmong(objects(DEFINITIONS)),
    combined,
  });
}

/** Whether it lists an object. */
export function listsObject({ binding, kindOf }: BindingView, object: KubeObject): boolean {
  const { group, kind } = gvkOf(object);
  const place = placeOf(object.metadata);
  return listedIn(binding.spec).some(
    (listed) => (listed.group ?? '') === group && placeOf(listed) === place && kindOf(listed)?.kind === kind,
  );
}

/** `BindingPolicy nginx`; undefined for one that was written by hand. */
export function policyOf({ metadata }: Binding): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner && `${owner.kind} ${owner.name}`;
}

function placeOf({ namespace = '', name = '' }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`;
}
